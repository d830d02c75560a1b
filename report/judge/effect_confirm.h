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
 * no part that was selected.  At least half of the effect must be there again.
 */

/** Tests of a part, and as many controls of the same path, that confirm it or
 *  do not.  Whoever plans the follow-up should plan as many. */
#define EFFECT_CONFIRM_TESTS 6
/** Nodes that the tests of a part are with; of a link there is one. */
#define EFFECT_CONFIRM_PARTNERS 2

/** Is number @i of @all, parts that were selected by @of, there again? */
bool effect_confirmed(const struct run *run, const struct effects *all,
		      size_t i, enum effects_of of);

#endif
