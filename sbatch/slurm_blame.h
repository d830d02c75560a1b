/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SBATCH_SLURM_BLAME_H
#define SBATCH_SLURM_BLAME_H

#include <stdbool.h>

#include "lib/base/err.h"

/**
 * Of a job that came to nothing: which of its @nodes (a host list) get no work
 * now, by @text of slurm_ask_nodes(), is added to the text of @e, and what to
 * do becomes its hint.  False, and @e is as it was: none.
 */
bool slurm_blame_parse(const char *text, struct err *e);

/** The same, by asking Slurm: twice, since it may hear of a node later than we
 *  of its job.  Waits for half a second, and for sinfo at most 20. */
bool slurm_blame(const char *nodes, struct err *e);

#endif
