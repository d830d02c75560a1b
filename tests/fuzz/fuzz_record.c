/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as results.csv: rows are typed values or counted as bad, and an
 * accepted row is written and read back as the same line.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Header and @row as the text of a file. */
static void write_file(const struct p2p_row *row, struct str *out)
{
	record_add_header(&schema_p2p, out);
	record_add_csv(&schema_p2p, row, out);
}

static void expect_same(const struct p2p_row *row)
{
	struct str first = STR_INIT, second = STR_INIT;
	struct record_reader r;
	struct p2p_row back;
	FILE *f;

	write_file(row, &first);
	f = fmemopen(first.data, first.len, "r");
	if (record_reader_open(&r, &schema_p2p, f, NULL) < 0 ||
	    record_reader_next(&r, &back, NULL) != 1 || r.bad_rows) {
		abort();
	}
	write_file(&back, &second);
	if (strcmp(first.data, second.data) != 0) {
		abort();
	}
	record_reader_close(&r);
	fclose(f);
	str_release(&first);
	str_release(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *f = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
	struct record_reader r;
	struct p2p_row row;

	if (!f) {
		return 0;
	}
	if (record_reader_open(&r, &schema_p2p, f, NULL) == 0) {
		while (record_reader_next(&r, &row, NULL) == 1) {
			expect_same(&row);
			json_decref(record_json(&schema_p2p, &row));
		}
		if (r.bad_rows && !r.bad_why[0]) {
			abort();
		}
		record_reader_close(&r);
	}
	fclose(f);
	return 0;
}
