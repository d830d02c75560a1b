/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SBATCH_SLURM_STATE_H
#define SBATCH_SLURM_STATE_H

#include <stdint.h>

#include "sbatch/launcher.h"
#include "sbatch/slurm.h"

/** Say what @job's state means: phase, exit code, sentence, hint.  Pure. */
void slurm_state_explain(uint32_t job_id, const struct slurm_job *job,
			 const char *dir, struct launch_state *st);

#endif
