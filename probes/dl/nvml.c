/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/dl/nvml.h"

#include "lib/base/dl.h"

static const struct dl_sym nvml_syms[] = {
	DL_SYM(struct nvml, nvmlInit_v2),
	DL_SYM(struct nvml, nvmlShutdown),
	DL_SYM(struct nvml, nvmlErrorString),
	DL_SYM(struct nvml, nvmlDeviceGetCount_v2),
	DL_SYM(struct nvml, nvmlDeviceGetHandleByIndex_v2),
	DL_SYM(struct nvml, nvmlDeviceGetName),
	DL_SYM(struct nvml, nvmlDeviceGetUUID),
	DL_SYM(struct nvml, nvmlDeviceGetPciInfo_v3),
	DL_OPT(struct nvml, nvmlDeviceGetHandleByUUID),
	DL_OPT(struct nvml, nvmlDeviceGetEccMode),
	DL_OPT(struct nvml, nvmlDeviceGetPersistenceMode),
	DL_OPT(struct nvml, nvmlDeviceGetMigMode),
	DL_OPT(struct nvml, nvmlDeviceGetRemappedRows),
	DL_OPT(struct nvml, nvmlDeviceGetCurrentClocksThrottleReasons),
	DL_OPT(struct nvml, nvmlDeviceGetViolationStatus),
	DL_OPT(struct nvml, nvmlDeviceGetTotalEccErrors),
	DL_OPT(struct nvml, nvmlDeviceGetNvLinkState),
	DL_OPT(struct nvml, nvmlDeviceGetNvLinkErrorCounter),
	DL_OPT(struct nvml, nvmlDeviceGetFieldValues),
	DL_OPT(struct nvml, nvmlDeviceGetNvLinkRemoteDeviceType),
	DL_OPT(struct nvml, nvmlDeviceGetNvLinkRemotePciInfo_v2),
	DL_OPT(struct nvml, nvmlDeviceGetTopologyCommonAncestor),
	DL_OPT(struct nvml, nvmlSystemGetCudaDriverVersion_v2),
	DL_OPT(struct nvml, nvmlDeviceGetVbiosVersion),
	{ 0 }
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
