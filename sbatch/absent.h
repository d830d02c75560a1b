/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SBATCH_ABSENT_H
#define SBATCH_ABSENT_H

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "sbatch/launcher.h"

/**
 * DIR/absent: nodes that cannot start an agent, or whose agent gave up, as
 * run_absent_note() writes them.  Steps of Slurm do without them, and the
 * coordinator reads why.
 */

/** Append the nodes that DIR/absent of @r names and @r does not leave out, with
 *  commas. */
void absent_list(const struct launch_request *r, struct str *names);
/** A run in @dir starts: forget nodes that an earlier start lost, and take over
 *  those of the run @whole (NULL: none) that it is a part of. */
void absent_forget(const char *dir, const char *whole);

#endif
