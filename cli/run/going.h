/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_RUN_GOING_H
#define CLI_RUN_GOING_H

#include <stdbool.h>

#include "lib/base/err.h"

/** Who is at work on a run that has not ended. */
struct going {
	char who[64];	/* "job 42 is in the queue" */
	char hint[80];	/* how to end that */
};

/**
 * Is somebody at work on the run in @dir that @launcher started, on whatever
 * machine, and which has @ended or not?  1 with @g; 0; -1 with @e: nobody can
 * say.  May take some seconds to see.
 */
int going_find(const char *dir, const char *launcher, bool ended,
	       struct going *g, struct err *e);

#endif
