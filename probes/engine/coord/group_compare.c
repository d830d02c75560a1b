/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which set is slow, where nothing fails: halves are compared, and the slower
 * one is halved again; where they are alike sets across them are, as a way
 * between them may be slow.  At last the ways between three are compared.
 */
#include "probes/engine/coord/group.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of two sets that are alike, none is this much slower. */
#define SLOWER 0.8

/** All that can be compared is: what was found last, or that nothing was. */
static void end_comparing(struct coord *c)
{
	if (c->group->found == NULL) {
		group_bisect_found(c, NULL, 0);
	}
	group_bisect_leave(c);
}

/** The ways between any two of three. */
static const int ways[3][2] = { { 0, 1 }, { 0, 2 }, { 1, 2 } };

/**
 * All are measured: the part that both slow ones touch, or the two at the ends
 * of the only one.  One that is of the faster half is no answer to why the
 * other half is slow.
 */
static void judge_ways(struct coord *c)
{
	struct group *g = c->group;
	double best = fmax(g->busbw[0], fmax(g->busbw[1], g->busbw[2]));
	int slow = 0, last_slow = 0, last_fast = 0, set[2], n = 0;

	for (int i = 0; i < 3; i++) {
		if (g->busbw[i] < SLOWER * best) {
			slow++;
			last_slow = i;
		} else {
			last_fast = i;
		}
	}
	if (slow == 1) {
		set[n++] = g->parts[ways[last_slow][0]];
		set[n++] = g->parts[ways[last_slow][1]];
	} else if (slow == 2) {	/* the one that the fast way does without */
		set[n++] = g->parts[2 - last_fast];
	}
	if (n > 0 && set[0] != g->other && set[n - 1] != g->other) {
		group_bisect_found(c, set, n);
	}
	end_comparing(c);
}

static void next_way(struct coord *c)
{
	struct group *g = c->group;

	if (g->half == 3) {
		judge_ways(c);
	} else {
		const int ends[] = { g->parts[ways[g->half][0]],
				     g->parts[ways[g->half][1]] };

		group_bisect_join(c, ends, 2);
	}
}

/**
 * Halves of a node, or of a rank, tell nothing of the ways between them.  Three
 * parts have three ways; two have a third one in the half that was faster.
 */
static void begin_ways(struct coord *c)
{
	struct group *g = c->group;
	int at = g->n_parts;

	if (g->n_parts == 2 && g->other >= 0) {
		for (; at > 0 && g->parts[at - 1] > g->other; at--) {
			g->parts[at] = g->parts[at - 1];
		}
		g->parts[at] = g->other;
		g->n_parts = 3;
	}
	if (g->n_parts != 3) {
		end_comparing(c);
		return;
	}
	g->by_way = true;
	g->half = 0;
	next_way(c);
}

static void next_slower(struct coord *c);

/**
 * The sets across the halves are measured: go on with the slowest, with @set for
 * room; false where they are alike.  Two slow ones without a part in common are
 * no bad way, but how the ways are laid: the parts of two switches in turn.
 */
static bool take_across(struct group *g, int *set)
{
	enum { OUTER = 1 << 0 | 1 << 3, INNER = 1 << 1 | 1 << 2 };
	double best = 0;
	int slowest = 0, slow = 0, n, other = 0;

	for (int i = 0; i < BISECT_ACROSS; i++) {
		best = fmax(best, g->busbw[i]);
		slowest = g->busbw[i] < g->busbw[slowest] ? i : slowest;
	}
	for (int i = 0; i < BISECT_ACROSS; i++) {
		slow |= (g->busbw[i] < SLOWER * best) << i;
	}
	if (slow == 0 || slow == OUTER || slow == INNER) {
		return false;
	}
	n = bisect_across(g->n_parts, slowest, set);
	while (other < n && set[other] == other) {
		other++;
	}
	g->other = g->parts[other];
	for (int i = 0; i < n; i++) {
		g->parts[i] = g->parts[set[i]];
	}
	g->n_parts = n;
	return true;
}

/** Halves that are alike tell nothing of the ways between them. */
static void next_across(struct coord *c)
{
	struct group *g = c->group;
	int *set = calloc((size_t)g->n_parts + 1, sizeof(*set)), n;

	if (set == NULL) {
		group_bisect_leave(c);
	} else if (g->half < BISECT_ACROSS) {
		n = bisect_across(g->n_parts, g->half, set);
		for (int i = 0; i < n; i++) {
			set[i] = g->parts[set[i]];
		}
		group_bisect_join(c, set, n);
	} else if (take_across(g, set)) {
		group_bisect_found(c, g->parts, g->n_parts);
		g->across = false;
		g->half = g->turned = 0;
		next_slower(c);
	} else {
		end_comparing(c);
	}
	free(set);
}

/** Both halves are measured: go on with the slower; false where they are
 *  alike. */
static bool take_slower(struct group *g)
{
	const int half = g->n_parts / 2;
	const int first = g->turned, second = g->n_parts - half;
	bool first_slow = g->busbw[0] < SLOWER * g->busbw[1];
	bool second_slow = g->busbw[1] < SLOWER * g->busbw[0];

	if (!first_slow && !second_slow) {
		return false;
	}
	g->other = g->parts[first_slow ? second : first];
	memmove(g->parts, g->parts + (first_slow ? first : second),
		(size_t)half * sizeof(*g->parts));
	g->n_parts = half;
	g->half = g->turned = 0;
	return true;
}

/**
 * Of what is slow: one half, the other, and on with the slower.  The middle of
 * an odd number is in no half: where they are alike, again with it, and without
 * the first.
 */
static void next_slower(struct coord *c)
{
	struct group *g = c->group;
	bool even = false;
	int half;

	if (g->half == 2 && take_slower(g)) {
		group_bisect_found(c, g->parts, g->n_parts);
		group_bisect_inside(c, g->parts, g->n_parts);
	} else if (g->half == 2 && g->n_parts % 2 == 1 && !g->turned) {
		g->half = 0;
		g->turned = 1;
	} else if (g->half == 2) {
		even = true;
	}
	half = g->n_parts / 2;
	if (half < (g->by_rank ? 2 : 1) || (even && half == 1)) {
		begin_ways(c);
	} else if (even) {
		g->across = true;
		g->half = 0;
		next_across(c);
	} else {
		group_bisect_join(c, g->parts + (g->half == 0 ? g->turned :
							 g->n_parts - half),
			   half);
	}
}

void group_compare_next(struct coord *c)
{
	if (c->group->by_way) {
		next_way(c);
	} else if (c->group->across) {
		next_across(c);
	} else {
		next_slower(c);
	}
}
