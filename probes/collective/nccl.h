/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_COLLECTIVE_NCCL_H
#define PROBES_COLLECTIVE_NCCL_H

#include <stdatomic.h>

#include "probes/collective/gpu.h"
#include "probes/collective/ops.h"
#include "probes/p2p/nccl_link.h"

/**
 * Collectives by NCCL, shared by its files only:
 *   nccl.c        a group from its beginning to its end, and samples
 *   nccl_call.c   one call, what it is about, and how it goes wrong
 *   nccl_check.c  is what arrived what was sent?
 */
struct coll {
	struct xport *x;
	ncclComm_t comm;
	struct coll_order group;	/* who is in it, what it does */
	struct coll_gpu check;
	atomic_bool aborted;
	off_t log_from;
	const char *doing;
	struct coll_result *r;		/* of the call at hand */
	int64_t began_ns, deadline_ns;
};

/** Where one rank's elements are in a step. */
struct coll_places {
	struct coll_shape shape;
	CUdeviceptr send, recv;
};

/* nccl_call.c: 0, or -1 with the result of the call at hand */

/** What is said where it goes wrong from here on. */
void coll_doing(struct coll *c, const char *what);
int coll_nccl_rc(struct coll *c, ncclResult_t rc);
int coll_cuda_rc(struct coll *c, CUresult rc);
int coll_stamp(struct coll *c, int i);
/** Until the GPU has passed stamp @i. */
int coll_wait_for(struct coll *c, int i);
/** Queue the operation of the group once. */
int coll_operate(struct coll *c, const struct coll_places *p);
/** All ranks meet on the stream: what follows starts together. */
int coll_meet(struct coll *c);
/** Does the library have what the collective needs? */
bool coll_has_operation(const struct nccl *n, enum collective op);

/* nccl_check.c */

struct coll_places coll_places_of(struct coll *c, const struct coll_order *o);
/** Operate once and count what is wrong in what this rank has received. */
int coll_check(struct coll *c, const struct coll_order *o,
	       const struct coll_places *p);

#endif
