/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_NET_SEAL_H
#define PROBES_ENGINE_NET_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sodium.h>

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "probes/engine/net/auth.h"

/**
 * Bytes that nobody between both ends can read, change, repeat, leave out or
 * put in another order.  Each end first sends the header of its stream, then
 * records: a 4-byte little-endian length, and so many sealed bytes, of 1
 * to SEAL_MAX.
 */
#define SEAL_MAX (64u * 1024)

struct seal {
	crypto_secretstream_xchacha20poly1305_state out, in;
	uint8_t key[AUTH_BYTES];	/* of @in, until its header has come */
	bool begun;			/* the header has come */
	struct str raw, plain;
};

/** Begin with the keys @k; the header is appended to @out. */
void seal_open(struct seal *s, const struct auth_session *k, struct str *out);
void seal_release(struct seal *s);	/* safe on a zeroed one */
/** Append the records of @plain to @out, which fails without memory. */
void seal_put(struct seal *s, const struct str *plain, struct str *out);
/** @n bytes have come: *@plain is what they tell, borrowed until the next
 *  call.  0, or -1 with @e: somebody has changed what comes after that. */
int seal_take(struct seal *s, const void *bytes, size_t n,
	      const struct str **plain, struct err *e);

#endif
