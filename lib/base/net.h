/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_BASE_NET_H
#define LIB_BASE_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "lib/base/err.h"

#define NET_HOST_SIZE 256	/* of a host name, with its final NUL */
#define NET_ADDR_TEXT 96	/* "[fe80::1%eth0]:65535" and then some */

/** "10.1.2.3:5000" or "[2001:db8::1]:5000" (numeric, or a name to look up)
 *  into @sa; 0 or -1 with @e. */
int net_parse_addr(const char *text, struct sockaddr_storage *sa,
		   socklen_t *len, struct err *e);
/** The other way, "?" for other families; returns @buf. */
const char *net_addr_text(const struct sockaddr *sa, char *buf, size_t size);

/** Put @port into an IPv4 or IPv6 address. */
void net_set_port(struct sockaddr_storage *sa, uint16_t port);

/**
 * A listening TCP socket, non-blocking, close-on-exec, on port *@port (0: any)
 * of loopback (@loopback) or of all addresses, IPv6 with IPv4 where there is
 * IPv6.  Returns the fd with *@port set, or -1 with @e.
 */
int net_listen(bool loopback, uint16_t *port, struct err *e);

/** Connected, non-blocking, TCP_NODELAY socket to @addr by @deadline_ns, or
 *  -1 with @e (code = errno of connect: ECONNREFUSED, ETIMEDOUT, ...). */
int net_connect(const char *addr, int64_t deadline_ns, struct err *e);

/** Write / read exactly @n bytes of the socket @fd by @deadline_ns.
 *  0, or -1 with @e: ETIMEDOUT, ECONNRESET (peer closed), ... */
int net_write_all(int fd, const void *buf, size_t n, int64_t deadline_ns,
		  struct err *e);
int net_read_all(int fd, void *buf, size_t n, int64_t deadline_ns,
		 struct err *e);

/** By its name, a bridge or pipe of containers: docker0, virbr0, veth12...? */
bool net_is_inner(const char *ifname);

#define NET_MAX_ADDRS 32
/**
 * Addresses of this machine that others may reach, as text without port:
 * interfaces that are up, no loopback, no docker/virbr bridges, no link-local;
 * IPv4 first.  Returns how many (0..max).
 */
int net_own_addrs(char addrs[][NET_ADDR_TEXT], int max);

#endif
