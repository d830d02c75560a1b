/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_RUN_PROBE_RUN_H
#define CLI_RUN_PROBE_RUN_H

#include <limits.h>

#include "cli/front/command.h"
#include "cli/front/follow.h"
#include "cli/run/conduct.h"
#include "sbatch/launcher.h"

/**
 * What every probe command does: check its options, make the run directory,
 * start the run, follow it, judge it.
 * @check  adds the text of the drill file to @drill; NULL: spec_check() alone.
 * @c      what runs several probes, or what comes after this one; may be NULL.
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
};

/** Its parts, for runs whose directory is there: what @s, which outlives @t,
 *  and @c ask for, and who starts it.  CODE_HEALTHY, else with @e. */
int probe_run_choose(struct probe_start *t, const struct session *s,
		     const char *probe, const struct conductor *c,
		     struct err *e);
/** Make the directory of a new run and put run.json into it, with the text of
 *  the drill file @drill; CODE_HEALTHY, else an exit code with @e. */
int probe_run_prepare(const struct probe_start *t, const char *drill,
		      char dir[PATH_MAX], struct err *e);
/** What would run, on stdout; CODE_HEALTHY, else with @e. */
int probe_run_describe(const struct probe_start *t, struct err *e);
/** Start it, follow it, judge it: an exit code, or -1 with @e as the launcher's
 *  start() has it. */
int probe_run_start(const struct probe_start *t, struct err *e);
/** What was followed is over, by @end: say how, and what to do; an exit code.
 *  @w and @last are of what was seen last. */
int probe_run_judge(const struct probe_start *t, struct launch *l,
		    const struct watch *w, struct launch_state *last,
		    enum follow_end end);

#endif
