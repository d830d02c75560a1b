/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of a drill: what each one is, and what goes with it. */
#include "probes/plan/drill.h"

const struct drill_kind_word drill_kinds[] = {
	[DRILL_NONE] = { .name = "none" },	/* not a word of the file */
	[DRILL_DEAD] = { .name = "dead" },
	[DRILL_HANG] = { .name = "hang" },
	[DRILL_CRASH] = { .name = "crash" },
	[DRILL_CORRUPT] = { .name = "corrupt" },
	[DRILL_FLAKY] = { .name = "flaky", .value = "rate", .max = 1 },
	[DRILL_SLOW] = { .name = "slow", .value = "factor", .max = 1 },
	[DRILL_WRONG] = { .name = "wrong", .value = "rate", .max = 1 },
	[DRILL_BUSY] = { .name = "busy" },
	[DRILL_NOISE] = { .name = "noise", .value = "percent", .max = 100,
			  .min_too = true, .whole_run = true },
	{ 0 }
};

const struct drill_part_word drill_parts[] = {
	[DRILL_NODE] = { .name = "node", .example = "=3", .counts = "n",
			 .directed = true },
	[DRILL_GPU] = { .name = "gpu", .example = "=1:4", .counts = "ng",
			.directed = true },
	[DRILL_NIC] = { .name = "nic", .example = "=0:2", .counts = "nk",
			.directed = true },
	[DRILL_PAIR] = { .name = "pair", .example = "=0-9", .counts = "rr",
			 .directed = true },
	[DRILL_NODE_PAIR] = { .name = "node_pair", .example = "=0-2",
			      .counts = "nn", .directed = true },
	[DRILL_RAIL] = { .name = "rail", .example = "=1", .counts = "l" },
	[DRILL_CROSS_RAIL] = { .name = "cross_rail", .example = "",
			       .counts = "" },
	[DRILL_RANK] = { .name = "rank", .example = "=7", .counts = "r" },
	[DRILL_NODE_NETWORK] = { .name = "node_network", .example = "=3",
				 .counts = "n", .directed = true },
	[DRILL_INTRA_NODE] = { .name = "intra_node", .example = "=3",
			       .counts = "n" },
	[DRILL_GPU_NVLINK] = { .name = "gpu_nvlink", .example = "=1:4",
			       .counts = "ng", .directed = true },
	[DRILL_RAIL_LEAF] = { .name = "rail_leaf", .example = "=1:0-3",
			      .counts = "lnn" },
	[DRILL_FABRIC_PATH] = { .name = "fabric_path", .example = "=0-3:4-7",
				.counts = "nnnn", .partly = true },
	[DRILL_LEAF_PAIR] = { .name = "leaf_pair", .example = "=0-3:4-7",
			      .counts = "nnnn" },
	[DRILL_CABLE_SWAP] = { .name = "cable_swap", .example = "=1:0-2",
			       .counts = "nkk" },
	[DRILL_SOCKET] = { .name = "socket", .example = "=1:0",
			   .counts = "ns" },
	[DRILL_NVLINK_DOMAIN] = { .name = "nvlink_domain", .example = "=0-3",
				  .counts = "nn" },
	[DRILL_H2D] = { .name = "h2d", .example = "=1:3", .counts = "ng" },
	[DRILL_D2H] = { .name = "d2h", .example = "=1:3", .counts = "ng" },
	[DRILL_COMPUTE] = { .name = "compute", .example = "=0:2",
			    .counts = "ng" },
	{ 0 }
};

const char *const drill_shapes[] = {
	[DRILL_UNIFORM] = "uniform", [DRILL_HEAVY] = "heavy",
	[DRILL_DRIFT] = "drift", [DRILL_OUTLIER] = "outlier", NULL
};

const char *const drill_meets[] = {
	[DRILL_PRODUCT] = "product", [DRILL_MIN] = "min", NULL
};
