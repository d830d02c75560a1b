/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/suspect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/grow.h"

/** That anything is broken is no news in one case of a hundred, of any kind. */
#define DOUBT_BITS 7
#define KIND_BITS  4		/* log2(PART_KINDS) */
/** Few of those work now and then: one in a hundred. */
#define PARTLY_BITS 7

/** Kinds that are bad in most of their cells or not at all, unless it is chance
 *  which are; and what a hash puts on one link of many: few, and never most. */
static const struct {
	unsigned least, most;	/* percent; 0: as is asked, any */
} shares[PART_KINDS] = {
	[PART_FABRIC_PATH] = { .least = 2, .most = 70 },
	[PART_LEAF_PAIR] = { .least = 70 },
	[PART_SOCKET] = { .least = 50 },
	[PART_CABLE_SWAP] = { .least = 80 },
};

/** What is known of one part: its cells by path class. */
struct tally {
	uint32_t marked[PATH_CLASSES], bad[PATH_CLASSES];
};

static int list_bad(struct suspects *s)
{
	for (size_t at = 0; at < run_n_cells(s->run); at++) {
		struct suspect_cell cell = { .at = (uint32_t)at };

		if (s->marks[at] != MARK_BAD) {
			continue;
		}
		cell.both_ways = s->marks[run_back(s->run, at)] == MARK_BAD;
		if (!grow_add(&s->bad, &s->n_bad, &cell, sizeof(cell))) {
			return -1;
		}
	}
	return 0;
}

static void add_tally(struct tally *t, unsigned path, uint32_t marked,
		      uint32_t bad)
{
	t->marked[path] += marked;
	t->bad[path] += bad;
}

/** Count the cells of rank @src for the parts of each by itself, and for the
 *  node at the other end in @to. */
static void tally_row(const struct suspects *s, int src, struct tally *tallies,
		      struct tally *to)
{
	const struct run *run = s->run;
	size_t ids[PART_INDEX_RANKS_MAX], end = run_first(run, src + 1);

	for (size_t at = run_first(run, src); at < end; at++) {
		uint32_t bad = s->marks[at] == MARK_BAD;
		int dst = run_dst(run, at);
		unsigned path = run->cells[at].path;
		int k;

		if (s->marks[at] == MARK_IGNORE) {
			continue;
		}
		add_tally(&to[run->ranks[dst].node], path, 1, bad);
		k = part_index_ranks(&s->index, src, dst, ids);
		for (int i = 0; i < k; i++) {
			add_tally(&tallies[ids[i]], path, 1, bad);
		}
	}
}

/** Count what node @from has with each other for the parts of both. */
static void tally_nodes(const struct suspects *s, int from,
			const struct tally *to, struct tally *tallies,
			struct tally *all)
{
	size_t ids[PART_INDEX_NODES_MAX];

	for (int node = 0; node < s->run->n_nodes; node++) {
		for (unsigned path = 0; path < PATH_CLASSES; path++) {
			uint32_t n = to[node].marked[path];
			uint32_t bad = to[node].bad[path];
			int k = n == 0 ? 0 :
				part_index_nodes(&s->index, from, node,
						 (enum path_class)path, ids);

			add_tally(all, path, n, bad);
			for (int i = 0; i < k; i++) {
				add_tally(&tallies[ids[i]], path, n, bad);
			}
		}
	}
}

/** Count the cells of every part, and of the whole in @all; @to: room for one
 *  a node. */
static void tally_cells(const struct suspects *s, struct tally *tallies,
			struct tally *to, struct tally *all)
{
	const struct run *run = s->run;

	for (int node = 0; node < run->n_nodes; node++) {
		const struct run_node *n = &run->nodes[node];

		memset(to, 0, (size_t)run->n_nodes * sizeof(*to));
		for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
			tally_row(s, r, tallies, to);
		}
		tally_nodes(s, node, to, tallies, all);
	}
}

/** How many parts there are to choose from, each of @p's kind. */
static double choices(const struct suspects *s, const struct part *p)
{
	const size_t *first = &s->index.at[p->kind];
	double numbers = (double)(first[1] - first[0]);
	double ranks = s->run->n_ranks;

	switch (p->kind) {
	case PART_PAIR:		/* these have no numbers */
		return ranks * (ranks - 1) / 2;
	case PART_INTRA_NODE:	/* all nodes together have the first */
		return p->node < 0 ? 1 : numbers - 1;
	case PART_NODE:
	case PART_NODE_NETWORK:
	case PART_NODE_PAIR:
	case PART_NIC:
	case PART_GPU:
	case PART_GPU_NVLINK:
		return numbers / 3;	/* both ways, and each of them */
	default:
		return numbers;
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

/** Is enough of @x bad, and not too much? */
static bool take_share(struct suspect *x, const struct suspect_need *need)
{
	unsigned least = shares[x->part.kind].least;
	unsigned most = shares[x->part.kind].most;

	if (need->by_chance && most > 0) {
		return false;
	}
	x->percent = least > 0 && !need->by_chance ? least : need->percent;
	return x->share * 100 >= x->percent &&
	       (most == 0 || x->share * 100 < most);
}

static int add_suspects(struct suspects *s, const struct tally *tallies,
			const struct tally *all,
			const struct suspect_need *need)
{
	for (size_t id = 0; id < s->index.n; id++) {
		struct suspect x = weigh(&tallies[id], all, need->relative);

		if (x.bad * 100ULL <= x.bad + x.good) {	/* most are not bad */
			continue;
		}
		x.id = id;
		x.share = (double)x.bad / (double)(x.bad + x.good);
		x.part = part_index_part(&s->index, id);
		if (!take_share(&x, need)) {
			continue;
		}
		if (s->run->mesh && x.part.kind == PART_GPU) {
			continue;	/* an address; its interface will do */
		}
		x.lone = s->run->grid.first && x.bad + x.good <= 2 &&
			 x.part.kind == PART_NODE_PAIR;
		x.name_bits = name_bits(s, &x.part);
		if (!grow_add(&s->list, &s->n, &x, sizeof(x))) {
			return -1;
		}
	}
	if (s->n > 0) {
		qsort(s->list, s->n, sizeof(*s->list), suspect_compare);
	}
	return 0;
}

/** Who touches which bad cell: asked many times, so looked up once.  @of_part:
 *  room for a number of each part. */
static int list_touching(struct suspects *s, uint32_t *of_part)
{
	size_t ids[PART_INDEX_CELL_MAX];

	for (size_t id = 0; id < s->index.n; id++) {
		of_part[id] = SUSPECT_NONE;
	}
	for (size_t i = 0; i < s->n; i++) {
		of_part[s->list[i].id] = (uint32_t)i;
	}
	for (size_t i = 0; i < s->n_bad; i++) {
		uint32_t at = s->bad[i].at;
		int k = part_index_cell(&s->index, run_src(s->run, at),
					run_dst(s->run, at), ids);

		s->bad[i].first = (uint32_t)s->n_touching;
		for (int j = 0; j < k; j++) {
			const uint32_t *x = &of_part[ids[j]];

			if (*x != SUSPECT_NONE &&
			    !grow_add(&s->touching, &s->n_touching, x,
				      sizeof(*x))) {
				return -1;
			}
		}
		s->bad[i].n = (uint8_t)(s->n_touching - s->bad[i].first);
	}
	return 0;
}

int suspects_find(const struct run *run, const uint8_t *marks,
		  const struct suspect_need *need, struct suspects *s)
{
	static const struct part pair = { .kind = PART_PAIR };
	struct tally *tallies, *to, all = { 0 };
	uint32_t *of_part;
	int rc = -1;

	*s = (struct suspects){ .run = run, .marks = marks };
	s->pair_bits = name_bits(s, &pair);
	if (list_bad(s) < 0) {
		return -1;
	}
	if (s->n_bad == 0) {
		return 0;
	}
	if (part_index_init(&s->index, run) < 0) {
		return -1;
	}
	tallies = calloc(s->index.n + (size_t)run->n_nodes, sizeof(*tallies));
	to = tallies + s->index.n;
	of_part = calloc(s->index.n, sizeof(*of_part));
	if (tallies && of_part) {
		tally_cells(s, tallies, to, &all);
		rc = add_suspects(s, tallies, &all, need) < 0 ?
			     -1 : list_touching(s, of_part);
	}
	free(tallies);
	free(of_part);
	return rc;
}

void suspects_release(struct suspects *s)
{
	part_index_release(&s->index);
	free(s->list);
	free(s->bad);
	free(s->touching);
	*s = (struct suspects){ 0 };
}
