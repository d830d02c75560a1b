/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/engine/coord/work.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Nodes that are taken fit, and stand in the line. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = strndup((const char *)data, size);
	char nodes[STEP_NODES];
	int task;

	if (line && step_words_parse(line, nodes, &task) &&
	    ((task < 0) != (nodes[0] != '\0') || !strstr(line, nodes))) {
		abort();
	}
	free(line);
	return 0;
}
