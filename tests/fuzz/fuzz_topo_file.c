/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/host/port.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Any bytes as a topology file: a device is found at the end of its path. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char bus[] = "0001:00:00.0";
	struct pcie_place place = { .numa = -1 };
	struct str plain = STR_INIT;
	char *text = calloc(size + 1, 1);

	if (text == NULL) {
		return 0;
	}
	memcpy(text, data, size);
	topo_file_plain(text, &plain);
	str_release(&plain);
	if (topo_file_find(text, bus, &place) &&
	    (strlen(place.path) < sizeof(bus) - 1 ||
	     strlen(place.path) > 1024)) {
		abort();
	}
	free(text);
	return 0;
}
