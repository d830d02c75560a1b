/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_RUN_JOBS_PLAN_H
#define CLI_RUN_JOBS_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "lib/base/err.h"
#include "lib/base/str.h"

/**
 * --jobs=pairs: which job measures which nodes.  Nodes are parted into groups,
 * of one where so many jobs may be submitted; any two groups meet in one job,
 * by the circle method.  So the jobs of a round have no node in common, and
 * lanes that are equally far do not wait for each other.  Pure.
 */

/** Nodes of a group at most: their pairs have to fit into --pairs. */
#define JOBS_GROUP_MAX 8
/** More jobs are no kindness to others in the queue, whatever is allowed. */
#define JOBS_MOST      1000

struct jobs_part {
	struct str nodes;	/* with commas between */
	struct str pairs;	/* for --pairs */
	int lane;		/* from 1 */
};

struct jobs_plan {
	struct jobs_part *parts;	/* in the order of submission */
	size_t n;
	int group, rounds;
};

/** A node that there is. */
struct jobs_node {
	const char *name;	/* borrowed */
	bool busy;		/* others have it now: its jobs come last */
};

/**
 * Jobs of the @n nodes, @most at most, for pairs of @kind: "all", "inter", or
 * "rail".  0, or -1 with @e; jobs_plan_release() frees.
 */
int jobs_plan_make(const struct jobs_node *nodes, size_t n, const char *kind,
		   int lanes, size_t most, struct jobs_plan *p,
		   struct err *e);
void jobs_plan_release(struct jobs_plan *p);	/* safe on a zeroed one */

/** [{nodes, pairs, lane}, ...] */
json_t *jobs_plan_json(const struct jobs_plan *p);

#endif
