/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/dl/pmi2.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/dl.h"
#include "lib/base/spawn.h"

#define PMI2_SONAME "libpmi2.so.0"

static const struct dl_sym pmi2_syms[] = {
	DL_SYM(struct pmi2, PMI2_Init),
	DL_SYM(struct pmi2, PMI2_Job_GetId),
	DL_SYM(struct pmi2, PMI2_KVS_Put),
	DL_SYM(struct pmi2, PMI2_KVS_Fence),
	DL_SYM(struct pmi2, PMI2_KVS_Get),
	{ 0 }
};

/** Library folders below Slurm's prefix, which is the folder above bin/. */
static const char *const beside_srun[] = { "lib", "lib64", "lib/slurm",
					   "lib64/slurm" };
#define N_BESIDE (sizeof(beside_srun) / sizeof(beside_srun[0]))

const struct pmi2 *dl_pmi2(struct err *e)
{
	static struct pmi2 table;
	static void *handle;

	if (!handle) {
		char srun[PATH_MAX], paths[N_BESIDE][PATH_MAX + 32];
		const char *names[1 + N_BESIDE + 1] = { PMI2_SONAME };
		size_t prefix = 0; /* length of that of PREFIX/bin/srun */

		if (spawn_find("srun", srun, sizeof(srun)) &&
		    str_ends(srun, "/bin/srun")) {
			prefix = strlen(srun) - strlen("/bin/srun");
		}
		for (size_t i = 0; prefix > 0 && i < N_BESIDE; i++) {
			snprintf(paths[i], sizeof(paths[i]), "%.*s/%s/%s",
				 (int)prefix, srun, beside_srun[i],
				 PMI2_SONAME);
			names[1 + i] = paths[i];
		}
		handle = dl_load("GPUCHECK_PMI2_LIB", names, pmi2_syms, &table,
				 e);
	}
	return handle ? &table : NULL;
}
