/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SBATCH_SLURM_BLAME_H
#define SBATCH_SLURM_BLAME_H

#include <stdbool.h>

#include "lib/base/err.h"
#include "sbatch/launcher.h"
#include "sbatch/slurm.h"

/**
 * Of a job that came to nothing: which of its @nodes (a host list) get no work
 * now, by @text of slurm_ask_nodes(), is added to the text of @e, and what to
 * do becomes its hint.  False, and @e is as it was: none.
 */
bool slurm_blame_parse(const char *text, struct err *e);

/** The same, by asking Slurm: twice, since it may hear of a node later than we
 *  of its job.  Waits for half a second, and for sinfo at most 20. */
bool slurm_blame(const char *nodes, struct err *e);

/**
 * The first of @nodes (a host list) whose prolog failed, for which Slurm drains
 * it and cancels the job that it was for; @says has that in words.  Asks as
 * slurm_blame() does.
 */
bool slurm_blame_prolog(const char *nodes, struct slurm_node *node,
			char says[256]);

/**
 * Of a job that waits for nodes which get no work or are reserved: name them in
 * the hint of @st, with the commands that let it start after a repair where
 * the job asks for them by name.  @nodes is what slurm_ask_nodes() says of
 * them, @reservations what "scontrol --oneliner show reservation" says.  False,
 * and @st is as it was: none.  Pure.
 */
bool slurm_blame_waiting_parse(const char *job_id, const struct slurm_job *job,
			       const char *nodes, const char *reservations,
			       struct launch_state *st);

/** The same, by asking Slurm where the reason of @job is such nodes. */
void slurm_blame_waiting(const char *job_id, const struct slurm_job *job,
			 struct launch_state *st);

#endif
