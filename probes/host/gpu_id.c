/* SPDX-License-Identifier: BSD-3-Clause */
/* How the bus and the UUID of a GPU are written. */
#include "probes/host/gpu_list.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/str.h"

void gpu_list_plain_bus(const char *text, char bus[32])
{
	/* NVML writes the domain with eight digits, the kernel with four */
	if (strlen(text) == 16 && str_starts(text, "0000")) {
		text += 4;
	}
	str_copy(bus, 32, text);
	for (; *bus != '\0'; bus++) {
		*bus = (char)tolower((unsigned char)*bus);
	}
}

const char *gpu_uuid_hex(const void *raw, char text[GPU_UUID_HEX])
{
	char hex[33];

	hash_hex(raw, 16, hex);
	snprintf(text, GPU_UUID_HEX, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8,
		 hex + 12, hex + 16, hex + 20);
	return text;
}
