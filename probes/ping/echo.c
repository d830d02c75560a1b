/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/ping/echo.h"

#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/net.h"
#include "probes/ping/socket.h"

/* Packets of one call: others wait as well. */
#define SERVE_MAX 256

bool ping_bucket_take(struct ping_bucket *b, int64_t now_ns)
{
	b->tokens += (double)(now_ns - b->at_ns) * PING_ECHO_RATE / NS_PER_S;
	b->tokens = fmin(b->tokens, PING_ECHO_BURST);
	b->at_ns = now_ns;
	if (b->tokens < 1) {
		return false;
	}
	b->tokens--;
	return true;
}

/* Bind @fd to one of @ports; 0, or -1. */
static int bind_one(int fd, sa_family_t family, const struct net_ports *ports)
{
	const struct ip_addr any = { .family = family };
	int port, rc = -1;

	for (int i = 0; rc < 0 && (port = net_ports_next(ports, i)) >= 0; i++) {
		struct sockaddr_storage sa;
		socklen_t len = ip_sockaddr(&any, (uint16_t)port, &sa);

		rc = bind(fd, (struct sockaddr *)&sa, len);
	}
	return rc;
}

static int open_udp(sa_family_t family, const struct net_ports *ports)
{
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, bytes = 1024 * 1024;

	if (fd < 0) {
		return -1;
	}
	if (family == AF_INET6) {
		setsockopt(fd, SOL_IPV6, IPV6_V6ONLY, &on, sizeof(on));
		setsockopt(fd, SOL_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on));
	} else {
		setsockopt(fd, SOL_IP, IP_PKTINFO, &on, sizeof(on));
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	/* The kernel starts to stamp packets a little after the first socket
	 * asks for stamps: ask long before the first round trip. */
	setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
	if (bind_one(fd, family, ports) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

int ping_echo_open(struct ping_echo *x, struct net_ports ports, struct err *e)
{
	*x = (struct ping_echo){ .bucket = { .tokens = PING_ECHO_BURST,
					     .at_ns = clock_now_ns() } };
	x->udp4 = open_udp(AF_INET, &ports);
	x->udp6 = open_udp(AF_INET6, &ports);
	x->tcp = net_listen(false, ports, NULL);
	x->heard = calloc(PING_HEARD_MAX, sizeof(*x->heard));
	if (x->heard == NULL ||
	    hash_random(x->key, sizeof(x->key)) < 0 ||
	    (x->udp4 < 0 && x->udp6 < 0)) {
		err_set(e, errno, "cannot open a socket to answer on");
		ping_echo_close(x);
		return -1;
	}
	return 0;
}

void ping_echo_close(struct ping_echo *x)
{
	const int fds[] = { x->udp4, x->udp6, x->tcp };

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		if (fds[i] >= 0) {
			close(fds[i]);
		}
	}
	free(x->heard);
	*x = (struct ping_echo){ .udp4 = -1, .udp6 = -1, .tcp = -1 };
}

json_t *ping_echo_json(const struct ping_echo *x)
{
	struct ping_door door = { .udp4 = net_port(x->udp4),
				  .udp6 = net_port(x->udp6),
				  .tcp = net_port(x->tcp) };

	memcpy(door.key, x->key, sizeof(door.key));
	return ping_door_json(&door);
}

/* Each pair of addresses once. */
static void remember(struct ping_echo *x, const struct ping_got *got)
{
	for (size_t i = 0; i < x->n_heard; i++) {
		if (ip_equal(&x->heard[i].from, &got->from) &&
		    ip_equal(&x->heard[i].to, &got->to)) {
			return;
		}
	}
	if (x->n_heard < PING_HEARD_MAX) {
		x->heard[x->n_heard++] = (struct ping_heard){
			.from = got->from, .to = got->to,
		};
	}
}

static void answer(struct ping_echo *x, int fd, uint8_t *buf,
		   const struct ping_got *got, int64_t now_ns)
{
	/* from the address that was asked, by whatever way the routes have */
	const struct ping_socket s = { .fd = fd, .ip = got->to };
	struct ping_mark mark;

	if (!ping_mark_read(buf, got->n, &mark) ||
	    (mark.type != PING_ASK && mark.type != PING_TRACE) ||
	    !hash_equal(mark.key, x->key, sizeof(x->key))) {
		return;
	}
	if (mark.type == PING_TRACE) {
		remember(x, got);
	}
	if (!ping_bucket_take(&x->bucket, now_ns)) {
		return;
	}
	mark.type = PING_ANSWER;
	memset(mark.key, 0, sizeof(mark.key));
	ping_mark_write(&mark, buf, got->n);
	ping_socket_send(&s, &got->from, got->port, buf, got->n);
}

void ping_echo_serve(struct ping_echo *x, int fd, uint8_t *buf, int64_t now_ns)
{
	struct ping_got got;

	for (int i = 0; fd == x->tcp && i < SERVE_MAX; i++) {
		int guest = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (guest < 0) {
			return;
		}
		close(guest);
	}
	for (int i = 0; fd != x->tcp && i < SERVE_MAX; i++) {
		if (!ping_socket_recv(fd, buf, PING_PACKET_MAX, &got)) {
			return;
		}
		answer(x, fd, buf, &got, now_ns);
	}
}
