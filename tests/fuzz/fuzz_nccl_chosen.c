/* SPDX-License-Identifier: BSD-3-Clause */
/* NCCL's log, of which only the choices of algorithms are read. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/nccl_chosen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char algo[NCCL_CHOSEN_ALGO], proto[NCCL_CHOSEN_PROTO];

	if (nccl_chosen_find((const char *)data, size, "AllReduce", algo,
			     proto) &&
	    (algo[0] == '\0' || strlen(algo) >= sizeof(algo) ||
	     strlen(proto) >= sizeof(proto))) {
		abort();
	}
	return 0;
}
