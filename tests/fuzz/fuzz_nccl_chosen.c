/* SPDX-License-Identifier: BSD-3-Clause */
/* NCCL's log, of which only the choices of algorithms are read, and its file of
 * settings. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/host/nccl_conf.h"
#include "probes/nccl/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_settings(const uint8_t *data, size_t size)
{
	char name[NCCL_CONF_NAME], value[NCCL_CONF_VALUE];
	char *text = calloc(1, size + 1);
	const char *at = text;

	if (text == NULL) {
		return;
	}
	memcpy(text, data, size);
	while ((at = nccl_conf_next(at, size % 2 ? 22809 : 0, name,
				     value)) != NULL) {
		if (strncmp(name, "NCCL_", 5) != 0 || strchr(name, '=')) {
			abort();
		}
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char algo[NCCL_CHOSEN_ALGO], proto[NCCL_CHOSEN_PROTO];

	if (nccl_chosen_find((const char *)data, size, "AllReduce", algo,
			     proto) &&
	    (algo[0] == '\0' || strlen(algo) >= sizeof(algo) ||
	     strlen(proto) >= sizeof(proto))) {
		abort();
	}
	read_settings(data, size);
	return 0;
}
