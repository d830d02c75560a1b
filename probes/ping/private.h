/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PING_PRIVATE_H
#define PROBES_PING_PRIVATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/net.h"
#include "lib/data/hosts.h"
#include "lib/data/record_rows.h"
#include "lib/data/schema.h"
#include "lib/spec/spec.h"
#include "probes/host/interface.h"
#include "probes/node/child.h"
#include "probes/ping/ping.h"

/* ---- mesh ---------------------------------------------------------------- */

/** Ping plan: the endpoints and the list of (source, target) pairs. */

#define PING_KEY_BYTES 16
#define PING_MAX_NODES 4096
#define PING_MAX_ENDS  65536	/* addresses in all */

struct ping_node {
	char name[64];
	bool here;		/* its child is ready; else it is a target
				 * only */
	/* the door of its child, ping_door_fields: */
	int64_t udp4, udp6, tcp;	/* ports; 0 = nowhere */
	uint8_t key[PING_KEY_BYTES];	/* that opens them */
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

/** The door of a node, as the others get it. */
extern const struct field ping_door_fields[];

void ping_mesh_release(struct ping_mesh *m);

/** Return true if there is a path between the addresses @a and @b of two
 *  nodes. */
bool ping_mesh_path(const struct ping_mesh *m, int a, int b);
/** Paths that begin at @node. */
size_t ping_mesh_paths(const struct ping_mesh *m, int node);

/**
 * Ends are there, node by node: number segments and rails.  A segment that
 * several nodes share is a rail, in the order of the subnets; where no two
 * share one, the position on the node is.  0, or -1 without memory.
 */
int ping_mesh_number(struct ping_mesh *m, struct err *e);

/** Return the message to each child, with itself and the nodes that it asks: an
 *  array of {"me", "fleet", "mesh"}, null for those that do not take part;
 *  equal parts share one object.  New reference. */
json_t *ping_mesh_tell(const struct ping_mesh *m);
/** The other way; 0, or -1 with @e; ping_mesh_release() frees. */
int ping_mesh_parse(const json_t *json, struct ping_mesh *m, struct err *e);

/* ---- packet -------------------------------------------------------------- */

/** The bytes of a probe.  Pure; input is untrusted. */

enum ping_mark_type {
	PING_ECHO,	/* ICMP: it comes back as it went */
	PING_ASK,	/* UDP: please answer */
	PING_TRACE,	/* UDP: please answer, and remember that it came */
	PING_ANSWER,
	PING_COUNTED,	/* UDP: please answer from two ports, with the number
			 * that came from this one */
	PING_MARK_TYPES
};

/** Payload of a probe. Tag and serial return to their sender, so that any byte
 *  order will do; other machines read the rest, but all of a cluster have the
 *  same byte order. */
struct ping_mark {
	uint8_t magic[4];	/* filled in when it is written */
	uint32_t type;		/* enum ping_mark_type */
	uint8_t key[PING_KEY_BYTES];	/* of the door it knocks at; UDP */
	uint64_t tag;		/* a secret of the sender: only a host that got
				 * the probe can answer it */
	uint32_t from;		/* number of the sending node; of an answer to
				 * PING_COUNTED how many came, 0 = unknown */
	uint32_t serial;
};

#define PING_MARK_BYTES   40
#define PING_ICMP_BYTES   8	/* header */
#define PING_PACKET_MAX   65535

/** @mark and filler into @data (@size >= PING_MARK_BYTES). */
void ping_mark_write(const struct ping_mark *mark, uint8_t *data, size_t size);
/** The other way; false when it is none of ours. */
bool ping_mark_read(const uint8_t *data, size_t size, struct ping_mark *mark);

/** An echo request with @size bytes of data into @buf, which has room for it;
 *  returns its length. */
size_t ping_icmp_write(sa_family_t family, uint16_t id, uint16_t seq,
		       const struct ping_mark *mark, size_t size,
		       uint8_t *buf);
/** An echo reply (@reply) or the request that an error quotes, behind an IP
 *  header where @with_ip; false when it is none of ours. */
bool ping_icmp_read(sa_family_t family, bool with_ip, bool reply,
		    const uint8_t *buf, size_t size, struct ping_mark *mark);

/** Bytes of IP and ICMP or UDP header around the data. */
static inline int ping_overhead(sa_family_t family)
{
	return (family == AF_INET6 ? 40 : 20) + 8;
}

/** "host unreachable", ...: what an ICMP error means; returns @buf. */
const char *ping_icmp_text(sa_family_t family, uint8_t type, uint8_t code,
			   char *buf, size_t size);

/* ---- echo ---------------------------------------------------------------- */

/**
 * The side that answers.  It answers only requests that carry the key, never
 * with more bytes than the request, and at a limited rate: it is of no use to
 * strangers.  The TCP port accepts and closes connections.
 */
#define PING_ECHO_RATE	40000
#define PING_ECHO_BURST 4096
/** Traces that are remembered. */
#define PING_HEARD_MAX	4096

struct ping_echo {
	int udp4, udp6, tcp; /* -1 = not open */
	int second[2];	/* of IPv4, of IPv6: other ports to answer from */
	uint8_t key[PING_KEY_BYTES];
	double tokens; /* answers that may be sent, as of at_ns */
	int64_t at_ns;
	struct ping_got *heard; /* the address pairs of the traces */
	size_t n_heard;
	struct ping_count *counts; /* flows.c; NULL: none came */
};

/** Take the right to answer once: PING_ECHO_RATE per second, after a burst of
 *  PING_ECHO_BURST; false if there is none.  Pure. */
bool ping_echo_take(struct ping_echo *x, int64_t now_ns);

/* ---- mtu ----------------------------------------------------------------- */

/**
 * Looking for the largest packet that passes whole, one try after the other.
 * Pure.  Sizes are of the whole packet, in bytes, IP header included.
 */
struct ping_mtu {
	int32_t passes, fails;	/* largest known to pass, smallest to fail */
	int32_t limit, peer;	/* of the interfaces at both ends; 0 =
				 * unknown */
	int32_t size;		/* being tried; 0 = none */
	bool check;		/* test the limit, and if it fails, estimate
				 * it by the usual sizes alone */
	bool sure;		/* the limit failed again after that */
};

/** @passes is known to.  */
void ping_mtu_init(struct ping_mtu *m, int32_t passes, int32_t limit,
		   int32_t peer);
/** The next size to try, or 0: m->passes is the answer. */
int32_t ping_mtu_next(struct ping_mtu *m);
/** Record the result of the last size. */
void ping_mtu_result(struct ping_mtu *m, bool passed);

/* ---- socket -------------------------------------------------------------- */

/** The socket of one own address: what it sends leaves by its interface. */

enum ping_method { PING_DGRAM, PING_RAW, PING_UDP, PING_TCP };

/** "icmp", "icmp_raw", "udp", "tcp": as in the rows. */
extern const char *const ping_method_names[];

struct ping_socket {
	int fd;
	enum ping_method method;
	struct ip_addr ip;
	unsigned ifindex;
};

/** 0, or -1 with @e: not permitted, address gone, ... */
int ping_socket_open(struct ping_socket *s, enum ping_method m,
		     const struct interface *at, struct err *e);
void ping_socket_close(struct ping_socket *s);
/** Packets may not be taken apart on their way (@on), or may. */
void ping_socket_df(struct ping_socket *s, bool on);

/** 0, or an errno. */
int ping_socket_send(const struct ping_socket *s, const struct ip_addr *to,
		     uint16_t port, const void *bytes, size_t n);

/** A packet that was received, or an error about one that was sent. */
struct ping_got {
	struct ip_addr from, to; /* to: family 0 if it is not known */
	uint16_t port;
	unsigned ifindex;	/* it came in by, 0 = not known */
	int64_t waited_ns;	/* in the kernel, until it was read; 0 = not
				 * known */
	size_t n;		/* bytes; of an error those that it quotes */
	int code;		/* errno of an error, 0 = a packet */
	uint8_t icmp_type, icmp_code;
};

/** Receive the next packet into @buf; false if there is none. */
bool ping_socket_recv(int fd, void *buf, size_t size, struct ping_got *got);

/** Receive the next error: a probe to got->to did not arrive, reported by
 *  got->from, a router, or by the own kernel if its family is 0; false if there
 *  is none. */
bool ping_socket_bounce(int fd, void *buf, size_t size, struct ping_got *got);

/* ---- judge --------------------------------------------------------------- */

/** Owner of an address according to the neighbour table. */
enum ping_owner {
	OWNER_UNKNOWN,
	OWNER_NOBODY,	/* no host answered for it */
	OWNER_RIGHT,
	OWNER_FLUX,	/* another interface of the right node */
	OWNER_OTHER,	/* another node, or a machine that is none */
};

/** Observations on a path besides answers. */
struct ping_sights {
	int send_code;		/* errno of the last send that failed */
	int refused_code;	/* errno that came back: TCP */
	bool icmp;		/* an ICMP error came: */
	struct ip_addr icmp_by;
	uint8_t icmp_type, icmp_code;
	bool wrong;		/* another address answered: */
	struct ip_addr wrong_by;
	unsigned stray_if;	/* answers came in here instead; 0 = no */
	bool traced_back;	/* by UDP, where ICMP was asked for */
	bool no_door;		/* the other end has no agent to answer */
	bool connected;		/* TCP: a connection was accepted */
	enum ping_owner owner;
	int owner_node;		/* of OWNER_OTHER; -1 = none of ours */
	int32_t mtu_B;		/* found by --find-mtu; 0 = not looked for */
	bool unrouted;		/* no route leads there: nothing was sent */
	int found_on;		/* own end that has the wire on which it
				 * answers instead, + 1; 0 = none */
};

/** Input of the judge about one path. */
struct ping_case {
	const struct ping_mesh *mesh;
	int src, dst;		/* of mesh->ends */
	enum ping_method method;
	bool own_port;		/* --tcp=auto: our own agents listen */
	const struct ping_flow *flow;
	const struct ping_sights *sights;
};

/** Return true if the addresses of @a and @b are in the same segment. */
static inline bool ping_is_near(const struct ping_mesh *m, int a, int b)
{
	const struct ping_end *x = &m->ends[a], *y = &m->ends[b];

	return m->by_rail ? x->rail == y->rail : x->segment == y->segment;
}

/** Outcome, code, detail and figures of the path into @row, the rest of which
 *  is there.  Pure. */
void ping_judge(const struct ping_case *c, struct ping_row *row);

/* ---- neigh --------------------------------------------------------------- */

/** The kernel's neighbour table: the hardware address of each address. */
struct ping_neigh {
	struct ip_addr ip;
	unsigned ifindex;
	bool failed;		/* asked for, without an answer (yet) */
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

/* ---- private ------------------------------------------------------------- */

/**
 * The child's state, shared by its files only:
 *   child.c  the loop; answers, errors and connections come in
 *   send.c   a probe goes out
 *   sizing.c the largest packet that passes
 *   flows.c  further UDP ports of a path
 *   row.c    the row of a path
 */

/** From one own address to one of another node. */
struct ping_path {
	uint16_t own;		/* of own[] */
	uint8_t traces;		/* sent */
	uint16_t flows;		/* tested */
	uint16_t flows_open;	/* under way */
	uint32_t clean;		/* a flow that lost nothing; 0 = none */
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
	struct ping_socket *ports;	/* UDP, of --flows */
	int open_code;		/* errno of a socket that does not open */
	int seeks;		/* how many were sought elsewhere */
};

/** A flow when its last test began. */
struct ping_seen {
	uint16_t tests;		/* after the first one */
	uint16_t sent, received;
	uint32_t heard;		/* by the other end, in all; 0 = unknown */
};

/** Place in a large packet that is under way. */
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
	uint32_t n_flows;	/* of each path; 0 = none */
	struct ping_seen *seen;	/* of each flow */
	struct ping_engine engine;	/* first the paths, then the flows of
					 * each path */
	struct ping_ring waiting;	/* paths that are to send a large
					 * packet */
	struct ping_place places[PING_PLACES];
	uint64_t tag, trace_tag;
	uint16_t echo_id;
	uint16_t tcp_port;	/* of --tcp; 0 = auto */
	int *tcp_fds;		/* one a flight, by serial; -1 = none */
	int epoll;
	struct ping_echo echo;
	struct ping_neighs neighs;
	int64_t neighs_ns;	/* when they were read; 0 = never */
	int routes;		/* routes_open() */
	char start_utc[CLOCK_UTC_SIZE];
	bool running;
	bool deaf;		/* sockets may be full */
	uint8_t packet[PING_PACKET_MAX];
};

/** Source of an epoll event: kind in the upper half, number below. */
enum ping_event {
	EVENT_STDIN, EVENT_ECHO, EVENT_OWN, EVENT_TRACE, EVENT_TCP, EVENT_FLOW
};

/** Have epoll tell of @fd (socket.c); 0, or -1 with errno. */
int ping_watch(struct ping_child *c, int fd, uint32_t events,
	       enum ping_event kind, uint32_t number);

/* send.c */

/** Choose what is sent, open a socket for every own address. */
void ping_open_all(struct ping_child *c);
void ping_close_all(struct ping_child *c);
/** Return the port where the node of @d answers by UDP; 0: none. */
static inline uint16_t ping_udp_port(const struct ping_child *c,
				     const struct ping_end *d)
{
	const struct ping_node *n = &c->mesh.nodes[d->node];

	return (uint16_t)(d->at.net.ip.family == AF_INET6 ? n->udp6 : n->udp4);
}
/** One probe of @path. */
void ping_send(struct ping_child *c, uint32_t path);
/** Returns true if @path, which settled without an answer, is to be looked
 *  for on the wires of our other interfaces, which takes one more probe.
 *  After a silence until the timeout that has been done already; a path that
 *  was refused earlier, for example by the kernel when ARP fails, gets here
 *  first. */
bool ping_look_elsewhere(struct ping_child *c, uint32_t path);

/* sizing.c */

enum ping_method ping_method_of(const struct ping_child *c,
				const struct ping_path *p);
/** Returns true if another packet size has to be tried on @path.  Otherwise
 *  everything is known of it, by small packets or by a large one, and p->sights
 *  has the results. */
bool ping_size_next(struct ping_child *c, uint32_t path);
/** As many of those that wait as there is room for; *@wake_ns gets no later
 *  than there may be more. */
void ping_size_send(struct ping_child *c, int64_t now_ns, int64_t *wake_ns);

/* flows.c; a flow has a number of the engine, n_paths or more */

/** Add the flows to the engine, which has room for them; 0, or -1 without
 *  memory; ping_flows_release() frees in any case. */
int ping_flows_init(struct ping_child *c);
void ping_flows_release(struct ping_child *c);
/** Begin the flows of @path, of which all else is known.  Returns false if
 *  there are none; else its row follows when they have settled. */
bool ping_flows_start(struct ping_child *c, uint32_t path);
void ping_flow_send(struct ping_child *c, uint32_t flow);
/** Take the answers that have come to the port of @flow. */
void ping_flow_take(struct ping_child *c, uint32_t flow);
void ping_flow_settled(struct ping_child *c, uint32_t flow);
/** Count the packet @got; returns how many have come from its port, 0 if there
 *  is no room to count. */
uint32_t ping_count(struct ping_echo *x, const struct ping_got *got);

/* row.c */

/** The row of the flow from UDP port @port of @p, which lost packets in all
 *  tests; the other end counted @heard (0: not known). */
void ping_flow_row(struct ping_child *c, const struct ping_path *p,
		   uint16_t port, const struct ping_flow *f, uint32_t heard);

/** All that can be known of @path is: its row. */
void ping_decided(struct ping_child *c, uint32_t path, int64_t now_ns);
/** It ends before all is known of @path: what has come so far. */
void ping_cut_short(struct ping_child *c, uint32_t path, int64_t now_ns);

#endif
