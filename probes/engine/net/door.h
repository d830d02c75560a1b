/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_NET_DOOR_H
#define PROBES_ENGINE_NET_DOOR_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "lib/base/err.h"
#include "probes/engine/net/boot.h"

/**
 * The one way into any listening socket of ours.  Who connects must show a
 * 64-byte hello with the run's token within two seconds; everybody else is
 * dropped and reported.  Nothing beyond the hello is read before that.
 */
#define DOOR_NONCE_BYTES 16

enum door_kind { DOOR_CONTROL = 'A', DOOR_DATA = 'D' };

struct door_hello {
	char magic[8];
	uint8_t kind;		/* enum door_kind */
	uint8_t zero[7];
	uint8_t token[BOOT_TOKEN_BYTES];
	uint8_t nonce[DOOR_NONCE_BYTES];	/* of the task; 0 for control */
};

/** A connection to the door at @addr that has shown its hello; @nonce may be
 *  NULL.  The socket, or -1 with @e. */
int door_dial(const char *addr, enum door_kind kind,
	      const uint8_t token[BOOT_TOKEN_BYTES],
	      const uint8_t nonce[DOOR_NONCE_BYTES], int64_t deadline_ns,
	      struct err *e);

/** A nonce for a task, in hex. */
void door_nonce(char hex[2 * DOOR_NONCE_BYTES + 1]);

/**
 * @tcp is connected, not reading, malloc'ed; the callee owns it and must
 * uv_close() and free() it.
 */
typedef void (*door_guest_fn)(uv_tcp_t *tcp, const struct door_hello *h,
			      void *arg);
/** @text says where from and why, for people: of the first few, the others are
 *  not reported. */
typedef void (*door_stranger_fn)(const char *text, void *arg);

struct door;

/**
 * Listen on @port (0: any) of loopback (@loopback) or of all addresses for
 * hellos of @kind.  Returns NULL with @e.  door_close() closes it; guests already handed
 * over stay open.
 */
struct door *door_open(uv_loop_t *loop, bool loopback, uint16_t port,
		       enum door_kind kind,
		       const uint8_t token[BOOT_TOKEN_BYTES],
		       door_guest_fn on_guest, door_stranger_fn on_stranger,
		       void *arg, struct err *e);
uint16_t door_port(const struct door *d);
void door_close(struct door *d);

/** uv_close() @tcp and free() it. */
void door_drop(uv_tcp_t *tcp);

#endif
