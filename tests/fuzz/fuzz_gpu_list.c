/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "probes/host/gpu_state.h"
#include "probes/host/inventory.h"

/**
 * Any bytes as the inventory child's answer, as CUDA_VISIBLE_DEVICES and as
 * the driver's version file: nothing is lost or doubled by hiding.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *json = json_parse((const char *)data, size, NULL);
	struct gpu_list list = { .n = 4 };
	char *text = malloc(size + 1), version[16];
	size_t n;

	if (text == NULL) {
		abort();
	}
	memcpy(text, data, size);
	text[size] = '\0';
	if (json != NULL) {
		gpu_list_parse(json, &list, NULL);
		json_decref(json);
	}
	n = list.n;
	gpu_list_apply_visible(&list, text);
	if (list.n != n || gpu_list_visible(&list) > n) {
		abort();
	}
	inventory_driver_version(text, version, sizeof(version));
	free(text);
	return 0;
}
