/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SBATCH_SLURM_STANDING_H
#define SBATCH_SLURM_STANDING_H

#include "lib/base/err.h"

/** Is a job still there?  What is not known for sure is not over. */
enum slurm_standing {
	SLURM_JOB_UNKNOWN,	/* Slurm does not answer */
	SLURM_JOB_GOES_ON,
	SLURM_JOB_ENDS,		/* of its processes some may be left */
	SLURM_JOB_OVER,		/* it has ended, or nobody knows it any more */
};

/** By what "squeue --states=all --format=%T" printed, where @why is NULL, or
 *  the words with which it failed.  Pure. */
enum slurm_standing slurm_parse_standing(const char *text,
					 const struct err *why);
/** By asking for the job of that number, at most 10 s. */
enum slurm_standing slurm_job_standing(const char *job);

#endif
