/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SBATCH_MUSTER_H
#define SBATCH_MUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "sbatch/launcher.h"
#include "sbatch/srun_step.h"

/**
 * A roll call of the nodes of a job before its agents start.  srun ends a whole
 * step when one node cannot start its task, and a step of Slurm gets no new
 * ranks; so a step in which each node only prints its name finds these nodes
 * first and notes them in DIR/absent, and the step of the agents does without
 * them.
 */

struct muster {
	struct launch_child srun;
	struct srun_step step;
	const struct launch_request *r;
	struct muster_node {
		char *name;
		bool here;
		const char *code;	/* why it cannot start a program; NULL:
					 * no reason is known */
		char *says;		/* Slurm's words about that */
	} *nodes;
	size_t n;
	int round;
	bool ended;			/* by us: some nodes do not answer */
	/* 0 = not yet; the first answer from another node, and from this */
	int64_t begin_ns, first_ns, own_ns, end_ns;
	int64_t since_ns;		/* the job's start; 0: not asked for */
};

/** Start a roll call of the nodes of @r, which outlives @m.  It is over at once
 *  if the run needs none.  muster_release() frees in any case. */
void muster_begin(struct muster *m, const struct launch_request *r);
/** Read new answers without waiting; false: the roll call is over. */
bool muster_goes_on(struct muster *m);
/** End it at once. */
void muster_release(struct muster *m);

/** Read the output @text of srun for one step on @nodes.  Pure. */
void muster_read(const char *text, struct muster_node *nodes, size_t n);

#endif
