/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_GPU_HOLDERS_H
#define PROBES_HOST_GPU_HOLDERS_H

#include <stdbool.h>

/* Codes of a row or rank. */
#define GPU_BUSY   "gpu_busy"	/* one of them belongs to no job of Slurm */
#define GPU_IN_USE "gpu_in_use"	/* all are jobs', or nobody can tell */

/** Processes that hold a GPU. */
struct gpu_holders {
	unsigned int n;
	const char *code;	/* GPU_BUSY or GPU_IN_USE */
	char words[160];	/* the first of them: "pid 4711 (python3, user
				 * x, 142 GB, no Slurm job)" */
};

/** Who holds GPU @uuid, by NVML, less process @but (0: nobody is left out);
 *  none where that does not say.  May hang: only in a child. */
void gpu_holders(const char *uuid, unsigned int but, struct gpu_holders *h);

#endif
