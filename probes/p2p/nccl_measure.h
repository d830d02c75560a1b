/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_P2P_NCCL_MEASURE_H
#define PROBES_P2P_NCCL_MEASURE_H

#include "probes/transport/xport.h"

/**
 * Measure one direction of a joined pair: bandwidth, data, and the latency of
 * 8 B when asked for.  Both ends call it with the same cell but for sender and
 * drill, and take the same decisions.  Fills in @r whatever happens.
 */
bool nccl_measure(struct xport_link *l, const struct xport_cell *c,
		  int64_t deadline_ns, struct xport_result *r);

#endif
