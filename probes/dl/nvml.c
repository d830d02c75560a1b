/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/dl/nvml.h"

#define SYM(fn, args) DL_SYM(struct nvml, fn),
#define OPT(fn, args) DL_OPT(struct nvml, fn),

static const struct dl_sym nvml_syms[] = {
	DL_SYM(struct nvml, nvmlErrorString),
	NVML_FUNCTIONS(SYM, OPT) { 0 }
};

static const char *const nvml_names[] = { "libnvidia-ml.so.1", NULL };

const struct nvml *dl_nvml(struct err *e)
{
	static struct nvml table;
	static void *handle;

	if (handle == NULL) {
		handle = dl_load("GPUCHECK_NVML_LIB", nvml_names, nvml_syms,
				 &table, e);
	}
	return handle != NULL ? &table : NULL;
}
