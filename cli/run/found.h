/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_RUN_FOUND_H
#define CLI_RUN_FOUND_H

#include <limits.h>
#include <stdbool.h>

#include <jansson.h>

#include "cli/run/going.h"
#include "lib/base/err.h"

/** A run that somebody named, for those who only read it. */
struct found {
	char dir[PATH_MAX];
	json_t *run;		/* its run.json */
	bool going;		/* it has not ended, and ... */
	struct going by;	/* ... these are at work on it */
};

/**
 * Find the run called @name: its directory, the number of its batch job, or
 * NULL: the latest run below the working directory that has a name of ours.
 * CODE_HEALTHY, or an exit code with @e.  found_release() in any case.
 */
int found_open(const char *name, struct found *f, struct err *e);
void found_release(struct found *f);	/* safe on a zeroed one */

#endif
