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
#define PING_NO_ROUTE	"no_route"	/* the own kernel says so */
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

/** One line of results.csv of ping: from one address to another. */
struct ping_row {
	char src_node[64];
	char src_if[32];
	char src_ip[56];
	char dst_node[64];
	char dst_if[32];
	char dst_ip[56];
	char segment[120];	/* "10.1.0.0/24", or "a->b" */
	char method[16];	/* icmp, icmp_raw, udp, tcp */
	int64_t sent;
	int64_t received;
	double rtt_min_us;
	double rtt_avg_us;
	double rtt_max_us;
	int64_t mtu_B;		/* largest packet that passes whole */
	enum outcome outcome;
	char code[48];
	char detail[400];
	char start_utc[32];
};

extern const struct schema schema_ping;

#endif
