/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_COLLECTIVE_NCCL_H
#define PROBES_COLLECTIVE_NCCL_H

#include <stdatomic.h>
#include <stdint.h>

#include "probes/collective/collective.h"
#include "probes/host/gpu.h"
#include "probes/p2p/nccl_link.h"
#include "probes/transport/xport.h"

/* ---- gpu ----------------------------------------------------------------- */

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

/* ---- ops ----------------------------------------------------------------- */

/**
 * A transport that knows collectives.  join(), step() and close() run in a
 * thread of their own and may block: the worker's first thread watches the
 * deadline and the coordinator's word, and calls abort() or leaves.
 * Named by the transport: struct xport_ops.
 */
struct collective_member;			/* one rank's part in one */

struct collective_ops {
	/** Become a member; NULL with @r filled in. */
	struct collective_member *(*join)(struct xport *x,
					  const struct collective_order *o,
					  int64_t deadline_ns,
					  struct collective_result *r);
	/** One step; always fills @r. */
	void (*step)(struct collective_member *c,
		     const struct collective_order *o, int64_t deadline_ns,
		     struct collective_result *r);
	/** From another thread: what step() waits for will not come. */
	void (*abort)(struct collective_member *c);
	void (*close)(struct collective_member *c);
};

extern const struct collective_ops collective_nccl;

/* ---- nccl ---------------------------------------------------------------- */

/**
 * Collectives by NCCL, shared by its files only:
 *   nccl.c        a collective from its beginning to its end, and samples
 *   nccl_call.c   one call, what it is about, and how it goes wrong
 *   nccl_check.c  is what arrived what was sent?
 */
struct collective_member {
	struct xport *x;
	ncclComm_t comm;
	struct collective_order order;	/* who is in it, what it does */
	struct collective_gpu check;
	atomic_bool aborted;
	off_t log_from;
	const char *doing;
	struct collective_result *r;		/* of the call at hand */
	int64_t began_ns, deadline_ns;
};

/** Where one rank's elements are in a step. */
struct collective_places {
	struct collective_shape shape;
	CUdeviceptr send, recv;
};

/* nccl_call.c: 0, or -1 with the result of the call at hand */

/* nccl_check.c */

#endif
