/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/gpu/gpu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Any bytes as what dcgmi prints: what is found has a GPU, or none. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct dcgm_report r;

	if (dcgm_parse((const char *)data, size, &r, NULL) == 0 &&
	    r.n_tests == 0) {
		abort();
	}
	for (size_t i = 0; i < r.n; i++) {
		if (r.list[i].gpu < -1 || r.list[i].gpu > 1023 ||
		    strlen(r.list[i].words) == 0) {
			abort();
		}
	}
	return 0;
}
