/* SPDX-License-Identifier: BSD-3-Clause */
/* Strips below a matrix: share of bad tests by node, GPU, NIC and rail. */
#include "report/draw/picture.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/units.h"
#include "report/model/run.h"

/** Tests of a part. */
struct part_count {
	size_t all, failed, slow;
};

enum strip { STRIP_NODE, STRIP_GPU, STRIP_NIC, STRIP_RAIL, STRIPS };

#define STRIPS_MIN_RANKS 128	/* more, or a sample: strips are drawn */
#define STRIP_HIGH 26
#define STRIP_GAP  10

/** The place of the counts of @rank, for strip @k. */
static size_t strip_at(const struct run *run, enum strip k, int rank)
{
	const size_t n = (size_t)run->n_ranks;
	const struct cluster_rank *r = &run->ranks[rank];
	int first = rank;

	switch (k) {
	case STRIP_NODE:
		return (size_t)run->nodes[r->node].first_rank;
	case STRIP_GPU:
	case STRIPS:
		return n + (size_t)rank;
	case STRIP_NIC:
		/* the first rank of its node with that NIC */
		while (first > run->nodes[r->node].first_rank &&
		       run->ranks[first - 1].nic == r->nic) {
			first--;
		}
		return 2 * n + (size_t)first;
	case STRIP_RAIL:
		break;
	}
	return 3 * n + (size_t)(r->nic < run->n_ranks ? r->nic : 0);
}

static void count_part(struct part_count *p, unsigned class)
{
	p->all++;
	p->failed += cells_failed(class);
	p->slow += class == CELL_SLOW;
}

bool strips_count(struct pic_layout *l)
{
	const struct run *run = l->v->run;
	const size_t n = (size_t)run->n_ranks;
	struct sampled sample;
	size_t bad = 0;

	if (run->mesh || l->v->metric == VIEW_CONTRAST ||
	    (n <= STRIPS_MIN_RANKS &&
	     !sampled_read(run_file(run->json).planned.sample, &sample))) {
		return true;
	}
	run_foreach_cell(run, at) {
		const unsigned class = run->cells[at].class;

		bad += run_measured(class) && class != CELL_PASS;
	}
	if (bad == 0) {
		return true;
	}
	l->bad = calloc(STRIPS * n + 1, sizeof(*l->bad));
	for (size_t at = 0; l->bad && at < run_n_cells(run); at++) {
		const unsigned class = run->cells[at].class;
		const int ends[] = { run_src(run, at), run_dst(run, at) };
		const bool between = run->ranks[ends[0]].node !=
				     run->ranks[ends[1]].node;

		if (!run_measured(class)) {
			continue;
		}
		for (int k = 0; k < STRIPS; k++) {
			const size_t a = strip_at(run, (enum strip)k, ends[0]);
			const size_t b = strip_at(run, (enum strip)k, ends[1]);

			if (k < STRIP_NIC || between) {
				count_part(&l->bad[a], class);
				if (b != a) {
					count_part(&l->bad[b], class);
				}
			}
		}
	}
	return l->bad;
}

float strips_height(const struct pic_layout *l)
{
	return l->bad ? 24 + STRIPS * (STRIP_HIGH + STRIP_GAP) : 0;
}

static double bad_share(const struct part_count *p)
{
	return p->all > 0 ? (double)(p->failed + p->slow) / (double)p->all : 0;
}

static const char *const strip_names[STRIPS] = { "node", "GPU", "NIC", "rail" };

/** Write the name of the part of @rank in strip @k to @buf. */
static void strip_name(const struct run *run, enum strip k, int rank,
		       char *buf, size_t size)
{
	const struct cluster_rank *r = &run->ranks[rank];
	const char *node = run->nodes[r->node].name;

	if (k == STRIP_RAIL) {
		snprintf(buf, size, "rail %d", r->nic);
	} else if (k == STRIP_NODE) {
		snprintf(buf, size, "%s", node);
	} else {
		snprintf(buf, size, "%s %d of %s", strip_names[k],
			 k == STRIP_NIC ? r->nic : r->gpu, node);
	}
}

/** One strip: the share of bad tests of each part, over its columns; behind it
 *  the worst one. */
static void add_strip(const struct pic_layout *l, enum strip k, float y)
{
	const struct run *run = l->v->run;
	const struct part_count *worst = NULL;
	int at = 0, row = 0, rails = 1;
	char text[96];

	for (int r = 0; r < run->n_ranks; r++) {
		rails = run->ranks[r].nic >= rails ? run->ranks[r].nic + 1 :
						     rails;
	}
	pic_text(l->p, TEXT_RIGHT, l->left - 8, y + STRIP_HIGH / 2.0F, INK,
		 "%s", strip_names[k]);
	pic_line(l->p, l->left, y + STRIP_HIGH, l->size, 0);
	pic_line(l->p, l->left, y, 0, STRIP_HIGH);
	for (int r = 0; r < run->n_ranks; r++) {
		const size_t place = strip_at(run, k, r);
		const struct part_count *p = &l->bad[place];
		const double share = bad_share(p);
		float x, wide, high = (float)share * STRIP_HIGH;

		while (row < l->v->n - 1 && l->v->first[row + 1] <= r) {
			row++;
		}
		if (k == STRIP_RAIL ? r > 0 && run->ranks[r].node !=
					     run->ranks[0].node :
		    place % (size_t)run->n_ranks != (size_t)r) {
			continue;
		}
		if (!worst || share > bad_share(worst)) {
			worst = p;
			at = r;
		}
		if (high < 0.5F) {
			continue;
		}
		wide = k == STRIP_RAIL ? l->size / (float)rails - 2 :
		       k == STRIP_NODE && view_is_rank(l->v, row) ?
			       l->at[view_node_end(l->v, row)] - l->at[row] :
			       l->wide[row];
		x = k == STRIP_RAIL ? (float)run->ranks[r].nic * l->size /
					      (float)rails : l->at[row];
		pic_shape(l->p, (struct picture_shape){
			.x = l->left + x, .y = y + STRIP_HIGH - fmaxf(1, high),
			.width = fmaxf(BAD_ROW_MIN, wide),
			.height = fmaxf(1, high),
			.rgb = p->failed >= p->slow ? ALARM : WARNING });
	}
	if (!worst || bad_share(worst) <= 0) {
		return;
	}
	strip_name(run, k, at, text, sizeof(text));
	pic_text(l->p, TEXT_LEFT, l->left + l->size + 12,
		 y + STRIP_HIGH / 2.0F, INK, "%s: %s of %s bad", text,
		 UNITS_COUNT(worst->failed + worst->slow),
		 UNITS_COUNT(worst->all));
}

void strips_add(const struct pic_layout *l, float y)
{
	if (!l->bad) {
		return;
	}
	pic_text(l->p, TEXT_LEFT, l->left, y + 8, INK_SOFT,
		 "share of bad tests of each part, 0 to 100 %%; rails by number, "
		 "others over their columns; right: the worst");
	for (int k = 0; k < STRIPS; k++) {
		add_strip(l, (enum strip)k,
			  y + 24 + (float)k * (STRIP_HIGH + STRIP_GAP));
	}
}
