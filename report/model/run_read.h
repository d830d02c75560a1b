/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_RUN_READ_H
#define REPORT_MODEL_RUN_READ_H

#include "report/model/run.h"

/** Steps that the readers of runs share. */

/** What is done with the rows of a CSV file. */
struct run_rows {
	const struct schema *schema;
	/** 0; 1: it is none of this run, a bad one; -1 without memory. */
	int (*take)(void *user, const void *row);
	/** Hears of a row before the one in front of it is taken, so that it
	 *  can ask for the memory that take() will need; or NULL. */
	void (*ahead)(void *user, const void *row);
	void *user;
	struct run *run;	/* counts the bad ones; NULL: nobody does */
	const char *misfit;	/* what those are that take() says 1 of */
	size_t *line;		/* where take() finds the line of its row, from
				 * 1; may be NULL */
};

/** Take the rows of @f, and close it; NULL has none.  0; 1 with @e when the
 *  first line has no column of the schema, 2 when it lacks one of those that it
 *  needs; -1 with @e (ENOMEM, or why it cannot be read further). */
int run_take_rows(FILE *f, const struct run_rows *rows, struct err *e);
/** The same of DIR/results.csv, which need not be there; without a column of
 *  the schema it is one bad row.  0, or -1 with @e. */
int run_take_results(const char *dir, const struct run_rows *rows,
		     struct err *e);

/** The steps of run_read() that any run can take: begin @run, of which @s are
 *  the rows, by what run.json says of it as a whole; room for the cells of
 *  n_ranks ranks, none of them planned; facts and events.  0, or -1 with @e;
 *  run_release() frees what was read so far, too. */
int run_begin(struct run *run, const char *dir, const struct schema *s,
	      struct err *e);
int run_make_cells(struct run *run, struct err *e);
/** Add the node of that name where it is new, and there is room; 0, or -1
 *  without memory. */
int run_note_node(struct run *run, const char *name);
/** The names of the nodes of @json, a run.json; 0, or -1 without memory. */
int run_list_nodes(struct run *run, const json_t *json);
/** Facts, events and tests of failed pairs.  A file of these that cannot be
 *  read is left out, and @run says so. */
int run_read_sides(const char *dir, struct run *run, struct err *e);
/** What agents that lost the coordinator left in logs/, as further events; 0,
 *  or -1 when memory runs out. */
int run_read_notes(const char *dir, struct run *run);
/** One of these, of @len bytes; 0, or -1 with @e. */
int run_note_parse(const char *text, size_t len, struct event_row *row,
		   struct err *e);
/** What DIR/switches says of nodes and ports of the run, as facts.  0, or -1
 *  when memory runs out. */
int run_read_switches(const char *dir, struct run *run);
/** Leaves and who is on them, by the facts.  0, or -1 when memory runs out. */
int run_find_leaves(struct run *run);
/** Put @node on the leaf @name unless it is on one already; the number of that
 *  leaf, or -1 when memory runs out. */
int run_join_leaf(struct run *run, int node, const char *name);
/** The numbers of @code in run->codes and of @path in run->paths, added where
 *  they are new; 0 for "", and for what is one too many. */
uint16_t run_code(struct run *run, const char *code);
uint16_t run_path(struct run *run, const char *path);
/** What a cell says beside its code, "" for nothing; 0, or -1 when memory runs
 *  out. */
int run_keep_detail(struct run *run, size_t at, const char *detail);

/** Keep @f; past the first thousands only what findings are by.  0, or -1 when
 *  memory runs out. */
int run_add_fact(struct run *run, const struct fact_row *f);

#endif
