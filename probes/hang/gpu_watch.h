/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HANG_GPU_WATCH_H
#define PROBES_HANG_GPU_WATCH_H

#include <stdint.h>

/**
 * What the GPUs of this node do while a job is watched: by NVML, in a thread of
 * its own, as a driver that hangs must not take the rest along.
 */
#define GPU_WATCH_MAX  64
#define GPU_WATCH_PIDS 32	/* of a GPU */

struct gpu_use {
	/* means; NAN = not known */
	double busy_pct, power_W, clock_MHz;	/* of its SMs */
	double sm_pct, warp_pct;	/* of its SMs those with work, of the
					 * warps that it has room for those
					 * there: from Hopper on */
	double link_MiB_s;		/* by NVLink, both ways: the same */
	char throttled[48];	/* most of the time, by what:
				 * gpu_throttle_words(); "" = it was not */
	unsigned int pids[GPU_WATCH_PIDS], n_pids;	/* that use it */
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
