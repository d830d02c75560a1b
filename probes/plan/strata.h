/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PLAN_STRATA_H
#define PROBES_PLAN_STRATA_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "probes/plan/layout.h"
#include "probes/plan/plan.h"

/**
 * Which pairs a run of few measures: rounds, each a matching in which every
 * rank has a partner of one sort.  No partner comes twice.  Pure; no square of
 * the ranks is made, and a round costs what it has pairs.
 */
enum stratum {
	STRATUM_RAIL,	/* on other nodes, NICs of one number */
	STRATUM_INSIDE,	/* of the same node */
	STRATUM_CROSS,	/* on other nodes, NICs of other numbers */
	STRATUM_NODES,	/* one pair of ranks for two nodes, rails by turns */
	STRATA
};

/** Rounds of --quick: a stratum each; and where there are too many ranks for
 *  all pairs.  The first ones are those of every longer sample. */
#define STRATA_QUICK	3
#define STRATA_DEFAULT	12

struct strata_turn {
	enum stratum of;
	int round;		/* of that stratum, from 0 */
};

struct strata_pools;

struct strata {
	const struct layout *l;			/* borrowed */
	struct strata_pools *pools[STRATA];	/* who can meet whom */
	struct strata_turn *turns;		/* in the order of the run */
	int n;
	int rounds[STRATA];			/* of these in turns */
};

/**
 * Choose @k rounds of the kinds of pairs that @p wants: 8 on the rails and 3
 * across them for each one inside the nodes, or what there is; fewer where
 * there are no more.  With PAIRS_NODES one between any two nodes follows.  The
 * same @seed chooses the same pairs.  What is planned of NICs counts, not what
 * was heard of them.  0, or -1 with @e: no memory.  strata_release() frees.
 */
int strata_make(struct strata *s, const struct layout *l,
		const struct pairs *p, int k, uint64_t seed, struct err *e);
void strata_release(struct strata *s);	/* safe on a zeroed one */

/**
 * Call @pair with each pair of turn @t, @a and @b of any order.  Where the
 * number of ranks or nodes is odd, who is left over meets one that has a
 * partner already.  Two nodes of STRATUM_NODES may have met in others.
 */
void strata_pairs(const struct strata *s, const struct strata_turn *t,
		  void (*pair)(void *ctx, int a, int b), void *ctx);

#endif
