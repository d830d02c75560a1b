/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "probes/host/inventory.h"
#include "probes/host/port.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Any bytes as what mlxlink and rdma_topo print: facts have a value. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct port p = { .name = "mlx5_0" };
	json_t *facts = json_array(), *f;
	char *text = calloc(1, size + 1);
	size_t i;

	memcpy(text, data, size);
	mlxlink_parse(text, size, &p, facts);
	rdma_topo_parse(text, facts);
	json_array_foreach(facts, i, f) {
		if (fact_of(f).value[0] == '\0') {
			abort();
		}
	}
	json_decref(facts);
	free(text);
	return 0;
}
