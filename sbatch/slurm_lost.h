/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SBATCH_SLURM_LOST_H
#define SBATCH_SLURM_LOST_H

#include "lib/base/err.h"

/**
 * Of the nodes whose agents were lost in the run of DIR, which has ended, and
 * not asked about since: how Slurm, a third party, has them, as events
 * slurm_state; so too the nodes of a retest that are drained, with the reason.
 * Waits for sinfo at most 10 s.  0, also when Slurm does not know
 * them; -1 with @e.
 */
int slurm_note_lost(const char *dir, struct err *e);

#endif
