/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/probe.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/data/record_rows.h"
#include "probes/gpu/gpu.h"
#include "probes/hang/hang.h"
#include "probes/node/child.h"
#include "probes/ping/ping.h"

/* ---- transports ---------------------------------------------------------- */

#define ENTRY(name) &xport_##name,
const struct xport_ops *const xports[] = { XPORTS(ENTRY) NULL };

const struct xport_ops *xport_find(const char *name)
{
	for (size_t i = 0; xports[i] != NULL; i++) {
		if (strcmp(xports[i]->name, name) == 0) {
			return xports[i];
		}
	}
	return NULL;
}

const struct xport_ops *xport_auto(bool gpu)
{
	for (size_t i = 0; xports[i] != NULL; i++) {
		if (xports[i]->priority >= 0 &&
		    (gpu || !xport_is(xports[i], XPORT_GPU))) {
			return xports[i];
		}
	}
	return NULL;
}

/* ---- probe --------------------------------------------------------------- */

/** The name is that of the collective. */
#define COLLECTIVE(op) { \
		.name = op, \
		.kind = PROBE_COLLECTIVE, \
		.schema = &schema_collective, \
		.part = "gpu", \
		.parts = "GPUs", \
		.missing = "gpu_missing", \
		.transport = "nccl", \
	}

static const struct probe probes[] = {
	{
		.name = "p2p",
		.kind = PROBE_PAIRS,
		.schema = &schema_p2p,
		.part = "gpu",
		.parts = "GPUs",
		.missing = "gpu_missing",
	},
	{
		.name = "ib",
		.kind = PROBE_PAIRS,
		.schema = &schema_p2p,
		.part = "nic",
		.parts = "HCA ports",
		.missing = "hca_missing",
		.ports = true,
		.transport = "verbs",
	},
	{
		.name = "memlock",
		.kind = PROBE_NODES,
		.light = true,
		.schema = &schema_memlock,
		.node_column = "node",
		.timeout_ns = 20 * NS_PER_S,
		.child = memlock_child,
		.shell = memlock_shell,
	},
	{
		.name = "info",
		.kind = PROBE_NODES,
		.schema = &schema_info,
		.node_column = "node",
		.timeout_ns = 20 * NS_PER_S,
		.child = info_child,
	},
	{
		/* the steps of the child have deadlines of their own */
		.name = "gpu",
		.kind = PROBE_NODES,
		.schema = &schema_gpu,
		.node_column = "node",
		.timeout_ns = 600 * NS_PER_S,
		.takes = gpu_takes_ns,
		.child = gpu_child,
	},
	{
		.name = "hang",
		.kind = PROBE_NODES,
		.schema = &schema_hang,
		.node_column = "node",
		.hearsay = true,
		.timeout_ns = 15 * NS_PER_S,
		.child = hang_child,
	},
	{
		/* the plan says how long the children may take; this is the
		 * end of patience */
		.name = "ping",
		.kind = PROBE_NODES,
		.light = true,
		.schema = &schema_ping,
		.node_column = "src_node",
		.address_column = "src_ip",
		.timeout_ns = PING_CHILD_NS,
		.meets = true,
		.child = ping_child,
		.plan = ping_plan,
	},
	COLLECTIVE("allreduce"),
	COLLECTIVE("allgather"),
	COLLECTIVE("reducescatter"),
	COLLECTIVE("broadcast"),
	COLLECTIVE("reduce"),
	COLLECTIVE("alltoall"),
	COLLECTIVE("sendrecv"),
};

int64_t probe_limit_ns(const struct probe *p, const struct spec *s)
{
	return p->timeout_ns + (p->takes ? p->takes(s) : 0);
}

const struct probe *probe_find(const char *name)
{
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
		if (strcmp(probes[i].name, name) == 0) {
			return &probes[i];
		}
	}
	return NULL;
}
