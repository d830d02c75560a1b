/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/switches.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check(void *user, const struct switch_link *l)
{
	(void)user;
	if (strlen(l->guid) != 16 && l->guid[0] != '\0') {
		abort();
	}
	return 0;
}

/** Any bytes as a list of switches: what is found has the right form. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (switches_parse((const char *)data, size, check, NULL) >
	    SWITCHES_MAX) {
		abort();
	}
	return 0;
}
