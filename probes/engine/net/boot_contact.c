/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/net/boot.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/str.h"

#define MAX_LINE 512

/** The contact as it is read, and which keys have come. */
struct reading {
	struct boot_contact c;
	bool has_token;
};

static int read_addr(struct reading *r, const char *value)
{
	struct boot_contact *c = &r->c;

	if (c->n_addrs == NET_MAX_ADDRS || !strchr(value, ':') ||
	    strchr(value, ' ') ||
	    !STR_COPY(c->addrs[c->n_addrs], value)) {
		return -1;
	}
	c->n_addrs++;
	return 0;
}

static int read_token(struct reading *r, const char *value)
{
	if (r->has_token ||
	    hash_unhex(value, r->c.token, sizeof(r->c.token)) < 0) {
		return -1;
	}
	r->has_token = true;
	return 0;
}

static int read_nonce(struct reading *r, const char *value)
{
	uint8_t bytes[(sizeof(r->c.nonce) - 1) / 2];

	if (r->c.nonce[0] || hash_unhex(value, bytes, sizeof(bytes)) < 0) {
		return -1;
	}
	memcpy(r->c.nonce, value, sizeof(r->c.nonce));
	return 0;
}

static const struct contact_key {
	const char *name;
	int (*read)(struct reading *r, const char *value);
} keys[] = {
	{ .name = "addr", .read = read_addr },
	{ .name = "token", .read = read_token },
	{ .name = "nonce", .read = read_nonce },
	{ 0 }
};

static int read_line(struct reading *r, char *line)
{
	char *value = line;
	const char *key = strsep(&value, " ");

	for (size_t i = 0; value && keys[i].name; i++) {
		if (strcmp(keys[i].name, key) == 0) {
			return keys[i].read(r, value);
		}
	}
	return -1;
}

/** The next line of @len bytes at @*text into @line; false when too long, cut
 *  short (no newline) or with a NUL in it. */
static bool take_line(const char **text, size_t *len, char line[MAX_LINE])
{
	const char *stop = memchr(*text, '\n', *len);
	size_t n = stop ? (size_t)(stop - *text) : MAX_LINE;

	if (n >= MAX_LINE || memchr(*text, '\0', n)) {
		return false;
	}
	memcpy(line, *text, n);
	line[n] = '\0';
	*text += n + 1;
	*len -= n + 1;
	return true;
}

int boot_contact_parse(const char *text, size_t len, struct boot_contact *c,
		       struct err *e)
{
	struct reading r = { 0 };
	char line[MAX_LINE];

	for (int number = 1; len > 0; number++) {
		if (!take_line(&text, &len, line) || read_line(&r, line) < 0) {
			return err_set(e, EPROTO,
				       "line %d of the coordinator's contact "
				       "cannot be read", number);
		}
	}
	if (r.c.n_addrs == 0 || !r.has_token) {
		return err_set(e, EPROTO, "the coordinator's contact has no "
			       "%s", r.has_token ? "address" : "token");
	}
	*c = r.c;
	return 0;
}

void boot_contact_format(const struct boot_contact *c, struct str *out)
{
	char token[2 * BOOT_TOKEN_BYTES + 1];

	for (int i = 0; i < c->n_addrs; i++) {
		str_addf(out, "addr %s\n", c->addrs[i]);
	}
	hash_hex(c->token, sizeof(c->token), token);
	str_addf(out, "token %s\n", token);
	if (c->nonce[0]) {
		str_addf(out, "nonce %s\n", c->nonce);
	}
}

int boot_contact_env(struct boot_contact *c, struct err *e)
{
	const char *master = getenv("GPUCHECK_MASTER");
	const char *token = getenv("GPUCHECK_TOKEN");
	struct reading r = { 0 };

	if (!master && !token) {
		return 0;
	}
	if (!master || !token) {
		return err_set(e, EINVAL, "%s is set, but not %s",
			       master ? "GPUCHECK_MASTER" : "GPUCHECK_TOKEN",
			       master ? "GPUCHECK_TOKEN" : "GPUCHECK_MASTER");
	}
	if (read_addr(&r, master) < 0) {
		return err_set(e, EINVAL, "GPUCHECK_MASTER is '%.100s', not "
			       "host:port", master);
	}
	if (read_token(&r, token) < 0) {
		return err_set(e, EINVAL, "GPUCHECK_TOKEN is not %d "
			       "hexadecimal digits", 2 * BOOT_TOKEN_BYTES);
	}
	*c = r.c;
	return 1;
}
