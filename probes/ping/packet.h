/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PING_PACKET_H
#define PROBES_PING_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "probes/ping/mesh.h"

/** The bytes of a probe.  Pure; what is read may come from anybody. */

enum ping_mark_type {
	PING_ECHO,	/* ICMP: it comes back as it went */
	PING_ASK,	/* UDP: please answer */
	PING_TRACE,	/* UDP: please answer, and remember that it came */
	PING_ANSWER,
	PING_MARK_TYPES
};

/** What a probe carries in its data, byte for byte.  Tag and serial return to
 *  where they came from: any byte order will do; the others are read by
 *  machines that may be of another kind, but not in one cluster. */
struct ping_mark {
	uint8_t magic[4];	/* filled in when it is written */
	uint32_t type;		/* enum ping_mark_type */
	uint8_t key[PING_KEY_BYTES];	/* of the door it knocks at; UDP */
	uint64_t tag;		/* a secret of the sender: nobody can answer
				 * what he has not got */
	uint32_t from;		/* number of the sending node */
	uint32_t serial;
};

#define PING_MARK_BYTES   40
#define PING_ICMP_BYTES   8	/* header */
#define PING_PACKET_MAX   65535

/** @mark and filler into @data (@size >= PING_MARK_BYTES). */
void ping_mark_write(const struct ping_mark *mark, uint8_t *data, size_t size);
/** The other way; false when it is none of ours. */
bool ping_mark_read(const uint8_t *data, size_t size, struct ping_mark *mark);

/** An echo request with @size bytes of data into @buf, which has room for it;
 *  returns its length. */
size_t ping_icmp_write(sa_family_t family, uint16_t id, uint16_t seq,
		       const struct ping_mark *mark, size_t size,
		       uint8_t *buf);
/** An echo reply (@reply) or the request that an error quotes, behind an IP
 *  header where @with_ip; false when it is none of ours. */
bool ping_icmp_read(sa_family_t family, bool with_ip, bool reply,
		    const uint8_t *buf, size_t size, struct ping_mark *mark);

/** Bytes of IP and ICMP or UDP header around the data. */
static inline int ping_overhead(sa_family_t family)
{
	return (family == AF_INET6 ? 40 : 20) + 8;
}

/** "host unreachable", ...: what an ICMP error means; returns @buf. */
const char *ping_icmp_text(sa_family_t family, uint8_t type, uint8_t code,
			   char *buf, size_t size);

#endif
