/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/base/units.h"

static int bits_of(sa_family_t family)
{
	return family == AF_INET6 ? 128 : 32;
}

static size_t bytes_of(sa_family_t family)
{
	return (size_t)bits_of(family) / 8;
}

int ip_parse(const char *text, struct ip_addr *ip, struct err *e)
{
	sa_family_t family = strchr(text, ':') ? AF_INET6 : AF_INET;
	struct ip_addr read = { .family = family };

	if (inet_pton(family, text, read.bytes) != 1) {
		return err_set(e, EINVAL, "'%.60s' is not an IP address", text);
	}
	*ip = read;
	return 0;
}

const char *ip_text(const struct ip_addr *ip, char *buf, size_t size)
{
	if (ip->family == 0 ||
	    !inet_ntop(ip->family, ip->bytes, buf, (socklen_t)size)) {
		snprintf(buf, size, "?");
	}
	return buf;
}

int ip_net_parse(const char *text, struct ip_net *net, struct err *e)
{
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	struct ip_net read;
	char addr[IP_TEXT];
	int64_t prefix;

	if (len >= sizeof(addr)) {
		return err_set(e, EINVAL, "'%.60s' is not a subnet", text);
	}
	memcpy(addr, text, len);
	addr[len] = '\0';
	if (ip_parse(addr, &read.ip, e) < 0) {
		return -1;
	}
	prefix = bits_of(read.ip.family);
	if (slash && units_parse_int(slash + 1, 0, prefix, &prefix, NULL) < 0) {
		err_set(e, EINVAL, "'%.60s' is not a subnet", text);
		return err_hint(e, "write it as 10.1.0.0/16 or fd00:1::/64");
	}
	read.prefix = (int)prefix;
	*net = read;
	return 0;
}

/** Bits of byte @i that belong to the subnet. */
static uint8_t mask_of(int prefix, size_t i)
{
	int left = prefix - (int)i * 8;

	return left >= 8 ? 0xff : left <= 0 ? 0 : (uint8_t)(0xff00 >> left);
}

const char *ip_net_text(const struct ip_net *net, char *buf, size_t size)
{
	struct ip_addr masked = net->ip;
	char addr[IP_TEXT];

	for (size_t i = 0; i < bytes_of(masked.family); i++) {
		masked.bytes[i] &= mask_of(net->prefix, i);
	}
	snprintf(buf, size, "%s/%d", ip_text(&masked, addr, sizeof(addr)),
		 net->prefix);
	return buf;
}

bool ip_equal(const struct ip_addr *a, const struct ip_addr *b)
{
	return ip_compare(a, b) == 0;
}

bool ip_in(const struct ip_addr *ip, const struct ip_net *net)
{
	if (ip->family != net->ip.family) {
		return false;
	}
	for (size_t i = 0; i < bytes_of(ip->family); i++) {
		if ((ip->bytes[i] ^ net->ip.bytes[i]) &
		    mask_of(net->prefix, i)) {
			return false;
		}
	}
	return true;
}

int ip_compare(const struct ip_addr *a, const struct ip_addr *b)
{
	if (a->family != b->family) {
		return a->family < b->family ? -1 : 1;
	}
	return memcmp(a->bytes, b->bytes, bytes_of(a->family));
}

bool ip_is_link_local(const struct ip_addr *ip)
{
	return ip->family == AF_INET ?
		       ip->bytes[0] == 169 && ip->bytes[1] == 254 :
		       ip->bytes[0] == 0xfe && (ip->bytes[1] & 0xc0) == 0x80;
}

socklen_t ip_sockaddr(const struct ip_addr *ip, uint16_t port,
		      struct sockaddr_storage *sa)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_port = htons(port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_port = htons(port) };

	*sa = (struct sockaddr_storage){ 0 };
	if (ip->family == AF_INET6) {
		memcpy(&v6.sin6_addr, ip->bytes, 16);
		memcpy(sa, &v6, sizeof(v6));
		return sizeof(v6);
	}
	memcpy(&v4.sin_addr, ip->bytes, 4);
	memcpy(sa, &v4, sizeof(v4));
	return sizeof(v4);
}

struct ip_addr ip_of_sockaddr(const struct sockaddr *sa)
{
	struct ip_addr ip = { .family = sa->sa_family };
	struct sockaddr_in6 v6;
	struct sockaddr_in v4;
	bool mapped;

	if (sa->sa_family == AF_INET) {
		memcpy(&v4, sa, sizeof(v4));
		memcpy(ip.bytes, &v4.sin_addr, 4);
	} else if (sa->sa_family == AF_INET6) {
		memcpy(&v6, sa, sizeof(v6));
		mapped = IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr);
		ip.family = mapped ? AF_INET : AF_INET6;
		memcpy(ip.bytes, &v6.sin6_addr.s6_addr[mapped ? 12 : 0],
		       bytes_of(ip.family));
	} else {
		ip.family = 0;
	}
	return ip;
}
