/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/blame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/** Of its cells that must be bad before a part is picked, in percent.  But for
 *  the last round, it must be more than a lone pair. */
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

/** What it costs to blame suspect @i for its own cells. */
static double blame_bits(const struct blame *b, size_t i)
{
	return b->s.list[i].name_bits +
	       suspect_share_bits(b->of[i].left, b->s.list[i].good);
}

/** What the message becomes shorter by if it is picked, or is by now. */
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

/** Would @x take a cell from @owner? */
static bool takes(const struct blame *b, uint32_t x, uint32_t owner)
{
	return owner == SUSPECT_NONE || b->of[x].share > b->of[owner].share;
}

/** Bad cell @c has its owner: count it for those who would take it. */
static void offer(struct blame *b, const struct suspect_cell *c)
{
	double bits = owned_bits(b, c, c->owner);

	if (c->owner != SUSPECT_NONE && b->of[c->owner].share >= 1) {
		return;		/* nobody has more of a right to it */
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

/** Nobody owns a cell yet. */
static void learn(struct blame *b)
{
	for (size_t i = 0; i < b->s.n; i++) {
		b->of[i].share = b->s.list[i].share;
	}
	for (size_t i = 0; i < b->s.n_bad; i++) {
		b->s.bad[i].owner = SUSPECT_NONE;
		offer(b, &b->s.bad[i]);
	}
	memcpy(b->fresh, b->of, b->s.n * sizeof(*b->of));
}

static void start_over(struct blame *b)
{
	memcpy(b->of, b->fresh, b->s.n * sizeof(*b->of));
	for (size_t i = 0; i < b->s.n_bad; i++) {
		b->s.bad[i].owner = SUSPECT_NONE;
	}
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

/** Is enough bad of what is not someone else's? */
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

/** Everything anew from who is picked. */
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

/** Is a message as short as any may be: one name, and nothing else to say? */
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
	start_over(b);
	for (size_t i = 0; i < how->n; i++) {
		pick_greedily(b, how->floors[i]);
	}
	for (int i = 0; drop_needless(b) && i < MAX_ROUNDS &&
			pick_greedily(b, 0); i++) {
	}
	return message_bits(b);
}

/** What is picked now, of all suspects, to @picked. */
static void keep(const struct blame *b, bool *picked)
{
	for (size_t i = 0; i < b->s.n; i++) {
		picked[i] = b->of[i].picked;
	}
}

/** Back to a search that found a shorter message than the last one. */
static void go_back(struct blame *b, const bool *picked)
{
	for (size_t i = 0; i < b->s.n; i++) {
		b->of[i].picked = picked[i];
	}
	recount(b);
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
	learn(b);
	for (size_t i = 0; i < SEARCHES && b->s.n_bad > 0 &&
			   (i == 0 || !is_shortest(b, least)); i++) {
		bits = search(b, &searches[i]);
		if (bits < least) {
			least = bits;
			keep(b, best);
		} else if (i == SEARCHES - 1 && bits > least) {
			go_back(b, best);
		}
	}
	free(best);
	return 0;
}

void blame_release(struct blame *b)
{
	suspects_release(&b->s);
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
