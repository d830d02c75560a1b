/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>

#include "probes/hang/ras.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Any bytes as the answer of NCCL's RAS: ranks have numbers and processes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ras_answer a;

	if (ras_parse((const char *)data, size, &a, NULL) == 0) {
		for (size_t i = 0; i < a.n; i++) {
			if (a.ranks[i].pid < !a.words || a.ranks[i].rank < 0 ||
			    a.ranks[i].comm_size < 1) {
				abort();
			}
		}
	}
	ras_release(&a);
	return 0;
}
