/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_SIM_MODEL_H
#define PROBES_SIM_MODEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "probes/collective/collective.h"
#include "probes/plan/drill.h"
#include "probes/plan/layout.h"
#include "probes/plan/plan.h"
#include "probes/transport/order.h"
#include "probes/transport/xport.h"

/* ---- model --------------------------------------------------------------- */

/**
 * The ranks of --transport=sim: states of their agent instead of processes.
 * The agent of the lower rank answers for both ends of a pair at once.
 */
struct model;

/** Compose the model that the coordinator sends with "start" of pass @p for
 *  @layer, drill text included. */
json_t *model_json(const json_t *nodes, const char *drill_text,
		   enum drill_layer layer, uint64_t seed,
		   const struct pass *p);
/** The other way; NULL with @e.  model_free() frees. */
struct model *model_new(const json_t *j, struct err *e);
void model_free(struct model *m);
/** Append what answers @o, one of the tasks by @how: the entry of a "done";
 *  false where it makes no sense. */
bool model_report(const struct model *m, const struct order *o,
		  const struct order_how *how, struct str *out);
/** Members of the message that answers @msg, a step of a collective; NULL where
 *  it makes no sense. */
json_t *model_collective(const struct model *m, const json_t *msg);

/* ---- model nodes --------------------------------------------------------- */

/**
 * The nodes of a model as each agent is told about them: neighbours that are
 * alike are one entry, with their names as a host list, so that a fleet is some
 * hundred bytes and not some hundred thousand for each of its agents.
 */

/** @nodes, as run.json has them, as such a list; NULL without memory. */
json_t *model_nodes_json(const json_t *nodes);
/** The other way: @l is made of @list; layout_release() frees.  0, or -1 with
 *  @e: no memory, or it is no such list. */
int model_nodes_read(struct layout *l, const json_t *list, struct err *e);

/* ---- sim ----------------------------------------------------------------- */

/** A failure that a drill makes. */
struct sim_failure {
	enum outcome outcome;
	const char *code;      /* NULL: none */
	const char *does;      /* what the GPU that acts does */
	enum collective_do at; /* step of a collective */
};

/** The model cluster of --transport=sim. */
struct sim {
	const struct layout *layout;
	const struct drill *drill;
	uint64_t seed;
	double noise;	/* 0.02 = uniform within 2 %; the drill's "noise" wins
			 * over it */
	bool crowded;	/* all ranks are at work, and those that share a NIC
			 * share its bandwidth */
	bool ports;	/* of ib: the NIC is the path inside a node, too */
	bool unchecked;	/* the bytes that arrive are not checked */
};

/**
 * Bandwidth and latency of one ordered cell as a pure function of its
 * arguments, drill effects and noise included.
 * Intra-node cells follow an NVLink-like line (latency + size / rate),
 * inter-node cells a NIC-like one; the constants stand in sim.c and are a
 * model, not a measurement.  A corrupt cell is measured too, and passes for a
 * good one if it is unchecked; dead, hung and crashed ones are not.  Always
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
