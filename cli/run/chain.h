/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_RUN_CHAIN_H
#define CLI_RUN_CHAIN_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "cli/front/command.h"
#include "lib/base/err.h"
#include "lib/base/str.h"

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
/** The hidden command that is a turn. */
#define CHAIN_TURN  "turn"

struct chain {
	char name[64];		/* of its jobs, or of its units */
	bool timer;		/* started by a timer, not by Slurm */
	int64_t every_s;
	int64_t max_time_s;	/* of each run */
	int64_t runs;		/* at most; 0 = any number */
	int64_t until_s;	/* since 1970: none begins later */
	char **words;		/* "gpucheck", the command and its options;
				 * NULL-ended */
	char **slurm;		/* options for sbatch; NULL-ended */
};

/** For CHAIN_FILE; NULL without memory. */
json_t *chain_json(const struct chain *c);
/** The other way, of @len bytes that somebody wrote.  0, or -1 with @e, and
 *  @c is empty.  chain_release() frees. */
int chain_parse(const char *text, size_t len, struct chain *c, struct err *e);
int chain_read(const char *dir, struct chain *c, struct err *e);
void chain_release(struct chain *c);	/* safe on a zeroed one */

/** Why no run begins at @at_s when @done have been made, or NULL: it does. */
const char *chain_over(const struct chain *c, int64_t done, int64_t at_s);
/** How many runs @dir has. */
int64_t chain_done(const char *dir);

/** The command line of run @number in @dir by @self; the caller frees as
 *  args_release(). */
struct args;
void chain_args(const struct chain *c, const char *self, const char *dir,
		int64_t number, struct args *a);

/**
 * Submit the turn of @dir that begins in @in_s seconds, its number to @job, or
 * where @show is not NULL say there what would be submitted.  Never two of a
 * chain run at a time.  0, or -1 with @e.
 */
int chain_submit(const struct chain *c, const char *dir,
		 const struct command *const *commands, int64_t in_s,
		 char job[64], struct str *show, struct err *e);
/** Cancel the turn that waits; -1 with @e: Slurm does not answer. */
int chain_cancel(const struct chain *c, struct err *e);

/** NAME.service and NAME.timer for @dir by @self. */
void chain_units(const struct chain *c, const char *self, const char *dir,
		 struct str *service, struct str *timer);

/** One turn: "gpucheck turn DIR".  An exit code, that of its run, with @e for
 *  what is ours. */
int chain_turn(const char *dir, const struct command *const *commands,
	       struct err *e);

#endif
