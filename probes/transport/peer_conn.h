/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_TRANSPORT_PEER_CONN_H
#define PROBES_TRANSPORT_PEER_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "probes/transport/xport.h"

/**
 * The connection between the two workers of a pair, for transports that need
 * one: the lead waits for it, the other end dials the lead's agent, whose
 * address is the ticket.
 */

/**
 * Connect to rank @peer and exchange a first byte.  Returns a non-blocking fd,
 * or -1 with @r filled in.
 */
int peer_connect(struct worker *w, const char *ticket, const char *nonce,
		 bool lead, int peer, int64_t deadline_ns,
		 struct xport_result *r);

/**
 * Write @n bytes of @out and read as many into @in at the same time, by
 * @deadline_ns; 0, or -1 with @e as net_write_all().
 */
int peer_swap(int fd, const void *out, void *in, size_t n, int64_t deadline_ns,
	      struct err *e);

/**
 * Fill in @r from a socket error; one that only says that the other end left
 * or kept silent is an echo.
 */
void peer_fault(struct xport_result *r, const struct err *e,
		const char *doing);

#endif
