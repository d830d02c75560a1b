/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>

#include "lib/data/json.h"
#include "report/explain/explain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Any bytes as dumps of two ranks, a pickle or JSON, and as a line of the
 * Inspector. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *json = json_parse_pickle(data, size, NULL);
	struct flight *f = flight_new();
	struct str out = STR_INIT;

	if (!json) {
		json = json_parse((const char *)data, size, NULL);
	}
	if (json && flight_add(f, json, "rank_0", NULL) == 0) {
		flight_add(f, json, "rank_1", NULL);
		flight_judge(f, &out);
		if (!str_starts(str_text(&out), FLIGHT_SAYS)) {
			abort();
		}
	}
	if (f) {
		flight_add_line(f, (const char *)data, size);
		flight_judge(f, &out);
	}
	json_decref(json);
	flight_release(f);
	str_release(&out);
	return 0;
}
