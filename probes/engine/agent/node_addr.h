/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_AGENT_NODE_ADDR_H
#define PROBES_ENGINE_AGENT_NODE_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "probes/engine/net/boot.h"

/**
 * The address that Slurm has for this node, NodeAddr: the one by which its
 * other nodes are known to reach it.
 */
struct node_addr {
	struct spawn_child child;	/* scontrol, which looks it up */
	struct str text;
	bool asked;
};

/** Ask, where this is a node of Slurm; node_addr_end() is due. */
void node_addr_begin(struct node_addr *n);
/** Put what Slurm says by @deadline_ns in front of the addresses of @c; without
 *  an answer, or with one that leads to loopback, @c stays as it is. */
void node_addr_end(struct node_addr *n, struct boot_contact *c,
		   int64_t deadline_ns);

/** NodeAddr of what "scontrol show node" prints into @host; false: none. */
bool node_addr_parse(const char *text, char *host, size_t size);
/** @host, an address or a name, comes first in @c, with the port of the
 *  others; once. */
void node_addr_prefer(struct boot_contact *c, const char *host);

#endif
