/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which set is slow, where nothing fails: halves are compared, and the slower
 * one is halved again; where they are alike sets across them are, as a way
 * between them may be slow.  At last the ways between three are compared.
 */
#include "probes/engine/coord/collective.h"

#include <math.h>
#include <string.h>

/* Of two sets that are alike, none is this much slower. */
#define SLOWER 0.8

/** All that can be compared is: what was found last, or that nothing was. */
static void end_comparing(struct collective_work *w)
{
	if (w->found == NULL) {
		bisection_found(w, NULL, 0);
	}
	bisection_leave(w);
}

/** The ways between any two of three. */
static const int ways[3][2] = { { 0, 1 }, { 0, 2 }, { 1, 2 } };

/**
 * All are measured: the part that both slow ones touch, or the two at the ends
 * of the only one.  One that is of the faster half is no answer to why the
 * other half is slow.
 */
static void judge_ways(struct collective_work *w)
{
	double best = fmax(w->busbw[0], fmax(w->busbw[1], w->busbw[2]));
	int slow = 0, last_slow = 0, last_fast = 0, set[2], n = 0;

	for (int i = 0; i < 3; i++) {
		if (w->busbw[i] < SLOWER * best) {
			slow++;
			last_slow = i;
		} else {
			last_fast = i;
		}
	}
	if (slow == 1) {
		set[n++] = w->parts[ways[last_slow][0]];
		set[n++] = w->parts[ways[last_slow][1]];
	} else if (slow == 2) {	/* the one that the fast way does without */
		set[n++] = w->parts[2 - last_fast];
	}
	if (n > 0 && set[0] != w->other && set[n - 1] != w->other) {
		bisection_found(w, set, n);
	}
	end_comparing(w);
}

static void next_way(struct collective_work *w)
{
	if (w->half == 3) {
		judge_ways(w);
	} else {
		const int ends[] = {w->parts[ways[w->half][0]],
				    w->parts[ways[w->half][1]]};

		bisection_join(w, ends, 2);
	}
}

/**
 * Halves of a node, or of a rank, tell nothing of the ways between them.  Three
 * parts have three ways; two have a third one in the half that was faster.
 */
static void begin_ways(struct collective_work *w)
{
	int at = w->n_parts;

	if (w->n_parts == 2 && w->other >= 0) {
		for (; at > 0 && w->parts[at - 1] > w->other; at--) {
			w->parts[at] = w->parts[at - 1];
		}
		w->parts[at] = w->other;
		w->n_parts = 3;
	}
	if (w->n_parts != 3) {
		end_comparing(w);
		return;
	}
	w->by_way = true;
	w->half = 0;
	next_way(w);
}

static void next_slower(struct collective_work *w);

/**
 * The sets across the halves are measured: go on with the slowest; false where
 * they are alike.  Two slow ones without a part in common are no bad way, but
 * how the ways are laid: the parts of two switches in turn.
 */
static bool take_across(struct collective_work *w)
{
	enum { OUTER = 1 << 0 | 1 << 3, INNER = 1 << 1 | 1 << 2 };
	double best = 0;
	int slowest = 0, slow = 0, n, other = 0;

	for (int i = 0; i < BISECT_ACROSS; i++) {
		best = fmax(best, w->busbw[i]);
		slowest = w->busbw[i] < w->busbw[slowest] ? i : slowest;
	}
	for (int i = 0; i < BISECT_ACROSS; i++) {
		slow |= (w->busbw[i] < SLOWER * best) << i;
	}
	if (slow == 0 || slow == OUTER || slow == INNER) {
		return false;
	}
	n = bisect_across(w->n_parts, slowest, w->set);
	while (other < n && w->set[other] == other) {
		other++;
	}
	w->other = w->parts[other];
	for (int i = 0; i < n; i++) {
		w->parts[i] = w->parts[w->set[i]];
	}
	w->n_parts = n;
	return true;
}

/** Halves that are alike tell nothing of the ways between them. */
static void next_across(struct collective_work *w)
{
	if (w->half < BISECT_ACROSS) {
		int n = bisect_across(w->n_parts, w->half, w->set);

		for (int i = 0; i < n; i++) {
			w->set[i] = w->parts[w->set[i]];
		}
		bisection_join(w, w->set, n);
	} else if (take_across(w)) {
		bisection_found(w, w->parts, w->n_parts);
		w->across = false;
		w->half = w->turned = 0;
		next_slower(w);
	} else {
		end_comparing(w);
	}
}

/** Both halves are measured: go on with the slower; false where they are
 *  alike. */
static bool take_slower(struct collective_work *w)
{
	const int half = w->n_parts / 2;
	const int first = w->turned, second = w->n_parts - half;
	bool first_slow = w->busbw[0] < SLOWER * w->busbw[1];
	bool second_slow = w->busbw[1] < SLOWER * w->busbw[0];

	if (!first_slow && !second_slow) {
		return false;
	}
	w->other = w->parts[first_slow ? second : first];
	memmove(w->parts, w->parts + (first_slow ? first : second),
		(size_t)half * sizeof(*w->parts));
	w->n_parts = half;
	w->half = w->turned = 0;
	return true;
}

/**
 * Of what is slow: one half, the other, and on with the slower.  The middle of
 * an odd number is in no half: where they are alike, again with it, and without
 * the first.
 */
static void next_slower(struct collective_work *w)
{
	bool even = false;
	int half;

	if (w->half == 2 && take_slower(w)) {
		bisection_found(w, w->parts, w->n_parts);
		bisection_inside(w, w->parts, w->n_parts);
	} else if (w->half == 2 && w->n_parts % 2 == 1 && !w->turned) {
		w->half = 0;
		w->turned = 1;
	} else if (w->half == 2) {
		even = true;
	}
	half = w->n_parts / 2;
	if (half < (w->by_rank ? 2 : 1) || (even && half == 1)) {
		begin_ways(w);
	} else if (even) {
		w->across = true;
		w->half = 0;
		next_across(w);
	} else {
		bisection_join(w,
			       w->parts + (w->half == 0 ? w->turned
							: w->n_parts - half),
			       half);
	}
}

void compare_next(struct collective_work *w)
{
	if (w->by_way) {
		next_way(w);
	} else if (w->across) {
		next_across(w);
	} else {
		next_slower(w);
	}
}
