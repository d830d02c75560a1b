/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SBATCH_JOB_SCRIPT_H
#define SBATCH_JOB_SCRIPT_H

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "sbatch/launcher.h"

/** The text of job.sbatch, part of the program. */
extern const char job_template[];

/** Nodes that a job of @s asks for. */
int64_t job_script_nodes(const struct spec *s);

/** What @NAME@ of a template becomes. */
struct job_var {
	const char *name;
	const char *value;
};

/**
 * Copy @template to @out with every @NAME@ (upper case, digits, _) replaced
 * from @vars (closed by a NULL name).  A line with a name whose value is empty
 * is left out.  0, or -1 with @e when a name is unknown (@out is undefined
 * then).
 */
int job_script_fill(const char *template, const struct job_var *vars,
		    struct str *out, struct err *e);

/** The batch script of @r; asks sinfo and srun what this cluster has. */
int job_script_write(const struct launch_request *r, struct str *out,
		     struct err *e);

#endif
