/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PING_NEIGH_H
#define PROBES_PING_NEIGH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/ip.h"
#include "probes/host/interface.h"

/** The kernel's table of neighbours: who answered for an address. */
struct ping_neigh {
	struct ip_addr ip;
	unsigned ifindex;
	bool failed;		/* asked for, and nobody answered (yet) */
	uint8_t mac[INTERFACE_MAC];
	size_t mac_len;
};

struct ping_neighs {
	struct ping_neigh *list;	/* in order, for ping_neigh_find() */
	size_t n;
};

/** Ask the kernel; 0, or -1 with @e; ping_neigh_release() frees. */
int ping_neigh_read(struct ping_neighs *all, struct err *e);
void ping_neigh_release(struct ping_neighs *all);
const struct ping_neigh *ping_neigh_find(const struct ping_neighs *all,
					 unsigned ifindex,
					 const struct ip_addr *ip);

/** Entries of one message of the kernel, aligned as that aligns it, to @all: 1,
 *  0 at the end of the dump, -1 with @e.  Fuzzed. */
int ping_neigh_parse(struct ping_neighs *all, void *bytes, size_t n,
		     struct err *e);

#endif
