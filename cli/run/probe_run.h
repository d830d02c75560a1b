/* SPDX-License-Identifier: BSD-3-Clause */
/* Start, conduct, find, resume and retest runs of probes. */
#ifndef CLI_RUN_PROBE_RUN_H
#define CLI_RUN_PROBE_RUN_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/front/follow.h"
#include "cli/front/help.h"
#include "cli/plan/plan.h"
#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/data/record_rows.h"
#include "lib/spec/spec.h"
#include "report/show/judged.h"
#include "sbatch/launcher.h"

/* ---- step ---------------------------------------------------------------- */

/**
 * One probe as a part of a larger run: the command "gpucheck PROBE" as a
 * process of its own, with a run directory below that of the larger run, inside
 * the same allocation.  The caller continues whatever its result is.  "gpucheck
 * report DIR/NAME" shows it like any run; its messages are in
 * DIR/logs/NAME.txt.
 */

/** Data that all steps of a run share; run() of struct conductor gets it. */
struct step_place {
	const char *self;	/* absolute path of this program */
	const struct command *const *commands;	/* as in struct session */
	const char *dir;	/* absolute; has the directories of the steps */
	const char *whole;	/* the run directory of the whole; absolute */
	const char *launcher;	/* of each step: "local" or "srun" */
	const struct spec *spec;	/* of the whole: what a step's command
					 * knows of it is handed on */
	unsigned takes;		/* enum spec_command of the whole; the values of
				 * GPUCHECK_<OPTION> are in @spec already */
	char *const *extra;	/* after "--", to srun; NULL-ended, or NULL */
	int64_t deadline_ns;	/* of the whole, CLOCK_MONOTONIC; 0 = none */
	bool submitted;		/* from elsewhere, into the job we are in */
	bool stopped;		/* ^C or TERM came: no step starts any more */
};

struct step {
	const char *command;	/* "p2p" */
	const char *name;	/* of its directory; no slash in it */
	/** "--pairs=0-9", ...: after the options that are passed on, so that
	 *  they have precedence; NULL-ended, or NULL. */
	const char *const *options;
	/** Names of options ("transport") that are not handed on. */
	const char *const *without;
	/** "NAME=value", or "NAME" to unset: changes to the environment of the
	 *  step and its agents; NULL-ended, or NULL. */
	const char *const *env;
	int share_percent;	/* of --time-budget; 0: no share */
	bool quiet;		/* no progress on stderr */
	bool resumes;		/* --resume the existing run, which has all
				 * other options */
	bool goes_on;		/* after the end of its run it continues until
				 * TERM, as with --diagnose */
};

struct step_end {
	int code;		/* enum exit_code; PARTIAL: stopped, or no time
				 * was left for it */
	bool ran;		/* it was started, and not stopped before it
				 * had results */
	bool absent;		/* the hardware that it measures does not
				 * exist, as why says: not a fault */
	double wall_s;		/* from its start to the end of its report */
	struct err why;		/* of USAGE, UNABLE, and PARTIAL when not ran */
	json_t *verdict;	/* its verdict.json; NULL: none */
};

/**
 * Prepares the run in place->dir, which becomes the whole run, for its steps:
 * turns RUN_RESUME into run.json, writes the drill to a file of its own, since
 * a job may have another working directory, and sets if the run was submitted.
 * Returns 0, or -1 with @e.
 */
int step_prepare(struct step_place *place, struct err *e);

/**
 * Runs @r to its end, at most until the deadline of @place, with its progress
 * on stderr.  The step gets the deadline as --time-limit and is killed a minute
 * after it.  INT, TERM and HUP, which the caller holds (follow_hold_signals),
 * stop it in order, keep its rows and set place->stopped; a second one stops it
 * at once.  Fills in @end; its verdict is the caller's to release.
 */
void step_run(struct step_place *place, const struct step *r,
	      struct step_end *end);

/** The command line of @r, with @left_ns as its --time-limit, 0 = no limit;
 *  args_release() frees. */
void step_args(const struct step_place *place, const struct step *r,
	       int64_t left_ns, struct args *a);

/* ---- conduct ------------------------------------------------------------- */

/**
 * A conductor runs several probes, one after the other, as the steps of one run
 * inside one allocation.  probe_run() does the common part: outside of an
 * allocation it submits one job, in which the hidden command "gpucheck
 * conductor DIR" calls run(); inside an allocation, or on this machine, it
 * calls run() itself.  Then it makes the report.
 *
 * A conductor may also run steps after the run of one probe, inside the same
 * allocation: run() then finds place->dir as the probe has left it, and does
 * not change run.json.
 *
 * To add one: a row in conduct.c, and probe_run() in its command.
 */
struct conductor {
	const char *name;	/* in run.json, as "conductor" */
	unsigned takes;		/* enum spec_command of its command */
	/**
	 * Run the steps and write into place->dir what the report reads, with
	 * "planned" in run.json before the first and "ended_utc" after the
	 * last.  INT, TERM and HUP are held meanwhile (cli/front/follow.h).  0,
	 * or -1 with @e: it could not write.
	 */
	int (*run)(struct step_place *place, struct err *e);
	int least_percent;	/* smallest share of --time-budget of a step; 0:
				 * all */
	bool after;		/* run() follows the run of one probe */
	/** Call @see with the command line of each of its steps, for --dry-run
	 *  and a plan, or with the reason why a step does not fit this run
	 *  (@line is NULL then).  NULL if @after is set. */
	void (*each)(const struct step_place *place,
		     void (*see)(void *arg, const char *probe,
				 const struct args *line, const char *why_not),
		     void *arg);
};

/** The hidden command that conducts inside a job. */
#define CONDUCT_COMMAND "conductor"

extern const struct conductor conductor_all;
/** Runs the steps of report/judge/diagnose.h after a run in whose directory it
 *  leaves diagnose.csv and diagnose/STEP. */
extern const struct conductor conductor_diagnose;

/** Returns true if the run in @dir has failed pairs, and steps for them. */
bool diagnose_wanted(const char *dir);

/** Calls run(); place->deadline_ns is set to --time-limit from now if it is 0.
 *  Returns 0, or -1 with @e. */
int conduct_run(const struct conductor *c, struct step_place *place,
		struct err *e);
/** Runs "gpucheck conductor DIR" in a job.  Returns an exit code, that of srun
 *  if the first probe failed, with @e for an error of its own. */
int conduct_main(const char *dir, const struct command *const *commands,
		 struct err *e);

/* ---- plan ---------------------------------------------------------------- */

/**
 * --stale: choose the -N idle nodes whose pairs were tested least recently, by
 * the history.  For a run, sets --nodelist and --history of @s; for "gpucheck
 * plan" prints them, with the number of such jobs that test all pairs.
 * Returns an enum exit_code, after a message if that is not 0.
 */
int stale_choose(struct session *s);

/**
 * "gpucheck plan": what a run of @probe with the checked options of @s would
 * be, on stdout, as words or with --json as an object.  Starts, writes and
 * submits nothing.
 * @c  of a run of several probes, else NULL or without each()
 * Returns an enum exit_code.
 */
int plan_show(struct session *s, const char *probe,
	      const struct conductor *c);

/** Appends the table of @f, shorter alternatives to a long run, and with -v the
 *  partners of each round. */
void plan_words(const struct session *s, const struct forecast *f,
		struct str *out);

/** "20 s", "1 s to 7 s"; "" when nothing is known.  Returns @buf. */
const char *plan_time_text(const struct forecast *f, char *buf, size_t size);

/* ---- going --------------------------------------------------------------- */

/** The job or process that works on a run that has not ended. */
struct going {
	char who[400];	/* "job 42 is pending (Resources)" */
	char hint[80];	/* how to end that */
	struct launch_state state;	/* as its launcher reports it */
	/** To follow the run: its launcher, or one that reads the files of the
	 *  run if the launcher does not answer or was another process. */
	const struct launcher_ops *ops;
	struct launch *launch;
};

/**
 * Finds out if a job or process on any machine works on the run in @dir, which
 * @launcher started and which has @ended or not.  Returns 1 with @g (the caller
 * calls going_release()), 0 if none does, or -1 with @e if that cannot be found
 * out.  May take some seconds.
 */
int going_find(const char *dir, const char *launcher, bool ended,
	       struct going *g, struct err *e);
void going_release(struct going *g);	/* safe on a zeroed one, and twice */

/* ---- found --------------------------------------------------------------- */

/** A run that the user named, for commands that only read it. */
struct found {
	char dir[PATH_MAX];
	json_t *run;		/* its run.json */
	bool waits;		/* a --resume is running that has measured
				 * nothing: everything else is of the run
				 * before it */
	bool going;		/* it has not ended, and ... */
	struct going by;	/* ... these are at work on it */
	bool pending;		/* these wait, and it has no plan yet */
};

/**
 * If Slurm ended the job of the run in @dir, @l of @ops (NULL: the last one
 * that it knows of the run), for a reason outside of the run, records that in
 * run.json.  No-op if this user may not write, or another front end is at work.
 */
void found_note_end(const char *dir, const struct launcher_ops *ops,
		    struct launch *l);
/**
 * Add to @e, why the run in @dir came to nothing, the nodes of @l that Slurm
 * gives no work, and the command that runs it without them.  No-op if there are
 * none.
 */
void found_blame(const char *dir, const struct launcher_ops *ops,
		 struct launch *l, struct err *e);

/**
 * Find the run called @name, a directory or the number of a batch job; NULL:
 * the latest run below the working directory with a default name.  Returns
 * CODE_HEALTHY, or an exit code with @e.  found_release() frees in any case.
 */
int found_open(const char *name, struct found *f, struct err *e);
/** Fill in and return @ask for a run that has not ended; NULL if it has.
 *  Borrows from @f. */
const struct judged_ask *found_ask(const struct found *f,
				   struct judged_ask *ask);
void found_release(struct found *f);	/* safe on a zeroed one */

/* ---- retest -------------------------------------------------------------- */

/**
 * gpucheck @probe --retest DIR: runs a new test of the faulty parts that the
 * run in DIR found, and of as many healthy ones, with its options.  @check and
 * @c as in probe_run().  Returns an enum exit_code.
 */
int retest_main(struct session *s, const char *probe,
		int (*check)(struct session *s, struct str *drill,
			     struct err *e),
		const struct conductor *c);

/* ---- resume -------------------------------------------------------------- */

/**
 * gpucheck @probe --resume DIR: measures the missing and bad tests of a run in
 * its directory, with its options.  Returns an enum exit_code.
 */
int resume_main(struct session *s, const char *probe);

/**
 * Replaces the options of @s by those of the run, @stored, except those that do
 * not change what is measured, such as time limits and output.  Returns 0, or
 * -1 with @e if another option was typed that would change it.  @drill is the
 * text of the run's drill, "" without one, which --inject may name again.
 */
int resume_options(struct session *s, const struct spec *stored,
		   const char *drill, struct err *e);

/** The same for --@word=DIR, "resume" or "retest", without the check of the
 *  result: the options @anew (NULL-ended) count if they were typed. */
int left_options(struct session *s, const struct spec *stored,
		 const char *word, const char *const *anew, const char *drill,
		 struct err *e);

/** Prints the command that continues the run in @dir, which ended with
 *  @code. */
void resume_say_how(const char *dir, int code);

/** A run that is to be continued, and its remaining tests. */
struct left {
	char dir[PATH_MAX];
	json_t *run;		/* its run.json */
	struct spec spec;	/* its options */
	char launcher[16];
	struct str nodelist;
	char **extra;		/* of its command line; the words are run's */
	bool foreign;		/* another user owns it: only its harmless
				 * options are used, and none of its texts */
	size_t n_nodes;		/* 0: it never had a plan */
	size_t cells, done;	/* of all passes: planned, good */
};

/** Fills in all but the cells from run.json of l->dir, a run of @probe.
 *  Returns 0, or -1 with @e, whose hint has the option @word, "resume" or
 *  "retest".  The caller calls left_release() in any case. */
int left_read(struct left *l, const char *probe, const char *word,
	      struct err *e);
/** Fill in the cells from its rows; 0, or -1 with @e. */
int left_count(struct left *l, struct err *e);
/** Returns true if the run came to its end and has a good result for every
 *  cell. */
bool left_is_whole(const struct left *l);
void left_release(struct left *l);
bool left_of_all(const struct left *l);		/* cells are probes */
/** Tell by @row of a step of the "all" in @dir if the step is kept, since it
 *  measured all, is continued in its directory, or begins anew. */
enum left_step { LEFT_ANEW, LEFT_CUT, LEFT_KEPT };
enum left_step left_step(const char *dir, const struct step_row *row);

/* ---- probe run ----------------------------------------------------------- */

/**
 * Run a probe command: check its options, make the run directory, start the
 * run, follow it, judge it.
 * @check  adds the text of the drill file to @drill; NULL: only spec_check().
 * @c      runs several probes, or steps after this one; may be NULL.
 * Returns an enum exit_code.
 */
int probe_run(struct session *s,
	      int (*check)(struct session *s, struct str *drill,
			   struct err *e),
	      const struct conductor *c);

/** A run about to start. */
struct probe_start {
	const struct session *s;
	const struct conductor *c;
	const struct launcher_ops *ops;
	struct launch_request r;	/* its directory is still to come */
	char self[PATH_MAX], why[320];	/* why by that launcher */
	double worst_s;		/* worst case of a healthy run; NAN: unknown */
};

/** Sets the parts of @t for runs whose directory exists: options of @s, which
 *  outlives @t, @c, and the launcher.  Returns CODE_HEALTHY, else with @e. */
int probe_run_choose(struct probe_start *t, const struct session *s,
		     const char *probe, const struct conductor *c,
		     struct err *e);
/** Make the directory of a new run and put run.json into it, with the text of
 *  the drill file @drill; CODE_HEALTHY, else an exit code with @e. */
int probe_run_prepare(const struct probe_start *t, const char *drill,
		      char dir[PATH_MAX], struct err *e);
/** Set the time limit of the job of @t, if the user has set none: three times
 *  the worst case of its probe, of all its steps, or with --jobs=pairs
 *  t->worst_s, within bounds.  Prints the limit, and what a dry run without
 *  Slurm does not know. */
void probe_run_limit(struct probe_start *t);
/** Describe the run that would start on stdout; CODE_HEALTHY, else with @e. */
int probe_run_describe(const struct probe_start *t, struct err *e);
/** Start it, follow it, judge it: an exit code, or -1 with @e as the launcher's
 *  start() has it. */
int probe_run_start(const struct probe_start *t, struct err *e);

#endif
