/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/host/gpu_state.h"

/** Any bytes as the fact about NVLinks; what is read is written and read again
 *  to the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[512], again[2048];
	struct gpu_links l = { 0 }, back = { 0 };

	size = size < sizeof(text) ? size : sizeof(text) - 1;
	memcpy(text, data, size);
	text[size] = '\0';
	if (gpu_links_parse(text, &l) < 0) {
		return 0;
	}
	gpu_links_text(&l, again, sizeof(again));
	if (gpu_links_parse(again, &back) < 0 || back.up != l.up ||
	    memcmp(back.counts, l.counts, sizeof(l.counts)) != 0) {
		abort();
	}
	return 0;
}
