/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SBATCH_SRUN_STEP_H
#define SBATCH_SRUN_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/data/allocation.h"
#include "sbatch/launcher.h"
#include "lib/base/err.h"

/** Command that a node runs: "gpucheck muster" without a directory prints
 *  MUSTER_HERE and the node's name. If agents run in containers, a shell
 *  outside of them prints the same. */
#define MUSTER_COMMAND "muster"
#define MUSTER_HERE    "gpucheck here: "

/**
 * The step with one agent per node, which gets all GPUs of its job however they
 * were asked for.  Variables that salloc and sbatch leave for srun
 * (SLURM_GPUS_PER_TASK=1 ...) are meant for other programs: they are removed,
 * and the step asks for the number of GPUs that each node has in the job.
 */
struct srun_step {
	int version;		/* of srun, 220508; 0 = not known: as the
				 * newest */
	bool pmi2;
	struct allocation alloc;	/* of the job; empty = not known */
	struct args line;	/* of srun */
	struct args env;	/* changes to the environment: "NAME=VALUE", or
				 * "NAME" to unset it */
	bool muster;		/* no agents: each node only prints its name */
	struct str nodes;	/* on which it starts, with commas; empty: srun
				 * chooses them */
};

/** Ask Slurm about the job of this environment; without an answer fields stay
 *  unknown.  srun_step_release() frees. */
void srun_step_ask(struct srun_step *s);
/** Compose the line and environment for @r as step @name (NULL: srun's default)
 *  by what is known; @inherited is the environment of this process. */
void srun_step_compose(struct srun_step *s, const struct launch_request *r,
		       const char *name, char *const inherited[]);
/** Append both as a line that works when it is pasted. */
void srun_step_describe(const struct srun_step *s, struct str *out);
/** Print the line of that srun on stderr and replace this process by it.
 *  Returns only on failure, with @e. */
int srun_step_become(struct srun_step *s, struct err *e);
void srun_step_release(struct srun_step *s);	/* safe on a zeroed one */

/** Return how many nodes of the job of this environment @s does not leave out;
 *  0: not known. */
int64_t srun_step_nodes(const struct spec *s);

/* ---- roll call ---------------------------------------------------------- */

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
	/* 0 = not yet; the first answer from another node, and from this, our
	 * TERM, and the end of srun */
	int64_t begin_ns, first_ns, own_ns, end_ns, over_ns;
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
