/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/switches.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Any bytes as a list of switches: what is found has the right form. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct switch_link *list;
	const long n = switches_parse((const char *)data, size, &list);

	for (long i = 0; i < n; i++) {
		if (strlen(list[i].guid) != 16 && list[i].guid[0] != '\0') {
			abort();
		}
	}
	if (n > SWITCHES_MAX) {
		abort();
	}
	free(list);
	return 0;
}
