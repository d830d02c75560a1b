/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_GPU_REFUSAL_H
#define PROBES_HOST_GPU_REFUSAL_H

#include <stdbool.h>

#include "probes/dl/cuda.h"

/** Why a driver lets no process, or not this one, have a GPU. */
struct gpu_refusal {
	const char *code;	/* of a row: gpu_exclusive, gpu_mps */
	const char *says;
};

/** What NVML's compute mode is called in the fact compute_mode; "": unknown. */
const char *gpu_mode_word(int mode);
#define GPU_MODE_PROHIBITED	   "prohibited"
#define GPU_MODE_EXCLUSIVE_PROCESS "exclusive_process"

/**
 * What is behind @rc, with which a context on a GPU was refused whose compute
 * mode is @mode (its word, "" where it is not known); NULL: nothing
 * that is known.  Pure.
 */
const struct gpu_refusal *gpu_refusal_of(CUresult rc, const char *mode);

/** Does NVML say that GPU @uuid is lost: no longer reached over PCIe? */
bool gpu_is_lost(const char *uuid);
#define GPU_LOST "gpu_lost"	/* the code */

/** The compute mode of the GPU @uuid, by NVML; "" where that does not say. */
const char *gpu_compute_mode(const char *uuid);

#endif
