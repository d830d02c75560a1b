/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SBATCH_SLURM_FIT_H
#define SBATCH_SLURM_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "sbatch/launcher.h"

/**
 * Has the cluster what a job asks for?  One that no partition can ever start
 * waits in the queue for good, by default (EnforcePartLimits=NO).
 */
struct slurm_fit {
	const char *partitions;	/* "a,b", one of which; NULL: the default */
	const char *features;	/* of --constraint; NULL: any */
	int64_t nodes;		/* that are asked for */
	int64_t gpus;		/* of each; 0: nobody has said how many */
	bool on_gpus;		/* it is GPUs that are tested */
};

#define SLURM_FIT_SINFO "sinfo --all --noheader --format=%P|%D|%G|%f"
/**
 * By the lines of that command: 0, or -1 with @e when no wanted partition has
 * so many such nodes, be they up or down.  Of what cannot be read nothing is
 * said.  *@gpus is how many to ask for of each node: those that were said, else
 * as many as most have, or as enough of them have; 0: none, for what tests no
 * GPUs where too few nodes have so many.
 */
int slurm_fit_parse(const struct slurm_fit *f, const char *text, int64_t *gpus,
		    struct err *e);

/** The same of @r and what follows "--" there, by asking Slurm; @e may be
 *  NULL. */
int slurm_fit_ask(const struct launch_request *r, int64_t nodes, int64_t *gpus,
		  struct err *e);

/** Of @extra what says for whom a job is and where it may be, such as
 *  --account and --partition, in their long form to @a: for a job that needs
 *  nothing else of it. */
void slurm_fit_whose(char *const extra[], struct args *a);

/** The value of --@name or -@letter among @extra, as getopt reads it, be the
 *  name cut short; "" for one that ends them, NULL when it is not there. */
const char *slurm_fit_option(char *const extra[], const char *name,
			     char letter);

#endif
