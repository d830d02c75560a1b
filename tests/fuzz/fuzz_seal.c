/* SPDX-License-Identifier: BSD-3-Clause */
/* Sealed bytes from whoever is between both ends: what is taken of them is a
 * beginning of what was sent. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/engine/net/wire.h"

#define PIECES 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Changes, three bytes of @data each: a place in two, and what is mixed in
 *  there; or, where the first is 255, how many bytes come again at the end. */
static void mangle(struct str *wire, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i + 2 < size; i += 3) {
		size_t at = (data[i] * 256u + data[i + 1]) % wire->len;

		if (data[i] == 255) {
			uint8_t again[UINT8_MAX];
			size_t n = wire->len - at;

			n = n < data[i + 2] ? n : data[i + 2];
			memcpy(again, wire->data + at, n);
			str_addmem(wire, again, n);
		} else {
			wire->data[at] ^= (char)data[i + 2];
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct auth_session keys = { .in = { 7 }, .out = { 7 } };
	struct str wire = STR_INIT, back = STR_INIT, sent = STR_INIT,
		   got = STR_INIT;
	const struct str *plain;
	struct seal a, b;
	size_t step;

	seal_open(&a, &keys, &wire);
	seal_open(&b, &keys, &back);
	for (size_t i = 0; i < size && i < PIECES; i++) {
		struct str one = STR_INIT;

		for (int n = 0; n <= data[i]; n++) {
			str_addch(&one, (char)('a' + n % 26));
		}
		str_addmem(&sent, one.data, one.len);
		seal_put(&a, &one, &wire);
		str_release(&one);
	}
	mangle(&wire, data + (size < PIECES ? size : PIECES),
	       size < PIECES ? 0 : size - PIECES);
	step = size > 0 ? 1 + data[size - 1] : 1;
	for (size_t at = 0; at < wire.len; at += step) {
		size_t n = wire.len - at < step ? wire.len - at : step;

		bool whole = seal_take(&b, wire.data + at, n, &plain, NULL) ==
			     0;

		str_addmem(&got, str_text(plain), plain->len);
		if (!whole) {
			break;
		}
	}
	if (got.len > sent.len ||
	    (got.len > 0 && memcmp(got.data, sent.data, got.len) != 0)) {
		abort();
	}
	seal_release(&a);
	seal_release(&b);
	str_release(&wire);
	str_release(&back);
	str_release(&sent);
	str_release(&got);
	return 0;
}
