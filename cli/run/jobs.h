/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_RUN_JOBS_H
#define CLI_RUN_JOBS_H

#include <limits.h>
#include <stdbool.h>

#include <jansson.h>

#include "cli/front/command.h"
#include "cli/run/resume.h"
#include "lib/base/err.h"
#include "sbatch/launcher.h"
#include "sbatch/slurm_lanes.h"

/**
 * --jobs=pairs: a run of many small batch jobs, of nodes that are never all
 * free.  docs/slurm.md says what is where and who does what.
 *
 * Each job is a run of its own in parts/NNNN-T of the run directory, T the
 * number of the try.  What is planned stands in "jobs" of run.json and never
 * changes; how it stands is what the parts and the queue say.  So anybody may
 * tend a run at any time, several at once too: who makes the directory of a try
 * submits it.
 */
#define JOBS_PARTS "parts"
#define JOBS_TRIES 2		/* of a part, until somebody resumes the run */
#define JOBS_MAX   10000	/* parts of a run.json that is read */
#define JOBS_MOST_TRIES 99

enum job_state {
	JOB_NONE,		/* not submitted, or a try that never began */
	JOB_WAITS,
	JOB_RUNS,
	JOB_DONE,
	JOB_LOST,		/* it is no more, and has not come to its end */
};

struct job {
	const char *nodes, *pairs;	/* of run.json, borrowed */
	int lane;
	int tries;		/* that were submitted */
	enum job_state state;	/* of the last */
	bool submitting;	/* the last may have no job yet */
	bool in_line;		/* it waits for its lane alone */
	bool partial;		/* lost, but it came to an end without some of
				 * its tests */
	char id[SLURM_JOB_SIZE];	/* in the queue; "": not known */
};

struct jobs {
	struct left left;	/* run.json, options, words for sbatch */
	struct job *list;
	size_t n, count[JOB_LOST + 1];
	struct slurm_lane_nodes nodes;	/* as Slurm has them now */
	char self[PATH_MAX];
};

/** Is @run, a run.json, of such a run? */
static inline bool jobs_is(const json_t *run)
{
	return json_is_object(json_object_get(run, "jobs"));
}

/** Read the run in @dir, and ask Slurm how its jobs stand.  0, or -1 with @e;
 *  jobs_release() frees in any case. */
int jobs_look(struct jobs *j, const char *dir, struct err *e);
void jobs_release(struct jobs *j);
/** Is there a job that waits or runs? */
bool jobs_go_on(const struct jobs *j);
/** Is there a part that is still to be submitted, if nodes permit? */
bool jobs_owes(const struct jobs *j);
/** Did @run, the run.json of a part, come to its end, not cut short? */
bool jobs_ended_in_order(const json_t *run);
/** "28 jobs: 12 done, 3 run, 13 wait"; returns @buf. */
const char *jobs_text(const struct jobs *j, char *buf, size_t size);

/** Where try @t of part @i, from 0, is: "parts/0001-1" below the run. */
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
 * Make of all parts the files of the run, as if one job had measured it all:
 * results.csv, facts.csv, events.csv, run.json.  Where @ends, and no job is
 * left, it has ended.  Nothing is written when others have gone on since @j was
 * looked at.  0, or -1 with @e.
 */
int jobs_merge(const struct jobs *j, bool ends, struct err *e);
/** A run that had ended has a job again.  0, or -1 with @e. */
int jobs_reopen(const struct jobs *j, struct err *e);

/** gpucheck p2p --jobs=pairs; as probe_run(). */
int jobs_main(struct session *s, const char *probe,
	      int (*check)(struct session *s, struct str *drill,
			   struct err *e));
/** Is it the directory of such a run? */
bool jobs_is_dir(const char *dir);
/** gpucheck @probe --resume of it; an exit code. */
int jobs_resume(struct session *s, const char *probe);
/** Follow it to its verdict; an exit code. */
int jobs_follow(const char *dir, const struct session *s);
/**
 * Have a keeper, unless one waits already: a small job, not before some minutes
 * have gone, which tends the run where nobody else does, and submits the next
 * one as long as there are jobs.  @blind: how many before it could not see how
 * they stand.  0, or -1 with @e.
 */
int jobs_keep(const struct jobs *j, int blind, struct err *e);
/** "gpucheck tend @dir": the hidden command that each of its jobs ends with,
 *  or that its keeper is, with @blind as above, -1 for no keeper.  An exit
 *  code. */
int jobs_tend_main(const char *dir, int blind, struct err *e);
/** For who only looks: bring the files of the run in @dir up to date where
 *  they are ours.  1: it goes on, as @text says, or would if somebody tended
 *  it; 0; -1 with @e. */
int jobs_collect(const char *dir, char *text, size_t size, struct err *e);

#endif
