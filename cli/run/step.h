/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_RUN_STEP_H
#define CLI_RUN_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "cli/front/command.h"
#include "lib/base/err.h"
#include "lib/spec/spec.h"
#include "sbatch/args.h"

/**
 * One probe as a part of a larger run: the command "gpucheck PROBE" as a
 * process of its own, in a run directory of its own below that of the larger
 * run, inside the same allocation.  Whatever becomes of it, the caller goes
 * on.  "gpucheck report DIR/NAME" shows it as it shows any run; what it said
 * meanwhile is DIR/logs/NAME.txt.
 */

/** What all steps of a run have in common; see cli/run/conduct.h for who makes
 *  one. */
struct step_place {
	const char *self;	/* absolute path of this program */
	const struct command *const *commands;	/* as in struct session */
	const char *dir;	/* absolute; has the directories of the steps */
	const char *whole;	/* the run directory of the whole; NULL: @dir */
	const char *launcher;	/* of each step: "local" or "srun" */
	const struct spec *spec;	/* of the whole: what a step's command
					 * knows of it is handed on */
	unsigned takes;		/* enum spec_command of the whole; these of
				 * GPUCHECK_<OPTION> are in @spec already */
	char *const *extra;	/* behind "--", to srun; NULL-ended, or NULL */
	int64_t deadline_ns;	/* of the whole, CLOCK_MONOTONIC; 0 = none */
	bool submitted;		/* from elsewhere, into the job we are in */
	bool stopped;		/* ^C or TERM came: no step starts any more */
};

struct step {
	const char *command;	/* "p2p" */
	const char *name;	/* of its directory; no slash in it */
	/** "--pairs=0-9", ...: behind what is handed on, so that they win;
	 *  NULL-ended, or NULL. */
	const char *const *options;
	/** Names of options ("transport") that are not handed on. */
	const char *const *without;
	/** "NAME=value", or "NAME" to unset: of the step and of its agents,
	 *  over what is in the environment; NULL-ended, or NULL. */
	const char *const *env;
	int share_percent;	/* of --budget; 0: it takes what it takes */
	bool quiet;		/* no progress on stderr */
	bool goes_on;		/* once its run has ended it has more to do,
				 * which TERM ends, as --diagnose has */
};

struct step_end {
	int code;		/* enum exit_code; PARTIAL: stopped, or no time
				 * was left for it */
	bool ran;		/* it was started, and not stopped before it
				 * came to anything */
	bool absent;		/* what it measures is not there, why says it:
				 * nothing is wrong with that */
	double wall_s;		/* from its start to the end of its report */
	struct err why;		/* of USAGE, UNABLE, and PARTIAL when not ran */
	json_t *verdict;	/* its verdict.json; NULL: it came to none */
};

/**
 * What steps want of the run in place->dir, which becomes the whole: the drill
 * as a file of its own, for a job may have another working directory, and
 * whether it was submitted.  0, or -1 with @e.
 */
int step_prepare(struct step_place *place, struct err *e);

/**
 * Run @r to its end, with its progress on stderr: at most until the deadline
 * of @place, which it is told as --max-time (and is ended by force a minute
 * after).  INT, TERM and HUP, which the caller holds (follow_hold_signals),
 * stop it in order, keep its rows and set place->stopped; a second one does so
 * at once.
 * Fills in @end; step_release() frees.
 */
void step_run(struct step_place *place, const struct step *r,
	      struct step_end *end);
void step_release(struct step_end *end);

/** The command line of @r, with @left_ns as its --max-time, 0 = no limit;
 *  args_release() frees. */
void step_args(const struct step_place *place, const struct step *r,
	       int64_t left_ns, struct args *a);

#endif
