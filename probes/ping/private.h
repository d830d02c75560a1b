/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PING_PRIVATE_H
#define PROBES_PING_PRIVATE_H

#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/spec/spec.h"
#include "probes/node/child.h"
#include "probes/ping/ping.h"
#include "probes/ping/echo.h"
#include "probes/ping/engine.h"
#include "probes/ping/judge.h"
#include "probes/ping/mesh.h"
#include "probes/ping/mtu.h"
#include "probes/ping/neigh.h"
#include "probes/ping/packet.h"
#include "probes/host/route.h"
#include "probes/ping/socket.h"

/**
 * The child's state, shared by its files only:
 *   child.c  from the first line to the last: the loop
 *   send.c   a probe goes out
 *   recv.c   answers, errors and connections come in
 *   sizing.c how large a packet passes
 *   row.c    a path is decided
 */

/** From one own address to one of another node. */
struct ping_path {
	uint16_t own;		/* of own[] */
	uint8_t traces;		/* sent */
	bool sizing;		/* its answers count; it looks for the MTU */
	bool sought;		/* on the wires of the other interfaces */
	int32_t dst;		/* of mesh.ends */
	struct ping_sights sights;
	struct ping_flow counted;	/* as it was before that */
	struct ping_mtu mtu;
	uint16_t answers;	/* that had come before the size on trial */
};

/** One own address. */
struct ping_own {
	int end;		/* of mesh.ends */
	unsigned ifindex;
	struct ping_socket socket;	/* what asks; fd -1: none */
	struct ping_socket trace;	/* UDP, opened when it is needed */
	int open_code;		/* errno of a socket that does not open */
	int seeks;		/* how many were sought elsewhere */
};

/** Of a large packet that is on its way. */
struct ping_place {
	uint32_t path;
	int64_t until_ns;	/* it is free from then on */
};

#define PING_PLACES 16

struct ping_child {
	struct spec spec;
	char node[64];
	struct ping_mesh mesh;
	int me;			/* of mesh.nodes; -1 = not told yet */
	struct ping_own *own;
	int n_own;
	enum ping_method method[2];	/* of IPv4, of IPv6 */
	struct ping_path *paths;
	uint32_t n_paths;
	uint32_t *path_at;	/* n_own x mesh.n_ends: path, PING_NONE */
	struct ping_engine engine;
	struct ping_ring waiting;	/* paths that are to send a large
					 * packet */
	struct ping_place places[PING_PLACES];
	uint64_t tag, trace_tag;
	uint16_t icmp_id;
	uint16_t tcp_port;	/* of --tcp; 0 = auto */
	int *tcp_fds;		/* one a flight, by serial; -1 = none */
	int epoll;
	struct ping_echo echo;
	struct ping_neighs neighs;
	int64_t neighs_ns;	/* when they were read; 0 = never */
	struct routes routes;
	char start_utc[CLOCK_UTC_SIZE];
	bool running;
	bool deaf;		/* sockets may be full */
	uint8_t packet[PING_PACKET_MAX];
};

/** What an event of epoll is about: kind in the upper half, number below. */
enum ping_event { EVENT_STDIN, EVENT_ECHO, EVENT_OWN, EVENT_TRACE, EVENT_TCP };

/* send.c */

/** Have epoll tell of @fd; 0, or -1 with errno. */
int ping_watch(struct ping_child *c, int fd, uint32_t events,
	       enum ping_event kind, uint32_t number);
/** Choose what is sent, open a socket for every own address. */
void ping_open_all(struct ping_child *c);
void ping_close_all(struct ping_child *c);
/** One probe of @path. */
void ping_send(struct ping_child *c, uint32_t path);
/** Nothing has come back on @path, which has settled: is it to be looked for on
 *  the wires of other own interfaces, which takes one more probe?  Where
 *  silence lasted to the timeout that has been done by now; who is refused
 *  before, as by the kernel when ARP fails, gets here first. */
bool ping_look_elsewhere(struct ping_child *c, uint32_t path);

/* recv.c */

/** Own address @own has something. */
void ping_take_own(struct ping_child *c, uint32_t own, bool trace);
/** The connection of flight @serial has come to something. */
void ping_take_tcp(struct ping_child *c, uint32_t serial);

/* sizing.c */

enum ping_method ping_method_of(const struct ping_child *c,
				const struct ping_path *p);
/** All that can be known of @path is, by small packets or by a large one: does
 *  another size have to be tried?  Else p->sights has what was found. */
bool ping_size_next(struct ping_child *c, uint32_t path);
/** As many of those that wait as there is room for; *@wake_ns gets no later
 *  than there may be more. */
void ping_size_send(struct ping_child *c, int64_t now_ns, int64_t *wake_ns);

/* row.c */

/** A fact of this node, by the word of @source. */
void ping_say(const char *fact, const char *source, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** All that can be known of @path is: its row. */
void ping_decided(struct ping_child *c, uint32_t path, int64_t now_ns);
/** It ends before all is known of @path: what has come so far. */
void ping_cut_short(struct ping_child *c, uint32_t path, int64_t now_ns);

#endif
