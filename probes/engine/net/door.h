/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_NET_DOOR_H
#define PROBES_ENGINE_NET_DOOR_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "lib/base/err.h"
#include "lib/base/net.h"
#include "probes/engine/net/wire.h"

/* ---- dial ---------------------------------------------------------------- */

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
 * EPROTO if another program answered, else what became of the first address.
 */
int door_dial(char addrs[][NET_ADDR_TEXT], int n, struct auth *a,
	      const uint8_t task[AUTH_ID_BYTES], struct auth_session *s,
	      int64_t connect_ns, int64_t deadline_ns, struct err *e);

/* ---- door ---------------------------------------------------------------- */

/**
 * The one way into any listening socket of ours.  Who connects and the door
 * prove to each other that they know the run's secret (auth.h), within five
 * seconds; everybody else is dropped and reported.  Nothing beyond that is
 * read before.
 *
 * Who waits does so in a room for twice as many as are expected, and some more.
 * When it is full, the oldest goes of those where most come from, once what it
 * has said meanwhile is read: who floods the door from one place crowds out
 * itself first.
 */

/** Sets @hex to a nonce for a task.  For one thread. */
void door_nonce(char hex[2 * AUTH_ID_BYTES + 1]);

/**
 * Takes a guest that proved that it knows the secret and named @task; @keys
 * seal the further messages.  @tcp is connected, not reading, malloc'ed; the
 * callee owns it and must uv_close() and free() it.
 */
typedef void (*door_guest_fn)(uv_tcp_t *tcp,
			      const uint8_t task[AUTH_ID_BYTES],
			      const struct auth_session *keys, void *arg);
/** @text says where from and why, for people: of the first few, and of all
 *  others how many they were, as the door closes. */
typedef void (*door_stranger_fn)(const char *text, void *arg);

struct door;

/**
 * Wait at @fd, as of net_listen(), which is taken in any case, for who knows
 * @a, which is copied; about @expected of them at a time.  Returns NULL with
 * @e.  door_close() closes it; guests already handed over stay open.
 */
struct door *door_open(uv_loop_t *loop, int fd, int expected,
		       const struct auth *a, door_guest_fn on_guest,
		       door_stranger_fn on_stranger, void *arg, struct err *e);
uint16_t door_port(const struct door *d);
void door_close(struct door *d);

/** uv_close() @tcp and free() it. */
void door_drop(uv_tcp_t *tcp);

#endif
