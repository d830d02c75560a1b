/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PING_SOCKET_H
#define PROBES_PING_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/ip.h"
#include "probes/host/interface.h"

/** The socket of one own address: what it sends leaves by its interface. */

enum ping_method { PING_DGRAM, PING_RAW, PING_UDP, PING_TCP };

/** "icmp", "icmp_raw", "udp", "tcp": as in the rows. */
const char *ping_method_name(enum ping_method m);

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

struct ping_got {
	struct ip_addr from, to;	/* to: family 0 where that is not
					 * known */
	uint16_t port;
	unsigned ifindex;	/* it came in by, 0 = not known */
	int64_t waited_ns;	/* in the kernel, until it was read; 0 = not
				 * known */
	size_t n;
};

/** What has come in, into @buf: true; false: nothing more. */
bool ping_socket_recv(int fd, void *buf, size_t size, struct ping_got *got);

/** A probe that did not arrive, by the word of a router, or of the kernel. */
struct ping_bounce {
	struct ip_addr to;		/* where it should have gone */
	struct ip_addr by;		/* who says so; family 0: the own
					 * kernel */
	int code;		/* errno */
	uint8_t icmp_type, icmp_code;
	size_t n;		/* bytes of the probe that are quoted */
};

bool ping_socket_bounce(int fd, void *buf, size_t size,
			struct ping_bounce *b);

#endif
