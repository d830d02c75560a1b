/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/engine/net/boot.h"

/** A contact that is taken survives being written and read again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct boot_contact c, back;
	struct err e = { 0 };
	char *text;

	if (boot_contact_parse((const char *)data, size, &c, &e) < 0) {
		if (e.code == ECANCELED && strlen(c.nonce) >= sizeof(c.nonce)) {
			abort();
		}
		return 0;
	}
	text = boot_contact_text(&c);
	if (boot_contact_parse(text, strlen(text), &back, NULL) < 0 ||
	    c.n_addrs != back.n_addrs ||
	    memcmp(c.token, back.token, sizeof(c.token)) != 0) {
		abort();
	}
	free(text);
	return 0;
}
