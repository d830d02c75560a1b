/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_RUN_JOBS_ASK_H
#define CLI_RUN_JOBS_ASK_H

#include <stddef.h>
#include <stdint.h>

#include "cli/run/jobs_plan.h"
#include "cli/run/probe_run.h"
#include "lib/base/err.h"
#include "lib/base/str.h"
#include "sbatch/slurm_lanes.h"

/** What is about to be submitted. */
struct jobs_ask {
	const char *kind;	/* of pairs: all, inter, rail */
	struct slurm_lane_nodes nodes;
	struct jobs_node *use;	/* of those the ones that take part */
	size_t n, busy, down;
	struct jobs_plan plan;
	int64_t gpus;		/* of each node; 0: as its job has */
};

/** How many jobs of how many nodes, and how long each measures, to @out. */
void jobs_say_plan(const struct session *s, const struct jobs_ask *a,
		   const char *probe, struct str *out);
/** --dry-run: print the jobs, and the script of the first.  An exit code, with
 *  @e where that is none. */
int jobs_describe(const struct session *s, const struct probe_start *t,
		  const struct jobs_ask *a, struct err *e);
/** gpucheck plan p2p --jobs=pairs; an exit code. */
int jobs_show_plan(const struct session *s, const struct jobs_ask *a,
		   const char *probe);

#endif
