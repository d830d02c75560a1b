/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/interface.h"

#include <ifaddrs.h>
#include <math.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/hash.h"
#include "lib/data/json.h"
#include "lib/base/str.h"
#include "probes/host/sysfile.h"

#define PACKET_MAX 65535	/* bytes that IP can count */

static int prefix_of(const struct sockaddr *mask)
{
	struct ip_addr ip = { 0 };
	int bits = 0;

	if (mask != NULL) {
		ip = ip_of_sockaddr(mask);
	}
	for (size_t i = 0; i < sizeof(ip.bytes); i++) {
		bits += __builtin_popcount(ip.bytes[i]);
	}
	return bits;
}

static void read_mtu(struct interface *i)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ask = { 0 };

	str_copy(ask.ifr_name, sizeof(ask.ifr_name), i->name);
	if (fd >= 0 && ioctl(fd, SIOCGIFMTU, &ask) == 0) {
		i->mtu_B = ask.ifr_mtu;
	}
	if (fd >= 0) {
		close(fd);
	}
}

/* The hardware address stands in an entry of its own. */
static void read_mac(const struct ifaddrs *all, struct interface *i)
{
	struct sockaddr_ll ll;

	for (; all != NULL; all = all->ifa_next) {
		if (all->ifa_addr == NULL ||
		    all->ifa_addr->sa_family != AF_PACKET ||
		    strcmp(all->ifa_name, i->name) != 0) {
			continue;
		}
		/* glibc makes room for the longer address of IPoIB */
		memcpy(&ll, all->ifa_addr, sizeof(ll));
		if (ll.sll_halen <= sizeof(i->mac)) {
			memcpy(i->mac,
			       (const char *)all->ifa_addr +
				       offsetof(struct sockaddr_ll, sll_addr),
			       ll.sll_halen);
			i->mac_len = ll.sll_halen;
		}
	}
}

static bool is_wanted(const struct ifaddrs *a, struct ip_addr *ip)
{
	if (a->ifa_addr == NULL || (a->ifa_flags & IFF_LOOPBACK)) {
		return false;
	}
	*ip = ip_of_sockaddr(a->ifa_addr);
	return ip->family != 0 && !ip_is_link_local(ip);
}

size_t interface_list(struct interface *list, size_t max)
{
	struct ifaddrs *all;
	struct ip_addr ip;
	size_t n = 0;

	if (getifaddrs(&all) < 0) {
		return 0;
	}
	for (const struct ifaddrs *a = all; a != NULL && n < max;
	     a = a->ifa_next) {
		struct interface *i = &list[n];

		if (!is_wanted(a, &ip)) {
			continue;
		}
		*i = (struct interface){ .net = { .ip = ip } };
		i->net.prefix = prefix_of(a->ifa_netmask);
		STR_COPY(i->name, a->ifa_name);
		STR_COPY(i->state,
			 !(a->ifa_flags & IFF_UP) ? "down" :
			 !(a->ifa_flags & IFF_RUNNING) ? "no_carrier" :
							 "up");
		read_mtu(i);
		read_mac(all, i);
		n++;
	}
	freeifaddrs(all);
	return n;
}

double interface_line_GB_s(const char *root, const char *name)
{
	char text[32];
	double Mb_s;

	sysfile_read(text, sizeof(text), "%s/sys/class/net/%s/speed", root,
		     name);
	Mb_s = strtod(text, NULL);
	/* -1, also without its sign, where the driver does not know */
	return Mb_s > 0 && Mb_s < UINT32_MAX ? Mb_s / 8000 : NAN;
}

bool interface_is_ipoib(const char *root, const char *name)
{
	char text[32];

	sysfile_read(text, sizeof(text), "%s/sys/class/net/%s/type", root,
		     name);
	return strtol(text, NULL, 10) == ARPHRD_INFINIBAND;
}

bool interface_of(const struct sockaddr *sa, struct interface *found)
{
	const struct ip_addr ip = ip_of_sockaddr(sa);
	struct interface *list = calloc(INTERFACE_MAX, sizeof(*list));
	size_t n = list != NULL ? interface_list(list, INTERFACE_MAX) : 0;
	size_t i = 0;

	while (i < n && !ip_equal(&list[i].net.ip, &ip)) {
		i++;
	}
	*found = i < n ? list[i] : (struct interface){ 0 };
	free(list);
	return i < n;
}

enum interface_way interface_says(const struct sockaddr *sa, char *buf,
				  size_t size)
{
	struct interface i;

	buf[0] = '\0';
	if (!interface_of(sa, &i)) {
		return INTERFACE_UNKNOWN;
	}
	snprintf(buf, size, "%s %s", i.name, i.state);
	return strcmp(i.state, "up") == 0 ? INTERFACE_UP : INTERFACE_DOWN;
}

json_t *interface_json(const struct interface *i)
{
	char ip[IP_TEXT], addr[IP_TEXT + 8], mac[2 * INTERFACE_MAC + 1];

	snprintf(addr, sizeof(addr), "%s/%d",
		 ip_text(&i->net.ip, ip, sizeof(ip)), i->net.prefix);
	hash_hex(i->mac, i->mac_len, mac);
	return json_pack("{s:s,s:s,s:I,s:s,s:s}", "name", i->name, "addr",
			 addr, "mtu_B", (json_int_t)i->mtu_B, "mac", mac,
			 "state", i->state);
}

int interface_parse(const json_t *json, struct interface *i, struct err *e)
{
	char addr[IP_TEXT + 8], mac[2 * INTERFACE_MAC + 1] = "";

	*i = (struct interface){ .state = "up" };
	if (json_get_text(json, "name", i->name, sizeof(i->name), e) < 0 ||
	    json_get_text(json, "addr", addr, sizeof(addr), e) < 0 ||
	    ip_net_parse(addr, &i->net, e) < 0 ||
	    json_opt_int(json, "mtu_B", 0, 1 << 20, &i->mtu_B, e) < 0 ||
	    json_opt_text(json, "mac", mac, sizeof(mac), e) < 0 ||
	    json_opt_text(json, "state", i->state, sizeof(i->state), e) < 0) {
		return -1;
	}
	if (i->mtu_B > PACKET_MAX) {
		i->mtu_B = PACKET_MAX;	/* lo says one byte more */
	}
	i->mac_len = strlen(mac) / 2;
	return hash_unhex(mac, i->mac, i->mac_len) == 0 ?
		       0 :
		       err_set(e, 0, "'%s' is not a hardware address", mac);
}
