/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a library that stands in for NCCL: taken, or refused with a
 * reason; nothing of it is run. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "probes/nccl/env.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* the stream only reads */
	FILE *f = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
	struct err e = { 0 };

	if (!f) {
		return 0;
	}
	if (nccl_file_check_stream(f, "lib", &e) < 0 && !e.text[0]) {
		abort();
	}
	fclose(f);
	return 0;
}
