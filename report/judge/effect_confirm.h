/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_EFFECT_CONFIRM_H
#define REPORT_JUDGE_EFFECT_CONFIRM_H

#include "report/judge/effects.h"

/**
 * What the worst of many parts looks like is worse than it is, as it was chosen
 * for that.  So what the main pass selects, tests of the follow-up alone
 * confirm (report/model/follow.h): other partners, another time.  Pure.
 *
 * Their median for the part is set against that of control tests, which touch
 * no part that was selected.
 */

/** Tests of a part, and as many controls of the same path, that confirm it or
 *  do not.  Whoever plans the follow-up should plan as many. */
#define EFFECT_CONFIRM_TESTS 6

/** As much of an effect must be there again, that it is confirmed; of one that
 *  was less there is nothing. */
#define EFFECT_AGAIN 0.5
#define EFFECT_GONE  0.25

/** What share of the effect of number @i of @all, parts that were selected by
 *  @of, is there again; NAN where too few tests tell. */
double effect_again(const struct run *run, const struct effects *all, size_t i,
		    enum effects_of of);

#endif
