/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SBATCH_SLURM_H
#define SBATCH_SLURM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/data/allocation.h"
#include "sbatch/launcher.h"

/* ---- slurm --------------------------------------------------------------- */

/**
 * Parsers for the output of Slurm's commands. Pure functions of the text, which
 * may be anything: sites wrap these commands, and old versions word them
 * differently.
 */

#define SLURM_JOB_SIZE 32	/* of a job's number, with its final NUL */

/** Parse "4711" or "4711;cluster" of "sbatch --parsable": the last such line,
 *  since submit plugins print before it.  Returns 0, or -1 with @e. */
int slurm_parse_job_id(const char *text, char job[SLURM_JOB_SIZE],
		       struct err *e);

/** Fields of "scontrol --oneliner show job"; a line of squeue has the state,
 *  the reason and the last two: slurm_parse_queued(). */
struct slurm_job {
	char state[32];		/* PENDING, RUNNING, ... */
	char reason[256];	/* Resources, NonZeroExitCode, "Nodes required
				 * for job are DOWN ..." */
	char start[32];		/* "2026-01-31T09:15:02", local; an estimate
				 * while the job waits; "" = not known */
	char nodes[1024];	/* host list, may be cut; "" = none yet */
	char wanted[1024];	/* nodes that were asked for by name */
	int64_t n_nodes;	/* asked for, or allocated; 0 = not known */
	char batch_host[64];	/* node of the batch script, "" = none yet */
	int64_t restarts;	/* how often Slurm requeued it */
	int exit_code;		/* of the batch script */
	int signal;		/* that ended it, 0 = none */
	char id[SLURM_JOB_SIZE], script[PATH_MAX];
};

int slurm_parse_job(const char *text, struct slurm_job *job, struct err *e);

#define SLURM_NODE_SIZE	 64	/* of a node's name and state, with their
				 * NULs */
#define SLURM_STATE_SIZE 32
#define SLURM_WHY_SIZE	 100

/** Return true if @name can be the name of a node: not a list, not an
 *  option. */
bool slurm_is_node(const char *name);

/** The line at *@text without its end, which moves on behind it; false at the
 *  end.  What does not fit is cut. */
bool slurm_next_line(const char **text, char *line, size_t size);

/** A line of "sinfo --Node --format=%N|%T|%E". */
struct slurm_node {
	char name[SLURM_NODE_SIZE], state[SLURM_STATE_SIZE];
	char why[SLURM_WHY_SIZE];	/* an admin's words, or Slurm's; "" */
};

/** Parse the next line "n1|down*|Not responding" of *@text, which moves on;
 *  other lines are skipped.  Returns false at the end. */
bool slurm_parse_node(const char **text, struct slurm_node *n);

/** Find the reservation of @node in the lines of "scontrol --oneliner show
 *  reservation"; false if there is none. */
bool slurm_parse_reservation(const char *text, const char *node, char *name,
			     size_t size);

/** Returns true if a node in @state, such as "drained", gets no work. */
bool slurm_state_is_out(const char *state);

/** Returns true if "srun --mpi=list" offers pmi2. */
bool slurm_parse_has_pmi2(const char *text);

/** Return "slurm-wlm 22.05.8" of "srun --version" as 220508, or 0 if it cannot
 *  be parsed. */
int slurm_parse_version(const char *text);

/**
 * Add the nodes of @job and their GPUs to @a, from the text of "scontrol
 * --oneliner --details show job", where each component of a heterogeneous job
 * has a line of its own.  Returns 0, or -1 if there are none or they are
 * invalid; the caller releases @a in any case.
 */
int slurm_parse_allocation(const char *text, const char *job,
			   struct allocation *a);

/** Find the script of @job in the lines "id|script" of squeue; false if there
 *  is none. */
bool slurm_parse_script(const char *text, const char *job, char *script,
			size_t size);

/** Find the id ("42.3", "42") of the step or job called @name in the lines
 *  "id|name" of squeue; false if there is none. */
bool slurm_parse_step(const char *text, const char *name, char *step,
		      size_t size);

/* ---- slurm blame --------------------------------------------------------- */

/**
 * Add the nodes that get no work now, by @text of slurm_ask_nodes(), to the
 * text of @e and to the empty list @names, and set the hint of @e to what to
 * look at; with @prolog only nodes whose prolog failed. Returns false with both
 * unchanged if there are none. Pure.
 */
bool slurm_blame_parse(const char *text, bool prolog, struct err *e,
		       struct str *names);

/** The same for the host list @nodes, by asking Slurm twice, since it may learn
 *  about a node later than we do about its job.  Waits for half a second, and
 *  for sinfo at most 20. */
bool slurm_blame(const char *nodes, bool prolog, struct err *e,
		 struct str *names);

/**
 * Find the first of @nodes (a host list) whose prolog failed; Slurm drains such
 * a node and cancels the job.  @says describes it.  Asks as slurm_blame() does.
 */
bool slurm_blame_prolog(const char *nodes, struct slurm_node *node,
			char says[256]);

/** Add to @st those of the job's @nodes (a host list) that are down, with the
 *  reason: "; n1 is down*: Not responding".  Returns false if there are none.
 *  Waits for sinfo at most 10 s. */
bool slurm_blame_lost(const char *nodes, struct launch_state *st);
/** The same of all nodes of a job that ended because of a node. */
void slurm_blame_end(const struct slurm_job *job, struct launch_state *st);

/**
 * Name the nodes for which a pending job waits because they get no work or are
 * reserved in the hint of @st, with the commands that let it start after a
 * repair if the job asks for them by name. @nodes is the text of
 * slurm_ask_nodes(), @reservations that of "scontrol --oneliner show
 * reservation". Returns false with @st unchanged if there are none. Pure.
 */
bool slurm_blame_waiting_parse(const char *job_id, const struct slurm_job *job,
			       const char *nodes, const char *reservations,
			       struct launch_state *st);

/** The same, by asking Slurm where the reason of @job is such nodes. */
void slurm_blame_waiting(const char *job_id, const struct slurm_job *job,
			 struct launch_state *st);

/* ---- slurm lost ---------------------------------------------------------- */

/**
 * Record Slurm's state of the nodes whose agents were lost in the ended run of
 * DIR, and of drained nodes of a retest, with the reason, as events
 * slurm_state, once each. Waits for sinfo at most 10 s. Returns 0, also if
 * Slurm does not know the nodes; -1 with @e.
 */
int slurm_note_lost(const char *dir, struct err *e);

/* ---- slurm standing ------------------------------------------------------ */

/** Standing of a job; a job whose state is uncertain is not over. */
enum slurm_standing {
	SLURM_JOB_UNKNOWN,	/* Slurm does not answer */
	SLURM_JOB_GOES_ON,
	SLURM_JOB_ENDS,		/* some of its processes may be left */
	SLURM_JOB_OVER,		/* it has ended, or Slurm no longer knows it */
};

/** Return the standing by @text of "squeue --states=all --format=%T", or by the
 *  error @why with which it failed (NULL: it did not).  Pure. */
enum slurm_standing slurm_parse_standing(const char *text,
					 const struct err *why);
/** Return the standing of job number @job by asking Slurm, at most 10 s. */
enum slurm_standing slurm_job_standing(const char *job);

/* ---- slurm state --------------------------------------------------------- */

#define SLURM_REQUEUED "was put back into the queue"

/** Set @st by @job's state: phase, exit code, sentence, hint.  Pure. */
void slurm_state_explain(const char *job_id, const struct slurm_job *job,
			 const char *dir, struct launch_state *st);

/* ---- slurm ask ----------------------------------------------------------- */

/**
 * Run a command of Slurm for at most 10 s, release its words @a, and keep its
 * stdout in @out (may be NULL).  Returns 0, or -1 with @e if the command is
 * missing, does not answer or exits non-zero: then e->text has Slurm's own
 * words, and e->code is that of a command that did not end by itself, or 0.
 */
int slurm_run(struct args *a, struct str *out, struct err *e);
/** The same of the words in @words, and of @more unless it is NULL. */
int slurm_ask(const char *words, const char *more, struct str *out,
	      struct err *e);

/** Run scancel with @options, separated by blanks, for the job or step @job.
 *  Returns 0 or -1. */
int slurm_cancel(const char *options, const char *job);

/** Ask sinfo about @nodes, a host list ("": all), for slurm_parse_node(); fails
 *  as slurm_ask(). */
int slurm_ask_nodes(const char *nodes, struct str *out, struct err *e);

/** Find the job of batch script @script that waits or runs, or with @past the
 *  last one that Slurm still knows; @job is "" if there is none.  Returns 0, or
 *  -1 with @e if Slurm does not answer. */
int slurm_find_job(const char *script, bool past, char job[32], struct err *e);
/** Find the batch script of @job, which may just have ended.  Returns 0, or -1
 *  with @e. */
int slurm_find_script(const char *job, char script[PATH_MAX], struct err *e);

/** Return the version of srun, 220508; 0 if it is not known. */
int slurm_srun_version(void);

/** Return when the job of this process began, by clock_now_ns(); now if it is
 *  not known. */
int64_t slurm_job_since_ns(void);

/** Read nodes and GPUs of @job into the zeroed @a, which stays empty if Slurm
 *  lists none; allocation_release() frees.  Returns 0, or -1 with @e as
 *  slurm_ask(). */
int slurm_job_allocation(const char *job, struct allocation *a, struct err *e);

/** Get the user who owns job @job, and the group that it runs as; false if they
 *  are not known. */
bool slurm_job_owner(const char *job, int64_t *uid, int64_t *gid);

/** Return true if agents may be started with --mpi=pmi2; true if that is
 *  unknown. */
bool slurm_has_pmi2(void);

/* ---- slurm fit ----------------------------------------------------------- */

/**
 * Check that the cluster has the resources that a job asks for. By default
 * (EnforcePartLimits=NO) a job that no partition can ever start waits in the
 * queue for ever.
 */
struct slurm_fit {
	const char *partitions;	/* "a,b", one of which; NULL: the default */
	const char *features;	/* of --constraint; NULL: any */
	int64_t nodes;		/* asked for */
	int64_t gpus;		/* per node; 0: not given */
	bool on_gpus;		/* GPUs are tested */
	/** Host lists, for slurm_parse_lane_nodes(). */
	const char *names;	/* these, whatever their partition; NULL: all of
				 * the partition */
	const char *within;	/* of a reservation; NULL: any */
	const char *exclude;	/* "" */
};

/**
 * Return the time limit in minutes of the partition that the job @r gets: of
 * several the shortest; 0: no limit is known.  *@answers says whether Slurm
 * answered.
 */
int64_t slurm_fit_minutes(const struct launch_request *r, bool *answers);
/** The same of @text, lines of SLURM_FIT_LIMITS; @partitions NULL: the default.
 *  Pure. */
int64_t slurm_fit_limit(const char *text, const char *partitions);
#define SLURM_FIT_LIMITS "sinfo --all --noheader --format=%P|%l"

#define SLURM_FIT_SINFO "sinfo --all --noheader --format=%P|%D|%G|%f"
/**
 * Check @f by the lines of that command.  Returns 0, or -1 with @e if no wanted
 * partition has so many such nodes, up or down; lines that cannot be parsed are
 * skipped.  *@gpus is the number of GPUs per node to ask for: the given one,
 * else that of most nodes, or fewer so that enough nodes have them; 0 for a
 * test without GPUs if too few nodes have so many.
 */
int slurm_fit_parse(const struct slurm_fit *f, const char *text, int64_t *gpus,
		    struct err *e);

/** The same for @r and its options after "--", by asking Slurm; @e may be
 *  NULL. */
int slurm_fit_ask(const struct launch_request *r, int64_t nodes, int64_t *gpus,
		  struct err *e);

/** Return true if a node with the features @has (commas) has all of @wanted;
 *  also if @wanted is NULL, or more than words joined by "&" or commas, about
 *  which Slurm decides. */
bool slurm_fit_features(const char *wanted, const char *has);

/** Return the value of --@name, which may be abbreviated, or -@letter among
 *  @extra, as getopt parses it; "" if it is the last word and has none, NULL if
 *  it is absent. */
const char *slurm_fit_option(char *const extra[], const char *name,
			     char letter);
/** The same, or the value of the environment variable @variable. */
const char *slurm_fit_asked(char *const extra[], const char *name, char letter,
			    const char *variable);

#endif
