/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PLAN_PORT_SLOTS_H
#define PROBES_PLAN_PORT_SLOTS_H

#include <stdbool.h>
#include <stddef.h>

#include "probes/host/port.h"

/**
 * Which HCA ports of several nodes belong together.  A slot is a port as most
 * nodes have it, by its name; a rank is one slot of one node.  Slots that can
 * communicate by design are a group.  Pure.
 */

/** What a port is there for: the one that GPUs of its node use, or, near to
 *  none of them, storage or management, whose network is another one. */
enum port_use { USE_UNKNOWN, USE_GPUS, USE_OTHER };

/** What two ports must share to be of one fabric. */
struct port_class {
	char link_layer[16];	/* InfiniBand, Ethernet; "" not known */
	char subnet[PORT_SUBNET];	/* "" on Ethernet */
	int pkey;		/* without membership; 0 = not known */
	int rate_Gb_s;		/* 0: not known */
	enum port_use use;
};

/** A port as its node tells of it. */
struct port_seen {
	char name[PORT_NAME];
	bool up;		/* else only the name and link layer count */
	struct port_class class;
};

/** The ports of a node that take part, in its order. */
struct port_set {
	const struct port_seen *ports;
	int n;			/* at most PORT_MAX */
};

struct port_slot {
	char name[PORT_NAME];
	struct port_class class;	/* as most nodes have it */
	int group;		/* from 0 */
};

struct port_slots {
	struct port_slot slot[PORT_MAX];
	int n, n_groups;
};

#define PORT_GROUP_TEXT 112

/** The slots of @n @nodes: the list of names that the most have, of these the
 *  longest, of these the first. */
void port_slots_make(struct port_slots *s, const struct port_set *nodes,
		     int n);

/**
 * Which port of @node is in which slot: its index, or -1.  By name and class
 * where it has both; else by class, as nodes may count in another order; else
 * by name, as a port that is set up differently is missed where it belongs;
 * else in order, names being as different as machines.
 */
void port_slots_match(const struct port_slots *s, const struct port_set *node,
		      int at[PORT_MAX]);

/** "InfiniBand, 400 Gb/s, subnet fe80:..., P_Key 0x7fff": @group in words. */
const char *port_group_text(const struct port_slots *s, int group,
			    char buf[PORT_GROUP_TEXT]);

#endif
