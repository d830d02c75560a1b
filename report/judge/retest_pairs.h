/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_RETEST_PAIRS_H
#define REPORT_JUDGE_RETEST_PAIRS_H

#include <jansson.h>

#include "report/judge/retest.h"

/** While retest_plan() fills @p. */
struct planner {
	const struct run *run;
	const struct verdict *v;
	struct retest_plan *p;
	uint8_t *found;		/* a node each: a finding names it */
	int *controls;		/* nodes that none does, then the others */
	size_t n_controls, n_well;
	bool inter, intra;	/* such pairs were measured */
	json_t *ends;		/* of the part at hand; NULL: of controls */
};

/** GPU @ga of node @a and @gb of @b, -1: all. */
void planner_pair(const struct planner *w, int a, int ga, int b, int gb);
/** Up to RETEST_PARTNERS others of the node of @rank. */
void planner_inside(const struct planner *w, int rank);
/** As many of other nodes. */
void planner_outside(const struct planner *w, int rank);
/** What @rank is tested with, its partners do with each other: a control of the
 *  same kind for each. */
void planner_controls(struct planner *w, int rank);
/** All of @node, all of which is meant. */
void planner_node(struct planner *w, int node, bool inside, bool outside);

#endif
