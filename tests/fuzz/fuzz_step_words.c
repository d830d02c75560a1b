/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/engine/coord/step_words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Nodes that are taken fit, and stand in the line. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char nodes[32], *line = strndup((const char *)data, size);

	if (line && step_words_parse(line, nodes, sizeof(nodes)) &&
	    (!nodes[0] || strlen(nodes) >= sizeof(nodes) ||
	     !strstr(line, nodes))) {
		abort();
	}
	free(line);
	return 0;
}
