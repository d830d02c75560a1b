/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_BASE_IP_H
#define LIB_BASE_IP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "lib/base/err.h"

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
/** Of one family, and @ip has the first bits of @net? */
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

#endif
