/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/host/gpu_state.h"

/** Any bytes as a line of the kernel's log. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char line[512], bus[32];
	int xid = -1;

	size = size < sizeof(line) ? size : sizeof(line) - 1;
	memcpy(line, data, size);
	line[size] = '\0';
	if (gpu_xid_parse(line, bus, &xid) &&
	    memchr(bus, '\0', sizeof(bus)) == NULL) {
		abort();
	}
	return 0;
}
