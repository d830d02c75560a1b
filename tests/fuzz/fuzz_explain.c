/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/explain/explain.h"

/* A log: read as a whole and line by line, the same must be met. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const struct symptoms *s = symptoms_builtin();
	struct str out = STR_INIT;
	struct explain x, y;
	size_t at = 0;

	if (explain_begin(&x, s, NULL) < 0 || explain_begin(&y, s, NULL) < 0) {
		return 0;
	}
	explain_feed(&x, text, size);
	while (at < size) {
		const char *end = memchr(text + at, '\n', size - at);
		size_t len = end ? (size_t)(end - text) + 1 - at : size - at;

		explain_feed(&y, text + at, len);
		at += len;
	}
	explain_end(&x);
	explain_end(&y);
	if (x.n != y.n || x.lines != y.lines) {
		abort();
	}
	for (size_t i = 0; i < x.n; i++) {
		if (x.order[i]->symptom != y.order[i]->symptom ||
		    x.order[i]->line != y.order[i]->line ||
		    x.order[i]->count != y.order[i]->count) {
			abort();
		}
	}
	explain_words(&x, "log", 80, false, &out);
	explain_csv(&x, &out);
	json_decref(explain_json(&x, "log"));
	str_release(&out);
	explain_release(&x);
	explain_release(&y);
	return 0;
}
