/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SBATCH_SLURM_H
#define SBATCH_SLURM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/data/allocation.h"

/**
 * What Slurm's commands say, read as data.  Pure functions of the text; it may
 * be anything, since sites wrap these commands and old Slurms word them
 * differently.
 */

#define SLURM_JOB_SIZE 32	/* of a job's number, with its final NUL */

/** "4711" or "4711;cluster" of "sbatch --parsable" (the last such line, since
 *  submit plugins talk before it).  0, or -1 with @e. */
int slurm_parse_job_id(const char *text, char job[SLURM_JOB_SIZE],
		       struct err *e);

/** What "scontrol --oneliner show job" says about a job. */
struct slurm_job {
	char state[32];		/* PENDING, RUNNING, ... */
	char reason[256];	/* Resources, NonZeroExitCode, "Nodes required
				 * for job are DOWN ..." */
	char start[32];		/* "2026-01-31T09:15:02", local; of one that
				 * waits Slurm's guess; "" = nobody knows */
	char nodes[1024];	/* host list, may be cut; "" = none yet */
	char wanted[1024];	/* those that were asked for by name */
	int64_t n_nodes;	/* that it asks for, or has; 0 = not known */
	char batch_host[64];	/* node of the batch script, "" = none yet */
	int exit_code;		/* of the batch script */
	int signal;		/* that ended it, 0 = none */
};

int slurm_parse_job(const char *text, struct slurm_job *job, struct err *e);

/** Does a line of "sinfo --format=%T" say that a node is down? */
bool slurm_parse_is_down(const char *text);

#define SLURM_NODE_SIZE	 64	/* of a node's name and state, with their
				 * NULs */
#define SLURM_STATE_SIZE 32
#define SLURM_WHY_SIZE	 100

/** May @name be that of a node?  No list, no option. */
bool slurm_is_node(const char *name);

/** A line of "sinfo --Node --format=%N|%T|%E". */
struct slurm_node {
	char name[SLURM_NODE_SIZE], state[SLURM_STATE_SIZE];
	char why[SLURM_WHY_SIZE];	/* an admin's words, or Slurm's; "" */
};

/** The next line "n1|down*|Not responding" at *@text, which moves on; lines
 *  that are none are passed over.  False at the end. */
bool slurm_parse_node(const char **text, struct slurm_node *n);

/** The reservation of @node in the lines of "scontrol --oneliner show
 *  reservation"; false when it is in none. */
bool slurm_parse_reservation(const char *text, const char *node, char *name,
			     size_t size);

/** Is @state that of a node which gets no work, such as "drained"? */
bool slurm_state_is_out(const char *state);

/** Does "srun --mpi=list" offer pmi2? */
bool slurm_parse_has_pmi2(const char *text);

/** "slurm-wlm 22.05.8" of "srun --version" as 220508, 0 when it cannot be
 *  read. */
int slurm_parse_version(const char *text);

/**
 * The nodes of @job and their GPUs by "scontrol --oneliner --details show
 * job", where each component of a heterogeneous job has a line of its own,
 * added to @a.  0, or -1: it says nothing, or what cannot be; @a is released
 * by the caller in any case.
 */
int slurm_parse_allocation(const char *text, const char *job,
			   struct allocation *a);

/** The script of @job in the lines "id|script" of squeue; false when there is
 *  none. */
bool slurm_parse_script(const char *text, const char *job, char *script,
			size_t size);

/** Id ("42.3", "42") of the step or job called @name in the lines "id|name" of
 *  squeue; false when there is none. */
bool slurm_parse_step(const char *text, const char *name, char *step,
		      size_t size);

#endif
