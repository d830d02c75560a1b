/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_RUN_FOUND_H
#define CLI_RUN_FOUND_H

#include <limits.h>
#include <stdbool.h>

#include <jansson.h>

#include "cli/run/going.h"
#include "lib/base/err.h"
#include "report/show/judged.h"

/** A run that somebody named, for those who only read it. */
struct found {
	char dir[PATH_MAX];
	json_t *run;		/* its run.json */
	bool waits;		/* a --resume goes on that has measured nothing:
				 * all else is of the run before */
	bool going;		/* it has not ended, and ... */
	struct going by;	/* ... these are at work on it */
	bool pending;		/* these wait, and it has no plan yet */
};

/**
 * The run in @dir has ended: if Slurm ended its job, @l of @ops (NULL: the last
 * one that it knows of the run), for a reason outside of the run, keep that in
 * run.json.  No-op where we may not write, or another front is at work there.
 */
void found_note_end(const char *dir, const struct launcher_ops *ops,
		    struct launch *l);

/**
 * Find the run called @name: its directory, the number of its batch job, or
 * NULL: the latest run below the working directory that has a name of ours.
 * CODE_HEALTHY, or an exit code with @e.  found_release() in any case.
 */
int found_open(const char *name, struct found *f, struct err *e);
/** How a run that has not ended is to be shown; NULL: it has.  Borrows from
 *  @f, and is the same @ask. */
const struct judged_ask *found_ask(const struct found *f,
				   struct judged_ask *ask);
void found_release(struct found *f);	/* safe on a zeroed one */

#endif
