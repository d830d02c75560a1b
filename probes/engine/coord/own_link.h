/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_COORD_OWN_LINK_H
#define PROBES_ENGINE_COORD_OWN_LINK_H

#include <stdint.h>
#include <sys/socket.h>

#include "probes/engine/coord/run_log.h"
#include "probes/host/interface.h"
#include "probes/host/link_counts.h"

/** The coordinator's side of the way to one agent. */
struct own_link {
	struct interface at;	/* "": none, or loopback */
	struct link_counts counts;
	int64_t counted_ns;	/* 0 = never */
};

/** By the interface that has the address @sa. */
void own_link_begin(struct own_link *l, const struct sockaddr *sa);
/** The agent was heard at @now_ns: what was counted until then did no harm.
 *  Reads files of /sys, some times a minute. */
void own_link_note(struct own_link *l, int64_t now_ns);
/** The agent is lost.  Event own_link, "eth0 up": as it is now, or "eth0
 *  flapped": it is up, and was down meanwhile; event own_counters: what has
 *  grown since the agent was heard. */
void own_link_tell(const struct own_link *l, const struct sockaddr *sa,
		   struct run_log *log);

#endif
