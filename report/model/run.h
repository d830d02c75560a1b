/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_RUN_H
#define REPORT_MODEL_RUN_H

#include "report/model/report.h"

/** Rows into cells; run.c calls it once the layout and the plan are known. */

/**
 * Read DIR/results.csv, row by row, into the cells of @run: n_ranks, ranks,
 * the planned cells (all others CELL_UNPLANNED) and schedule are there.  No
 * such file means no rows.  0, or -1 with @e.
 */
int run_read_rows(const char *dir, struct run *run, struct err *e);

/** Open DIR/NAME for reading; NULL with @e (code ENOENT: not there). */
FILE *run_open(const char *dir, const char *name, struct err *e);

/** The steps of run_read() that any run can take: what run.json says of the run
 *  as a whole; room for the cells of n_ranks ranks, none of them planned; facts
 *  and events.  0, or -1 with @e. */
int run_read_header(struct run *run, struct err *e);
int run_make_cells(struct run *run, struct err *e);
int run_read_sides(const char *dir, struct run *run, struct err *e);
/** Leaves and who is on them, by the facts.  0, or -1 when memory runs out. */
int run_find_leaves(struct run *run);
/** The number of @code in run->codes, added where it is new; 0 for "". */
uint16_t run_code(struct run *run, const char *code);

/** Keep the struct fact_row @row; past the first thousands only what findings
 *  are by.  0, or -1 when memory runs out. */
int run_add_fact(struct run *run, const void *row);
/** Count one bad row, and keep why. */
void run_bad_row(struct run *run, const char *why);

/** The room for what --contrast measured besides, if it did; the layout is
 *  known.  0, or -1 with @e. */
int contrast_open(struct run *run, struct err *e);
/** The number of the attempt that @row is of. */
static inline int64_t run_attempt(const struct p2p_row *row)
{
	return row->attempt == RECORD_NONE ? 1 : row->attempt;
}
/** cells_decides() of a row of @run. */
bool run_row_decides(const struct run *run, const struct p2p_row *row,
		     struct cell_say before);
/** Runs that were resumed: a bad row of @cell, then one that decides it to be
 *  good, and at the end, is it flaky? */
void goes_note_bad(const struct run *run, struct cell *cell,
		   const struct p2p_row *row);
void goes_note_good(const struct run *run, struct cell *cell,
		    const struct p2p_row *row);
void goes_settle(struct run *run, struct cell *cell);
/** Is a row of the other pass, where there is one? */
bool contrast_has(const struct run *run, const struct p2p_row *row);
/** A row of a schedule that is not the cells'. */
void contrast_add(struct run *run, const struct p2p_row *row);
void contrast_close(struct run *run);

#endif
