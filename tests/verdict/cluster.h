/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_VERDICT_CLUSTER_H
#define TESTS_VERDICT_CLUSTER_H

#include "probes/plan/drill.h"
#include "probes/plan/layout.h"
#include "probes/transport/xport.h"
#include "report/judge/verdict.h"
#include "report/model/part.h"

#define CLUSTER_SIZE_B (UINT64_C(64) << 20)	/* of a test */

/** What answers to tests. */
struct cluster_model {
	/** Fill in @r for attempt @attempt, from 1, at the ordered cell; which
	 *  rank crashed, if one did. */
	int (*test)(void *ctx, int src, int dst, int attempt,
		    struct xport_result *r);
	void *ctx;
	const struct pairs *pairs;	/* that are planned; NULL: all */
	bool ports;		/* ranks are HCA ports, as of ib */
	/** What the line of the cell carries, in GB/s; NULL: nobody knows. */
	double (*line)(void *ctx, int src, int dst);
};

/**
 * A whole run, p2p or ib, of @model in memory, without processes and files:
 * plan, second attempts and cells are the program's own; only the loop that
 * calls them is not.  @run is as run_read() would leave it; cluster_release()
 * frees.  Ends the program when memory runs out.
 */
void cluster_run_of(const struct layout *l, const int *leaf_of,
		    const struct cluster_model *model, struct run *run);
/** The follow-up of such a run, by the program's own planner. */
void cluster_follow(const struct layout *l, const struct cluster_model *model,
		    struct run *run);
/** A run of probes/sim, as a drill. */
void cluster_run(const struct layout *l, const int *leaf_of,
		 const struct drill *d, uint64_t seed, struct run *run);
/** The same of those @pairs, with its follow-up. */
void cluster_run_pairs(const struct layout *l, const int *leaf_of,
		       const struct drill *d, const struct pairs *pairs,
		       uint64_t seed, struct run *run);
/** Nodes, ranks and switches of a run and nothing else. @leaf_of: the number of
 *  each node's leaf switch, -1 = not known; NULL: of none. */
void cluster_layout(const struct layout *l, const int *leaf_of,
		    struct run *run);
/** Cells of which none is measured, for such a run. */
void cluster_cells(struct run *run);
void cluster_release(struct run *run);

/** The verdict on @run to @v; ends the program when memory runs out, if a bad
 *  test is in no finding and not forgiven by a rule that has a note, or if more
 *  than 5 % of the bad tests are in findings without a part; with @pairs single
 *  pairs are broken, and count as parts.  With $GOLDEN, append a line of JSON
 *  to that file: the verdict, its words and hashes of its pictures, for
 *  tests/golden/run. */
void cluster_judge(struct run *run, bool pairs, struct verdict *v);

#endif
