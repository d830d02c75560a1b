/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PING_PING_H
#define PROBES_PING_PING_H

#include <jansson.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/spec/spec.h"
#include "probes/ping/engine.h"

/**
 * The ping probe, as probes/probe.c lists it: a child a node, all of which ask
 * at the same time, and answer each other where ICMP is not permitted.
 */

/** No child lives longer: the end of patience, and of what can be planned. */
#define PING_CHILD_NS (3600 * NS_PER_S)

/** The child: asks and answers, see struct probe. */
int ping_child(const json_t *args, struct err *e);
/** Pure: who asks whom, see struct probe. */
json_t *ping_plan(const json_t *nodes, const struct spec *s, struct err *e);

/** The most that all nodes together send: probes a second. */
#define PING_FLEET_RATE 200000

/** How many neighbours the kernel keeps. */
#define PING_NEIGHBOURS_V4 "/proc/sys/net/ipv4/neigh/default/gc_thresh3"
#define PING_NEIGHBOURS_V6 "/proc/sys/net/ipv6/neigh/default/gc_thresh3"

/** The rules that options ask for, of one of @fleet nodes that has @paths
 *  paths. */
struct ping_rules ping_rules_for(const struct spec *s, int fleet,
				 size_t paths);

#endif
