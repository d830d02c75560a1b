/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_BLAME_H
#define REPORT_JUDGE_BLAME_H

#include "report/judge/suspect.h"

/**
 * Which suspects to blame: the set whose message (suspect.h) is the shortest.
 *
 * A cell belongs to that picked suspect which is the most bad by share; what
 * belongs to nobody is listed one by one.  Suspects are picked greedily, the
 * one that saves most bits first, then those that the others make needless are
 * dropped.  Greed goes wrong in several ways, so there are several searches,
 * and the shortest message wins: some take what is bad throughout, or mostly,
 * before what is bad in part (two dead NICs are not a rail that is bad here and
 * there), another takes all as they come (a NIC that fails now and then is not
 * a few dead paths).
 */

/** What the search knows of one suspect. */
struct blame_of {
	bool picked;
	bool held;		/* not to be dropped before the next count */
	double share;		/* that of the suspect: looked at most often */
	size_t left;		/* cells that are its own if it is picked */
	double left_bits;	/* what those cost without it */
	double cell_bits;	/* picked: what one more of its own costs */
	size_t covers;		/* blame_cover() */
};

struct blame {
	struct suspects s;
	struct blame_of *of;	/* each of s.list */
	struct blame_of *fresh;	/* the same before any is picked */
	uint32_t *rest;		/* cells that are nobody's */
	size_t n_rest;
	double rest_bits;	/* to list them */
};

/** Arguments as suspects_find(); 0, or -1 when memory runs out. */
int blame_find(const struct run *run, const uint8_t *marks,
	       const struct suspect_need *need, struct blame *b);
void blame_release(struct blame *b);

/**
 * How many cells are @s's and would be nobody else's; how many of these each
 * suspect touches, to its covers.
 */
size_t blame_cover(struct blame *b, size_t s);

/** Bits by which the message is longer with @x in the place of @s, which it
 *  covers. */
double blame_excess(const struct blame *b, size_t s, size_t x);

/**
 * How much shorter the message is by naming suspect @s than by naming its cells
 * without it: 0, a list of cells says as much, up to nearly 1, where the one
 * name stands for many cells and few of the part are good.
 */
double blame_score(const struct blame *b, size_t s);

#endif
