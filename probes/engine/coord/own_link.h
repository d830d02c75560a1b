/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_COORD_OWN_LINK_H
#define PROBES_ENGINE_COORD_OWN_LINK_H

#include <stdint.h>
#include <sys/socket.h>

#include "probes/engine/coord/run_log.h"
#include "probes/host/interface.h"
#include "probes/host/link_counts.h"

/** An interface of the coordinator's node, for all agents that come to it. */
struct own_port {
	struct own_port *next;
	struct interface at;
	struct link_counts counts;
	int64_t counted_ns;	/* 0 = never */
};

/** The coordinator's side of the way to one agent. */
struct own_link {
	struct own_port *port;	/* NULL: none, or loopback */
	struct link_counts counts;	/* as the agent was heard */
};

/** By the interface that has the address @sa, of the list @ports, which grows
 *  if it is new there; own_ports_free() of that list ends all their links. */
void own_link_begin(struct own_link *l, struct own_port **ports,
		    const struct sockaddr *sa);
void own_ports_free(struct own_port *ports);
/** The agent was heard at @now_ns: what was counted until then, or up to a
 *  second before, did no harm.  Reads files of /sys below @root ("" = /), once
 *  a second of each interface. */
void own_link_note(struct own_link *l, const char *root, int64_t now_ns);
/** The agent is lost.  Event own_link, "eth0 up": as it is now, or "eth0
 *  flapped": it is up, and was down meanwhile; event own_counters: what has
 *  grown since the agent was heard. */
void own_link_tell(const struct own_link *l, const struct sockaddr *sa,
		   struct run_log *log);

#endif
