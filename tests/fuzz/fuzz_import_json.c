/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>

#include "report/import/import.h"

/** What was imported is a results.csv of which every row can be read. */
static void check_rows(const struct import *x)
{
	struct str out = STR_INIT;
	struct record_reader r;
	union import_row row;
	size_t n = 0;
	FILE *f;

	record_add_header(x->rows.schema, &out);
	for (size_t i = 0; i < x->rows.n; i++) {
		record_list_get(&x->rows, i, &row);
		record_add_csv(x->rows.schema, &row, &out);
	}
	f = fmemopen(out.data, out.len, "r");
	if (record_reader_open(&r, x->rows.schema, f, NULL) < 0) {
		abort();
	}
	while (record_reader_next(&r, &row, NULL) == 1) {
		n++;
	}
	if (n != x->rows.n || r.bad_rows > 0) {
		abort();
	}
	record_reader_close(&r);
	fclose(f);
	str_release(&out);
}

/** Any bytes as JSON that another program wrote. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct import x = { .file = "results.json" };
	FILE *f = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;

	if (!f) {
		return 0;
	}
	if (import_json(&x, f, NULL) == 0 && x.rows.n > 0) {
		check_rows(&x);
	}
	fclose(f);
	import_release(&x);
	return 0;
}
