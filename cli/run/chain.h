/* SPDX-License-Identifier: BSD-3-Clause */
/* Chains of runs for "gpucheck watch". */
#ifndef CLI_RUN_CHAIN_H
#define CLI_RUN_CHAIN_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "cli/front/help.h"
#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/data/rundir.h"
#include "sbatch/launcher.h"
#include "sbatch/slurm.h"

/**
 * The same run again and again, as "gpucheck watch" has it: a directory with
 * what was asked for, in which each turn leaves a run.  A turn is a batch job
 * that submits the next one first, or what a timer of systemd starts.
 */

#define CHAIN_FILE  "watch.json"
#define CHAIN_STOP  "stop"	/* while it is there no run starts */
#define CHAIN_BYTES (256 * 1024)
#define CHAIN_WORDS 500
#define CHAIN_RUN   "run-%04d"
#define CHAIN_LOG   RUN_LOGS "/" CHAIN_RUN ".txt"	/* its words */
/** The hidden command that is a turn. */
#define CHAIN_TURN  "turn"

struct chain {
	char name[64];		/* of its jobs, or of its units */
	bool timer;		/* started by a timer, not by Slurm */
	int64_t every_s;
	int64_t max_time_s;	/* of each run */
	int64_t runs;		/* at most; 0 = any number */
	int64_t until_s;	/* since 1970: no turn begins later */
	char **words;		/* "gpucheck", the command and its options;
				 * NULL-ended */
	char **slurm;		/* options for sbatch; NULL-ended */
};

/** Returns @c for CHAIN_FILE; NULL without memory or if a word is not UTF-8. */
json_t *chain_json(const struct chain *c);
/** Parses @len bytes of CHAIN_FILE, which another user may have written.
 *  Returns 0, or -1 with @e and @c empty. chain_release() frees. */
int chain_parse(const char *text, size_t len, struct chain *c, struct err *e);
int chain_read(const char *dir, struct chain *c, struct err *e);
void chain_release(struct chain *c);	/* safe on a zeroed one */

/** Why no run begins at @at_s when @done have been made, or NULL: it does. */
const char *chain_over(const struct chain *c, int64_t done, int64_t at_s);
/** How many runs @dir has begun, those too that ended before they had a
 *  directory. */
int64_t chain_done(const char *dir);
/** Run @number begins, whatever comes of it; 0, or -1 with @e. */
int chain_begin(const char *dir, int64_t number, struct err *e);

/** The command line of run @number in @dir by @self; the caller frees as
 *  args_release(). */
void chain_args(const struct chain *c, const char *self, const char *dir,
		int64_t number, struct args *a);

/**
 * Submits the turn of @dir that begins in @in_s seconds and writes its number
 * to @job, or, if @show is not NULL, writes there what would be submitted.  Two
 * turns of a chain never run at the same time.  Returns 0, or -1 with @e.
 */
int chain_submit(const struct chain *c, const char *dir,
		 const struct command *const *commands, int64_t in_s,
		 char job[SLURM_JOB_SIZE], struct str *show, struct err *e);
/** The next line of @queue, as SLURM_QUEUE_SQUEUE prints it, that is a job of
 *  @script that waits, but for job @own (NULL: none); false at the end. */
bool chain_parse_waiting(const char **queue, const char *script,
			 const char *own, char job[SLURM_JOB_SIZE]);
/** Turns that wait in the queue: the next one, and a spare in case that one
 *  cannot begin, for example on a node without the directory. */
#define CHAIN_WAIT 2
/** How many turns of @dir wait, other than job @own, and the number of the
 *  first in @job; -1 with @e: Slurm does not answer. */
int chain_waiting(const struct chain *c, const char *dir, const char *own,
		  char job[SLURM_JOB_SIZE], struct err *e);
/** @job waits, and is to begin in @in_s seconds, not before. */
void chain_put_off(const char *job, int64_t in_s);
/** Cancel the turns of @dir that wait; -1 with @e: Slurm does not answer. */
int chain_cancel(const struct chain *c, const char *dir, struct err *e);
/** Sets @job to the job that @who, a text of rundir_claim(), belongs to; false:
 *  none. */
bool chain_holder_job(const char *who, char job[SLURM_JOB_SIZE]);

/** Environment that a turn of systemd takes over from the shell that created
 *  the watch. */
struct chain_place {
	const char *self;	/* this program */
	const char *dir;	/* of the watch */
	const char *cwd;	/* directory that relative names in its words
				 * refer to */
	char *const *env;	/* "NAME=value", NULL-ended; NULL: none */
};

/** Adds the part of the environment that a run by @cmd uses to @env: defaults
 *  of its options, configuration files, libraries.  Leaves out variables of a
 *  job and secrets of a run. */
void chain_environment(const struct command *cmd, struct args *env);

/** Makes NAME.service and NAME.timer.  Returns 0, or -1 with @e if something of
 *  @p is not allowed in a unit.  Pure. */
int chain_units(const struct chain *c, const struct chain_place *p,
		struct str *service, struct str *timer, struct err *e);

/** Runs one turn: "gpucheck turn DIR".  Returns the exit code of its run, with
 *  @e for an error of its own. */
int chain_turn(const char *dir, const struct command *const *commands,
	       struct err *e);

#endif
