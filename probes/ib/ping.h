/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_IB_PING_H
#define PROBES_IB_PING_H

#include "probes/ib/link.h"

/**
 * Latency: 8 bytes to and fro.  Calls return 0, or -1 with the link's fault set.
 */

/** Words and messages of before are out of the way. */
int verbs_settle(struct xport_link *l, int64_t deadline_ns);
/** Send pings, and @r has their latency; or @answer them. */
int verbs_pings(struct xport_link *l, const struct xport_cell *c, bool answer,
		int64_t deadline_ns, struct xport_result *r);

#endif
