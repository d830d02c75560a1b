/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdio.h>

#include "lib/base/str.h"
#include "report/history/history.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** The first is a file of a history, which others write; behind a zero byte it
 *  is the summary of a run that an earlier version wrote. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = STR_INIT;
	const struct wrap w = { .out = &text, .width = 80 };
	struct store_runs r = { 0 };
	struct summary old;
	struct history h;
	struct coverage c;
	struct err e;
	FILE *f;

	if (size > 0 && data[0] == 0) {
		store_parse_old((const char *)data + 1, size - 1, &old, &e);
		summary_release(&old);
		return 0;
	}
	f = size ? fmemopen((void *)data, size, "r") : NULL;
	if (f && store_read_file(f, &r, &e) == 0 &&
	    history_make(r.runs, r.n, &h) == 0) {
		h.dir = "d";
		h.verbose = true;
		history_words(&h, &w);
		if (coverage_make(r.runs, r.n, NULL, 0, &c, &e) == 0) {
			coverage_words(&c, 0, 1800000000, &w);
			json_decref(coverage_json(&c));
			coverage_csv(&c, &text);
		}
		if (c.n >= 2 && c.n <= 64) {
			coverage_next(&c, NULL, 2, 1800000000, true);
		}
		coverage_release(&c);
		history_csv(&h, &text);
		json_decref(history_json(&h));
		history_release(&h);
	}
	if (f) {
		fclose(f);
	}
	store_release(&r);
	str_release(&text);
	return 0;
}
