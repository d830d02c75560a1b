/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/probe.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/data/record_collective.h"
#include "lib/data/record_info.h"
#include "lib/data/record_memlock.h"
#include "lib/data/record_ping.h"
#include "probes/info/info.h"
#include "probes/memlock/memlock.h"
#include "probes/ping/ping.h"

static const struct probe probe_p2p = {
	.name = "p2p",
	.kind = PROBE_PAIRS,
	.schema = &schema_p2p,
	.part = "gpu",
	.parts = "GPUs",
	.missing = "gpu_missing",
};

static const struct probe probe_ib = {
	.name = "ib",
	.kind = PROBE_PAIRS,
	.schema = &schema_p2p,
	.part = "nic",
	.parts = "HCA ports",
	.missing = "hca_missing",
	.ports = true,
	.transport = "verbs",
};

static const struct probe probe_memlock = {
	.name = "memlock",
	.kind = PROBE_NODES,
	.schema = &schema_memlock,
	.node_column = "node",
	.timeout_ns = 20 * NS_PER_S,
	.child = memlock_child,
	.shell = memlock_shell,
};

static const struct probe probe_info = {
	.name = "info",
	.kind = PROBE_NODES,
	.schema = &schema_info,
	.node_column = "node",
	.timeout_ns = 20 * NS_PER_S,
	.child = info_child,
};

/* The plan says how long the children may take; this is the end of patience. */
static const struct probe probe_ping = {
	.name = "ping",
	.kind = PROBE_NODES,
	.schema = &schema_ping,
	.node_column = "src_node",
	.timeout_ns = PING_CHILD_NS,
	.meets = true,
	.child = ping_child,
	.plan = ping_plan,
};

/** The name is that of the collective. */
#define COLLECTIVE(op) \
	static const struct probe probe_##op = { \
		.name = #op, \
		.kind = PROBE_COLLECTIVE, \
		.schema = &schema_collective, \
		.part = "gpu", \
		.parts = "GPUs", \
		.missing = "gpu_missing", \
		.transport = "nccl", \
	}

COLLECTIVE(allreduce);
COLLECTIVE(allgather);
COLLECTIVE(reducescatter);
COLLECTIVE(broadcast);
COLLECTIVE(reduce);
COLLECTIVE(alltoall);
COLLECTIVE(sendrecv);

const struct probe *const probes[] = {
	&probe_p2p, &probe_ib, &probe_memlock, &probe_ping, &probe_info,
	&probe_allreduce,
	&probe_allgather, &probe_reducescatter, &probe_broadcast, &probe_reduce,
	&probe_alltoall, &probe_sendrecv, NULL
};

const struct probe *probe_find(const char *name)
{
	for (size_t i = 0; probes[i] != NULL; i++) {
		if (strcmp(probes[i]->name, name) == 0) {
			return probes[i];
		}
	}
	return NULL;
}
