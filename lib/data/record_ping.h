/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_RECORD_PING_H
#define LIB_DATA_RECORD_PING_H

#include "lib/data/record.h"

/*
 * Values of the column code: what probes/ sees on one path, and what report/
 * looks for.
 */
#define PING_LOSS	"loss"		/* outcome ok: some were lost */
#define PING_NO_REPLY	"no_reply"
#define PING_ARP	"arp_failed"	/* no neighbour has the address */
#define PING_NEIGH_FULL	"neighbour_overflow"
#define PING_UNSENT	"send_buffer_full"	/* outcome skipped */
#define PING_ICMP	"icmp_error"	/* a router or host says so */
#define PING_NO_ROUTE	"no_route"	/* the own kernel says so; skipped: to
					 * another segment */
#define PING_SENDER	"sender_filtered"	/* by a filter on its way out */
#define PING_SWAPPED	"rails_swapped"	/* of findings */
#define PING_IF_DOWN	"if_down"
#define PING_WRONG	"wrong_reply"	/* answered by another address */
#define PING_STRAY	"wrong_interface"	/* came in elsewhere */
#define PING_DUPLICATE	"duplicate_address"
#define PING_FLUX	"arp_flux"	/* another port of the node answers */
#define PING_FOREIGN	"foreign_mac"	/* outcome ok: whose is not known */
#define PING_FILTERED	"icmp_filtered"	/* UDP comes back, ICMP does not */
#define PING_ECHO_GONE	"echo_closed"	/* host answers, our agent does not */
#define PING_MTU	"mtu_small"
#define PING_TCP_OPEN	"tcp_open"
#define PING_TCP_CLOSED	"tcp_refused"
#define PING_TCP_SILENT	"tcp_filtered"

/** Fact of a node: it has heard the trace of a path whose answers are lost. */
#define PING_FACT_HEARD "heard"
/** "rail0 rail1 10.1.0.2": what should answer on the first interface of a node
 *  answers on the second. */
#define PING_FACT_FOUND "found_on"
/** "7992 1024": it is to ask more neighbours than its kernel keeps. */
#define PING_FACT_NEIGHBOURS "neighbours_planned"
/** And the code of the warning. */
#define PING_NEIGH_SHORT "neighbour_limit"

/** One line of results.csv of ping: from one address to another. */
#define PING_COLUMNS(TEXT, INT, REAL, OUTCOME) \
	TEXT(src_node, 64, "node that sends the requests") \
	TEXT(src_if, 32, "its interface") \
	TEXT(src_ip, 56, "its address") \
	TEXT(dst_node, 64, "node that replies") \
	TEXT(dst_if, 32, "its interface") \
	TEXT(dst_ip, 56, "its address") \
	TEXT(segment, 120, "subnet of both, or a->b") \
	TEXT(method, 16, "icmp, icmp_raw, udp, tcp") \
	INT(sent, "packets sent, retries included") \
	INT(received, "replies within the timeout") \
	REAL(rtt_min_us, "shortest round trip, microseconds") \
	REAL(rtt_avg_us, "mean round trip, microseconds") \
	REAL(rtt_max_us, "longest round trip, microseconds") \
	INT(mtu_B, "largest packet that passes unfragmented, bytes") \
	OUTCOME(outcome, "ok, error, timeout, skipped, not_run") \
	TEXT(code, 48, "kind of failure or observation, one word") \
	TEXT(detail, 400, "the same in one sentence") \
	TEXT(start_utc, 32, "when it began, RFC 3339")
struct ping_row {
	RECORD_FIELDS(PING_COLUMNS)
};

extern const struct schema schema_ping;

#endif
