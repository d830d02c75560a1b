/* SPDX-License-Identifier: BSD-3-Clause */
/* --jobs=pairs: plan, submit, follow and merge the jobs of a run. */
#ifndef CLI_RUN_JOBS_H
#define CLI_RUN_JOBS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/front/help.h"
#include "cli/run/probe_run.h"
#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/data/schema.h"
#include "sbatch/launcher.h"
#include "sbatch/slurm_lanes.h"

/* ---- plan ---------------------------------------------------------------- */

/**
 * The nodes and pairs of each job.  Nodes are divided into groups, of one node
 * if that many jobs may be submitted; any two groups meet in one job, by the
 * circle method, so that the jobs of a round have no node in common.  Pure.
 */

/** Nodes of a group at most: their pairs have to fit into --pairs. */
#define JOBS_GROUP_MAX 8
/** Maximum number of jobs of a run: Slurm's default for all jobs (MaxJobCount),
 *  and what is read from run.json. */
#define JOBS_MAX       10000

enum job_state {
	JOB_NONE,		/* no process has begun to submit it */
	JOB_WAITS,
	JOB_RUNS,
	JOB_DONE,		/* ended in order */
	JOB_LOST,		/* over without that, or jobs_merge() found that
				 * tests are missing */
};

/** A job, as it is planned or as it stands. */
struct job {
	const char *nodes;	/* with commas between; borrowed from run.json,
				 * or of a plan */
	const char *pairs;	/* for --pairs; the same */
	int lane;		/* from 1; 0: it waits for no other job */
	int tries;		/* directories that it has */
	enum job_state state;	/* of the last */
	bool settled;		/* DONE or LOST, and read */
	bool unsure;		/* waits, or is only about to be submitted */
	bool in_line;		/* waits for its lane alone */
	bool partial;		/* it leaves out nodes that were down */
	char id[SLURM_JOB_SIZE];	/* as Slurm lists it; "": it does not */
	char ended[SLURM_STATE_SIZE];	/* in this state; "": not known */
	char why[256];		/* it has no result; "": not known */
};

struct jobs_plan {
	struct job *parts;	/* in the order of submission */
	size_t n;
	int group, rounds;
	/* while it is made; borrowed */
	const char *const *names;	/* of the nodes */
	size_t n_names;
	const char *kind;
	int n_groups;
	bool *begun;		/* a group each: it has been in a job */
};

/**
 * Plan the jobs of the @n nodes, at most @most, for pairs of @kind: "all",
 * "inter", or "rail".  More than @max_jobs are distributed over that many
 * lanes.  Returns 0, or -1 with @e; jobs_plan_release() frees.
 */
int jobs_plan_make(const char *const nodes[], size_t n, const char *kind,
		   size_t max_jobs, size_t most, struct jobs_plan *p,
		   struct err *e);
void jobs_plan_release(struct jobs_plan *p);	/* safe on a zeroed one */

/* ---- jobs ---------------------------------------------------------------- */

/**
 * --jobs=pairs: a run of many small batch jobs, for nodes that are never all
 * free.  docs/slurm.md describes it.
 *
 * Each job is an ordinary run in parts/NNNN-T of the run directory, T being 1,
 * or one more for each --resume that submitted it again.  Making that directory
 * is the claim to submit it.  The plan is in "jobs" of run.json and never
 * changes; everything else is derived from the parts and the queue, so that any
 * number of processes may look at a run at any time.
 */
#define JOBS_PARTS "parts"
#define JOBS_TRIES_MAX 99	/* per part */
#define JOBS_NAMED 8		/* nodes of a list for people */

extern const struct field job_fields[];

struct jobs {
	struct left left;	/* run.json, options, words for sbatch */
	struct job *list;
	size_t n, count[JOB_LOST + 1];
	struct slurm_lane_nodes nodes;	/* as Slurm has them now */
	bool own;		/* this user may write there */
	char self[PATH_MAX];
};

/**
 * Read the run in @dir, and ask Slurm for the state of its jobs.  @j is zeroed,
 * or was read before: jobs that are over are not read again.  In a run of this
 * user a job that is over without a result gets the reason into its directory.
 * Returns 0, or -1 with @e; jobs_release() frees in any case.
 */
int jobs_look(struct jobs *j, const char *dir, struct err *e);
void jobs_release(struct jobs *j);
/** Return true if a job waits or runs. */
bool jobs_go_on(const struct jobs *j);
/** Count the jobs by their state, and write "28 jobs: 12 done, 3 running, 13
 *  waiting"; returns @buf. */
const char *jobs_text(struct jobs *j, char *buf, size_t size);
/** Append the nodes of @job that are down, separated by commas, to @out.
 *  Returns how many of its nodes are up. */
size_t jobs_find_down(const struct jobs *j, const struct job *job,
		      struct str *out);
/** Write "Slurm has it as down*: reason" about a node; returns @buf. */
const char *jobs_down_text(const struct slurm_node *n, char *buf, size_t size);
/** Write the directory of try @t of part @i (from 0), "parts/0001-1" below the
 *  run. */
void jobs_try_name(size_t i, int t, char buf[32]);
/** Append the name that Slurm has the jobs of a lane of @run by. */
void jobs_lane_name(const json_t *run, int lane, struct str *out);

/**
 * Make the files of the run from all parts, as if one job had measured
 * everything: results.csv, facts.csv, events.csv, run.json.  A function of the
 * parts alone, apart from whether a job goes on, and which nodes are down.
 * Jobs without a result for each of their tests become JOB_LOST if none goes
 * on.  Returns 0, or -1 with @e.
 */
int jobs_merge(struct jobs *j, struct err *e);

/* ---- commands ------------------------------------------------------------ */

/** gpucheck p2p --jobs=pairs; as probe_run(). */
int jobs_main(struct session *s, const char *probe,
	      int (*check)(struct session *s, struct str *drill,
			   struct err *e));
/** Return true if @dir is the directory of such a run. */
bool jobs_is_dir(const char *dir);
/** gpucheck @probe --resume of it; an exit code. */
int jobs_resume(struct session *s, const char *probe);
/** Follow it to its verdict; an exit code. */
int jobs_follow(const char *dir, const struct session *s);
/** For commands that only read: describe the jobs of the run in @dir in @text,
 *  and merge what they have if it belongs to this user.  Returns 1 if the run
 *  continues, 0 if not, -1 with @e if Slurm does not say. */
int jobs_collect(const char *dir, char *text, size_t size, struct err *e);

#endif
