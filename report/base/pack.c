/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/base/pack.h"

#include <stdlib.h>

#include <zlib.h>

void pack_add(const void *bytes, size_t n, struct str *out)
{
	uLongf size = compressBound(n);
	Bytef *packed = malloc(size);

	if (packed && compress(packed, &size, bytes, n) == Z_OK) {
		str_addmem(out, (const char *)packed, size);
	} else {
		out->failed = true;
	}
	free(packed);
}
