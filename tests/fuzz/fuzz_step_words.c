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
	struct step_word w;

	if (line && step_words_parse(line, &w) &&
	    ((w.task < 0) != (w.nodes[0] != '\0') || !strstr(line, w.nodes))) {
		abort();
	}
	free(line);
	return 0;
}
