/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --flows: packets of one path from several UDP ports.  Switches choose one of
 * several equal links by a hash of addresses and ports, so that a bad link
 * loses packets of some ports and of no others.
 *
 * Each flow sends FLOW_PROBES packets after the path has been tested.  A flow
 * that has lost some is tested twice more, by FLOW_AGAIN packets each time: a
 * loss has many causes, and only that of a link comes again each time.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "lib/base/hash.h"
#include "lib/base/net.h"
#include "probes/ping/private.h"

#define FLOW_PROBES 20
#define FLOW_AGAIN  60
#define FLOW_TESTS  2	/* of a flow that lost some */
/** Two answers must not have more bytes than the request. */
#define FLOW_BYTES (2 * PING_MARK_BYTES)
/** Packets of one call: others wait as well. */
#define TAKE_MAX 256

int64_t ping_flows_budget_ns(const struct spec *s, const struct ping_rules *r,
			     size_t paths)
{
	const int64_t n = (int64_t)paths * (s->flows > 1 ? s->flows : 0);

	return n > 0 ? n * (FLOW_PROBES + FLOW_TESTS * FLOW_AGAIN) *
				       r->gap_ns +
			       (1 + FLOW_TESTS) * r->timeout_ns : 0;
}

/* ---- sending side -------------------------------------------------------- */

int ping_flows_init(struct ping_child *c)
{
	const uint32_t first = c->n_paths;
	struct ping_engine *g = &c->engine;

	for (uint32_t i = first; i < g->n; i++) {
		/* none before its path has answered */
		g->flows[i] = (struct ping_flow){ .settled = true };
	}
	g->open -= g->n - first;
	c->seen = calloc(g->n - first + 1, sizeof(*c->seen));
	for (int i = 0; c->seen && i < c->n_own; i++) {
		c->own[i].ports = malloc((size_t)c->n_flows *
					 sizeof(*c->own[i].ports));
		for (uint32_t k = 0; c->own[i].ports && k < c->n_flows; k++) {
			c->own[i].ports[k].fd = -1;
		}
		if (!c->own[i].ports) {
			return -1;
		}
	}
	return c->seen ? 0 : -1;
}

void ping_flows_release(struct ping_child *c)
{
	for (int i = 0; i < c->n_own; i++) {
		for (uint32_t k = 0; c->own[i].ports && k < c->n_flows; k++) {
			ping_socket_close(&c->own[i].ports[k]);
		}
		free(c->own[i].ports);
	}
	free(c->seen);
}

/** The path that flow @flow, a number of the engine, is of. */
static uint32_t path_of(const struct ping_child *c, uint32_t flow)
{
	return (flow - c->n_paths) / c->n_flows;
}

/** Its socket, opened when it is needed; fd -1: none. */
static struct ping_socket *socket_of(struct ping_child *c, uint32_t flow)
{
	const uint32_t k = (flow - c->n_paths) % c->n_flows;
	const uint32_t own = c->paths[path_of(c, flow)].own;
	struct ping_socket *s = &c->own[own].ports[k];

	if (s->fd < 0 &&
	    ping_socket_open(s, PING_UDP,
			     &c->mesh.ends[c->own[own].end].at, NULL) == 0) {
		ping_watch(c, s->fd, EPOLLIN, EVENT_FLOW, flow);
	}
	return s;
}

bool ping_flows_start(struct ping_child *c, uint32_t path)
{
	const uint32_t first = c->n_paths + path * c->n_flows;
	struct ping_path *p = &c->paths[path];

	if (c->n_flows == 0 ||
	    (c->engine.flows[path].received == 0 &&
	     ping_method_of(c, p) != PING_UDP) ||
	    ping_udp_port(c, &c->mesh.ends[p->dst]) == 0) {
		return false;
	}
	for (uint32_t i = first; i < first + c->n_flows; i++) {
		ping_engine_more(&c->engine, i, 0);
		c->engine.flows[i].owed = FLOW_PROBES;
	}
	p->flows_open = (uint16_t)c->n_flows;
	return true;
}

void ping_flow_send(struct ping_child *c, uint32_t flow)
{
	const struct ping_end *dst =
		&c->mesh.ends[c->paths[path_of(c, flow)].dst];
	struct ping_socket *s = socket_of(c, flow);
	struct ping_mark mark = {
		.type = PING_COUNTED, .tag = c->tag, .from = (uint32_t)c->me,
		.serial = ping_engine_serial(&c->engine),
	};
	uint8_t data[FLOW_BYTES];
	int64_t sent_ns = clock_now_ns();
	int code;

	if (s->fd < 0) {
		ping_engine_give_up(&c->engine, flow);
		return;
	}
	memcpy(mark.key, c->mesh.nodes[dst->node].key, sizeof(mark.key));
	ping_mark_write(&mark, data, sizeof(data));
	code = ping_socket_send(s, &dst->at.net.ip, ping_udp_port(c, dst),
				data, sizeof(data));
	ping_engine_sent(&c->engine, flow, sent_ns);
	if (code != 0) {
		/* this machine did not take it: nothing is known of the path */
		ping_engine_unsent(&c->engine, flow);
	}
}

void ping_flow_take(struct ping_child *c, uint32_t flow)
{
	const uint32_t k = (flow - c->n_paths) % c->n_flows;
	const uint32_t own = c->paths[path_of(c, flow)].own;
	const int fd = c->own[own].ports[k].fd;
	struct ping_mark mark;
	struct ping_got got;

	for (int i = 0; i < TAKE_MAX &&
			ping_socket_recv(fd, c->packet, sizeof(c->packet),
					 &got); i++) {
		uint32_t of;

		if (!ping_mark_read(c->packet, got.n, &mark) ||
		    mark.type != PING_ANSWER ||
		    !hash_equal(&mark.tag, &c->tag, sizeof(mark.tag))) {
			continue;
		}
		of = ping_engine_path(&c->engine, mark.serial);
		if (of == PING_NONE || of < c->n_paths ||
		    c->paths[path_of(c, of)].own != own ||
		    (of - c->n_paths) % c->n_flows != k) {
			continue;	/* the second answer */
		}
		c->seen[of - c->n_paths].heard = mark.from;
		ping_engine_answer(&c->engine, mark.serial, clock_now_ns(),
				   got.waited_ns);
	}
	while (ping_socket_bounce(fd, c->packet, sizeof(c->packet), &got)) {
		/* an error about a packet: it counts as lost */
	}
}

void ping_flow_settled(struct ping_child *c, uint32_t flow)
{
	const struct ping_flow *f = &c->engine.flows[flow];
	struct ping_flow *own;
	struct ping_seen *s = &c->seen[flow - c->n_paths];
	const uint32_t path = path_of(c, flow);
	struct ping_path *p = &c->paths[path];
	const struct ping_socket *at = socket_of(c, flow);
	bool lost = f->sent - s->sent > f->received - s->received;

	if (lost && s->tests < FLOW_TESTS) {
		s->tests++;
		s->sent = f->sent;
		s->received = f->received;
		ping_engine_more(&c->engine, flow, 0);
		c->engine.flows[flow].owed = FLOW_AGAIN;
		return;
	}
	if (at->fd >= 0 && lost) {
		ping_flow_row(c, p, net_port(at->fd), f, s->heard);
	}
	p->flows += at->fd >= 0;
	p->clean = f->received > 0 && f->sent == f->received ? flow : p->clean;
	if (--p->flows_open > 0) {
		return;
	}
	/* all have settled.  If the path was tested by UDP, its own port is one
	 * flow more, and the path is as good as a flow that lost nothing */
	own = &c->engine.flows[path];
	if (ping_method_of(c, p) == PING_UDP && p->clean != 0 &&
	    own->sent > own->received) {
		ping_flow_row(c, p, net_port(c->own[p->own].socket.fd), own, 0);
		*own = c->engine.flows[p->clean];
	}
	ping_decided(c, path, clock_now_ns());
}

/* ---- answering side ------------------------------------------------------ */

#define COUNTS 16384	/* a power of two */

/** Packets from one port to one address. */
struct ping_count {
	struct ip_addr from, to;
	uint16_t port;
	uint32_t n;
};

uint32_t ping_count(struct ping_echo *x, const struct ping_got *got)
{
	uint64_t a, b;
	size_t at;

	if (!x->counts) {
		x->counts = calloc(COUNTS, sizeof(*x->counts));
	}
	memcpy(&a, got->from.bytes, sizeof(a));
	memcpy(&b, got->from.bytes + sizeof(a), sizeof(b));
	at = (size_t)hash_mix(a, b, got->port, got->to.bytes[3]);
	for (size_t i = 0; x->counts && i < COUNTS; i++, at++) {
		struct ping_count *c = &x->counts[at & (COUNTS - 1)];

		if (c->n == 0) {
			c->from = got->from;
			c->to = got->to;
			c->port = got->port;
		}
		if (c->port == got->port && ip_equal(&c->from, &got->from) &&
		    ip_equal(&c->to, &got->to)) {
			return ++c->n;
		}
	}
	return 0;
}
