/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PING_PING_H
#define PROBES_PING_PING_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/net.h"
#include "lib/spec/spec.h"

struct node_args;

/* ---- engine -------------------------------------------------------------- */

/**
 * When to send what, and what became of it: pacing, window, second tries and
 * losses, as a function of time and events.  Pure: no clock, no socket.
 *
 * Every path gets its probes in rounds, one round an interval, each round in
 * the order of the paths.  No more than one probe a gap goes out, and no more
 * than a window of them is on its way.  A probe that has no answer within the
 * timeout is sent once more before it counts as lost.
 */
struct ping_rules {
	int count;		/* probes a path */
	int retries;		/* of each that has no answer */
	int64_t interval_ns;	/* from round to round, at least */
	int64_t timeout_ns;
	int64_t first_gap_ns;	/* between two probes of the first round, when
				 * neighbours have to be found */
	int64_t gap_ns;		/* of all others */
	uint32_t window;	/* a power of two */
};

/** The most that a node sends: probes a second, in the first round and
 *  later. */
#define PING_FIRST_RATE 2500
#define PING_RATE	10000

/** Rules of a node that has to do with @paths paths, no two probes in less than
 *  @gap_ns. */
struct ping_rules ping_rules_of(int count, int64_t interval_ns,
				int64_t timeout_ns, int64_t gap_ns,
				size_t paths);
/** How long --flows may take on @paths paths, at most. */
int64_t ping_flows_budget_ns(const struct spec *s, const struct ping_rules *r,
			     size_t paths);
/** How long that may take, at most. */
int64_t ping_rules_budget_ns(const struct ping_rules *r, size_t paths);

#define PING_NONE UINT32_MAX

/** State of one path. */
struct ping_flow {
	uint16_t sent, received;
	uint16_t flying;	/* sent, no answer yet, not yet too late */
	uint16_t todo;		/* first tries to come */
	uint16_t owed;		/* second tries to come */
	uint16_t tries_left;	/* second tries that it may still get */
	bool queued, settled;
	bool first;		/* what is owed is no second try */
	bool starved;		/* answers may have come and been missed */
	float rtt_min_ns, rtt_max_ns;
	double rtt_sum_ns;
};

struct ping_flight;

/** Paths in order, at most one of each. */
struct ping_ring {
	uint32_t *paths, at, n;
};

/** @size is how many paths there are, and the room of the ring. */
void ping_ring_push(struct ping_ring *r, uint32_t size, uint32_t path);
/** The oldest; there must be one. */
uint32_t ping_ring_pop(struct ping_ring *r, uint32_t size);

struct ping_engine {
	struct ping_rules rules;
	struct ping_flow *flows;
	uint32_t n;
	struct ping_flight *flights;	/* the window, by serial number */
	uint32_t head, tail;	/* serials: oldest on its way, next */
	struct ping_ring again;		/* that are owed a try */
	struct ping_ring settled;
	int64_t start_ns, free_ns;	/* when the next probe may go out */
	bool second;		/* what next() said is a second try */
	uint32_t deaf;		/* serial: earlier ones were on their way
				 * while this process did not run */
	int round;
	uint32_t at;		/* next path of this round */
	uint32_t open;		/* paths that have not settled */
};

/** 0, or -1 without memory; ping_engine_release() frees. */
int ping_engine_init(struct ping_engine *g, const struct ping_rules *r,
		     uint32_t paths);
void ping_engine_release(struct ping_engine *g);
void ping_engine_start(struct ping_engine *g, int64_t now_ns);

/** This process did not run for a while: the kernel may have thrown away what
 *  came meanwhile, so that probes on their way that have no answer were not
 *  lost.  They do not count as sent, and are tried once more like others. */
void ping_engine_deaf(struct ping_engine *g);

/** The path to send for now, or PING_NONE: nothing before *@wake_ns (INT64_MAX:
 *  nothing is due at all). */
uint32_t ping_engine_next(struct ping_engine *g, int64_t now_ns,
			  int64_t *wake_ns);
/** Its probe is on its way: the number by which the answer will be known. */
uint32_t ping_engine_sent(struct ping_engine *g, uint32_t path,
			  int64_t now_ns);
/** The number that ping_engine_sent() will return. */
uint32_t ping_engine_serial(const struct ping_engine *g);
/** The last probe, of @path, was not taken after all: it does not count as
 *  sent, and is tried again when its time is over. */
void ping_engine_unsent(struct ping_engine *g, uint32_t path);
/** Whose number @serial is, while it is awaited; PING_NONE. */
uint32_t ping_engine_path(const struct ping_engine *g, uint32_t serial);
/** The answer to number @serial: its path, with the round trip, or PING_NONE:
 *  unknown, twice or too late.  The last @waited_ns of it do not count: it was
 *  here by then. */
uint32_t ping_engine_answer(struct ping_engine *g, uint32_t serial,
			    int64_t now_ns, int64_t waited_ns);
/** Number @serial has come back as an error: nothing to wait for. */
void ping_engine_refuse(struct ping_engine *g, uint32_t serial);
/** Send no more for @path. */
void ping_engine_give_up(struct ping_engine *g, uint32_t path);
/** One more probe for a path that has settled, with @tries second ones. */
void ping_engine_more(struct ping_engine *g, uint32_t path, int tries);
/** The next path of which all is known, each time it is; PING_NONE. */
uint32_t ping_engine_settled(struct ping_engine *g);
static inline bool ping_engine_done(const struct ping_engine *g)
{
	return g->open == 0 && g->settled.n == 0;
}

/* ---- select -------------------------------------------------------------- */

/** Which addresses take part: --ifname, --subnet, --skip. */

/** Check the three lists. Returns 0, or -1 with @e. */
int ping_select_check(const struct spec *s, struct err *e);
/** Return true if address @ip of interface @ifname of @node takes part. Without
 *  --ifname all interfaces do, except those of containers. */
bool ping_select(const struct spec *s, const char *ifname,
		 const struct ip_addr *ip);

/* ---- ping ---------------------------------------------------------------- */

/**
 * The ping probe, as probes/probe.c lists it: a child a node, all of which ask
 * at the same time, and answer each other where ICMP is not permitted.
 */

/** No child lives longer: the end of patience, and of what can be planned. */
#define PING_CHILD_NS (3600 * NS_PER_S)

/** The child: asks and answers, see struct probe. */
int ping_child(const struct node_args *args, struct err *e);
/** Pure: the plan of sources and targets, see struct probe. */
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
