/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HANG_GPU_WATCH_H
#define PROBES_HANG_GPU_WATCH_H

#include <stdint.h>

/**
 * What the GPUs of this node do while a job is watched: by NVML, in a thread of
 * its own, as a driver that hangs must not take the rest along.
 */
#define GPU_WATCH_MAX 64

struct gpu_use {
	double busy_pct, power_W;	/* means; NAN = not known */
};

struct gpu_watch;

/** NULL without memory or threads. */
struct gpu_watch *gpu_watch_begin(void);
/** Means of what was seen until now, by NVML's index, NAN where nothing was.
 *  One that has not come back by @deadline_ns is left behind: it ends with this
 *  process.  Returns how many GPUs there are, -1 = NVML does not answer. */
int gpu_watch_end(struct gpu_watch *w, int64_t deadline_ns,
		  struct gpu_use use[GPU_WATCH_MAX]);

#endif
