/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sbatch/srun_step.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** What is said of a node is a line of the text, has a code, and is of one that
 *  has not answered before. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	struct muster_node nodes[] = {
		{ .name = (char *)"n1" }, { .name = (char *)"n2" },
		{ .name = (char *)"n10" },
	};

	if (text) {
		muster_read(text, nodes, 3);
	}
	for (size_t i = 0; i < 3; i++) {
		const struct muster_node *n = &nodes[i];

		if (!n->code != !n->says ||
		    (n->says && (!strstr(text, n->says) ||
				 strchr(n->says, '\n')))) {
			abort();
		}
		free(n->says);
	}
	free(text);
	return 0;
}
