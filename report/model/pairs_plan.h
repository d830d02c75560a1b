/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_PAIRS_PLAN_H
#define REPORT_MODEL_PAIRS_PLAN_H

#include "report/model/run.h"

/** Steps of run_read(), in this order, each 0, or -1 with @e. */

/** Nodes and ranks, by run.json. */
int pairs_read_layout(struct run *run, struct err *e);
/** Which pairs have a cell: where run.json lists them those, and others that
 *  rows in @dir are of, as of the follow-up; else all. */
int pairs_make_grid(const char *dir, struct run *run, struct err *e);
/** Mark the planned cells, which are there by now; the coordinator wrote which,
 *  once it knew. */
int pairs_read_plan(struct run *run, struct err *e);

/** Ranks, attempt and size of a row that the cells can hold. */
bool pairs_row_fits(const struct run *run, const struct p2p_row *row);

#endif
