/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/allocation.h"
#include "probes/self/self.h"
#include "report/judge/pairs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Any text as what says which GPUs are a job's, as slurm.conf, and as a list
 *  of codes: each is read to its end. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct self_gpu gpus[3] = {
		{ .index = 0, .id = { .uuid = "GPU-0" } },
		{ .index = 1, .id = { .uuid = "GPU-1" } },
		{ .index = 2 },
	};
	struct slurm_conf_node c = { .node = "n1" };
	char *text = calloc(1, size + 1), code[48];
	const char *codes = text;
	struct self_share share;
	size_t n = 0;

	if (!text) {
		return 0;
	}
	memcpy(text, data, size);
	self_share_find(text, NULL, false, gpus, 3, &share);
	self_share_find(NULL, text, true, gpus, 3, &share);
	if (share.all || share.wanted < 0) {
		abort();
	}
	slurm_conf_take(&c, text);
	if (c.gpus < 0 || c.n_includes > SLURM_CONF_INCLUDES) {
		abort();
	}
	while (node_next_code(&codes, code)) {
		n++;
	}
	if (n > size || *codes) {
		abort();
	}
	free(text);
	return 0;
}
