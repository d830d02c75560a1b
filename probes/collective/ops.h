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
struct coll;			/* one group in one worker */

struct coll_ops {
	/** Become a group; NULL with @r filled in. */
	struct coll *(*join)(struct xport *x, const struct coll_order *o,
			     int64_t deadline_ns, struct coll_result *r);
	/** One step; always fills @r. */
	void (*step)(struct coll *c, const struct coll_order *o,
		     int64_t deadline_ns, struct coll_result *r);
	/** From another thread: what step() waits for will not come. */
	void (*abort)(struct coll *c);
	void (*close)(struct coll *c);
};

extern const struct coll_ops coll_nccl;

#endif
