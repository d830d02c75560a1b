/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>

#include "lib/data/record_rows.h"
#include "probes/engine/agent/node_task.h"

/* What a child says becomes rows that can be written, or is refused. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *msg = node_task_message((const char *)data, size, "ok", "", "");
	struct str line = STR_INIT;
	struct memlock_row row;
	json_t *json;
	size_t i;

	json_array_foreach(json_object_get(msg, "rows"), i, json) {
		if (record_from_json(&schema_memlock, json, &row, NULL) == 0) {
			record_add_csv(&schema_memlock, &row, &line);
		}
	}
	str_release(&line);
	json_decref(msg);
	return 0;
}
