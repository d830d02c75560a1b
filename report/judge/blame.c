/* SPDX-License-Identifier: BSD-3-Clause */
/* Find the set of parts that explains the bad cells in the fewest bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "report/judge/findings.h"

/* ---- suspect ------------------------------------------------------------- */

/** Cost of saying that something is broken at all: one case in a hundred. */
#define DOUBT_BITS 7
#define KIND_BITS  4		/* log2(PART_KINDS) */
/** Few faulty parts work sometimes: one in a hundred. */
#define PARTLY_BITS 7
/** So many cells cost more bits than any name. */
#define FAR_FEWER 16

/** Kinds that are bad in most of their cells or not at all, unless it is chance
 *  which are; and what a hash puts on one link of many: few, and never most. */
static const struct {
	unsigned least, most;	/* percent; 0: as is asked, any */
} shares[PART_KINDS] = {
	[PART_FABRIC_PATH] = { .least = 2, .most = 70 },
	[PART_LEAF_PAIR] = { .least = 70 },
	[PART_CABLE_SWAP] = { .least = 80 },
};

static void add_tally(struct tally *t, uint32_t tests, uint32_t bad)
{
	t->tests += tests;
	t->bad += bad;
}

/** Count the cells of rank @src by path class, for the parts of each by itself,
 *  and for the node at the other end in @to. */
static void tally_row(const struct blame *b, int src,
		      struct tally tallies[][PATH_CLASSES],
		      struct tally to[][PATH_CLASSES])
{
	const struct run *run = b->run;
	size_t ids[PART_INDEX_RANKS_MAX], end = run_first(run, src + 1);

	for (size_t at = run_first(run, src); at < end; at++) {
		uint32_t bad = b->marks[at] == MARK_BAD;
		int dst = run_dst(run, at);
		unsigned path = run->cells[at].path;
		int k;

		if (b->marks[at] == MARK_IGNORE) {
			continue;
		}
		add_tally(&to[run->ranks[dst].node][path], 1, bad);
		k = part_index_ranks(&b->index, src, dst, ids);
		for (int i = 0; i < k; i++) {
			add_tally(&tallies[ids[i]][path], 1, bad);
		}
	}
}

/** Count what node @from has with each other for the parts of both. */
static void tally_nodes(const struct blame *b, int from,
			struct tally to[][PATH_CLASSES],
			struct tally tallies[][PATH_CLASSES],
			struct tally all[PATH_CLASSES])
{
	size_t ids[PART_INDEX_NODES_MAX];

	for (int node = 0; node < b->run->n_nodes; node++) {
		for (unsigned path = 0; path < PATH_CLASSES; path++) {
			const uint32_t n = to[node][path].tests;
			const uint32_t bad = to[node][path].bad;
			int k;

			if (n == 0) {	/* of a sample, nearly all */
				continue;
			}
			k = part_index_nodes(&b->index, from, node,
					     (enum path_class)path, ids);
			add_tally(&all[path], n, bad);
			for (int i = 0; i < k; i++) {
				add_tally(&tallies[ids[i]][path], n, bad);
			}
		}
	}
}

/** Returns the bits to say which part @p is: which of its kind, and the
 *  direction: one bit for both ways, else another to say which. */
static double name_bits(const struct blame *b, const struct part *p)
{
	const size_t *first = &b->index.at[p->kind];
	double choices = (double)(first[1] - first[0]);	/* of that kind */
	double ranks = b->run->n_ranks;

	switch (p->kind) {
	case PART_PAIR:		/* these have no numbers */
		choices = ranks * (ranks - 1) / 2;
		break;
	case PART_INTRA_NODE:	/* all nodes together have the first */
		choices = p->node < 0 ? 1 : choices - 1;
		break;
	case PART_NODE:
	case PART_NODE_NETWORK:
	case PART_NODE_PAIR:
	case PART_NIC:
	case PART_GPU:
	case PART_GPU_NVLINK:
		choices /= 3;	/* both ways, and each of them */
		break;
	default:
		break;
	}
	return DOUBT_BITS + KIND_BITS + log2(fmax(choices, 1)) +
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

/** Lists the parts of which a share of the cells is bad that is between the
 *  limits of their kind. */
static int add_suspects(struct blame *b, struct tally tallies[][PATH_CLASSES],
			const struct tally all[PATH_CLASSES],
			const struct suspect_need *need)
{
	bool matters = !need->matters;

	for (size_t id = 0; id < b->index.n; id++) {
		const struct tally *t = tallies[id];
		size_t bad = 0, good = 0;
		unsigned least, most;
		struct suspect x;

		for (int c = 0; c < PATH_CLASSES; c++) {
			bool mute = need->relative[c] && t[c].bad == 0 &&
				    t[c].tests == all[c].tests;

			bad += t[c].bad;
			good += mute ? 0 : t[c].tests - t[c].bad;
		}
		if (bad * 100ULL <= bad + good) {	/* most are not bad */
			continue;
		}
		x = (struct suspect){
			.part = part_index_part(&b->index, id), .id = id,
			.good = good, .bad = bad,
			.share = (double)bad / (double)(bad + good),
		};
		least = shares[x.part.kind].least;
		most = shares[x.part.kind].most;
		x.percent = least > 0 && !need->by_chance ? least :
							    need->percent;
		if ((need->by_chance && most > 0) ||
		    x.share * 100 < x.percent ||
		    (most > 0 && x.share * 100 >= most)) {
			continue;
		}
		/* without known leaf switches it is a path between nodes */
		if (x.part.kind == PART_INTER_NODE && b->index.all_paths &&
		    b->run->n_leaves == 0 && !need->by_chance &&
		    x.share * 100 < shares[PART_FABRIC_PATH].most) {
			continue;
		}
		if (b->run->mesh && x.part.kind == PART_GPU) {
			continue;	/* an address; its interface will do */
		}
		x.lone = b->run->grid.first && x.bad + x.good <= 2 &&
			 x.part.kind == PART_NODE_PAIR;
		x.name_bits = name_bits(b, &x.part);
		if (!grow_add(&b->list, &b->n, &x, sizeof(x))) {
			return -1;
		}
	}
	for (size_t i = 0; i < b->n && !matters; i++) {
		matters = need->matters(b->list[i].share,
					b->list[i].good + b->list[i].bad);
	}
	b->n = matters ? b->n : 0;
	if (b->n > 0) {
		qsort(b->list, b->n, sizeof(*b->list), part_compare);
	}
	return 0;
}

/** Leaves only the suspects that touch all bad cells if one of them has no good
 *  one: it explains all, and those with far fewer are not better. */
static void drop_lesser(struct blame *b)
{
	bool whole = false;
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++) {
		const struct suspect *x = &b->list[i];

		whole |= x->bad == b->n_bad && x->good == 0 && !x->lone;
		if (x->bad < b->n_bad && x->bad + FAR_FEWER > b->n_bad) {
			return;
		}
	}
	for (size_t i = 0; whole && i < b->n; i++) {
		if (b->list[i].bad == b->n_bad) {
			b->list[n++] = b->list[i];
		}
	}
	b->n = whole ? n : b->n;
}

/** Lists the suspects that touch each bad cell, since they are needed many
 *  times.  @of_part has room for a number of each part.  Returns 0, or -1 when
 *  memory runs out. */
static int list_touching(struct blame *b, uint32_t *of_part)
{
	size_t ids[PART_INDEX_CELL_MAX], n = 0, room = 0;

	for (size_t id = 0; id < b->index.n; id++) {
		of_part[id] = SUSPECT_NONE;
	}
	for (size_t i = 0; i < b->n; i++) {
		of_part[b->list[i].id] = (uint32_t)i;
	}
	for (size_t i = 0; i < b->n_bad && b->n > 0; i++) {
		uint32_t at = b->bad[i].at, *list = b->touching;
		int k = part_index_cell(&b->index, run_src(b->run, at),
					run_dst(b->run, at), ids);

		if (room - n < PART_INDEX_CELL_MAX) {
			room = 2 * room + PART_INDEX_CELL_MAX;
			list = realloc(list, room * sizeof(*list));
			if (!list) {
				return -1;
			}
			b->touching = list;
		}
		b->bad[i].first = (uint32_t)n;
		for (int j = 0; j < k; j++) {
			list[n] = of_part[ids[j]];
			n += list[n] != SUSPECT_NONE;
		}
		b->bad[i].n = (uint8_t)(n - b->bad[i].first);
	}
	return 0;
}

/** Fills in the lists of suspects and of bad cells.  Returns 0, or -1 when
 *  memory runs out. */
static int find_suspects(const struct suspect_need *need, struct blame *b)
{
	static const struct part pair = { .kind = PART_PAIR };
	const struct run *run = b->run;
	struct tally (*tallies)[PATH_CLASSES], (*to)[PATH_CLASSES];
	struct tally all[PATH_CLASSES] = { { 0 } };
	uint32_t *of_part;
	int rc = -1;

	b->pair_bits = name_bits(b, &pair);
	run_foreach_cell(run, at) {
		struct suspect_cell cell = { .at = (uint32_t)at };

		if (b->marks[at] != MARK_BAD) {
			continue;
		}
		cell.both_ways = b->marks[run_back(run, at)] == MARK_BAD;
		if (!grow_add(&b->bad, &b->n_bad, &cell, sizeof(cell))) {
			return -1;
		}
	}
	if (b->n_bad == 0) {
		return 0;
	}
	if (part_index_init(&b->index, run) < 0) {
		return -1;
	}
	tallies = calloc(b->index.n + (size_t)run->n_nodes, sizeof(*tallies));
	to = tallies + b->index.n;
	of_part = calloc(b->index.n, sizeof(*of_part));
	if (tallies && of_part) {
		for (int node = 0; node < run->n_nodes; node++) {
			const struct cluster_node *n = &run->nodes[node];
			int end = n->first_rank + n->gpus;

			memset(to, 0, (size_t)run->n_nodes * sizeof(*to));
			for (int r = n->first_rank; r < end; r++) {
				tally_row(b, r, tallies, to);
			}
			tally_nodes(b, node, to, tallies, all);
		}
		rc = add_suspects(b, tallies, all, need);
		drop_lesser(b);
		rc = rc < 0 ? -1 : list_touching(b, of_part);
	}
	free(tallies);
	free(of_part);
	return rc;
}

/* ---- blame --------------------------------------------------------------- */

/** Percentages of the cells of a part that must be bad before it is picked, one
 *  per round.  In all rounds but the last, the part must also have more bad
 *  cells than a lone pair. */
static const unsigned searches[][3] = {
	{ 95, 60, 0 },
	{ 0 },
	{ 95, 30, 0 },
};

#define SEARCHES   (sizeof(searches) / sizeof(*searches))
/** Sums of bits that should be equal are off by less. */
#define ROUNDING_BITS 1e-6
/** Rounds of picking and dropping; they settle in two or three. */
#define MAX_ROUNDS 8
/** Messages of fewer parts than these are not compared with those of one kind
 *  alone. */
#define LEAST_MIXED 3
/** ... unless as many of their bits, or more, say which cells are bad: then
 *  with parts of which nearly all cells are bad. */
#define LEAST_UNNAMED_BITS 64
#define SOLID_SHARE 0.95
/** More parts than these are but a list of what chance has done. */
#define MOST_PICKED 256

/** Returns the cost in bits of blaming suspect @i for its own cells. */
static double blame_bits(const struct blame *b, size_t i)
{
	return b->list[i].name_bits +
	       suspect_share_bits(b->of[i].left, b->list[i].good);
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

/** Returns the bits that cell @c costs as one of @owner's.  By itself it costs
 *  half of its pair, if the way back is bad too, else the pair and its
 *  direction. */
static double owned_bits(const struct blame *b, const struct suspect_cell *c,
			 uint32_t owner)
{
	return owner != SUSPECT_NONE ? b->list[owner].cell_bits :
	       c->both_ways	     ? b->pair_bits / 2 :
				       b->pair_bits + 1;
}

/** Returns true if @x would take a cell from @owner. */
static bool takes(const struct blame *b, uint32_t x, uint32_t owner)
{
	return owner == SUSPECT_NONE || b->of[x].share > b->of[owner].share;
}

/** Counts each bad cell for the suspects that are not picked and would take it
 *  from its owner, if it has one. */
static void offer_all(struct blame *b)
{
	for (size_t at = 0; at < b->n_bad; at++) {
		const struct suspect_cell *c = &b->bad[at];
		double bits = owned_bits(b, c, c->owner);

		if (c->owner != SUSPECT_NONE && b->of[c->owner].share >= 1) {
			continue;	/* no suspect can take it */
		}
		for (size_t k = 0; k < c->n; k++) {
			uint32_t i = b->touching[c->first + k];

			if (!b->picked[i] && takes(b, i, c->owner)) {
				b->of[i].left++;
				b->of[i].left_bits += bits;
			}
		}
	}
}

/** Returns the first bad cell at place @at or behind it, after @c. */
static struct suspect_cell *bad_from(const struct blame *b,
				     struct suspect_cell *c, size_t at)
{
	struct suspect_cell *end = b->bad + b->n_bad;

	while (c < end) {
		struct suspect_cell *half = c + (end - c) / 2;

		if (half->at < at) {
			c = half + 1;
		} else {
			end = half;
		}
	}
	return c;
}

/** Returns the first bad cell from @c on that suspect @x touches and would
 *  take, the end of them if there is none.  Few cells of a square are of one
 *  node: the others are passed over. */
static struct suspect_cell *next_bad(const struct blame *b, uint32_t x,
				     struct suspect_cell *c)
{
	const struct suspect_cell *end = b->bad + b->n_bad;
	const struct part *p = &b->list[x].part;
	const struct run *run = b->run;
	const bool all = p->node < 0 || run->grid.first;

	while (c < end) {
		if (!takes(b, x, c->owner)) {
			c++;
		} else if (part_touches_at(run, p, c->at)) {
			break;
		} else {
			c = all ? c + 1 :
			    bad_from(b, c + 1, part_next(run, p, c->at + 1));
		}
	}
	return c;
}

/** Picks @x, which takes the cells of owners that are less bad; suspects that
 *  would have taken them from these may still take them from @x, or not. */
static void pick(struct blame *b, uint32_t x)
{
	const struct suspect *s = &b->list[x];

	b->picked[x] = true;
	b->list[x].cell_bits = more_bits(b->of[x].left, s->good);
	for (struct suspect_cell *c = next_bad(b, x, b->bad);
	     c < b->bad + b->n_bad; c = next_bad(b, x, c + 1)) {
		double was = owned_bits(b, c, c->owner);
		double is = owned_bits(b, c, x);

		for (size_t k = 0; k < c->n; k++) {
			uint32_t other = b->touching[c->first + k];
			struct blame_of *of = &b->of[other];

			if (b->picked[other]) {
				continue;
			}
			if (takes(b, other, x)) {
				of->left_bits += is - was;
			} else if (takes(b, other, c->owner)) {
				of->left--;
				of->left_bits -= was;
			}
		}
		c->owner = x;
	}
}

/** Returns true if enough of the cells that no other part owns are bad. */
static bool reaches(const struct blame *b, size_t i, unsigned floor)
{
	size_t left = b->of[i].left;
	unsigned least = b->list[i].percent;
	unsigned percent = floor > least ? floor : least;

	return left > 0 &&
	       left * 100ULL >= (left + b->list[i].good) * (uint64_t)percent;
}

/** Picks suspects of @kind (PART_KINDS: any) as long as that saves bits. */
static bool pick_greedily(struct blame *b, unsigned floor, enum part_kind kind)
{
	size_t before = 0, n;

	for (size_t i = 0; i < b->n; i++) {
		before += b->picked[i];
	}
	for (n = before; n < MOST_PICKED; n++) {
		uint32_t best = SUSPECT_NONE;
		double most = 0;

		for (uint32_t i = 0; i < b->n; i++) {
			if (kind < PART_KINDS && b->list[i].part.kind != kind) {
				continue;
			}
			if (!b->picked[i] && !b->list[i].lone &&
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

/** Counts the cells of the picked suspects again, and those that none owns. */
static void recount(struct blame *b)
{
	for (size_t i = 0; i < b->n; i++) {
		b->of[i].left = 0;
		b->of[i].left_bits = 0;
	}
	for (size_t i = 0; i < b->n_bad; i++) {
		struct suspect_cell *c = &b->bad[i];

		/* the two picked ones with the largest shares that touch it */
		c->owner = c->second = SUSPECT_NONE;
		for (size_t k = 0; k < c->n; k++) {
			uint32_t x = b->touching[c->first + k];

			if (!b->picked[x]) {
				continue;
			}
			if (takes(b, x, c->owner)) {
				c->second = c->owner;
				c->owner = x;
			} else if (takes(b, x, c->second)) {
				c->second = x;
			}
		}
		if (c->owner != SUSPECT_NONE) {
			b->of[c->owner].left++;
		}
	}
	for (size_t i = 0; i < b->n; i++) {
		b->list[i].cell_bits = more_bits(b->of[i].left,
						 b->list[i].good);
	}
	b->n_rest = 0;
	b->rest_bits = 0;
	for (size_t i = 0; i < b->n_bad; i++) {
		const struct suspect_cell *c = &b->bad[i];

		if (c->owner == SUSPECT_NONE) {
			b->rest[b->n_rest++] = c->at;
			b->rest_bits += owned_bits(b, c, SUSPECT_NONE);
		} else {
			b->of[c->owner].left_bits +=
				owned_bits(b, c, c->second);
		}
	}
}

/** Drops needless suspects that have nothing to do with each other: those that
 *  get or lose cells by it stay until the next count. */
static bool drop_some(struct blame *b)
{
	bool any = false;

	for (uint32_t i = 0; i < b->n; i++) {
		b->of[i].held = false;
	}
	for (;;) {
		uint32_t worst = SUSPECT_NONE;
		double least = -ROUNDING_BITS;

		for (uint32_t i = 0; i < b->n; i++) {
			double saved = !b->picked[i] || b->of[i].held ? 0 :
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
		b->picked[worst] = false;
		for (size_t i = 0; i < b->n_bad; i++) {
			const struct suspect_cell *c = &b->bad[i];

			if (c->owner == worst && c->second != SUSPECT_NONE) {
				b->of[c->second].held = true;
			} else if (c->second == worst) {
				b->of[c->owner].held = true;
			}
		}
		any = true;
	}
}

/** Picks and drops suspects, by the percentages @floors, until they settle;
 *  first only those of @kind (PART_KINDS: any).  Returns the length of the
 *  message; INFINITY if an earlier search has found the same. */
static double search(struct blame *b, const unsigned floors[3],
		     enum part_kind kind)
{
	bool dropped = true, any = kind < PART_KINDS;
	double bits;

	memcpy(b->of, b->fresh, b->n * sizeof(*b->of));
	memset(b->picked, 0, b->n * sizeof(*b->picked));
	for (size_t i = 0; i < b->n_bad; i++) {
		b->bad[i].owner = SUSPECT_NONE;
	}
	while (*floors > 0) {
		any |= pick_greedily(b, *floors++, kind);
	}
	if (!any && b->plain) {
		return INFINITY;
	}
	b->plain |= !any;
	pick_greedily(b, 0, kind);
	if (kind < PART_KINDS) {
		recount(b);
		offer_all(b);
		pick_greedily(b, 0, PART_KINDS);
	}
	for (int i = 0; dropped; i++) {
		/* two dead nodes of three explain all that "the network" was
		 * picked for */
		dropped = false;
		for (recount(b); drop_some(b); recount(b)) {
			dropped = true;
		}
		dropped = dropped && i < MAX_ROUNDS;
		if (dropped) {
			offer_all(b);
			dropped = pick_greedily(b, 0, PART_KINDS);
		}
	}
	bits = b->rest_bits;
	for (size_t i = 0; i < b->n; i++) {
		bits += b->picked[i] ? blame_bits(b, i) : 0;
	}
	return bits;
}

/** Returns the bits that the message of the parts in @picked gets shorter if it
 *  says once for each kind that it is broken, and which kind that is. */
static double shared_bits(const struct blame *b, const bool *picked)
{
	size_t of[PART_KINDS] = { 0 };
	double bits = 0;

	for (size_t i = 0; i < b->n; i++) {
		bits += picked[i] && of[b->list[i].part.kind]++ > 0 ?
				DOUBT_BITS + KIND_BITS : 0;
	}
	return bits;
}

/** Searches for several parts of one kind alone, for each kind: a message of
 *  parts of several kinds may be longer (six rails are not two rails and three
 *  sockets).  @least: the length of the message @best, which is replaced by a
 *  shorter one; @other has room for one. */
static void search_kinds(struct blame *b, double least, bool *best,
			 bool *other)
{
	size_t of[PART_KINDS] = { 0 }, picked = 0;
	double names = 0;	/* bits of the message that are names */
	bool few;

	for (size_t i = 0; i < b->n; i++) {
		picked += best[i];
		names += best[i] ? b->list[i].name_bits : 0;
	}
	few = picked < LEAST_MIXED;
	if (few && least < names + LEAST_UNNAMED_BITS) {
		return;
	}
	for (size_t i = 0; i < b->n; i++) {
		of[b->list[i].part.kind] +=
			!few || b->list[i].share >= SOLID_SHARE;
	}
	least -= shared_bits(b, best);
	for (enum part_kind kind = 0; kind < PART_KINDS; kind++) {
		double bits;
		bool solid = true;

		if (of[kind] < 2) {
			continue;
		}
		bits = search(b, searches[0], kind);
		memcpy(other, b->picked, b->n * sizeof(*other));
		for (size_t i = 0; few && i < b->n; i++) {
			solid &= !other[i] || b->list[i].share >= SOLID_SHARE;
		}
		bits -= shared_bits(b, other);
		if (solid && bits < least - ROUNDING_BITS) {
			least = bits;
			memcpy(best, b->picked, b->n * sizeof(*best));
		}
	}
}

int blame_find(const struct run *run, const uint8_t *marks,
	       const struct suspect_need *need, struct blame *b)
{
	double bits, least = INFINITY, shortest = INFINITY;
	bool *best;

	*b = (struct blame){ .run = run, .marks = marks };
	if (find_suspects(need, b) < 0) {
		return -1;
	}
	b->of = calloc(b->n + 1, sizeof(*b->of));
	b->fresh = calloc(b->n + 1, sizeof(*b->fresh));
	b->rest = calloc(b->n_bad + 1, sizeof(*b->rest));
	b->picked = calloc(b->n + 1, sizeof(*b->picked));
	best = calloc(2 * b->n + 1, sizeof(*best));
	if (!b->of || !b->fresh || !b->rest || !b->picked || !best) {
		free(best);
		return -1;
	}
	/* No cell has an owner yet; the shortest message is a single name. */
	for (size_t i = 0; i < b->n; i++) {
		b->of[i].share = b->list[i].share;
		shortest = fmin(shortest, b->list[i].name_bits);
	}
	for (size_t i = 0; i < b->n_bad; i++) {
		b->bad[i].owner = SUSPECT_NONE;
	}
	offer_all(b);
	memcpy(b->fresh, b->of, b->n * sizeof(*b->of));
	for (size_t i = 0; i < SEARCHES && b->n_bad > 0 &&
			   (i == 0 || least > shortest); i++) {
		bits = search(b, searches[i], PART_KINDS);
		if (bits < least) {
			least = bits;
			memcpy(best, b->picked, b->n * sizeof(*best));
		}
	}
	if (b->n_bad > 0) {
		search_kinds(b, least, best, best + b->n);
		memcpy(b->picked, best, b->n * sizeof(*best));
		recount(b);
		offer_all(b);
	}
	free(best);
	return 0;
}

void blame_release(struct blame *b)
{
	part_index_release(&b->index);
	free(b->list);
	free(b->bad);
	free(b->touching);
	free(b->of);
	free(b->fresh);
	free(b->picked);
	free(b->rest);
	*b = (struct blame){ 0 };
}

size_t blame_cover(struct blame *b, size_t s)
{
	size_t need = 0;

	for (size_t i = 0; i < b->n; i++) {
		b->list[i].covers = 0;
	}
	for (size_t i = 0; i < b->n_bad; i++) {
		const struct suspect_cell *c = &b->bad[i];

		if (c->owner != s || c->second != SUSPECT_NONE) {
			continue;
		}
		need++;
		for (size_t k = 0; k < c->n; k++) {
			b->list[b->touching[c->first + k]].covers++;
		}
	}
	return need;
}

double blame_excess(const struct blame *b, size_t s, size_t x)
{
	return b->list[x].name_bits - b->list[s].name_bits +
	       suspect_share_bits(b->of[s].left, b->list[x].good) -
	       suspect_share_bits(b->of[s].left, b->list[s].good);
}

double blame_score(const struct blame *b, size_t s)
{
	return b->of[s].left_bits > 0 ?
		       fmax(0, saved_bits(b, s) / b->of[s].left_bits) :
		       0;
}
