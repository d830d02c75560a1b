/* SPDX-License-Identifier: BSD-3-Clause */
/* --jobs=pairs: plan, submit, follow and merge the jobs of a run. */
#ifndef CLI_RUN_JOBS_H
#define CLI_RUN_JOBS_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/front/help.h"
#include "cli/run/probe_run.h"
#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/data/record.h"
#include "lib/data/schema.h"
#include "sbatch/launcher.h"
#include "sbatch/slurm_lanes.h"

/* ---- jobs plan ----------------------------------------------------------- */

/**
 * --jobs=pairs: the nodes and pairs of each job.  Nodes are divided into
 * groups, of one node if that many jobs may be submitted; any two groups meet
 * in one job, by the circle method.  So the jobs of a round have no node in
 * common, and lanes that are equally far do not wait for each other.  Pure.
 */

/** Nodes of a group at most: their pairs have to fit into --pairs. */
#define JOBS_GROUP_MAX 8
/** Maximum number of jobs, out of consideration for others in the queue, even
 *  if more are allowed. */
#define JOBS_MOST      1000

struct jobs_part {
	struct str nodes;	/* with commas between */
	struct str pairs;	/* for --pairs */
	int lane;		/* from 1 */
};

struct jobs_plan {
	struct jobs_part *parts;	/* in the order of submission */
	size_t n;
	int group, rounds;
};

/** A node that there is. */
struct jobs_node {
	const char *name;	/* borrowed */
	bool busy;		/* others have it now: its jobs come last */
};

/**
 * Jobs of the @n nodes, @most at most, for pairs of @kind: "all", "inter", or
 * "rail".  0, or -1 with @e; jobs_plan_release() frees.
 */
int jobs_plan_make(const struct jobs_node *nodes, size_t n, const char *kind,
		   int lanes, size_t most, struct jobs_plan *p,
		   struct err *e);
void jobs_plan_release(struct jobs_plan *p);	/* safe on a zeroed one */

/* ---- jobs ask ------------------------------------------------------------ */

/** The parts that are about to be submitted. */
struct jobs_ask {
	const char *kind;	/* of pairs: all, inter, rail */
	struct slurm_lane_nodes nodes;
	struct jobs_node *use;	/* of those the ones that take part */
	size_t n, busy, down;
	struct jobs_plan plan;
	int64_t gpus;		/* of each node; 0: as its job has */
};

/* ---- jobs ---------------------------------------------------------------- */

/**
 * --jobs=pairs: a run of many small batch jobs, for nodes that are never all
 * free.  docs/slurm.md describes the files and processes.
 *
 * Each job is a run of its own in parts/NNNN-T of the run directory, T being
 * the number of the try.  The plan is in "jobs" of run.json and never changes;
 * the state is derived from the parts and the queue.  So any process may keep a
 * run at any time, even several at once: the one that makes the directory of a
 * try submits it.
 */
#define JOBS_PARTS "parts"
#define JOBS_TRIES 2		/* per part, until the run is resumed */
#define JOBS_MAX   10000	/* parts of a run.json that is read */
#define JOBS_MOST_TRIES 99
#define JOBS_NAMED 8		/* nodes of a list for people */

enum job_state {
	JOB_NONE,		/* not submitted, or a try that never began */
	JOB_WAITS,
	JOB_RUNS,
	JOB_DONE,
	JOB_LOST,		/* no longer in the queue, and has not ended
				 * in order */
};

struct job {
	const char *nodes, *pairs;	/* of run.json, borrowed */
	int lane;
	int tries;		/* that were submitted */
	enum job_state state;	/* of the last */
	bool submitting;	/* the last may have no job yet */
	bool in_line;		/* it waits for its lane alone */
	bool partial;		/* lost, but ended in order without some of
				 * its tests */
	char id[SLURM_JOB_SIZE];	/* in the queue; "": not known */
};

extern const struct field job_fields[];

struct jobs {
	struct left left;	/* run.json, options, words for sbatch */
	struct job *list;
	size_t n, count[JOB_LOST + 1];
	struct slurm_lane_nodes nodes;	/* as Slurm has them now */
	char self[PATH_MAX];
};

/** Reads the run in @dir, and asks Slurm for the state of its jobs.  Returns 0,
 *  or -1 with @e; jobs_release() frees in any case. */
int jobs_look(struct jobs *j, const char *dir, struct err *e);
void jobs_release(struct jobs *j);
/** Returns true if a job waits or runs. */
bool jobs_go_on(const struct jobs *j);
/** Returns true if a part is still to be submitted, if enough nodes are up. */
bool jobs_owes(const struct jobs *j);
/** "28 jobs: 12 done, 3 run, 13 wait"; returns @buf. */
const char *jobs_text(const struct jobs *j, char *buf, size_t size);

/** Writes the directory of try @t of part @i (from 0), "parts/0001-1" below the
 *  run. */
void jobs_try_name(size_t i, int t, char buf[32]);
/** Append the name of the jobs of a lane of @run; of lane 0 that of its
 *  keeper. */
void jobs_lane_name(const json_t *run, int lane, struct str *out);

/**
 * Submit what has no try, and with @again what was lost once; cancel what waits
 * for a node that is down, and keeps its lane from going on.  Nodes that are
 * down cost their own jobs alone.  0, or -1 with @e: Slurm refuses jobs.
 */
int jobs_tend(struct jobs *j, struct err *e);

/**
 * Makes the files of the run from all parts, as if a single job had measured
 * everything: results.csv, facts.csv, events.csv, run.json.  With @ends, and if
 * no job is left, the run has ended.  Writes nothing if other processes have
 * continued since @j was read.  Returns 0, or -1 with @e.
 */
int jobs_merge(const struct jobs *j, bool ends, struct err *e);
/** A run that had ended has a job again.  0, or -1 with @e. */
int jobs_reopen(const struct jobs *j, struct err *e);

/** gpucheck p2p --jobs=pairs; as probe_run(). */
int jobs_main(struct session *s, const char *probe,
	      int (*check)(struct session *s, struct str *drill,
			   struct err *e));
/** Say how to cancel all jobs of the run in @dir. */
void jobs_say_cancel(const char *dir);
/** Returns true if @dir is the directory of such a run. */
bool jobs_is_dir(const char *dir);
/** gpucheck @probe --resume of it; an exit code. */
int jobs_resume(struct session *s, const char *probe);
/** Follow it to its verdict; an exit code. */
int jobs_follow(const char *dir, const struct session *s);
/**
 * Submits a keeper unless one is waiting: a small job that starts after some
 * minutes, completes the run if no other process does, and submits the next
 * keeper as long as there are jobs.  @blind: number of keepers before it that
 * could not read the state.  Returns 0, or -1 with @e.
 */
int jobs_keep(const struct jobs *j, int blind, struct err *e);
/** "gpucheck tend @dir": the hidden command that each of its jobs ends with,
 *  or that its keeper is, with @blind as above, -1 for no keeper.  An exit
 *  code. */
int jobs_tend_main(const char *dir, int blind, struct err *e);
/** For commands that only read: updates the files of the run in @dir if they
 *  belong to this user.  Returns 1 if the run continues, or would with a
 *  keeper, as @text says; 0 if not; -1 with @e. */
int jobs_collect(const char *dir, char *text, size_t size, struct err *e);

/* ---- jobs merge ---------------------------------------------------------- */

/**
 * Shared state of the files of jobs_merge(): the parts of a run as they were
 * read, and the whole run that is made of them.
 */

/** A run of a part that came as far as a plan. */
struct jobs_try {
	char dir[PATH_MAX];
	json_t *run;
	bool orderly;		/* ended in order, not cut short */
	int64_t ended_ns;	/* when run.json was last written */
};

/** A node of the whole. */
struct jobs_whole_node {
	const char *name;	/* of run.json, borrowed */
	json_t *json;		/* as its last try has it; NULL: never seen */
	size_t try;		/* that one, + 1 */
	int first_rank, gpus;
	const struct slurm_node *down;	/* as Slurm has it, borrowed; NULL */
};

/** State of a cell of the whole run, an ordered pair of ranks. */
struct jobs_cell {
	uint16_t owner;		/* number of the try with its rows, + 1 */
	uint8_t failures;	/* rows of others that say what was bad */
	uint8_t written;	/* of these */
};

struct merge {
	const struct jobs *j;
	struct jobs_try *tries;	/* in the order in which they ended */
	size_t n_tries;
	struct jobs_whole_node *nodes;
	size_t n_nodes;
	int n_ranks;
	struct jobs_cell *cells;	/* n_ranks x n_ranks */
	struct fact_row *growth;	/* counters, over all tries */
	size_t n_growth;
	int64_t seq;		/* of events */
	bool ended;		/* no job is left */
	/* the try that is being read, and the destination of its rows */
	size_t at;
	FILE *out;
	struct str lines;
	const struct schema *schema;
};

/** The tries of m->j, and the nodes and ranks that these make.  0, or -1 with
 *  @e. */
int merge_find(struct merge *m, struct err *e);
/** Returns the node with that name; NULL: it does not take part. */
struct jobs_whole_node *merge_node(const struct merge *m, const char *name);
/** The rank of the whole that is @rank of @node of the try at hand; -1: no
 *  such. */
int merge_rank(const struct merge *m, const char *node, int64_t rank);
/** Each row of @schema of try @at to @take, with @m.  0, or -1 with @e. */
int merge_walk(struct merge *m, size_t at, const struct schema *schema,
	       int (*take)(void *arg, const void *row, struct err *e),
	       struct err *e);
/** Write what m->lines has, or with @all false only when it is much. */
int merge_flush(struct merge *m, bool all, struct err *e);

/* ---- refusal ------------------------------------------------------------- */

/** Retries of a request that is refused: at growing intervals, with a message
 *  only if the reason changes.  Zeroed: nothing was refused. */
struct jobs_refusal {
	char why[320];
	int64_t wait_ns;	/* after the next refusal */
	int64_t next_ns;	/* not before, by clock_now_ns() */
};

/** Returns true if it is time to ask again. */
bool refusal_is_over(const struct jobs_refusal *r, int64_t now_ns);
/** It was refused at @now_ns for reason @why, or done (NULL).  True: to be
 *  said. */
bool refusal_note(struct jobs_refusal *r, const char *why, int64_t now_ns);

#endif
