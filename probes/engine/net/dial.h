/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_NET_DIAL_H
#define PROBES_ENGINE_NET_DIAL_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/net.h"
#include "probes/engine/net/auth.h"

/**
 * A connection to the door at one of @n addresses, the best first, where both
 * ends have proved themselves.
 *
 * A machine has addresses that others cannot use: those of networks that are
 * not theirs, whose packets are dropped without a word.  So all are tried
 * beside each other, as RFC 8305 has it: the next one begins 20 ms after the
 * one before it, at once where that failed, and half a second after one that
 * has taken the connection and has yet to prove that it is the right one.  The
 * first that has proved it wins; whoever else answers there does not.
 *
 * Connections by @connect_ns, proofs by @deadline_ns; @task may be NULL.  @a
 * learns the run if it did not know it; @s (NULL: not wanted) gets the keys for
 * what is said next.  The socket, non-blocking, close-on-exec, or -1 with @e:
 * EPROTO where somebody else answered, else what became of the first address.
 */
int door_dial(char addrs[][NET_ADDR_TEXT], int n, struct auth *a,
	      const uint8_t task[AUTH_ID_BYTES], struct auth_session *s,
	      int64_t connect_ns, int64_t deadline_ns, struct err *e);

#endif
