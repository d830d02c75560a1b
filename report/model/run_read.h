/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_RUN_READ_H
#define REPORT_MODEL_RUN_READ_H

#include "lib/data/record_rows.h"
#include "report/model/run.h"

/* ---- nvlink -------------------------------------------------------------- */

/**
 * Find the NVLink domains of @run, GPUs of several nodes that NVSwitches join:
 * those that a path P2P/MNNVL shows, with all of the same cluster and clique by
 * their facts; and those that only facts show, of NCCL's runs, where nobody has
 * gone another way, IMEX runs and NCCL_MNNVL_ENABLE is not 0: all of it may be
 * dead.  Cells inside one get the class PATH_NVLINK, but those that are
 * known to have gone another way.  0, or -1 when memory runs out.
 */
int nvlink_find(struct run *run);

/* ---- follow -------------------------------------------------------------- */

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
/** Decide whether follow-up tests are attempts at the cell at @at, because it
 *  was not planned or failed. Returns 1, 0, or -1 when memory runs out. */
int follow_adopt(struct run *run, size_t at);
/** Tests of the follow-up, by class; none of them is slow. */
void follow_count(const struct run *run, size_t count[CELL_CLASSES]);


/** Return true if only the follow-up measured the cell at @at. */
static inline bool follow_has(const struct run *run, size_t at)
{
	return run->follow_only && run->follow_only[at];
}

/* ---- skew facts ---------------------------------------------------------- */

/** A fact that is compared. */
struct skew_fact {
	const char *fact;	/* as in facts.csv; "NCCL_*": all that begin
				 * so */
	bool part;		/* of a GPU, port or interface: the set of the
				 * values of a node counts,
				 * not whose they are */
	const char *by;		/* of parts: those that are alike in this fact
				 * are compared, "" = in their name */
	const char *absent;	/* a node without it: what that means; NULL =
				 * nobody knows */
	bool active;		/* only of ports that are up */
	bool setting;		/* one a node each may be meant so */
	bool ports_say;		/* port_findings() has it, where ranks are
				 * ports */
	bool mesh_says;		/* and mesh_findings(), where they are
				 * addresses */
};

/** The row of the table that @f is compared by in @run, or NULL. */
const struct skew_fact *skew_fact_of(const struct run *run,
				     const struct fact_row *f);

/* ---- memlock run --------------------------------------------------------- */

/** The rows of a run of memlock, besides what any run has. */
struct memlock_rows {
	struct memlock_row *rows;
	size_t n;
};

/** Read DIR into both; -1 with @e.  The caller releases both in any case. */
int memlock_run_read(const char *dir, struct run *run, struct memlock_rows *m,
		     struct err *e);
/** Append a row; its node, but for a login shell's, and its HCA become known to
 *  @run.  -1 without memory. */
int memlock_run_add(struct run *run, struct memlock_rows *m,
		    const struct memlock_row *row);
void memlock_rows_release(struct memlock_rows *m);

/** "64 KiB", "unlimited", "-" when there is no number; returns @buf. */
const char *memlock_bytes(int64_t bytes, char *buf, size_t size);

/* ---- run read ------------------------------------------------------------ */

/** The rows of a CSV file, and what is done with them. */
struct run_rows {
	const struct schema *schema;
	/** Take a row.  Returns 0; 1 if it does not belong to the run, which
	 *  counts it as a bad one; -1 without memory. */
	int (*take)(const struct run_rows *rows, const void *row);
	/** Prefetch the memory that take() will need for @row, before the row
	 *  in front of it is taken; or NULL. */
	void (*ahead)(const struct run_rows *rows, const void *row);
	void *user;
	struct run *run;	/* counts the bad rows, and has the line of the
				 * row that is taken; NULL: not counted */
	const char *misfit;	/* why take() returns 1 */
	/** Steps of run_load() before the first row (NULL: no cells of pairs),
	 *  and after the last one; 0, or -1 with @e. */
	int (*begin)(const struct run_rows *rows, struct err *e);
	int (*end)(const struct run_rows *rows, struct err *e);
};

/**
 * Read the run directory DIR into @rows->run: run.json, then results.csv row by
 * row, then facts, events and tests of failed pairs, of which a file that
 * cannot be read is left out and named in run->unread.  Every reader of a run
 * begins with this.  Returns 0, or -1 with @e; the run is released then.
 */
int run_load(const char *dir, const struct run_rows *rows, struct err *e);

/** Take the rows of @f, and close it; NULL has none.  0; 1 with @e when the
 *  first line has no column of the schema, 2 when it lacks one of those that it
 *  needs; -1 with @e (ENOMEM, or why it cannot be read further). */
int run_take_rows(FILE *f, const struct run_rows *rows, struct err *e);
/** The same of DIR/results.csv, which need not be there; without a column of
 *  the schema it is one bad row.  0, or -1 with @e. */
int run_take_results(const char *dir, const struct run_rows *rows,
		     struct err *e);

/** Make room for the cells of n_ranks ranks, none of them planned; 0, or -1
 *  with @e. */
int run_make_cells(struct run *run, struct err *e);
/** Add the node of that name where it is new, and there is room; 0, or -1
 *  without memory. */
int run_note_node(struct run *run, const char *name);
/** The names of the nodes of @json, a run.json; 0, or -1 without memory. */
int run_list_nodes(struct run *run, const json_t *json);
/** Parse the note of an agent that lost the coordinator, @len bytes; 0, or -1
 *  with @e. */
int run_note_parse(const char *text, size_t len, struct event_row *row,
		   struct err *e);
/** Leaves and who is on them, by the facts.  0, or -1 when memory runs out. */
int run_find_leaves(struct run *run);
/** Put @node on the leaf @name unless it is on one already; the number of that
 *  leaf, or -1 when memory runs out. */
int run_join_leaf(struct run *run, int node, const char *name);
/** The numbers of @code in run->codes and of @path in run->paths, added where
 *  they are new; 0 for "", and for what is one too many. */
uint16_t run_code(struct run *run, const char *code);
uint16_t run_path(struct run *run, const char *path);
/** Keep the detail of a cell beside its code, "" for none. Returns 0, or -1
 *  when memory runs out. */
int run_keep_detail(struct run *run, size_t at, const char *detail);

/** Keep the row of a test of a failed pair; 0, or -1 when memory runs out. */
int run_add_diagnose(struct run *run, const struct diagnose_row *row);
/** Keep @f; past the first thousands only what findings are by.  0, or -1 when
 *  memory runs out. */
int run_add_fact(struct run *run, const struct fact_row *f);

#endif
