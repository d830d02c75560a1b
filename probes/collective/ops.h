/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_COLLECTIVE_OPS_H
#define PROBES_COLLECTIVE_OPS_H

#include <stdint.h>

#include "probes/collective/order.h"
#include "probes/transport/xport.h"

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

#endif
