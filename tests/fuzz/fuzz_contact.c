/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/engine/net/boot.h"

/** A contact that is taken survives being written and read again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct boot_contact c, back;
	struct str text = STR_INIT;

	if (boot_contact_parse((const char *)data, size, &c, NULL) < 0) {
		return 0;
	}
	boot_contact_format(&c, &text);
	if (boot_contact_parse(str_text(&text), text.len, &back, NULL) < 0 ||
	    c.n_addrs != back.n_addrs ||
	    memcmp(c.token, back.token, sizeof(c.token)) != 0) {
		abort();
	}
	str_release(&text);
	return 0;
}
