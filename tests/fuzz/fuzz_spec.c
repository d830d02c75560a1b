/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/spec/spec.h"

/** What is taken survives the way through JSON and back. */
static void check_round_trip(const struct spec *s)
{
	struct spec back;
	json_t *json = spec_json(s), *again;

	if (!json) {
		return;		/* text that is not UTF-8 cannot be kept */
	}
	if (spec_from_json(&back, json, NULL) < 0) {
		abort();
	}
	again = spec_json(&back);
	if (!json_equal(json, again)) {
		abort();
	}
	json_decref(again);
	json_decref(json);
}

/** "name=value" lines as options, or all of the input as run.json's options. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct spec s;
	struct err e;
	char *text = calloc(1, size + 1);
	char *next = text, *line;
	json_t *json;

	if (!text) {
		return 0;
	}
	memcpy(text, data, size);
	json = json_parse(text, size, &e);
	if (json && spec_from_json(&s, json, &e) == 0) {
		check_round_trip(&s);
	}
	json_decref(json);
	spec_init(&s);
	while ((line = strsep(&next, "\n"))) {
		char *value = strchr(line, '=');

		if (value) {
			*value++ = '\0';
		}
		for (const struct spec_option *o = spec_options; o->name; o++) {
			if (strcmp(o->name, line) == 0 &&
			    (value || o->optional_value ||
			     o->type == SPEC_FLAG || o->type == SPEC_COUNT)) {
				spec_set(&s, o, value, &e);
			}
		}
	}
	spec_check(&s, &e);
	check_round_trip(&s);
	free(text);
	return 0;
}
