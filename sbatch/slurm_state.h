/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SBATCH_SLURM_STATE_H
#define SBATCH_SLURM_STATE_H

#include "sbatch/launcher.h"
#include "sbatch/slurm.h"

/** What state "COMPLETED" of a job means; one that nobody knows is that of a
 *  job that runs.  Pure. */
enum launch_phase slurm_state_phase(const char *state);

/** Say what @job's state means: phase, exit code, sentence, hint.  Pure. */
void slurm_state_explain(const char *job_id, const struct slurm_job *job,
			 const char *dir, struct launch_state *st);

#endif
