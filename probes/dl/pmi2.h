/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_DL_PMI2_H
#define PROBES_DL_PMI2_H

#include "lib/base/err.h"

/* The part of PMI2 that this program uses; its header comes only with Slurm's
 * developer files. */
#define PMI2_SUCCESS	 0
#define PMI2_ID_NULL	 (-1)
#define PMI2_VALUE_SIZE	 1024
#define PMI2_JOB_ID_SIZE 256

struct pmi2 {
	int (*PMI2_Init)(int *spawned, int *size, int *rank, int *appnum);
	int (*PMI2_Job_GetId)(char job_id[], int size);
	int (*PMI2_KVS_Put)(const char key[], const char value[]);
	int (*PMI2_KVS_Fence)(void);
	int (*PMI2_KVS_Get)(const char *job_id, int source, const char key[],
			    char value[], int size, int *length);
};

/**
 * The table, loaded once: $GPUCHECK_PMI2_LIB, else libpmi2.so.0 by the
 * loader's path, else beside the prefix of the srun on PATH.  NULL with @e.
 */
const struct pmi2 *dl_pmi2(struct err *e);

#endif
