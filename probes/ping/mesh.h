/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PING_MESH_H
#define PROBES_PING_MESH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "lib/base/err.h"
#include "lib/data/pinglist.h"
#include "probes/host/interface.h"

/** Who is there, and who asks whom: the plan of ping. */

#define PING_KEY_BYTES 16
#define PING_MAX_NODES 4096
#define PING_MAX_ENDS  65536	/* addresses in all */

/** Where a child answers. */
struct ping_door {
	int64_t udp4, udp6, tcp;	/* ports; 0 = nowhere */
	uint8_t key[PING_KEY_BYTES];	/* that opens them */
};

struct ping_node {
	char name[64];
	bool here;		/* its child is ready; else it is a target
				 * only */
	struct ping_door door;
	int first, n;		/* its addresses, in ends[] */
};

/** One address: where a path begins or ends. */
struct ping_end {
	int node;
	int segment;		/* of segments[] */
	int rail;		/* by position; IPv6 counts on after IPv4 */
	struct interface at;
};

struct ping_mesh {
	struct ping_node *nodes;
	struct ping_end *ends;
	char (*segments)[IP_TEXT + 8];
	int n_nodes, n_ends, n_segments;
	bool cross;		/* between segments too */
	bool by_rail;		/* no two share a segment: rails make paths */
	struct pinglist list;	/* which nodes ask each other; of a child, that
				 * knows only those that it asks: all of them */
};

/** For the others, new reference; and back: 0, or -1 with @e. */
json_t *ping_door_json(const struct ping_door *d);
int ping_door_parse(const json_t *json, struct ping_door *d, struct err *e);

void ping_mesh_release(struct ping_mesh *m);

/** Is there a path between the addresses @a and @b of two nodes? */
bool ping_mesh_path(const struct ping_mesh *m, int a, int b);
/** Paths that begin at @node. */
size_t ping_mesh_paths(const struct ping_mesh *m, int node);

/**
 * Ends are there, node by node: number segments and rails.  A segment that
 * several nodes share is a rail, in the order of the subnets; where no two
 * share one, the position on the node is.  0, or -1 without memory.
 */
int ping_mesh_number(struct ping_mesh *m, struct err *e);

/** For each child the nodes that it asks, and itself: an array of {"me", "fleet",
 *  "mesh"}, null for those that do not take part; what several are told is
 *  there once.  New reference. */
json_t *ping_mesh_tell(const struct ping_mesh *m);
/** The other way; 0, or -1 with @e; ping_mesh_release() frees. */
int ping_mesh_parse(const json_t *json, struct ping_mesh *m, struct err *e);

#endif
