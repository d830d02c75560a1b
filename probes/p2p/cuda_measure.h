/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_P2P_CUDA_MEASURE_H
#define PROBES_P2P_CUDA_MEASURE_H

#include "probes/transport/xport.h"

/**
 * Measure one direction of a joined pair: bandwidth of the copy engine, data,
 * and, when the latency is asked for, whether kernels of both GPUs that wait
 * for each other get along.  Both ends call it with the same cell but for
 * sender and drill, and take the same decisions.  Fills in @r whatever
 * happens.
 */
bool ipc_measure(struct xport_link *l, const struct xport_cell *c,
		 int64_t deadline_ns, struct xport_result *r);

#endif
