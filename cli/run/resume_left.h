/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_RUN_RESUME_LEFT_H
#define CLI_RUN_RESUME_LEFT_H

#include <limits.h>
#include <stdbool.h>

#include <jansson.h>

#include "lib/base/err.h"
#include "lib/spec/spec.h"
#include "lib/base/str.h"

/** A run that is to go on, and what is left of it. */
struct left {
	char dir[PATH_MAX];
	json_t *run;		/* its run.json */
	struct spec spec;	/* its options */
	char launcher[16];
	struct str nodelist;
	char **extra;		/* of its command line; the words are run's */
	size_t n_nodes;		/* 0: it never had a plan */
	size_t cells, done;	/* of all passes: planned, good */
};

/** Can a run of @probe be resumed at all? */
bool left_can_resume(const char *probe);
/** Fill in all but the cells from the run.json of l->dir, a run of @probe; -1
 *  with @e.  left_release() in any case. */
int left_read(struct left *l, const char *probe, struct err *e);
/** Fill in the cells from its rows; 0, or -1 with @e. */
int left_count(struct left *l, struct err *e);
/** Did it go to its end, with nothing missing and nothing bad? */
bool left_is_whole(const struct left *l);
void left_release(struct left *l);

#endif
