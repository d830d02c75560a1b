/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_LADDER_VERDICT_H
#define REPORT_JUDGE_LADDER_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "lib/data/record_rung.h"

/** One probe of a ladder and what came of it. */
struct ladder_rung {
	struct rung_row row;	/* its line in results.csv */
	json_t *verdict;	/* its verdict.json; NULL: it came to none */
};

/** What holds for all of them. */
struct ladder_facts {
	bool drill;
	size_t n_nodes;		/* 0 = not known */
	const json_t *netdevs;	/* {"NODE/eth2": "mlx5_2"}: interfaces that
				 * belong to an HCA; may be NULL */
};

/**
 * One verdict from those of the rungs, lowest first; pure.  It has the form of
 * any verdict.json, and in each finding "rungs", those that found it.
 *
 * cells: those of all rungs together, whatever they measured.
 * findings: what several rungs say of one part is one finding, with the
 * evidence of each.  It is the same part when the alternatives of the rungs
 * ("or" included) have some in common; these are what remains, so that each
 * rung narrows the choice.  A fault that is found below explains what cannot
 * work without: a node what is in it, a NIC the node, a limit the failures to
 * get memory, and any of them a collective that did not end.
 * status: as of any verdict; a rung that could not measure is a warning.
 * New reference, NULL without memory.
 */
json_t *ladder_verdict(const struct ladder_rung *rungs, size_t n,
		       const struct ladder_facts *facts);

/** The exit code: 2 3 4 1 0, the first that applies.  @whole: the run went to
 *  its end; a rung that was skipped counts for nothing. */
int ladder_exit(const struct ladder_rung *rungs, size_t n, bool whole,
		bool strict, const json_t *verdict);

#endif
