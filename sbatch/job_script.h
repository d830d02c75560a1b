/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SBATCH_JOB_SCRIPT_H
#define SBATCH_JOB_SCRIPT_H

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "sbatch/launcher.h"

/** Nodes that a job of @s asks for. */
int64_t job_script_nodes(const struct spec *s);

/** The batch script of @r; asks sinfo and srun what this cluster has. */
int job_script_write(const struct launch_request *r, struct str *out,
		     struct err *e);

#endif
