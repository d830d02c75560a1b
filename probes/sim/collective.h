/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_SIM_COLLECTIVE_H
#define PROBES_SIM_COLLECTIVE_H

#include <stdint.h>

#include "probes/collective/order.h"

/**
 * Collectives of --transport=sim: what a rank would answer to @o, a pure
 * function.  A line of latency and bandwidth for each algorithm and protocol
 * that the model knows (Ring, Tree, NVLS inside a node; LL, LL128, Simple); the
 * constants are a model, not a measurement.  Where nothing is asked for the
 * fastest is taken, as NCCL means to; what the model does not know is ignored
 * silently, as NCCL does.
 * @noise  0.02 = uniform within 2 %.
 */
void collective_sim(const struct collective_order *o, uint64_t seed,
		    double noise, struct collective_result *r);

#endif
