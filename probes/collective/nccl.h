/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_COLLECTIVE_NCCL_H
#define PROBES_COLLECTIVE_NCCL_H

#include <stdatomic.h>

#include "probes/collective/gpu.h"
#include "probes/collective/ops.h"
#include "probes/p2p/nccl_link.h"

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

/** What is said where it goes wrong from here on. */
void collective_doing(struct collective_member *c, const char *what);
int collective_nccl_rc(struct collective_member *c, ncclResult_t rc);
int collective_cuda_rc(struct collective_member *c, CUresult rc);
int collective_stamp(struct collective_member *c, int i);
/** Until the GPU has passed stamp @i. */
int collective_wait_for(struct collective_member *c, int i);
/** Queue the operation that was joined for once. */
int collective_operate(struct collective_member *c,
		       const struct collective_places *p);
/** All ranks meet on the stream: what follows starts together. */
int collective_meet(struct collective_member *c);
/** Does the library have what the collective needs? */
bool collective_has_operation(const struct nccl *n, enum collective op);

/* nccl_check.c */

struct collective_places collective_places_of(struct collective_member *c,
					      const struct collective_order *o);
/** Operate once and count what is wrong in what this rank has received. */
int collective_check(struct collective_member *c,
		     const struct collective_order *o,
		     const struct collective_places *p);
/** The same o->verify times, each with other data; which were wrong, too. */
int collective_verify(struct collective_member *c,
		      const struct collective_order *o,
		      const struct collective_places *p);

#endif
