/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SBATCH_ABSENT_H
#define SBATCH_ABSENT_H

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "sbatch/launcher.h"

/**
 * DIR/absent: nodes of a job of Slurm that cannot start an agent, a line of
 * JSON each with a code of data/symptoms.ini and Slurm's own words.  Steps do
 * without them, and the coordinator reads why.
 */

/** Append the nodes that DIR/absent of @r names and @r does not leave out, with
 *  commas. */
void absent_list(const struct launch_request *r, struct str *names);
/** Note in DIR/absent that @node has no agent for @code, as @says has it; 0, or
 *  -1 with @e. */
int absent_note(const char *dir, const char *source, const char *node,
		const char *code, const char *says, struct err *e);
/** A run in @dir starts: forget nodes that an earlier start lost, and take over
 *  those of the run @whole (NULL: none) that it is a part of. */
void absent_forget(const char *dir, const char *whole);

#endif
