/* SPDX-License-Identifier: BSD-3-Clause */
/* The judges of pairs, collectives, single nodes and all. */
#ifndef REPORT_JUDGE_PAIRS_H
#define REPORT_JUDGE_PAIRS_H

#include "lib/data/record_rows.h"
#include "report/judge/verdict.h"
#include "report/model/run.h"
#include "report/model/sweep.h"

/* ---- judge of all -------------------------------------------------------- */

/** One probe of a run of several, and what came of it. */
struct all_step {
	struct step_row row;	/* its line in results.csv */
	bool judged;		/* there is a verdict of it */
	bool sampled;		/* of a sample of the pairs */
	struct verdict verdict;	/* verdict_read() */
};

/**
 * Makes one verdict of those of the steps, lowest first, whose parts are
 * numbered by the nodes of @run.  Pure.
 *
 * Findings of several steps about one part become one finding, with the
 * evidence of each.  Parts are the same if the alternatives of the steps have
 * some in common; these remain, so that each step narrows the choice.  NICs are
 * compared by name if both have one, since the numbers of ping are those of its
 * segments; @netdevs, {"NODE/eth2": "mlx5_2"}, are interfaces that belong to an
 * HCA (may be NULL).  A fault found by a lower step explains faults that depend
 * on it: a node those of its parts, a NIC that of its node, a limit the
 * failures to get memory, and each of them a collective that did not end.  A
 * step that could not measure is a warning.  Returns 0, or -1 when memory runs
 * out.
 */
int all_judge(const struct run *run, const struct all_step *steps, size_t n,
	      const json_t *netdevs, struct verdict *v);

/** Exit code: 2 3 4 of the steps, the first that applies, or verdict_exit(); a
 *  step that was skipped counts for nothing. */
int all_exit(const struct run *run, const struct all_step *steps, size_t n,
	     const struct verdict *v);

/* ---- collective ---------------------------------------------------------- */

/** Last words of a finding about a collective that did not finish; "all" looks
 *  for their cause. */
#define COLLECTIVE_TIMEOUT "timeout"
#define COLLECTIVE_FAILED  "failed"

/**
 * The judge of collectives.  Pure: a cell is a row; "dropped" of run.json names
 * ranks that are to blame for a failure, "bisect" the smallest bad set; curves
 * that fall short of @reference (may be NULL) at more than a single size are
 * findings.  0, or -1 when memory runs out.
 */
int collective_judge(const struct run *run, const struct sweep *s,
		     const struct sweep *reference, struct verdict *v);

/* ---- node ---------------------------------------------------------------- */

/** Values of "probe" in run.json of runs that import made: tables of several
 *  collectives, or of one that is not known; rows without nodes; targets of
 *  fping. */
#define PROBE_TABLES "collective"
#define PROBE_ROWS "import"
#define PROBE_TARGETS "fping"

/** Value of "probe" in run.json for the check of one node by itself. */
#define NODE_PROBE "node"

/** One of the processes that looked. */
struct node_look {
	const char *what;	/* "GPUs", for people */
	bool ok;
	char code[48], detail[200];	/* why it is not */
};

/**
 * Finds faults that need no comparison with other nodes: reads the facts and
 * rows of @run and the @n @looks, and writes findings.  Limits of
 * locked memory count if there is an HCA; other limits if there is an HCA or a
 * GPU.  Pure.  Returns 0, or -1 without memory.
 */
int node_judge(const struct run *run, const struct node_look *looks, size_t n,
	       struct verdict *v);

/** Returns true if a finding of @code may fail a node in an unattended check;
 *  false for codes that say that a check was not possible or that a GPU is in
 *  use. */
bool node_may_fail(const char *code);

/** Returns true if a finding of @v has a code in the list @codes,
 *  "CODE,CODE". */
bool node_has_one_of(const struct verdict *v, const char *codes);

/** The next word of the list *@codes into @code, cut; false at its end. */
bool node_next_code(const char **codes, char code[48]);

/* ---- pairs --------------------------------------------------------------- */

/** The judge of runs that measure pairs.  Pure: cells, facts and expectations
 *  in, findings out.  0 or -1 (memory). */
int verdict_compute(const struct run *run, struct verdict *v);
/** The same compared with @then, a similar earlier run (accepted_unlike()) that
 *  was accepted; NULL: none. */
int verdict_compute_beside(const struct run *run, const struct run *then,
			   struct verdict *v);
/** Finds what verdict_compute() finds, before verdict_close(); for any run with
 *  cells, even if no pairs are planned. */
void pairs_find(const struct run *run, struct verdict *v);

/** Adds a finding about @node, which did not respond: @code, or @outcome, and
 *  @detail say why.  Adds none if another finding explains it. */
void silent_finding(const struct run *run, const char *node, const char *code,
		    enum outcome outcome, const char *detail,
		    struct verdict *v);

/** The judge of runs that only query their nodes: a row is a node, which @run
 *  knows.  Returns 0, or -1 without memory. */
int info_judge(const struct run *run, const struct info_row *rows, size_t n,
	       struct verdict *v);

#endif
