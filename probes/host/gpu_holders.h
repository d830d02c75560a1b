/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_GPU_HOLDERS_H
#define PROBES_HOST_GPU_HOLDERS_H

#include <stdbool.h>

/* Codes of a row or rank. */
#define GPU_BUSY   "gpu_busy"	/* one of them belongs to no job of Slurm */
#define GPU_IN_USE "gpu_in_use"	/* all are jobs', or nobody can tell */

/** A code as well, of a GPU that others use since some time in the run. */
#define GPU_JOINED "gpu_joined"

/** Processes that hold a GPU. */
struct gpu_holders {
	unsigned int n;
	const char *code;	/* GPU_BUSY or GPU_IN_USE */
	char words[160];	/* the first of them: "pid 4711 (python3, user
				 * x, 142 GB, no Slurm job)" */
};

/** In words: of one whose number is of no process here. */
#define GPU_UNSEEN "not visible here"

/**
 * Who holds GPU @uuid, by NVML, less this process and those of the same run;
 * none where that does not say.  @used: we hold it ourselves; then who is not
 * seen here is left out, too: in a container, NVML may have the numbers of its
 * host, and one of them is ours.  May hang: only in a child.
 */
void gpu_holders(const char *uuid, bool used, struct gpu_holders *h);

#endif
