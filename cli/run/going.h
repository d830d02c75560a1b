/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_RUN_GOING_H
#define CLI_RUN_GOING_H

#include <stdbool.h>

#include "lib/base/err.h"
#include "sbatch/launcher.h"

/** Who is at work on a run that has not ended. */
struct going {
	char who[400];	/* "job 42 is pending (Resources)" */
	char hint[80];	/* how to end that */
	struct launch_state state;	/* as who started it sees it */
	/** To follow it by; its launcher does not answer, or was another
	 *  process of some machine: what can be seen of that. */
	const struct launcher_ops *ops;
	struct launch *launch;
};

/**
 * Is somebody at work on the run in @dir that @launcher started, on whatever
 * machine, and which has @ended or not?  1 with @g, for going_release(); 0; -1
 * with @e: nobody can say.  May take some seconds to see.
 */
int going_find(const char *dir, const char *launcher, bool ended,
	       struct going *g, struct err *e);
/** Has Slurm ended the last job of the run in @dir that @launcher started, for
 *  a reason outside of the run?  Then @st says so. */
bool going_cut(const char *dir, const char *launcher, struct launch_state *st);
void going_release(struct going *g);	/* safe on a zeroed one, and twice */

#endif
