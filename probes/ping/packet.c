/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/ping/packet.h"

#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <stdio.h>
#include <string.h>

static const uint8_t magic[4] = { 'G', 'p', 'c', 'K' };

_Static_assert(sizeof(struct ping_mark) == PING_MARK_BYTES,
	       "a mark has gaps");

void ping_mark_write(const struct ping_mark *mark, uint8_t *data, size_t size)
{
	memcpy(data, mark, sizeof(*mark));
	memcpy(data, magic, sizeof(magic));
	for (size_t i = sizeof(*mark); i < size; i++) {
		data[i] = (uint8_t)i;
	}
}

bool ping_mark_read(const uint8_t *data, size_t size, struct ping_mark *mark)
{
	if (size < sizeof(*mark)) {
		return false;
	}
	memcpy(mark, data, sizeof(*mark));
	return memcmp(mark->magic, magic, sizeof(magic)) == 0 &&
	       mark->type < PING_MARK_TYPES;
}

/* RFC 1071. */
static uint16_t checksum(const uint8_t *bytes, size_t n)
{
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < n; i += 2) {
		sum += (uint32_t)(bytes[i] << 8 | bytes[i + 1]);
	}
	if (n % 2) {
		sum += (uint32_t)bytes[n - 1] << 8;
	}
	while (sum >> 16) {
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return (uint16_t)~sum;
}

size_t ping_icmp_write(sa_family_t family, uint16_t id, uint16_t seq,
		       const struct ping_mark *mark, size_t size, uint8_t *buf)
{
	const uint8_t head[PING_ICMP_BYTES] = {
		family == AF_INET6 ? ICMP6_ECHO_REQUEST : ICMP_ECHO, 0, 0, 0,
		(uint8_t)(id >> 8), (uint8_t)id,
		(uint8_t)(seq >> 8), (uint8_t)seq,
	};
	size_t len = PING_ICMP_BYTES + size;
	uint16_t sum;

	memcpy(buf, head, sizeof(head));
	ping_mark_write(mark, buf + PING_ICMP_BYTES, size);
	if (family == AF_INET) {	/* of ICMPv6 the kernel does it */
		sum = checksum(buf, len);
		buf[2] = (uint8_t)(sum >> 8);
		buf[3] = (uint8_t)sum;
	}
	return len;
}

bool ping_icmp_read(sa_family_t family, bool with_ip, bool reply,
		    const uint8_t *buf, size_t size, struct ping_mark *mark)
{
	size_t skip = with_ip && size > 0 ? (size_t)(buf[0] & 0x0f) * 4 : 0;
	uint8_t wanted = family == AF_INET6 ?
				 (reply ? ICMP6_ECHO_REPLY :
					  ICMP6_ECHO_REQUEST) :
				 (reply ? ICMP_ECHOREPLY : ICMP_ECHO);

	if (size < skip + PING_ICMP_BYTES || buf[skip] != wanted) {
		return false;
	}
	return ping_mark_read(buf + skip + PING_ICMP_BYTES,
			      size - skip - PING_ICMP_BYTES, mark) &&
	       mark->type == PING_ECHO;
}

static const struct icmp_text {
	sa_family_t family;
	uint8_t type, code;
	const char *text;
} icmp_texts[] = {
	{ AF_INET, ICMP_DEST_UNREACH, ICMP_NET_UNREACH, "net unreachable" },
	{ AF_INET, ICMP_DEST_UNREACH, ICMP_HOST_UNREACH, "host unreachable" },
	{ AF_INET, ICMP_DEST_UNREACH, ICMP_PROT_UNREACH,
	  "protocol unreachable" },
	{ AF_INET, ICMP_DEST_UNREACH, ICMP_PORT_UNREACH, "port unreachable" },
	{ AF_INET, ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED,
	  "fragmentation needed" },
	{ AF_INET, ICMP_DEST_UNREACH, ICMP_NET_ANO, "net prohibited" },
	{ AF_INET, ICMP_DEST_UNREACH, ICMP_HOST_ANO, "host prohibited" },
	{ AF_INET, ICMP_DEST_UNREACH, ICMP_PKT_FILTERED,
	  "administratively prohibited" },
	{ AF_INET, ICMP_TIME_EXCEEDED, 0, "time to live exceeded" },
	{ AF_INET6, ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_NOROUTE,
	  "no route" },
	{ AF_INET6, ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_ADMIN,
	  "administratively prohibited" },
	{ AF_INET6, ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_ADDR,
	  "address unreachable" },
	{ AF_INET6, ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_NOPORT,
	  "port unreachable" },
	{ AF_INET6, ICMP6_PACKET_TOO_BIG, 0, "packet too big" },
	{ AF_INET6, ICMP6_TIME_EXCEEDED, 0, "hop limit exceeded" },
	{ 0, 0, 0, NULL }
};

const char *ping_icmp_text(sa_family_t family, uint8_t type, uint8_t code,
			   char *buf, size_t size)
{
	for (const struct icmp_text *t = icmp_texts; t->text; t++) {
		if (t->family == family && t->type == type &&
		    t->code == code) {
			snprintf(buf, size, "%s", t->text);
			return buf;
		}
	}
	snprintf(buf, size, "ICMP error %d/%d", type, code);
	return buf;
}
