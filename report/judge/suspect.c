/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/suspect.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/grow.h"

/** That anything is broken is no news in one case of a hundred, of any kind. */
#define DOUBT_BITS 7
#define KIND_BITS  3.3		/* log2(PART_KINDS) */
/** Few of those work now and then: one in a hundred. */
#define PARTLY_BITS 7

/** What is known of one part: its cells by path class. */
struct tally {
	uint32_t marked[PATH_CLASSES], bad[PATH_CLASSES];
};

static int list_bad(struct suspects *s)
{
	size_t n = (size_t)s->run->n_ranks * (size_t)s->run->n_ranks;

	for (size_t at = 0; at < n; at++) {
		s->n_bad += s->marks[at] == MARK_BAD;
	}
	if (s->n_bad == 0) {
		return 0;
	}
	s->bad = calloc(s->n_bad, sizeof(*s->bad));
	if (!s->bad) {
		return -1;
	}
	for (size_t at = 0, i = 0; at < n; at++) {
		if (s->marks[at] == MARK_BAD) {
			s->bad[i++] = (uint32_t)at;
		}
	}
	return 0;
}

/** Count the cells of every part, and of the whole in @all. */
static void tally_cells(const struct suspects *s, struct tally *tallies,
			struct tally *all)
{
	size_t n = (size_t)s->run->n_ranks * (size_t)s->run->n_ranks;
	size_t ids[PART_INDEX_CELL_MAX];

	for (size_t at = 0; at < n; at++) {
		bool bad = s->marks[at] == MARK_BAD;
		unsigned path = s->run->cells[at].path;
		int k;

		if (s->marks[at] == MARK_IGNORE) {
			continue;
		}
		all->marked[path]++;
		all->bad[path] += bad;
		k = part_index_cell(&s->index, suspects_src(s, (uint32_t)at),
				    suspects_dst(s, (uint32_t)at), ids);
		for (int i = 0; i < k; i++) {
			tallies[ids[i]].marked[path]++;
			tallies[ids[i]].bad[path] += bad;
		}
	}
}

/** How many parts there are to choose from, each of @p's kind. */
static double choices(const struct suspects *s, const struct part *p)
{
	double nodes = s->run->n_nodes, ranks = s->run->n_ranks;

	switch (p->kind) {
	case PART_NODE:
		return nodes;
	case PART_INTRA_NODE:
		return p->node < 0 ? 1 : nodes;
	case PART_NODE_PAIR:
		return nodes * (nodes - 1) / 2;
	case PART_RAIL:
		return s->index.rails;
	case PART_SWITCH:
		return 2.0 * s->run->n_leaves;	/* all of it, its uplinks */
	case PART_NIC:
		return (double)s->index.first_nic[s->run->n_nodes];
	case PART_GPU:
		return ranks;
	case PART_PAIR:
		return ranks * (ranks - 1) / 2;
	default:
		return 1;
	}
}

/** The direction takes a bit (one way or both), and another to say which. */
static double name_bits(const struct suspects *s, const struct part *p)
{
	return DOUBT_BITS + KIND_BITS + log2(fmax(choices(s, p), 1)) +
	       (p->direction == PART_BOTH ? 1 : 2);
}

double suspect_share_bits(size_t bad, size_t good)
{
	double n = (double)(bad + good), share = (double)bad / n;

	if (bad == 0 || good == 0) {
		return 0;
	}
	return PARTLY_BITS + log2(n) / 2 -
	       n * (share * log2(share) + (1 - share) * log2(1 - share));
}

static int suspect_compare(const void *a, const void *b)
{
	const struct suspect *x = a, *y = b;

	return part_compare(&x->part, &y->part);
}

/** The evidence about one part; bad == 0: none against it. */
static struct suspect weigh(const struct tally *t, const struct tally *all,
			    const bool relative[PATH_CLASSES])
{
	struct suspect x = { 0 };

	for (int c = 0; c < PATH_CLASSES; c++) {
		bool mute = relative[c] && t->bad[c] == 0 &&
			    t->marked[c] == all->marked[c];

		x.bad += t->bad[c];
		x.good += mute ? 0 : t->marked[c] - t->bad[c];
	}
	return x;
}

static int add_suspects(struct suspects *s, const struct tally *tallies,
			const struct tally *all, unsigned percent,
			const bool relative[PATH_CLASSES])
{
	for (size_t id = 0; id < s->index.n; id++) {
		struct suspect x = weigh(&tallies[id], all, relative), *list;

		s->of_part[id] = SUSPECT_NONE;
		if (x.bad == 0 ||
		    x.bad * 100ULL < (x.bad + x.good) * (uint64_t)percent) {
			continue;
		}
		x.id = id;
		x.share = (double)x.bad / (double)(x.bad + x.good);
		x.part = part_index_part(&s->index, id);
		if (s->run->mesh && x.part.kind == PART_GPU) {
			continue;	/* an address; its interface will do */
		}
		x.name_bits = name_bits(s, &x.part);
		list = grow(s->list, s->n, sizeof(*list));
		if (!list) {
			return -1;
		}
		s->list = list;
		list[s->n++] = x;
	}
	if (s->n > 0) {
		qsort(s->list, s->n, sizeof(*s->list), suspect_compare);
	}
	for (size_t i = 0; i < s->n; i++) {
		s->of_part[s->list[i].id] = (uint32_t)i;
	}
	return 0;
}

/** The suspects that touch bad cell number @i, to @out; returns how many. */
static size_t touching(const struct suspects *s, size_t i, uint32_t *out)
{
	size_t ids[PART_INDEX_CELL_MAX], n = 0;
	int k = part_index_cell(&s->index, suspects_src(s, s->bad[i]),
				suspects_dst(s, s->bad[i]), ids);

	for (int j = 0; j < k; j++) {
		uint32_t x = s->of_part[ids[j]];

		if (x != SUSPECT_NONE) {
			out[n++] = x;
		}
	}
	return n;
}

/** Who touches which bad cell: asked many times, so looked up once. */
static int list_touching(struct suspects *s)
{
	uint32_t out[PART_INDEX_CELL_MAX];

	s->both_ways = calloc(s->n_bad + 1, sizeof(*s->both_ways));
	s->first_of = calloc(s->n_bad + 1, sizeof(*s->first_of));
	if (!s->both_ways || !s->first_of) {
		return -1;
	}
	for (size_t i = 0; i < s->n_bad; i++) {
		s->first_of[i + 1] = s->first_of[i] + touching(s, i, out);
		s->both_ways[i] = s->marks[suspects_way_back(s, s->bad[i])] ==
				  MARK_BAD;
	}
	s->of_bad = calloc(s->first_of[s->n_bad] + 1, sizeof(*s->of_bad));
	if (!s->of_bad) {
		return -1;
	}
	for (size_t i = 0; i < s->n_bad; i++) {
		touching(s, i, &s->of_bad[s->first_of[i]]);
	}
	return 0;
}

int suspects_find(const struct run *run, const uint8_t *marks,
		  unsigned percent, const bool relative[PATH_CLASSES],
		  struct suspects *s)
{
	static const struct part pair = { .kind = PART_PAIR };
	struct tally *tallies = NULL, all = { 0 };
	int rc = -1;

	*s = (struct suspects){ .run = run, .marks = marks };
	s->pair_bits = name_bits(s, &pair);
	if (list_bad(s) < 0 || s->n_bad == 0) {
		return s->n_bad ? -1 : 0;
	}
	if (part_index_init(&s->index, run) < 0) {
		return -1;
	}
	tallies = calloc(s->index.n, sizeof(*tallies));
	s->of_part = calloc(s->index.n, sizeof(*s->of_part));
	if (tallies && s->of_part) {
		tally_cells(s, tallies, &all);
		rc = add_suspects(s, tallies, &all, percent, relative);
		rc = rc < 0 ? rc : list_touching(s);
	}
	free(tallies);
	return rc;
}

void suspects_release(struct suspects *s)
{
	part_index_release(&s->index);
	free(s->of_part);
	free(s->list);
	free(s->bad);
	free(s->both_ways);
	free(s->first_of);
	free(s->of_bad);
	*s = (struct suspects){ 0 };
}

size_t suspects_find_bad(const struct suspects *s, uint32_t at)
{
	size_t low = 0, high = s->n_bad;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (s->bad[middle] <= at) {
			low = middle;
		} else {
			high = middle;
		}
	}
	return low;
}
