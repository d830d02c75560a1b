/* SPDX-License-Identifier: BSD-3-Clause */
/* Find the set of parts that explains the bad cells in the fewest bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/grow.h"
#include "report/judge/findings.h"

/* ---- suspect ------------------------------------------------------------- */

/** Cost of saying that something is broken at all: one case in a hundred. */
#define DOUBT_BITS 7
#define KIND_BITS  4		/* log2(PART_KINDS) */
/** Few faulty parts work sometimes: one in a hundred. */
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

/** Marked and bad cells of one part, by path class. */
struct blame_tally {
	uint32_t marked[PATH_CLASSES], bad[PATH_CLASSES];
};

static int list_bad(struct suspects *s)
{
	run_foreach_cell(s->run, at) {
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

static void add_tally(struct blame_tally *t, unsigned path, uint32_t marked,
		      uint32_t bad)
{
	t->marked[path] += marked;
	t->bad[path] += bad;
}

/** Count the cells of rank @src for the parts of each by itself, and for the
 *  node at the other end in @to. */
static void tally_row(const struct suspects *s, int src,
		      struct blame_tally *tallies, struct blame_tally *to)
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
			const struct blame_tally *to,
			struct blame_tally *tallies, struct blame_tally *all)
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

/* Bits to say which of @bad + @good cells are the bad ones. */
static double suspect_share_bits(size_t bad, size_t good)
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

/** Returns the evidence about one part; bad == 0 means none against it. */
static struct suspect weigh(const struct blame_tally *t,
			    const struct blame_tally *all,
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

/** Returns true if the share of bad cells of @x is between the limits of its
 *  kind. */
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

static int add_suspects(struct suspects *s, const struct blame_tally *tallies,
			const struct blame_tally *all,
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

/** Lists the suspects that touch each bad cell, since they are needed many
 *  times.  @of_part has room for a number of each part.  Returns 0, or -1 when
 *  memory runs out. */
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

/* All parts of which at least @need->percent of the cells are bad.  Cells of a
 * path class that are good throughout and all touch the part do not acquit it
 * when the class is relative.  0, or -1 when memory runs out;
 * suspects_release() frees in both cases. */
static int suspects_find(const struct run *run, const uint8_t *marks,
			 const struct suspect_need *need, struct suspects *s)
{
	static const struct part pair = { .kind = PART_PAIR };
	struct blame_tally *tallies, *to, all = { 0 };
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
		for (int node = 0; node < run->n_nodes; node++) {
			const struct cluster_node *n = &run->nodes[node];
			int end = n->first_rank + n->gpus;

			memset(to, 0, (size_t)run->n_nodes * sizeof(*to));
			for (int r = n->first_rank; r < end; r++) {
				tally_row(s, r, tallies, to);
			}
			tally_nodes(s, node, to, tallies, &all);
		}
		rc = add_suspects(s, tallies, &all, need) < 0 ?
			     -1 : list_touching(s, of_part);
	}
	free(tallies);
	free(of_part);
	return rc;
}

/* ---- blame --------------------------------------------------------------- */

/** Percentages of the cells of a part that must be bad before it is picked, one
 *  per round.  In all rounds but the last, the part must also have more bad
 *  cells than a lone pair. */
static const unsigned strict_first[] = { 95, 60, 0 };
static const unsigned as_they_come[] = { 0 };
static const unsigned dead_first[] = { 95, 30, 0 };

static const struct search {
	const unsigned *floors;
	size_t n;
} searches[] = {
	{ .floors = strict_first,
	  .n = sizeof(strict_first) / sizeof(*strict_first) },
	{ .floors = as_they_come, .n = 1 },
	{ .floors = dead_first,
	  .n = sizeof(dead_first) / sizeof(*dead_first) },
};

#define SEARCHES   (sizeof(searches) / sizeof(*searches))
/** Sums of bits that should be equal are off by less. */
#define ROUNDING_BITS 1e-6
/** Rounds of picking and dropping; they settle in two or three. */
#define MAX_ROUNDS 8
/** More parts than these are but a list of what chance has done. */
#define MOST_PICKED 256

/** Returns the cost in bits of blaming suspect @i for its own cells. */
static double blame_bits(const struct blame *b, size_t i)
{
	return b->s.list[i].name_bits +
	       suspect_share_bits(b->of[i].left, b->s.list[i].good);
}

/** Returns the bits that the message gets shorter by picking suspect @i, or has
 *  got shorter if it is picked. */
static double saved_bits(const struct blame *b, size_t i)
{
	return b->of[i].left_bits - blame_bits(b, i);
}

/** One more cell that is bad among those of a part that is so by share: the
 *  derivative of suspect_share_bits(). */
static double more_bits(size_t bad, size_t good)
{
	return bad ? log2((double)(bad + good) / (double)bad) : 0;
}

static double owned_bits(const struct blame *b, const struct suspect_cell *c,
			 uint32_t owner)
{
	return owner == SUSPECT_NONE ? suspects_cell_bits(&b->s, c) :
				       b->of[owner].cell_bits;
}

/** Returns true if @x would take a cell from @owner. */
static bool takes(const struct blame *b, uint32_t x, uint32_t owner)
{
	return owner == SUSPECT_NONE || b->of[x].share > b->of[owner].share;
}

/** Counts bad cell @c, which has an owner, for the suspects that would take
 *  it. */
static void offer(struct blame *b, const struct suspect_cell *c)
{
	double bits = owned_bits(b, c, c->owner);

	if (c->owner != SUSPECT_NONE && b->of[c->owner].share >= 1) {
		return;		/* no suspect can take it */
	}
	for (size_t k = 0; k < c->n; k++) {
		uint32_t i = b->s.touching[c->first + k];
		struct blame_of *x = &b->of[i];

		if (!x->picked && takes(b, i, c->owner)) {
			x->left++;
			x->left_bits += bits;
		}
	}
}

/** It goes to @x, which is more bad than its owner, and so are all that would
 *  still take it. */
static void hand_over(struct blame *b, struct suspect_cell *c, uint32_t x)
{
	double was = owned_bits(b, c, c->owner), is = owned_bits(b, c, x);

	for (size_t k = 0; k < c->n; k++) {
		uint32_t i = b->s.touching[c->first + k];
		struct blame_of *of = &b->of[i];

		if (of->picked) {
			continue;
		}
		if (takes(b, i, x)) {
			of->left_bits += is - was;
		} else if (takes(b, i, c->owner)) {
			of->left--;
			of->left_bits -= was;
		}
	}
	c->owner = x;
}

/** Take @x, and the cells that are its own from now on. */
static void pick(struct blame *b, uint32_t x)
{
	const struct suspect *s = &b->s.list[x];
	struct blame_of *of = &b->of[x];

	of->picked = true;
	of->cell_bits = more_bits(of->left, s->good);
	for (size_t i = 0; i < b->s.n_bad; i++) {
		struct suspect_cell *c = &b->s.bad[i];

		if (takes(b, x, c->owner) &&
		    part_touches_at(b->s.run, &s->part, c->at)) {
			hand_over(b, c, x);
		}
	}
}

/** Returns true if enough of the cells that no other part owns are bad. */
static bool reaches(const struct blame *b, size_t i, unsigned floor)
{
	size_t left = b->of[i].left;
	unsigned least = b->s.list[i].percent;
	unsigned percent = floor > least ? floor : least;

	return left > 0 &&
	       left * 100ULL >= (left + b->s.list[i].good) * (uint64_t)percent;
}

static bool pick_greedily(struct blame *b, unsigned floor)
{
	size_t before = 0, n;

	for (size_t i = 0; i < b->s.n; i++) {
		before += b->of[i].picked;
	}
	for (n = before; n < MOST_PICKED; n++) {
		uint32_t best = SUSPECT_NONE;
		double most = 0;

		for (uint32_t i = 0; i < b->s.n; i++) {
			if (!b->of[i].picked && !b->s.list[i].lone &&
			    reaches(b, i, floor) &&
			    (floor == 0 || b->of[i].left > 2) &&
			    saved_bits(b, i) > most + ROUNDING_BITS) {
				best = i;
				most = saved_bits(b, i);
			}
		}
		if (best == SUSPECT_NONE) {
			break;
		}
		pick(b, best);
	}
	return n > before;
}

/** The two picked ones with the largest shares that touch @c. */
static void find_owners(const struct blame *b, struct suspect_cell *c)
{
	c->owner = c->second = SUSPECT_NONE;
	for (size_t k = 0; k < c->n; k++) {
		uint32_t x = b->s.touching[c->first + k];

		if (!b->of[x].picked) {
			continue;
		}
		if (takes(b, x, c->owner)) {
			c->second = c->owner;
			c->owner = x;
		} else if (takes(b, x, c->second)) {
			c->second = x;
		}
	}
}

/** Counts everything again from the picked suspects. */
static void recount(struct blame *b)
{
	for (size_t i = 0; i < b->s.n; i++) {
		b->of[i].left = 0;
		b->of[i].left_bits = 0;
	}
	for (size_t i = 0; i < b->s.n_bad; i++) {
		struct suspect_cell *c = &b->s.bad[i];

		find_owners(b, c);
		if (c->owner != SUSPECT_NONE) {
			b->of[c->owner].left++;
		}
	}
	for (size_t i = 0; i < b->s.n; i++) {
		b->of[i].cell_bits = more_bits(b->of[i].left,
					       b->s.list[i].good);
	}
	b->n_rest = 0;
	b->rest_bits = 0;
	for (size_t i = 0; i < b->s.n_bad; i++) {
		const struct suspect_cell *c = &b->s.bad[i];

		if (c->owner == SUSPECT_NONE) {
			b->rest[b->n_rest++] = c->at;
			b->rest_bits += suspects_cell_bits(&b->s, c);
		} else {
			b->of[c->owner].left_bits +=
				owned_bits(b, c, c->second);
		}
		offer(b, c);
	}
}

/** @x goes, and those that get or lose cells by that stay for now. */
static void drop(struct blame *b, uint32_t x)
{
	b->of[x].picked = false;
	for (size_t i = 0; i < b->s.n_bad; i++) {
		const struct suspect_cell *c = &b->s.bad[i];

		if (c->owner == x && c->second != SUSPECT_NONE) {
			b->of[c->second].held = true;
		} else if (c->second == x) {
			b->of[c->owner].held = true;
		}
	}
}

/** Drop the needless ones that have nothing to do with each other. */
static bool drop_some(struct blame *b)
{
	bool any = false;

	for (uint32_t i = 0; i < b->s.n; i++) {
		b->of[i].held = false;
	}
	for (;;) {
		uint32_t worst = SUSPECT_NONE;
		double least = -ROUNDING_BITS;

		for (uint32_t i = 0; i < b->s.n; i++) {
			double saved = !b->of[i].picked || b->of[i].held ? 0 :
				       reaches(b, i, 0) ?
							saved_bits(b, i) :
							-INFINITY;

			if (saved < least) {
				worst = i;
				least = saved;
			}
		}
		if (worst == SUSPECT_NONE) {
			return any;
		}
		drop(b, worst);
		any = true;
	}
}

/** Two dead nodes of three explain all that "the network" was picked for. */
static bool drop_needless(struct blame *b)
{
	bool any = false;

	for (;;) {
		recount(b);
		if (!drop_some(b)) {
			return any;
		}
		any = true;
	}
}

/** The length of the whole message; recount() was last. */
static double message_bits(const struct blame *b)
{
	double bits = b->rest_bits;

	for (size_t i = 0; i < b->s.n; i++) {
		bits += b->of[i].picked ? blame_bits(b, i) : 0;
	}
	return bits;
}

/** Returns true if the message is as short as possible: a single name. */
static bool is_shortest(const struct blame *b, double bits)
{
	double least = INFINITY;

	for (size_t i = 0; i < b->s.n; i++) {
		least = fmin(least, b->s.list[i].name_bits);
	}
	return bits <= least;
}

static double search(struct blame *b, const struct search *how)
{
	memcpy(b->of, b->fresh, b->s.n * sizeof(*b->of));
	for (size_t i = 0; i < b->s.n_bad; i++) {
		b->s.bad[i].owner = SUSPECT_NONE;
	}
	for (size_t i = 0; i < how->n; i++) {
		pick_greedily(b, how->floors[i]);
	}
	for (int i = 0; drop_needless(b) && i < MAX_ROUNDS &&
			pick_greedily(b, 0); i++) {
	}
	return message_bits(b);
}

int blame_find(const struct run *run, const uint8_t *marks,
	       const struct suspect_need *need, struct blame *b)
{
	double bits, least = INFINITY;
	bool *best;

	*b = (struct blame){ 0 };
	if (suspects_find(run, marks, need, &b->s) < 0) {
		return -1;
	}
	b->of = calloc(b->s.n + 1, sizeof(*b->of));
	b->fresh = calloc(b->s.n + 1, sizeof(*b->fresh));
	b->rest = calloc(b->s.n_bad + 1, sizeof(*b->rest));
	best = calloc(b->s.n + 1, sizeof(*best));
	if (!b->of || !b->fresh || !b->rest || !best) {
		free(best);
		return -1;
	}
	/* No cell has an owner yet. */
	for (size_t i = 0; i < b->s.n; i++) {
		b->of[i].share = b->s.list[i].share;
	}
	for (size_t i = 0; i < b->s.n_bad; i++) {
		b->s.bad[i].owner = SUSPECT_NONE;
		offer(b, &b->s.bad[i]);
	}
	memcpy(b->fresh, b->of, b->s.n * sizeof(*b->of));
	for (size_t i = 0; i < SEARCHES && b->s.n_bad > 0 &&
			   (i == 0 || !is_shortest(b, least)); i++) {
		bits = search(b, &searches[i]);
		if (bits < least) {
			least = bits;
			for (size_t k = 0; k < b->s.n; k++) {
				best[k] = b->of[k].picked;
			}
		} else if (i == SEARCHES - 1 && bits > least) {
			/* A search before found a shorter message. */
			for (size_t k = 0; k < b->s.n; k++) {
				b->of[k].picked = best[k];
			}
			recount(b);
		}
	}
	free(best);
	return 0;
}

void blame_release(struct blame *b)
{
	part_index_release(&b->s.index);
	free(b->s.list);
	free(b->s.bad);
	free(b->s.touching);
	free(b->of);
	free(b->fresh);
	free(b->rest);
	*b = (struct blame){ 0 };
}

size_t blame_cover(struct blame *b, size_t s)
{
	size_t need = 0;

	for (size_t i = 0; i < b->s.n; i++) {
		b->of[i].covers = 0;
	}
	for (size_t i = 0; i < b->s.n_bad; i++) {
		const struct suspect_cell *c = &b->s.bad[i];

		if (c->owner != s || c->second != SUSPECT_NONE) {
			continue;
		}
		need++;
		for (size_t k = 0; k < c->n; k++) {
			b->of[b->s.touching[c->first + k]].covers++;
		}
	}
	return need;
}

double blame_excess(const struct blame *b, size_t s, size_t x)
{
	return b->s.list[x].name_bits - b->s.list[s].name_bits +
	       suspect_share_bits(b->of[s].left, b->s.list[x].good) -
	       suspect_share_bits(b->of[s].left, b->s.list[s].good);
}

double blame_score(const struct blame *b, size_t s)
{
	return b->of[s].left_bits > 0 ?
		       fmax(0, saved_bits(b, s) / b->of[s].left_bits) :
		       0;
}
