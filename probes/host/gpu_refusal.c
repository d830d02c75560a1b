/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/gpu_refusal.h"

#include <string.h>

#include "probes/dl/nvml.h"

/* CUresult; not all of them are in every cuda.h */
enum {
	DEVICE_UNAVAILABLE = 46,
	INVALID_DEVICE = 101,
	MPS_FIRST = 805,	/* the connection failed */
	MPS_LAST = 810,		/* the client was ended */
	UNKNOWN = 999,
};

static const struct gpu_refusal prohibited = {
	"gpu_exclusive", "its compute mode is prohibited: no process may use it"
}, exclusive = {
	"gpu_exclusive", "its compute mode lets one process at a time use it, "
			 "and another does"
}, mps = {
	"gpu_mps", "MPS gives out this GPU, and refuses"
};

static const struct {
	int first, last;	/* codes */
	const char *mode;	/* NULL: any */
	const struct gpu_refusal *what;
} refusals[] = {
	{ MPS_FIRST, MPS_LAST, NULL, &mps },
	{ DEVICE_UNAVAILABLE, DEVICE_UNAVAILABLE, GPU_MODE_PROHIBITED,
	  &prohibited },
	{ DEVICE_UNAVAILABLE, DEVICE_UNAVAILABLE, NULL, &exclusive },
	/* of older drivers */
	{ INVALID_DEVICE, INVALID_DEVICE, GPU_MODE_EXCLUSIVE_PROCESS,
	  &exclusive },
	{ INVALID_DEVICE, INVALID_DEVICE, GPU_MODE_PROHIBITED, &prohibited },
	{ UNKNOWN, UNKNOWN, GPU_MODE_PROHIBITED, &prohibited },
};

const struct gpu_refusal *gpu_refusal_of(CUresult rc, const char *mode)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		if ((int)rc >= refusals[i].first &&
		    (int)rc <= refusals[i].last &&
		    (refusals[i].mode == NULL ||
		     strcmp(refusals[i].mode, mode) == 0)) {
			return refusals[i].what;
		}
	}
	return NULL;
}

const char *gpu_mode_word(int mode)
{
	/* nvmlComputeMode_t */
	static const char *const words[] = { "default", "exclusive_thread",
					     GPU_MODE_PROHIBITED,
					     GPU_MODE_EXCLUSIVE_PROCESS };

	return mode >= 0 && (size_t)mode < sizeof(words) / sizeof(*words) ?
		       words[mode] : "";
}

const char *gpu_compute_mode(const char *uuid)
{
	const struct nvml *nvml = dl_nvml(NULL);
	const char *word = "";
	nvmlDevice_t dev;
	int mode;

	if (nvml == NULL || nvml->nvmlInit_v2() != NVML_SUCCESS) {
		return word;
	}
	if (nvml->nvmlDeviceGetHandleByUUID != NULL &&
	    nvml->nvmlDeviceGetComputeMode != NULL &&
	    nvml->nvmlDeviceGetHandleByUUID(uuid, &dev) == NVML_SUCCESS &&
	    nvml->nvmlDeviceGetComputeMode(dev, &mode) == NVML_SUCCESS) {
		word = gpu_mode_word(mode);
	}
	nvml->nvmlShutdown();
	return word;
}
