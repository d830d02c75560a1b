/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel's list of CPUs. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "probes/host/port.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[4096];
	cpu_set_t set;

	size = size < sizeof(text) ? size : sizeof(text) - 1;
	memcpy(text, data, size);
	text[size] = '\0';
	pin_parse(text, &set);
	return 0;
}
