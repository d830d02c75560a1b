/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_NODE_FACTS_H
#define PROBES_HOST_NODE_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

/**
 * How a node is set up for GPUs and NICs, and where Slurm says that it stands:
 * facts of scope node, files read below @root ("" = /).
 */
void node_facts(const char *root, json_t *facts);

/**
 * The switch that a node is plugged into, by Slurm's SLURM_TOPOLOGY_ADDR
 * ("core.leaf3.n17") and SLURM_TOPOLOGY_ADDR_PATTERN ("switch.switch.node"):
 * srun sets both where topology.conf knows the switches, in the words of
 * "scontrol show topology".  False where they name none.
 */
bool node_leaf_switch(const char *addr, const char *pattern, char *leaf,
		      size_t size);

/** Is the node that @addr ends in the host @host, with or without its
 *  domain? */
bool node_is_last(const char *addr, const char *host);

#endif
