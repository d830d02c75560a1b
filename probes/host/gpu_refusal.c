/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/gpu_refusal.h"

#include <string.h>

#include "probes/dl/nvml.h"

#define NVML_NOT_THERE (-1)

/* CUresult; not all of them are in every cuda.h */
enum {
	DEVICE_UNAVAILABLE = 46,
	INVALID_DEVICE = 101,
	MPS_FIRST = 805,	/* the connection failed */
	MPS_LAST = 810,		/* the client was ended */
	UNKNOWN = 999,
};

static const struct gpu_refusal prohibited = {
	.code = "gpu_exclusive",
	.says = "its compute mode is prohibited: no process may use it",
}, exclusive = {
	.code = "gpu_exclusive",
	.says = "its compute mode lets one process at a time use it, and "
		"another does",
}, mps = {
	.code = "gpu_mps",
	.says = "MPS gives out this GPU, and refuses",
};

static const struct {
	int first, last;	/* codes */
	const char *mode;	/* NULL: any */
	const struct gpu_refusal *what;
} refusals[] = {
	{ .first = MPS_FIRST, .last = MPS_LAST, .what = &mps },
	{ .first = DEVICE_UNAVAILABLE, .last = DEVICE_UNAVAILABLE,
	  .mode = GPU_MODE_PROHIBITED, .what = &prohibited },
	{ .first = DEVICE_UNAVAILABLE, .last = DEVICE_UNAVAILABLE,
	  .what = &exclusive },
	/* of older drivers */
	{ .first = INVALID_DEVICE, .last = INVALID_DEVICE,
	  .mode = GPU_MODE_EXCLUSIVE_PROCESS, .what = &exclusive },
	{ .first = INVALID_DEVICE, .last = INVALID_DEVICE,
	  .mode = GPU_MODE_PROHIBITED, .what = &prohibited },
	{ .first = UNKNOWN, .last = UNKNOWN, .mode = GPU_MODE_PROHIBITED,
	  .what = &prohibited },
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

/** NVML's answer about the compute mode of GPU @uuid. */
static int ask_mode(const char *uuid, int *mode)
{
	const struct nvml *nvml = dl_nvml(NULL);
	int rc = NVML_NOT_THERE;
	nvmlDevice_t dev;

	if (nvml == NULL || nvml->nvmlInit_v2() != NVML_SUCCESS) {
		return rc;
	}
	if (nvml->nvmlDeviceGetHandleByUUID != NULL &&
	    nvml->nvmlDeviceGetComputeMode != NULL) {
		rc = nvml->nvmlDeviceGetHandleByUUID(uuid, &dev);
		rc = rc == NVML_SUCCESS ?
			     nvml->nvmlDeviceGetComputeMode(dev, mode) : rc;
	}
	nvml->nvmlShutdown();
	return rc;
}

bool gpu_is_lost(const char *uuid)
{
	int mode;

	return ask_mode(uuid, &mode) == NVML_ERROR_GPU_IS_LOST;
}

const char *gpu_compute_mode(const char *uuid)
{
	int mode;

	return ask_mode(uuid, &mode) == NVML_SUCCESS ? gpu_mode_word(mode) : "";
}
