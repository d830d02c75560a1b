/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_SIM_SIM_H
#define PROBES_SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "probes/collective/order.h"
#include "probes/plan/drill.h"
#include "probes/plan/layout.h"
#include "probes/transport/xport.h"

/** The model cluster of --transport=sim. */
struct sim {
	const struct layout *layout;
	const struct drill *drill;
	uint64_t seed;
	double noise;	/* 0.02 = uniform within 2 %; the drill's "noise" wins
			 * over it */
	bool crowded;	/* all ranks are at work, and those that share a NIC
			 * share its bandwidth */
	bool unchecked;	/* nobody looks at the bytes that arrive */
};

/**
 * Bandwidth and latency of one ordered cell as a pure function of its
 * arguments, drill effects and noise included.
 * Intra-node cells follow an NVLink-like line (latency + size / rate),
 * inter-node cells a NIC-like one; the constants stand in sim.c and are a
 * model, not a measurement.  A corrupt cell is measured too, and passes for a
 * good one where nobody looks; dead, hung and crashed ones are not.  Always
 * fills @r.
 */
void sim_cell(const struct sim *m, int src, int dst, int attempt,
	      uint64_t size_bytes, struct xport_result *r);

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
