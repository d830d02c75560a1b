/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_ALL_H
#define REPORT_JUDGE_ALL_H

#include "lib/data/record_step.h"
#include "report/judge/verdict.h"

/** One probe of a run of several, and what came of it. */
struct all_step {
	struct step_row row;	/* its line in results.csv */
	bool judged;		/* there is a verdict of it */
	bool sampled;		/* of a sample of the pairs */
	struct verdict verdict;	/* verdict_read() */
};

/**
 * One verdict from those of the steps, lowest first, whose parts are by the
 * nodes of @run; pure.
 *
 * What several steps say of one part is one finding, with the evidence of each.
 * It is the same part when the alternatives of the steps have some in common;
 * these are what remains, so that each step narrows the choice.  NICs are
 * compared by name where both have one, as the numbers of ping are those of its
 * segments; @netdevs, {"NODE/eth2": "mlx5_2"}, are interfaces that belong to an
 * HCA (may be NULL).  A fault that is found below explains what cannot work
 * without: a node what is in it, a NIC the node, a limit the failures to get
 * memory, and any of them a collective that did not end.  A step that could not
 * measure is a warning.  0, or -1 when memory runs out.
 */
int all_judge(const struct run *run, const struct all_step *steps, size_t n,
	      const json_t *netdevs, struct verdict *v);

/** Exit code: 2 3 4 of the steps, the first that applies, or verdict_exit(); a
 *  step that was skipped counts for nothing. */
int all_exit(const struct run *run, const struct all_step *steps, size_t n,
	     const struct verdict *v);

#endif
