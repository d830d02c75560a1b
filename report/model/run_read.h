/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_RUN_READ_H
#define REPORT_MODEL_RUN_READ_H

#include "report/model/run.h"

/** Steps that the readers of runs share. */

/** Open DIR/NAME for reading; NULL with @e (code ENOENT: not there). */
FILE *run_open(const char *dir, const char *name, struct err *e);

/** The steps of run_read() that any run can take: what run.json says of the run
 *  as a whole; room for the cells of n_ranks ranks, none of them planned; facts
 *  and events.  0, or -1 with @e. */
int run_read_header(struct run *run, struct err *e);
int run_make_cells(struct run *run, struct err *e);
/** The names of the nodes of @json, a run.json; 0, or -1 without memory. */
int run_list_nodes(struct run *run, const json_t *json);
int run_read_sides(const char *dir, struct run *run, struct err *e);
/** Leaves and who is on them, by the facts.  0, or -1 when memory runs out. */
int run_find_leaves(struct run *run);
/** Put @node on the leaf @name unless it is on one already; the number of that
 *  leaf, or -1 when memory runs out. */
int run_join_leaf(struct run *run, int node, const char *name);
/** The number of @code in run->codes, added where it is new; 0 for "". */
uint16_t run_code(struct run *run, const char *code);

/** Keep the struct fact_row @row; past the first thousands only what findings
 *  are by.  0, or -1 when memory runs out. */
int run_add_fact(struct run *run, const void *row);
/** Count one bad row, and keep why. */
void run_bad_row(struct run *run, const char *why);

#endif
