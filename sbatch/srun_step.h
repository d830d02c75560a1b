/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SBATCH_SRUN_STEP_H
#define SBATCH_SRUN_STEP_H

#include <stdbool.h>

#include "lib/data/allocation.h"
#include "sbatch/launcher.h"

/** Command that a node runs: "gpucheck muster" without a directory prints
 *  MUSTER_HERE and the node's name. If agents run in containers, a shell
 *  outside of them prints the same. */
#define MUSTER_COMMAND "muster"
#define MUSTER_HERE    "gpucheck here: "

/**
 * The step of one agent a node, which is to have every GPU of its job however
 * these were asked for.  What salloc and sbatch leave in the environment for
 * srun (SLURM_GPUS_PER_TASK=1 ...) is meant for other programs: it is taken
 * out, and the GPUs that each node has in the job are asked for by number.
 */
struct srun_step {
	int version;		/* of srun, 220508; 0 = not known: as newest */
	bool pmi2;
	struct allocation alloc;	/* of the job; empty = not known */
	struct args line;	/* of srun */
	struct args env;	/* what is different in its environment:
				 * "NAME=VALUE", or "NAME", which has to go */
	bool muster;		/* no agents: each node only says its name */
	struct str nodes;	/* that it starts on, with commas; empty: srun
				 * chooses them */
};

/** Ask Slurm about the job of this environment; what it does not answer is not
 *  known.  srun_step_release() frees. */
void srun_step_ask(struct srun_step *s);
/** Its line and environment for @r as step @name (NULL: as srun has it), by
 *  what is known; @inherited: of this process. */
void srun_step_compose(struct srun_step *s, const struct launch_request *r,
		       const char *name, char *const inherited[]);
/** Append both as a line that works when it is pasted. */
void srun_step_describe(const struct srun_step *s, struct str *out);
/** Become that srun, whose line is said on stderr; comes back with @e only. */
int srun_step_become(struct srun_step *s, struct err *e);
void srun_step_release(struct srun_step *s);	/* safe on a zeroed one */

/** Nodes of the job of this environment that @s does not leave out, 0: not
 *  known. */
int64_t srun_step_nodes(const struct spec *s);

#endif
