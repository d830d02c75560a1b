/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/net/boot.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/str.h"
#include "lib/data/json.h"

/** False: @addr is none, or one too many. */
static bool add_addr(struct boot_contact *c, const char *addr)
{
	return c->n_addrs < NET_MAX_ADDRS && strchr(addr, ':') &&
	       !strchr(addr, ' ') && STR_COPY(c->addrs[c->n_addrs++], addr);
}

static int read_members(const json_t *json, struct boot_contact *c,
			struct err *e)
{
	json_t *addrs = json_get_array(json, "addrs", NET_MAX_ADDRS, e), *addr;
	char token[2 * BOOT_TOKEN_BYTES + 1];
	uint8_t bytes[(sizeof(c->nonce) - 1) / 2];
	bool good;
	size_t i;

	if (!addrs ||
	    json_get_text(json, "token", token, sizeof(token), e) < 0 ||
	    json_opt_text(json, "nonce", c->nonce, sizeof(c->nonce), e) < 0) {
		return -1;
	}
	good = hash_unhex(token, c->token, sizeof(c->token)) == 0 &&
	       (!c->nonce[0] ||
		hash_unhex(c->nonce, bytes, sizeof(bytes)) == 0);
	json_array_foreach(addrs, i, addr)
	{
		good = good && json_is_string(addr) &&
		       add_addr(c, json_string_value(addr));
	}
	return good && c->n_addrs > 0
		       ? 0
		       : err_set(e, EPROTO,
				 "the coordinator's contact cannot "
				 "be read");
}

int boot_contact_parse(const char *text, size_t len, struct boot_contact *c,
		       struct err *e)
{
	struct boot_contact found = {0};
	json_t *json = json_parse(text, len, e);
	const char *why = json_member(json, "why");
	int rc;

	if (json && why[0]) {
		rc = json_get_text(json, "nonce", c->nonce, sizeof(c->nonce),
				   e);
		rc = rc < 0 ? rc : err_set(e, ECANCELED, "there is no "
					   "coordinator: %.250s", why);
	} else {
		rc = json ? read_members(json, &found, e) : -1;
	}
	json_decref(json);
	if (rc == 0) {
		*c = found;
	}
	return rc;
}

char *boot_contact_text(const struct boot_contact *c)
{
	char token[2 * BOOT_TOKEN_BYTES + 1];
	json_t *addrs = json_array(), *json;
	char *text;

	for (int i = 0; i < c->n_addrs; i++) {
		json_array_append_new(addrs, json_string(c->addrs[i]));
	}
	hash_hex(c->token, sizeof(c->token), token);
	json = json_pack("{s:o,s:s,s:s}", "addrs", addrs, "token", token,
			 "nonce", c->nonce);
	text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	return text;
}

char *boot_failure_text(const char *nonce, const struct err *why)
{
	json_t *json = json_pack("{s:s,s:o}", "nonce", nonce, "why",
				 json_text(why->text));
	char *text = json_dumps(json, JSON_COMPACT);

	json_decref(json);
	return text;
}

int boot_contact_env(struct boot_contact *c, struct err *e)
{
	const char *master = getenv("GPUCHECK_MASTER");
	const char *token = getenv("GPUCHECK_TOKEN");
	struct boot_contact r = {0};

	if (!master && !token) {
		return 0;
	}
	if (!master || !token) {
		return err_set(e, EINVAL, "%s is set, but not %s",
			       master ? "GPUCHECK_MASTER" : "GPUCHECK_TOKEN",
			       master ? "GPUCHECK_TOKEN" : "GPUCHECK_MASTER");
	}
	if (!add_addr(&r, master)) {
		return err_set(e, EINVAL, "GPUCHECK_MASTER is '%.100s', not "
			       "host:port", master);
	}
	if (hash_unhex(token, r.token, sizeof(r.token)) < 0) {
		return err_set(e, EINVAL, "GPUCHECK_TOKEN is not %d "
			       "hexadecimal digits", 2 * BOOT_TOKEN_BYTES);
	}
	*c = r;
	return 1;
}

void boot_forget_env(void)
{
	char *token = getenv("GPUCHECK_TOKEN");

	if (token) {
		explicit_bzero(token, strlen(token));
		unsetenv("GPUCHECK_TOKEN");
	}
}
