/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_RUN_CONDUCT_H
#define CLI_RUN_CONDUCT_H

#include "cli/run/step.h"

/**
 * What runs several probes, one after the other, as one run: inside one
 * allocation, by steps.  probe_run() does what is the same for all of
 * them: outside of an allocation it submits one job, in which the hidden
 * command "gpucheck conductor DIR" calls run(); inside one, or on this
 * machine, it calls run() itself.  Then the report.
 *
 * Or what comes after the run of one probe, inside the same allocation: then
 * run() finds place->dir as the probe has left it, and run.json stays as it is.
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
	int least_percent;	/* of --budget that a step is given; 0: all */
	bool after;		/* run() comes after the run of one probe */
	/** The command line of each of its steps in turn, for --dry-run and a
	 *  plan, or why it is not for this run (@line is NULL then); NULL of
	 *  what comes after. */
	void (*each)(const struct step_place *place,
		     void (*see)(void *arg, const char *probe,
				 const struct args *line, const char *why_not),
		     void *arg);
};

/** The hidden command that conducts inside a job. */
#define CONDUCT_COMMAND "conductor"

extern const struct conductor conductor_all;
/** Runs the steps of report/model/diagnose.h after a run in whose directory it
 *  leaves diagnose.csv and diagnose/STEP. */
extern const struct conductor conductor_diagnose;

/** Is there a pair in the run of @dir that failed, and steps for it? */
bool diagnose_wanted(const char *dir);

/** run(); place->deadline_ns is --max-time from now where it is 0.
 *  0, or -1 with @e. */
int conduct_run(const struct conductor *c, struct step_place *place,
		struct err *e);
/** "gpucheck conductor DIR", in a job; an exit code, that of srun where the
 *  probe that comes first failed, with @e for what is ours. */
int conduct_main(const char *dir, const struct command *const *commands,
		 struct err *e);

#endif
