/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/ping/packet.h"

#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <stdio.h>
#include <string.h>

static const uint8_t magic[4] = { 'G', 'p', 'c', 'K' };

static void put(uint8_t **at, const void *bytes, size_t n)
{
	memcpy(*at, bytes, n);
	*at += n;
}

static void get(const uint8_t **at, void *bytes, size_t n)
{
	memcpy(bytes, *at, n);
	*at += n;
}

/* tag and serial return to where they came from: any byte order will do; @from
 * is read by others, which may be of another kind, but not in one cluster. */
void ping_mark_write(const struct ping_mark *mark, uint8_t *data, size_t size)
{
	const uint8_t type[4] = { (uint8_t)mark->type };
	uint8_t *at = data;

	put(&at, magic, sizeof(magic));
	put(&at, type, sizeof(type));
	put(&at, mark->key, sizeof(mark->key));
	put(&at, &mark->tag, sizeof(mark->tag));
	put(&at, &mark->from, sizeof(mark->from));
	put(&at, &mark->serial, sizeof(mark->serial));
	for (size_t i = PING_MARK_BYTES; i < size; i++) {
		data[i] = (uint8_t)i;
	}
}

bool ping_mark_read(const uint8_t *data, size_t size, struct ping_mark *mark)
{
	uint8_t head[4], type[4];

	if (size < PING_MARK_BYTES) {
		return false;
	}
	get(&data, head, sizeof(head));
	get(&data, type, sizeof(type));
	if (memcmp(head, magic, sizeof(magic)) != 0 ||
	    type[0] >= PING_MARK_TYPES) {
		return false;
	}
	mark->type = (enum ping_mark_type)type[0];
	get(&data, mark->key, sizeof(mark->key));
	get(&data, &mark->tag, sizeof(mark->tag));
	get(&data, &mark->from, sizeof(mark->from));
	get(&data, &mark->serial, sizeof(mark->serial));
	return true;
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
