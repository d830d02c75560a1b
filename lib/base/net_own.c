/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/net.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include "lib/base/ip.h"
#include "lib/base/str.h"

/** Bridges and pipes of containers: up, but no other machine reaches them. */
static const char *const inner_prefixes[] = {
	"docker", "virbr", "veth", "cni", "flannel", "cali", NULL
};

bool net_is_inner(const char *name)
{
	for (size_t i = 0; inner_prefixes[i]; i++) {
		if (str_starts(name, inner_prefixes[i])) {
			return true;
		}
	}
	return false;
}

static bool others_may_reach(const struct ifaddrs *i)
{
	const struct ip_addr ip = ip_of_sockaddr(i->ifa_addr);

	return (i->ifa_flags & IFF_UP) && !(i->ifa_flags & IFF_LOOPBACK) &&
	       !net_is_inner(i->ifa_name) && !ip_is_link_local(&ip);
}

/** Add the addresses of one @family to the @n that are there. */
static int add_family(const struct ifaddrs *all, sa_family_t family,
		      char addrs[][NET_ADDR_TEXT], int n, int max)
{
	socklen_t len = family == AF_INET ? sizeof(struct sockaddr_in) :
					    sizeof(struct sockaddr_in6);

	for (const struct ifaddrs *i = all; i && n < max; i = i->ifa_next) {
		if (i->ifa_addr && i->ifa_addr->sa_family == family &&
		    others_may_reach(i) &&
		    getnameinfo(i->ifa_addr, len, addrs[n], NET_ADDR_TEXT, NULL,
				0, NI_NUMERICHOST) == 0) {
			n++;
		}
	}
	return n;
}

int net_own_addrs(char addrs[][NET_ADDR_TEXT], int max)
{
	struct ifaddrs *all;
	int n = 0;

	if (getifaddrs(&all) < 0) {
		return 0;
	}
	n = add_family(all, AF_INET, addrs, n, max);
	n = add_family(all, AF_INET6, addrs, n, max);
	freeifaddrs(all);
	return n;
}
