/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_NET_DOOR_H
#define PROBES_ENGINE_NET_DOOR_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "lib/base/err.h"
#include "probes/engine/net/auth.h"

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

/** Random bytes that are left, as one call to the kernel for each task would
 *  cost as much as the task; zeroed at first. */
struct door_nonces {
	uint8_t raw[32 * AUTH_ID_BYTES];
	size_t left;
};

/** A nonce for a task, in hex. */
void door_nonce(struct door_nonces *from, char hex[2 * AUTH_ID_BYTES + 1]);

/**
 * Who came named @task; @keys are for what is said next.  @tcp is connected,
 * not reading, malloc'ed; the callee owns it and must uv_close() and free() it.
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
