/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/net/seal.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define HEADER crypto_secretstream_xchacha20poly1305_HEADERBYTES
#define MORE   crypto_secretstream_xchacha20poly1305_ABYTES

void seal_open(struct seal *s, const struct auth_session *k, struct str *out)
{
	uint8_t header[HEADER];

	*s = (struct seal){ 0 };
	memcpy(s->key, k->in, sizeof(s->key));
	crypto_secretstream_xchacha20poly1305_init_push(&s->out, header,
							k->out);
	str_addmem(out, header, sizeof(header));
}

void seal_release(struct seal *s)
{
	str_release(&s->raw);
	str_release(&s->plain);
	sodium_memzero(s, sizeof(*s));
}

void seal_put(struct seal *s, const struct str *plain, struct str *out)
{
	for (size_t from = 0, n; from < plain->len; from += n) {
		uint32_t length;
		uint8_t *at;

		n = plain->len - from < SEAL_MAX ? plain->len - from : SEAL_MAX;
		length = htole32((uint32_t)(n + MORE));
		str_addmem(out, &length, sizeof(length));
		at = (uint8_t *)str_more(out, n + MORE);
		if (!at) {
			return;
		}
		crypto_secretstream_xchacha20poly1305_push(
			&s->out, at, NULL, (const uint8_t *)plain->data + from,
			n, (const uint8_t *)&length, sizeof(length), 0);
	}
}

/** One record at @p: its bytes, 0 when it is not whole, -1 with @e. */
static int64_t take_one(struct seal *s, const char *p, size_t left,
			struct err *e)
{
	uint32_t length;
	uint8_t *at;

	if (!s->begun) {
		if (left < HEADER) {
			return 0;
		}
		s->begun = true;
		crypto_secretstream_xchacha20poly1305_init_pull(
			&s->in, (const uint8_t *)p, s->key);
		return HEADER;
	}
	if (left < sizeof(length)) {
		return 0;
	}
	memcpy(&length, p, sizeof(length));
	length = le32toh(length);
	if (length <= MORE || length > SEAL_MAX + MORE) {
		return err_set(e, EPROTO, "message of %u bytes", length);
	}
	if (left - sizeof(length) < length) {
		return 0;
	}
	at = (uint8_t *)str_more(&s->plain, length - MORE);
	if (!at) {
		return err_set(e, ENOMEM, "no memory for a message");
	}
	if (crypto_secretstream_xchacha20poly1305_pull(
		    &s->in, at, NULL, NULL,
		    (const uint8_t *)p + sizeof(length), length,
		    (const uint8_t *)p, sizeof(length)) < 0) {
		s->plain.len -= length - MORE;
		return err_set(e, EPROTO, "a message was changed on its way");
	}
	return (int64_t)(sizeof(length) + length);
}

int seal_take(struct seal *s, const void *bytes, size_t n,
	      const struct str **plain, struct err *e)
{
	size_t used = 0;
	int64_t got;

	str_reset(&s->plain);
	*plain = &s->plain;
	str_addmem(&s->raw, bytes, n);
	if (s->raw.failed) {
		return err_set(e, ENOMEM, "no memory for a message");
	}
	while ((got = take_one(s, str_text(&s->raw) + used, s->raw.len - used,
			       e)) > 0) {
		used += (size_t)got;
	}
	if (used > 0) {
		s->raw.len -= used;
		memmove(s->raw.data, s->raw.data + used, s->raw.len);
	}
	return got < 0 ? -1 : 0;
}
