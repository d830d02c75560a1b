/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PING_ECHO_H
#define PROBES_PING_ECHO_H

#include <jansson.h>

#include "lib/base/err.h"
#include "lib/base/net.h"
#include "lib/base/ip.h"
#include "probes/ping/mesh.h"
#include "probes/ping/packet.h"

/**
 * The side that answers.  Who does not bring the key gets no answer, an answer
 * is never longer than what asked for it, and no more than so many a second go
 * out: of no use to strangers.  The TCP port accepts and hangs up.
 */
#define PING_ECHO_RATE	40000
#define PING_ECHO_BURST 4096
/** Traces that are remembered. */
#define PING_HEARD_MAX	4096

struct ping_heard {
	struct ip_addr from, to;
};

/** So many a second, after a burst.  Pure. */
struct ping_bucket {
	double tokens;
	int64_t at_ns;
};

bool ping_bucket_take(struct ping_bucket *b, int64_t now_ns);

struct ping_echo {
	int udp4, udp6, tcp;	/* -1 = not there */
	uint8_t key[PING_KEY_BYTES];
	struct ping_bucket bucket;
	struct ping_heard *heard;
	size_t n_heard;
};

/** Open what this machine allows, on @ports; -1 with @e when nothing can be
 *  opened. */
int ping_echo_open(struct ping_echo *x, struct net_ports ports,
		   struct err *e);
void ping_echo_close(struct ping_echo *x);
/** Ports and key, for the others; new reference. */
json_t *ping_echo_json(const struct ping_echo *x);
/** Something has come in on @fd, one of its sockets; @buf has
 *  PING_PACKET_MAX bytes. */
void ping_echo_serve(struct ping_echo *x, int fd, uint8_t *buf,
		     int64_t now_ns);

#endif
