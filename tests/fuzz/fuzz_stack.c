/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/hang/procs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Any bytes as what a debugger prints: no control character comes through. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *printed = malloc(size + 1), text[STACK_SIZE];

	if (!printed) {
		return 0;
	}
	memcpy(printed, data, size);
	printed[size] = '\0';
	stack_parse(printed, text);
	for (const char *c = text; *c; c++) {
		if (*c < ' ') {
			abort();
		}
	}
	free(printed);
	return 0;
}
