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

/** "4711" or "4711;cluster" of "sbatch --parsable" (the last such line, since
 *  submit plugins talk before it).  0, or -1 with @e. */
int slurm_parse_job_id(const char *text, char job[SLURM_JOB_SIZE],
		       struct err *e);

/** Fields of "scontrol --oneliner show job". */
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
	int64_t restarts;	/* how often Slurm put it back */
	int exit_code;		/* of the batch script */
	int signal;		/* that ended it, 0 = none */
};

int slurm_parse_job(const char *text, struct slurm_job *job, struct err *e);

#define SLURM_NODE_SIZE	 64	/* of a node's name and state, with their
				 * NULs */
#define SLURM_STATE_SIZE 32
#define SLURM_WHY_SIZE	 100

/** Return true if @name can be the name of a node: not a list, not an
 *  option. */
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

/** Returns true if a node in @state, such as "drained", gets no work. */
bool slurm_state_is_out(const char *state);

/** Returns true if "srun --mpi=list" offers pmi2. */
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

/* ---- slurm blame --------------------------------------------------------- */

/**
 * Add the nodes that get no work now, by @text of slurm_ask_nodes(), to the
 * text of @e and to the empty list @names, and set the hint of @e to what to
 * look at; with @prolog only nodes whose prolog failed. Returns false with both
 * unchanged if there are none. Pure.
 */
bool slurm_blame_parse(const char *text, bool prolog, struct err *e,
		       struct str *names);

/** The same for the host list @nodes, by asking Slurm: twice, since it may
 *  hear of a node later than we of its job.  Waits for half a second, and for
 *  sinfo at most 20. */
bool slurm_blame(const char *nodes, bool prolog, struct err *e,
		 struct str *names);

/**
 * The first of @nodes (a host list) whose prolog failed, for which Slurm drains
 * it and cancels the job that it was for; @says has that in words.  Asks as
 * slurm_blame() does.
 */
bool slurm_blame_prolog(const char *nodes, struct slurm_node *node,
			char says[256]);

/** Add to @st those of the job's @nodes (a host list) that are down, with the
 *  reason: "; n1 is down*: Not responding".  False: none.  Waits for sinfo at
 *  most 10 s. */
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
	SLURM_JOB_ENDS,		/* of its processes some may be left */
	SLURM_JOB_OVER,		/* it has ended, or nobody knows it any more */
};

/** By what "squeue --states=all --format=%T" printed, where @why is NULL, or
 *  the words with which it failed.  Pure. */
enum slurm_standing slurm_parse_standing(const char *text,
					 const struct err *why);
/** By asking for the job of that number, at most 10 s. */
enum slurm_standing slurm_job_standing(const char *job);

/* ---- slurm state --------------------------------------------------------- */

#define SLURM_REQUEUED "was put back into the queue"

/** Say what @job's state means: phase, exit code, sentence, hint.  Pure. */
void slurm_state_explain(const char *job_id, const struct slurm_job *job,
			 const char *dir, struct launch_state *st);

/* ---- slurm ask ----------------------------------------------------------- */

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

/** When the job of this process began, on the clock of clock_now_ns(); now
 *  when nobody knows. */
int64_t slurm_job_since_ns(void);

/** Read nodes and GPUs of @job into the zeroed @a; unchanged if they are
 *  unknown. allocation_release() frees. */
void slurm_job_allocation(const char *job, struct allocation *a);

/** The numbers of the user whose job @job is, and of the group that it runs as;
 *  false when nobody knows. */
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
	int64_t nodes;		/* that are asked for */
	int64_t gpus;		/* of each; 0: nobody has said how many */
	bool on_gpus;		/* it is GPUs that are tested */
};

#define SLURM_FIT_SINFO "sinfo --all --noheader --format=%P|%D|%G|%f"
/**
 * By the lines of that command: 0, or -1 with @e when no wanted partition has
 * so many such nodes, be they up or down.  Of what cannot be read nothing is
 * said.  *@gpus is how many to ask for of each node: those that were said, else
 * as many as most have, or as enough of them have; 0: none, for what tests no
 * GPUs where too few nodes have so many.
 */
int slurm_fit_parse(const struct slurm_fit *f, const char *text, int64_t *gpus,
		    struct err *e);

/** The same of @r and what follows "--" there, by asking Slurm; @e may be
 *  NULL. */
int slurm_fit_ask(const struct launch_request *r, int64_t nodes, int64_t *gpus,
		  struct err *e);

/** Add to @a the options of @extra that say whose a job is and where it may
 *  run, such as --account and --partition, in long form, for a job that needs
 *  no other option. */
void slurm_fit_whose(char *const extra[], struct args *a);

/** The value of --@name or -@letter among @extra, as getopt reads it, be the
 *  name cut short; "" for one that ends them, NULL when it is not there. */
const char *slurm_fit_option(char *const extra[], const char *name,
			     char letter);
/** The same, or what the environment variable @variable says. */
const char *slurm_fit_asked(char *const extra[], const char *name, char letter,
			    const char *variable);

#endif
