/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_FOLLOW_H
#define REPORT_MODEL_FOLLOW_H

#include "report/model/run.h"

/**
 * The follow-up: tests that the coordinator adds once all that was planned is
 * measured, to settle what that leaves open.  Their rows have P2P_FOLLOW_UP in
 * the column schedule.  They are no cells: run->follow has them, each with the
 * cell that it is a later look at, so that what was selected by the cells can
 * be confirmed by other tests.  A pair that was not planned has no cell of its
 * own to look at again: it gets one, which run_count_cells() leaves out.
 */

/** Add @row, which fits and is of the follow-up, to run->follow; past
 *  RUN_MAX_FOLLOW it is dropped.  0, or -1 when memory runs out. */
int follow_take(struct run *run, const struct p2p_row *row);
/** Are tests of the follow-up attempts at the cell at @at, as nobody planned
 *  it, or as it failed?  1, 0, or -1 when memory runs out. */
int follow_adopt(struct run *run, size_t at);
/** Tests of the follow-up, by class; none of them is slow. */
void follow_count(const struct run *run, size_t count[CELL_CLASSES]);

/** Cells that nobody else measured; with @good those that passed. */
size_t follow_measured(const struct run *run, bool good);

/** Did the follow-up alone measure the cell at @at? */
static inline bool follow_has(const struct run *run, size_t at)
{
	return run->follow_only && run->follow_only[at];
}

#endif
