/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers, errors and connections come in. */
#include "probes/ping/private.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/hash.h"

/* Packets of one call: others wait as well. */
#define TAKE_MAX 256

static bool is_ours(uint64_t tag, uint64_t own)
{
	return hash_equal(&tag, &own, sizeof(tag));
}

/* The own mark that an answer has (@reply), or that an error quotes, if it
 * quotes so much. */
static bool read_mark(const struct ping_child *c, uint32_t own, bool reply,
		      size_t n, struct ping_mark *mark)
{
	const struct ping_socket *s = &c->own[own].socket;
	bool with_ip = reply && s->method == PING_RAW &&
		       s->ip.family == AF_INET;
	bool read = s->method == PING_UDP ?
			    ping_mark_read(c->packet, n, mark) &&
				    (!reply || mark->type == PING_ANSWER) :
			    ping_icmp_read(s->ip.family, with_ip, reply,
					   c->packet, n, mark);

	return read && is_ours(mark->tag, c->tag);
}

/* ---- errors ------------------------------------------------------------ */

/* The path from @own to address @to, PING_NONE when there is none. */
static uint32_t path_to(const struct ping_child *c, uint32_t own,
			const struct ip_addr *to)
{
	for (int i = 0; i < c->mesh.n_ends; i++) {
		uint32_t path = c->path_at[own * (uint32_t)c->mesh.n_ends +
					   (uint32_t)i];

		if (path != PING_NONE &&
		    ip_equal(&c->mesh.ends[i].at.net.ip, to)) {
			return path;
		}
	}
	return PING_NONE;
}

static void take_bounce(struct ping_child *c, uint32_t own,
			const struct ping_bounce *b)
{
	struct ping_mark mark;
	bool quoted = read_mark(c, own, false, b->n, &mark);
	uint32_t path = quoted ? ping_engine_path(&c->engine, mark.serial) :
				 PING_NONE;
	struct ping_sights *s;

	if (path == PING_NONE) {
		path = path_to(c, own, &b->to);
	}
	if (path == PING_NONE || c->paths[path].own != own) {
		return;
	}
	s = &c->paths[path].sights;
	if (b->by.family == 0) {
		s->send_code = b->code;
	} else if (b->code != EMSGSIZE) {
		s->icmp = true;
		s->icmp_by = b->by;
		s->icmp_type = b->icmp_type;
		s->icmp_code = b->icmp_code;
	}
	if (quoted) {
		ping_engine_refuse(&c->engine, mark.serial);
	}
}

/* ---- answers ----------------------------------------------------------- */

static void take_answer(struct ping_child *c, uint32_t own,
			const struct ping_got *got, int64_t now_ns)
{
	struct ping_mark mark;
	struct ping_path *p;
	uint32_t path;

	if (!read_mark(c, own, true, got->n, &mark)) {
		return;
	}
	path = ping_engine_path(&c->engine, mark.serial);
	if (path == PING_NONE || c->paths[path].own != own) {
		return;		/* too late, or twice */
	}
	p = &c->paths[path];
	if (!ip_equal(&got->from, &c->mesh.ends[p->dst].at.net.ip)) {
		p->sights.wrong = true;
		p->sights.wrong_by = got->from;
		ping_engine_refuse(&c->engine, mark.serial);
		return;
	}
	if (got->ifindex != 0 && got->ifindex != c->own[own].ifindex) {
		p->sights.stray_if = got->ifindex;
	}
	ping_engine_answer(&c->engine, mark.serial, now_ns, got->waited_ns);
}

static void take_trace(struct ping_child *c, uint32_t own,
		       const struct ping_got *got)
{
	struct ping_mark mark;

	if (ping_mark_read(c->packet, got->n, &mark) &&
	    mark.type == PING_ANSWER && is_ours(mark.tag, c->trace_tag) &&
	    mark.serial < c->n_paths && c->paths[mark.serial].own == own) {
		c->paths[mark.serial].sights.traced_back = true;
	}
}

void ping_take_own(struct ping_child *c, uint32_t own, bool trace)
{
	int fd = trace ? c->own[own].trace.fd : c->own[own].socket.fd;
	struct ping_bounce bounce;
	struct ping_got got;

	for (int i = 0; i < TAKE_MAX &&
			ping_socket_recv(fd, c->packet, sizeof(c->packet),
					 &got); i++) {
		if (trace) {
			take_trace(c, own, &got);
		} else {
			take_answer(c, own, &got, clock_now_ns());
		}
	}
	for (int i = 0; i < TAKE_MAX &&
			ping_socket_bounce(fd, c->packet, sizeof(c->packet),
					   &bounce); i++) {
		if (!trace) {
			take_bounce(c, own, &bounce);
		}
	}
}

/* ---- TCP --------------------------------------------------------------- */

void ping_take_tcp(struct ping_child *c, uint32_t serial)
{
	int *slot = &c->tcp_fds[serial & (c->engine.rules.window - 1)];
	uint32_t path = ping_engine_path(&c->engine, serial);
	socklen_t len = sizeof(int);
	int code = 0;

	if (*slot < 0) {
		return;
	}
	getsockopt(*slot, SOL_SOCKET, SO_ERROR, &code, &len);
	close(*slot);
	*slot = -1;
	if (path == PING_NONE) {
		return;		/* too late */
	}
	c->paths[path].sights.connected |= code == 0;
	if (code != 0) {
		c->paths[path].sights.refused_code = code;
	}
	if (code == 0 || code == ECONNREFUSED) {
		ping_engine_answer(&c->engine, serial, clock_now_ns(), 0);
	} else {
		ping_engine_refuse(&c->engine, serial);
	}
}
