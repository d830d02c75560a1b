/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_COLLECTIVE_GPU_H
#define PROBES_COLLECTIVE_GPU_H

#include <stdint.h>

#include "probes/collective/collective.h"
#include "probes/host/gpu.h"

/**
 * data.h as PTX text that the driver compiles, for any grid.  All
 * parameters are u64; @table is 0 for what only moves.
 *
 * collective_fill(mem, n, width_log2, table, rank, ranks, seed)
 *	Put @n elements of 1 << @width_log2 bytes at @mem: given[].
 * collective_wrong(mem, n, width_log2, table, tolerance, seed, count)
 *	Add to *@count how many of @n elements are not as in wanted[].
 */
extern const char collective_kernels_ptx[];

#define COLLECTIVE_KERNEL_FILL  "collective_fill"
#define COLLECTIVE_KERNEL_WRONG "collective_wrong"

/**
 * The data check of collectives on one GPU: by kernels, or where the driver
 * refuses them by way of the host.  Calls return the driver's code.
 */
struct collective_gpu {
	struct gpu *gpu;
	struct collective_data data;
	CUfunction fill, wrong;		/* NULL: by the host */
	CUdeviceptr tables;		/* given[], then wanted[] */
};

/** Get ready for the data @d; waits. */
CUresult collective_gpu_open(struct collective_gpu *c, struct gpu *g,
			     const struct collective_data *d,
			     int64_t deadline_ns);
/** Put @n elements at @mem; @moved: as if they were only moved. */
CUresult collective_gpu_fill(struct collective_gpu *c, CUdeviceptr mem,
			     int64_t n, uint64_t seed, bool moved,
			     int64_t deadline_ns);
/** Add the wrong ones of @n elements at @mem to GPU_WORD_WRONG, between
 *  gpu_check_begin() and collective_gpu_count(). */
CUresult collective_gpu_wrong(struct collective_gpu *c, CUdeviceptr mem,
			      int64_t n, uint64_t seed, int64_t deadline_ns);
/** The count so far; waits. */
CUresult collective_gpu_count(struct collective_gpu *c, int64_t *wrong,
			      int64_t deadline_ns);

#endif
