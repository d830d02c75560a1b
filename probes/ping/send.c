/* SPDX-License-Identifier: BSD-3-Clause */
/* A probe goes out: ICMP, UDP or a TCP connection. */
#include "probes/ping/private.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/str.h"

/* Traces per path without an answer, by UDP. */
#define TRACES_MAX 3
/* Paths of an interface that are sought on other wires: each seek asks all
 * machines on each wire. */
#define SEEKS_MAX 8
#define PORT_DISCARD 9

/* ---- sockets ----------------------------------------------------------- */

/* The first of the methods that this machine permits; UDP always does. */
static enum ping_method choose_method(const struct ping_child *c,
				      const struct interface *at)
{
	struct str why = STR_INIT;
	enum ping_method m = PING_DGRAM;
	char text[400];

	while (m < PING_UDP) {
		bool asked = strcmp(c->spec.method, "auto") == 0 ||
			     strcmp(c->spec.method, ping_method_names[m]) == 0;
		struct ping_socket s;
		struct err e = { 0 };

		if (asked && ping_socket_open(&s, m, at, &e) == 0) {
			ping_socket_close(&s);
			break;
		}
		if (asked) {
			str_addf(&why, "%s%s", why.len ? "; " : "",
				 err_str(&e, text, sizeof(text)));
		}
		m++;
	}
	node_task_fact("ping",
		       at->net.ip.family == AF_INET6 ? "method_ipv6" :
						       "method_ipv4",
		       "socket", "%s%s%.300s", ping_method_names[m],
		       why.len > 0 ? ": " : "", str_text(&why));
	str_release(&why);
	return m;
}

void ping_open_all(struct ping_child *c)
{
	bool chosen[2] = { false, false };

	c->routes = routes_open();
	for (int i = 0; i < c->n_own; i++) {
		struct ping_own *o = &c->own[i];
		const struct interface *at = &c->mesh.ends[o->end].at;
		bool v6 = at->net.ip.family == AF_INET6;
		struct err e = { 0 };

		if (!chosen[v6] && c->tcp_fds == NULL) {
			c->method[v6] = choose_method(c, at);
			chosen[v6] = true;
		}
		o->trace.fd = -1;
		o->socket.fd = -1;
		o->ifindex = if_nametoindex(at->name);
		if (c->tcp_fds != NULL) {
			continue;
		}
		if (ping_socket_open(&o->socket, c->method[v6], at, &e) == 0) {
			ping_watch(c, o->socket.fd, EPOLLIN, EVENT_OWN,
				   (uint32_t)i);
		} else {
			o->open_code = e.code ? e.code : EIO;
		}
	}
}

void ping_close_all(struct ping_child *c)
{
	if (c->routes >= 0) {
		close(c->routes);
	}
	c->routes = -1;
	for (int i = 0; i < c->n_own; i++) {
		ping_socket_close(&c->own[i].socket);
		ping_socket_close(&c->own[i].trace);
	}
	for (uint32_t i = 0; c->tcp_fds != NULL && i < c->engine.rules.window;
	     i++) {
		if (c->tcp_fds[i] >= 0) {
			close(c->tcp_fds[i]);
		}
	}
}

/* ---- ICMP and UDP ------------------------------------------------------ */

static struct ping_mark mark_for(const struct ping_child *c,
				 const struct ping_end *dst,
				 enum ping_mark_type type, uint64_t tag,
				 uint32_t serial)
{
	struct ping_mark mark = {
		.type = type, .tag = tag, .from = (uint32_t)c->me,
		.serial = serial,
	};

	memcpy(mark.key, c->mesh.nodes[dst->node].key, sizeof(mark.key));
	return mark;
}

/* Return true if no answer has come, though one should have. */
static bool is_suspect(const struct ping_child *c, uint32_t path)
{
	const struct ping_flow *f = &c->engine.flows[path];

	return f->received == 0 &&
	       f->tries_left < c->engine.rules.count * c->engine.rules.retries;
}

/* The UDP socket of own address @own; false: there is none. */
static bool open_trace(struct ping_child *c, uint32_t own)
{
	struct ping_own *o = &c->own[own];

	if (o->trace.fd < 0 &&
	    ping_socket_open(&o->trace, PING_UDP, &c->mesh.ends[o->end].at,
			     NULL) == 0) {
		ping_watch(c, o->trace.fd, EPOLLIN, EVENT_TRACE, own);
	}
	return o->trace.fd >= 0;
}

/* Send a trace that shows whether the other side receives at all, which ICMP
 * does not tell. */
static void send_trace(struct ping_child *c, uint32_t path)
{
	struct ping_path *p = &c->paths[path];
	struct ping_own *o = &c->own[p->own];
	const struct ping_end *dst = &c->mesh.ends[p->dst];
	uint16_t port = ping_udp_port(c, dst);
	struct ping_mark mark = mark_for(c, dst, PING_TRACE, c->trace_tag,
					 path);
	uint8_t data[PING_MARK_BYTES];

	if (port == 0 || p->traces >= TRACES_MAX) {
		return;
	}
	p->traces++;
	if (open_trace(c, p->own)) {
		ping_mark_write(&mark, data, sizeof(data));
		ping_socket_send(&o->trace, &dst->at.net.ip, port, data,
				 sizeof(data));
	}
}

/* Find out whether the target answers on the segment of another own
 * interface, from the neighbour table: send an empty packet there that no
 * process answers. */
static bool seek(struct ping_child *c, uint32_t path)
{
	struct ping_path *p = &c->paths[path];
	struct ping_own *o = &c->own[p->own];
	const struct ping_end *dst = &c->mesh.ends[p->dst];
	struct ping_socket there;

	if (p->sought || o->seeks >= SEEKS_MAX || c->mesh.by_rail ||
	    !ping_is_near(&c->mesh, o->end, p->dst) ||
	    !open_trace(c, p->own)) {
		return false;
	}
	p->sought = true;
	o->seeks++;
	for (int i = 0; i < c->n_own; i++) {
		if (c->own[i].ifindex != 0 && c->own[i].ifindex != o->ifindex) {
			there = o->trace;
			there.ifindex = c->own[i].ifindex;
			ping_socket_send(&there, &dst->at.net.ip, PORT_DISCARD,
					 "", 0);
		}
	}
	return true;
}

bool ping_look_elsewhere(struct ping_child *c, uint32_t path)
{
	bool unheard = c->engine.flows[path].received == 0 &&
		       !c->paths[path].sizing;

	if (!unheard || !seek(c, path)) {
		return false;
	}
	ping_engine_more(&c->engine, path, 0);
	return true;
}

/* Write a probe of @path into c->packet; returns its length. */
static size_t write_probe(struct ping_child *c, uint32_t path)
{
	const struct ping_path *p = &c->paths[path];
	const struct ping_end *dst = &c->mesh.ends[p->dst];
	bool udp = c->own[p->own].socket.method == PING_UDP;
	uint32_t serial = ping_engine_serial(&c->engine);
	struct ping_mark mark = { .type = PING_ECHO, .tag = c->tag,
				  .from = (uint32_t)c->me, .serial = serial };
	int overhead = ping_overhead(dst->at.net.ip.family);
	size_t size = (size_t)c->spec.size_B;

	if (p->sizing) { /* the whole packet is of the size on trial */
		size = p->mtu.size > overhead + PING_MARK_BYTES ?
			       (size_t)(p->mtu.size - overhead) :
			       PING_MARK_BYTES;
	}
	if (!udp) {
		return ping_icmp_write(dst->at.net.ip.family, c->echo_id,
				       (uint16_t)serial, &mark, size,
				       c->packet);
	}
	mark = mark_for(c, dst, is_suspect(c, path) ? PING_TRACE : PING_ASK,
			c->tag, serial);
	ping_mark_write(&mark, c->packet, size);
	return size;
}

static void send_packet(struct ping_child *c, uint32_t path)
{
	struct ping_path *p = &c->paths[path];
	struct ping_own *o = &c->own[p->own];
	const struct ping_end *dst = &c->mesh.ends[p->dst];
	bool udp = o->socket.method == PING_UDP;
	uint16_t port = udp ? ping_udp_port(c, dst) : 0;
	uint32_t serial = ping_engine_serial(&c->engine);
	bool suspect = is_suspect(c, path);
	int64_t sent_ns;
	size_t n;
	int code;

	if (o->socket.fd < 0 || (udp && port == 0)) {
		p->sights.send_code = o->open_code;
		p->sights.no_door = o->socket.fd >= 0;
		ping_engine_give_up(&c->engine, path);
		return;
	}
	n = write_probe(c, path);
	if (p->sizing) {
		ping_socket_df(&o->socket, true);
	}
	sent_ns = clock_now_ns();
	code = ping_socket_send(&o->socket, &dst->at.net.ip, port, c->packet,
				n);
	if (p->sizing) {
		ping_socket_df(&o->socket, false);
	}
	if (code != 0) {
		p->sights.send_code = code;
	}
	/* errors that may pass: lost, not hopeless; EPERM is a packet filter on
	 * the way out, which may let others through */
	if (code != 0 && code != EAGAIN && code != ENOBUFS && code != EPERM &&
	    code != EMSGSIZE) {
		ping_engine_give_up(&c->engine, path);
		return;
	}
	ping_engine_sent(&c->engine, path, sent_ns);
	if (code == EAGAIN) {
		ping_engine_unsent(&c->engine, path);
	} else if (code == EMSGSIZE) {
		ping_engine_refuse(&c->engine, serial);
	} else if (!udp && suspect) {
		send_trace(c, path);
	}
}

/* ---- TCP --------------------------------------------------------------- */

static int open_tcp(const struct ping_child *c, const struct ping_path *p,
		    int *code)
{
	const struct interface *at =
		&c->mesh.ends[c->own[p->own].end].at;
	const struct linger at_once = { .l_onoff = 1 };
	struct sockaddr_storage sa;
	socklen_t len = ip_sockaddr(&at->net.ip, 0, &sa);
	int fd = socket(at->net.ip.family,
			SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0) {
		/* where that is not permitted the routes decide */
		setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, at->name,
			   (socklen_t)strlen(at->name));
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once,
			   sizeof(at_once));
	}
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, len) < 0) {
		*code = errno;
		if (fd >= 0) {
			close(fd);
		}
		return -1;
	}
	return fd;
}

static void send_syn(struct ping_child *c, uint32_t path)
{
	struct ping_path *p = &c->paths[path];
	const struct ping_end *dst = &c->mesh.ends[p->dst];
	uint16_t port = c->tcp_port ?
				c->tcp_port :
				(uint16_t)c->mesh.nodes[dst->node].tcp;
	uint32_t serial = ping_engine_serial(&c->engine);
	int *slot = &c->tcp_fds[serial & (c->engine.rules.window - 1)];
	struct sockaddr_storage sa;
	socklen_t len = ip_sockaddr(&dst->at.net.ip, port, &sa);
	int fd, code = 0;

	if (*slot >= 0) {
		close(*slot);	/* too late by now */
		*slot = -1;
	}
	fd = port != 0 ? open_tcp(c, p, &code) : -1;
	if (fd < 0) {
		p->sights.no_door = port == 0;
		p->sights.send_code = code;
		ping_engine_give_up(&c->engine, path);
		return;
	}
	*slot = fd;
	ping_engine_sent(&c->engine, path, clock_now_ns());
	if (connect(fd, (struct sockaddr *)&sa, len) == 0 ||
	    errno == EINPROGRESS) {
		ping_watch(c, fd, EPOLLOUT, EVENT_TCP, serial);
		return;
	}
	p->sights.refused_code = errno;
	ping_engine_refuse(&c->engine, serial);
}

void ping_send(struct ping_child *c, uint32_t path)
{
	const struct ping_path *p;
	const struct ping_own *o;

	if (path >= c->n_paths) {
		ping_flow_send(c, path);
		return;
	}
	p = &c->paths[path];
	o = &c->own[p->own];
	/* a packet that is bound to an interface leaves it without a route as
	 * well */
	if (c->engine.flows[path].sent == 0 &&
	    !routes_lead(c->routes, &c->mesh.ends[o->end].at.net.ip,
			 o->ifindex, &c->mesh.ends[p->dst].at.net.ip)) {
		c->paths[path].sights.unrouted = true;
		ping_engine_give_up(&c->engine, path);
		return;
	}
	if (is_suspect(c, path)) {
		seek(c, path);
	}
	if (c->tcp_fds != NULL) {
		send_syn(c, path);
	} else {
		send_packet(c, path);
	}
}
