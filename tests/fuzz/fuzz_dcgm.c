/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/gpu/gpu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Any bytes as what dcgmi prints: what is found has a GPU, or none. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct dcgm_found list[DCGM_FOUND_MAX];
	const int n = dcgm_parse((const char *)data, size, list, NULL);

	if (n < -1 || n > DCGM_FOUND_MAX) {
		abort();
	}
	for (int i = 0; i < n; i++) {
		if (list[i].gpu < -1 || list[i].gpu > 1023 ||
		    strlen(list[i].words) == 0) {
			abort();
		}
	}
	return 0;
}
