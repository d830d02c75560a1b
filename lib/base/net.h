/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_BASE_NET_H
#define LIB_BASE_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "lib/base/err.h"

/* ---- ip ------------------------------------------------------------------ */

/** Longest "2001:db8:...:1/128", with its final NUL. */
#define IP_TEXT 56

/** An address of either family. */
struct ip_addr {
	sa_family_t family;	/* AF_INET, AF_INET6; 0 = none */
	uint8_t bytes[16];	/* as on the wire; IPv4 uses the first four */
};

/** An address and how many of its bits name the subnet. */
struct ip_net {
	struct ip_addr ip;
	int prefix;
};

/** "10.1.2.3" or "fd00::1", nothing else around it; 0, or -1 with @e. */
int ip_parse(const char *text, struct ip_addr *ip, struct err *e);
/** Returns @buf; "?" for no address. */
const char *ip_text(const struct ip_addr *ip, char *buf, size_t size);
/** "10.1.0.0/16", or an address, which is a subnet of its own; 0 or -1. */
int ip_net_parse(const char *text, struct ip_net *net, struct err *e);
/** The subnet, host bits zero: "10.1.0.0/16"; returns @buf. */
const char *ip_net_text(const struct ip_net *net, char *buf, size_t size);

bool ip_equal(const struct ip_addr *a, const struct ip_addr *b);
/** Return true if @ip and @net have the same family and @ip begins with the
 *  prefix of @net. */
bool ip_in(const struct ip_addr *ip, const struct ip_net *net);
/** Order: IPv4 first, then by bytes. */
int ip_compare(const struct ip_addr *a, const struct ip_addr *b);
/** fe80::/10, 169.254/16: means something on one link only. */
bool ip_is_link_local(const struct ip_addr *ip);

/** As the kernel has it; returns the length. */
socklen_t ip_sockaddr(const struct ip_addr *ip, uint16_t port,
		      struct sockaddr_storage *sa);
/** The other way; family 0 when it is neither.  IPv4 in IPv6 becomes IPv4. */
struct ip_addr ip_of_sockaddr(const struct sockaddr *sa);

/* ---- within -------------------------------------------------------------- */

/**
 * Call @call(@arg), which may hang in a way that cannot be interrupted.
 * Returns true once it has returned; false after @seconds: it continues in a
 * detached thread, which owns @arg and all that it refers to from then on.
 */
bool within(int seconds, void *(*call)(void *arg), void *arg);

/* ---- net ----------------------------------------------------------------- */

#define NET_HOST_SIZE 256	/* of a host name, with its final NUL */
#define NET_ADDR_TEXT 96	/* "[fe80::1%eth0]:65535" and then some */

/** "10.1.2.3:5000" or "[2001:db8::1]:5000" (numeric, or a name to look up)
 *  into @list, the best first.  Returns their number, up to @max, or -1 with
 *  @e. Name servers have 12 s to answer. */
int net_lookup(const char *text, struct sockaddr_storage *list, int max,
	       struct err *e);
/** Write @sa as text into @buf, "?" for families other than IP. Returns
 *  @buf. */
const char *net_addr_text(const struct sockaddr *sa, char *buf, size_t size);

/** Put @port into an IPv4 or IPv6 address. */
void net_set_port(struct sockaddr_storage *sa, uint16_t port);

/** Ports that a firewall lets through: @from to @to, both included; 0: any. */
struct net_ports {
	uint16_t from, to;
};

/** "A-B" or "A"; "" is any.  0, or -1 with @e and @p as it was. */
int net_ports_parse(const char *text, struct net_ports *p, struct err *e);
/** The one to try as number @i (0, 1, ...), not the same first one in all
 *  processes; 0: any is as good; -1: there are no more. */
int net_ports_next(const struct net_ports *p, int i);

/**
 * A listening TCP socket, non-blocking, close-on-exec, on one of @ports of
 * loopback (@loopback) or of all addresses, IPv6 with IPv4 where there is
 * IPv6.  Returns the fd, or -1 with @e.
 */
int net_listen(bool loopback, struct net_ports ports, struct err *e);
/** The port that the socket @fd is bound to; 0: none. */
uint16_t net_port(int fd);

/** Wait until @fd is ready for @events of poll(2), whatever signals come, until
 *  @deadline_ns: 0, or the errno why not (ETIMEDOUT). */
int net_wait(int fd, short events, int64_t deadline_ns);

/** A connection to @to, non-blocking, close-on-exec, by @deadline_ns; -1 with
 *  errno. */
int net_connect(const struct sockaddr_storage *to, int64_t deadline_ns);

/** Write / read exactly @n bytes of the socket @fd by @deadline_ns.
 *  0, or -1 with @e: ETIMEDOUT, ECONNRESET (peer closed), ... */
int net_write_all(int fd, const void *buf, size_t n, int64_t deadline_ns,
		  struct err *e);
int net_read_all(int fd, void *buf, size_t n, int64_t deadline_ns,
		 struct err *e);

/** Returns true if the name is that of a bridge or pipe of containers: docker0,
 *  virbr0, veth12, ... */
bool net_is_inner(const char *ifname);

#define NET_MAX_ADDRS 32
/**
 * Addresses of this machine that others may reach, as text without port:
 * interfaces that are up, no loopback, no docker/virbr bridges, no link-local;
 * IPv4 first.  Returns how many (0..max).
 */
int net_own_addrs(char addrs[][NET_ADDR_TEXT], int max);

#endif
