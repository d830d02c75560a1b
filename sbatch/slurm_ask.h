/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SBATCH_SLURM_ASK_H
#define SBATCH_SLURM_ASK_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/data/allocation.h"
#include "sbatch/args.h"

/**
 * Run a command of Slurm, at most 10 s, release its words @a, and keep what it
 * wrote to stdout in @out (may be NULL).  Returns 0, or -1 with @e: not there,
 * no answer, or a non-zero exit; then e->text has Slurm's own words, and the
 * code is that of a command that did not come to its end, or 0.
 */
int slurm_ask(struct args *a, struct str *out, struct err *e);

/** scancel @options, parted by blanks, @job: a job's or step's number; 0 or
 *  -1. */
int slurm_cancel(const char *options, const char *job);

/** Does Slurm say that @node is down?  False when nobody knows. */
bool slurm_node_is_down(const char *node);

/** How Slurm has @nodes, a host list ("": all), for slurm_parse_node(); as
 *  slurm_ask(). */
int slurm_ask_nodes(const char *nodes, struct str *out, struct err *e);

/** The number of the job of batch script @script that waits or runs, or with
 *  @past of the last one that Slurm still knows; "" when there is none; -1 with
 *  @e when Slurm does not say. */
int slurm_find_job(const char *script, bool past, char job[32], struct err *e);
/** The batch script of @job, which may just have ended; 0, or -1 with @e. */
int slurm_find_script(const char *job, char script[PATH_MAX], struct err *e);

/** The version of srun, 220508; 0 when nobody knows. */
int slurm_srun_version(void);

/** What nodes and GPUs @job has into the zeroed @a; nothing when nobody knows.
 *  allocation_release() frees. */
void slurm_job_allocation(const char *job, struct allocation *a);

/** The numbers of the user whose job @job is, and of the group that it runs as;
 *  false when nobody knows. */
bool slurm_job_owner(const char *job, int64_t *uid, int64_t *gid);

/** May agents be started with --mpi=pmi2?  True when nobody can say. */
bool slurm_has_pmi2(void);

#endif
