/* SPDX-License-Identifier: BSD-3-Clause */
/* Repeated runs for "gpucheck watch": crontab, scrontab or a systemd timer. */
#ifndef CLI_RUN_REPEAT_H
#define CLI_RUN_REPEAT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "cli/front/help.h"
#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/data/rundir.h"
#include "sbatch/launcher.h"

/**
 * A watch is a directory with the command and its limits (REPEAT_FILE), in
 * which each run has a directory of its own, and an entry of cron, Slurm's
 * scrontab or systemd that starts "gpucheck turn DIR" at intervals.
 */

#define REPEAT_FILE  "watch.json"
#define REPEAT_STOP  "stop"	/* while it exists no run starts */
#define REPEAT_ENTRY "entry"	/* text of its entry */
#define REPEAT_TURNS "turns"	/* number of the last run */
#define REPEAT_WORDS 500
#define REPEAT_BYTES (256 * 1024)
#define REPEAT_RUN   "run-%04d"
#define REPEAT_LOG   RUN_LOGS "/" REPEAT_RUN ".txt"	/* output of a run */
/** The hidden command that makes a run. */
#define REPEAT_TURN  "turn"
/** End of a line of ours in a crontab: a comment of the shell. */
#define REPEAT_MARK  " # gpucheck watch"

enum repeat_how { REPEAT_CRONTAB, REPEAT_SCRONTAB, REPEAT_SYSTEMD };

struct repeat {
	char name[64];		/* of its jobs and units */
	enum repeat_how how;
	bool queue;		/* a turn submits its run to Slurm and waits */
	int64_t every_s, first_s;	/* interval; time of the first turn */
	int64_t max_time_s;	/* of each run */
	int64_t runs;		/* at most; 0 = any number */
	int64_t until_s;	/* since 1970: no run begins later */
	char folder[PATH_MAX];	/* of the units of systemd */
	char cwd[PATH_MAX];	/* that relative names in the words refer to */
	json_t *env;		/* "NAME=value" of the shell of the user */
	json_t *words, *slurm;	/* "gpucheck", command and options; options for
				 * sbatch */
	json_t *json;		/* that the lists above belong to; NULL: they
				 * are references of their own */
};

/** Parse @len bytes of REPEAT_FILE, which another user may have written.
 *  Returns 0, or -1 with @e and @r empty.  repeat_release() frees. */
int repeat_parse(const char *text, size_t len, struct repeat *r,
		 struct err *e);
int repeat_read(const char *dir, struct repeat *r, struct err *e);
/** Write REPEAT_FILE of @dir. */
int repeat_write(const char *dir, const struct repeat *r, struct err *e);
void repeat_release(struct repeat *r);	/* safe on a zeroed one */

/** The words of @list, as an argument vector adds them to @a. */
void repeat_add_words(const json_t *list, struct args *a);

/** Collect the part of the environment that a run by @cmd uses: defaults of its
 *  options, configuration files, libraries, where programs are.  Leaves out
 *  variables of a job and secrets of a run.  New reference. */
json_t *repeat_environment(const struct command *cmd);

/** The first five fields of a line of cron for @every_s from @first_s on, in
 *  local time.  -1 with @e: cron has no such interval. */
int repeat_schedule(int64_t every_s, int64_t first_s, struct str *out,
		    struct err *e);
/**
 * The entry of @r, whose turns the program @self makes in @dir: a line of a
 * crontab; for scrontab with the options @options (lines "#SCRON ...") in front
 * of it; the texts of two units.  Pure.  Returns 0, or -1 with @e if a path or
 * the interval cannot be in such an entry.
 */
int repeat_entry(const struct repeat *r, const char *self, const char *dir,
		 const char *options, struct str *out, struct err *e);
/** Add the crontab @text without the entry of @dir to @out.  Returns true if it
 *  had one.  Pure. */
bool repeat_cut(const char *text, const char *dir, struct str *out);

/** Return true if this user may have a scrontab. */
bool repeat_has_scrontab(void);
/** Write @entry to the crontab or scrontab of the user, in place of one of
 *  @dir, or the units to their folder.  Returns 0, or -1 with @e. */
int repeat_install(const struct repeat *r, const char *dir, const char *entry,
		   struct err *e);
/** Take the entry of @dir away; @r NULL: of cron or scrontab, as REPEAT_FILE is
 *  gone.  Returns 1, 0 if there was none, or -1 with @e. */
int repeat_remove(const struct repeat *r, const char *dir, struct err *e);
/** Print the entries of the user, a line each, and return their number. */
int repeat_list(FILE *f);
/** Cancel jobs of @r that wait in the queue. */
int repeat_cancel(const struct repeat *r, struct err *e);

/** Make one run, as "gpucheck turn DIR": becomes the command of the watch.
 *  Returns an exit code if no run is to be made or with @e. */
int repeat_turn(const char *dir, struct err *e);

#endif
