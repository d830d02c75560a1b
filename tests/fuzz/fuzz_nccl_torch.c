/* SPDX-License-Identifier: BSD-3-Clause */
/* What stands in for the dynamic linker's list: a path, or a reason. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/dl/nccl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(1, size + 1), path[PATH_MAX], version[24];
	struct err e = { 0 };

	if (text == NULL) {
		return 0;
	}
	memcpy(text, data, size);
	if (nccl_torch_parse(text, path, &e) < 0 ? !e.text[0] :
						   path[0] != '/') {
		abort();
	}
	nccl_torch_version(text, version);
	free(text);
	return 0;
}
