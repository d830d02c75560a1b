/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>

#include "probes/host/inventory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Any bytes as the answer of lldpctl: whoever is listed has a name. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct lldp_neighbour list[LLDP_MAX];
	size_t n = lldp_parse((const char *)data, size, list);

	for (size_t i = 0; i < n; i++) {
		if (list[i].interface[0] == '\0' || list[i].name[0] == '\0') {
			abort();
		}
	}
	return 0;
}
