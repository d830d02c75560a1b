/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/run.h"

#include <string.h>

/**
 * Facts that should be equal on all nodes, the most telling first. Other facts
 * are not compared: serial numbers, addresses, counters, states, temperatures.
 */
static const struct skew_fact skew_facts[] = {
	{ .fact = "driver", .absent = "none" },
	{ .fact = "cuda" },
	{ .fact = "nccl_version", .part = true },
	{ .fact = "nccl_lib", .part = true },
	{ .fact = "torch_nccl_version" },
	{ .fact = "NCCL_*", .absent = "not set", .setting = true },
	{ .fact = "UCX_*", .absent = "not set", .setting = true },
	{ .fact = "nccl_conf" },
	{ .fact = "nvidia_peermem" },
	/* not what GPU it is: a site may have several, and a note says so */
	{ .fact = "vbios", .part = true, .by = "name" },
	{ .fact = "ecc", .part = true, .by = "name" },
	{ .fact = "mig", .part = true, .by = "name" },
	{ .fact = "persistence", .part = true, .by = "name" },
	{ .fact = "compute_mode", .part = true, .by = "name" },
	{ .fact = "clock_offsets", .part = true, .by = "name" },
	{ .fact = "gsp_firmware", .part = true, .by = "name" },
	{ .fact = "pcie_speed_max", .part = true, .by = "name" },
	{ .fact = "pcie_width_max", .part = true, .by = "name" },
	{ .fact = "relaxed_ordering", .part = true, .by = "name" },
	{ .fact = "numa_node", .part = true, .by = "name" },
	{ .fact = "kernel_module" },
	{ .fact = "imex" },
	{ .fact = "mps" },
	{ .fact = "nvlinks", .part = true, .by = "name" },
	{ .fact = "firmware", .part = true, .by = "board" },
	{ .fact = "link_layer", .part = true, .by = "board", .active = true },
	{ .fact = "rate", .part = true, .by = "board", .active = true,
	  .ports_say = true },
	{ .fact = "fec", .part = true, .by = "board", .active = true },
	{ .fact = "pfc", .part = true, .by = "board", .active = true },
	{ .fact = "trust", .part = true, .by = "board", .active = true },
	{ .fact = "ecn", .part = true, .by = "board", .active = true },
	{ .fact = "roce_priority", .part = true, .by = "board",
	  .active = true },
	{ .fact = "rdma_cm_tos", .part = true, .by = "board",
	  .active = true },
	{ .fact = "active_mtu", .part = true, .active = true,
	  .ports_say = true },
	{ .fact = "mtu", .part = true, .by = "", .mesh_says = true },
	{ .fact = "gids", .part = true, .by = "", .active = true },
	{ .fact = "pcie_speed", .part = true, .by = "board",
	  .ports_say = true },
	{ .fact = "pcie_width", .part = true, .by = "board",
	  .ports_say = true },
	{ .fact = "acs" },
	{ .fact = "acs_check" },
	{ .fact = "iommu" },
	{ .fact = "memlock_soft" },
	{ .fact = "memlock_hard" },
	{ .fact = "nofile_soft" },
	{ .fact = "nofile_hard" },
	{ .fact = "kernel" },
	{ .fact = "mlx5_driver" },
	{ .fact = "gdrcopy", .absent = "none" },
	{ .fact = "libibverbs" },
	{ 0 }
};

/** Facts and interfaces that differ rightly: "veth*": all such. */
static const char *const skew_never[] = {
	/* one a node, by their meaning */
	"NCCL_HOSTID", "NCCL_COMM_ID", "NCCL_DEBUG_FILE",
	"NCCL_TOPO_DUMP_FILE", "NCCL_GRAPH_DUMP_FILE", "UCX_LOG_FILE",
	/* of containers, virtual machines and tunnels: no job's data goes
	 * there */
	"docker*", "virbr*", "veth*", "cni*", "br-*", "cali*", "flannel*",
	"podman*", "lxc*", "lxd*", "cilium*", "weave*", "kube*", "vxlan*",
	"nodelocaldns", "nerdctl*", "vnet*", "dummy*", "wg*", "tailscale*",
	"tun*", "tap*",
	NULL
};

/** "NCCL_*" fits all that begins so. */
static bool fits(const char *pattern, const char *name)
{
	size_t n = strlen(pattern);

	return n > 0 && pattern[n - 1] == '*' ?
		       strncmp(pattern, name, n - 1) == 0 :
		       strcmp(pattern, name) == 0;
}

static bool is_never(const char *name)
{
	for (size_t i = 0; skew_never[i]; i++) {
		if (fits(skew_never[i], name)) {
			return true;
		}
	}
	return false;
}

const struct skew_fact *skew_fact_of(const struct run *run,
				     const struct fact_row *f)
{
	bool part = strcmp(f->scope, "node") != 0;

	for (const struct skew_fact *k = skew_facts; k->fact; k++) {
		if (k->part == part && fits(k->fact, f->fact)) {
			return (k->ports_say && run->ports) ||
					       (k->mesh_says && run->mesh) ||
					       is_never(part ? f->scope :
							       f->fact) ?
				       NULL :
				       k;
		}
	}
	return NULL;
}
