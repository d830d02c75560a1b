/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a CSV file: the reader ends, counts what it skips, and what it
 * accepts is written and read back unchanged, but for what is made harmless.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Is @back the field @text, harmless? */
static bool is_same(const char *text, const char *back)
{
	char *want = strdup(text);
	bool same;

	str_harmless(want, STR_LINES);
	same = strcmp(want, back) == 0;
	free(want);
	return same;
}

/** Is @row the second row of @text, which csv_add_field() wrote? */
static void expect_same(const struct csv_row *row, const struct str *text)
{
	FILE *f = fmemopen(text->data, text->len, "r");
	struct csv_reader r;
	struct csv_row back;

	csv_reader_init(&r, f);
	if (csv_next(&r, &back, NULL) != 1 ||
	    csv_next(&r, &back, NULL) != 1 || back.n != row->n) {
		abort();
	}
	for (size_t i = 0; i < row->n; i++) {
		if (!is_same(row->field[i], back.field[i])) {
			abort();
		}
	}
	csv_reader_release(&r);
	fclose(f);
}

static void write_and_compare(const struct csv_row *row)
{
	struct str text = STR_INIT;

	/* at the very start a byte order mark would be no text */
	str_add(&text, "first\n");
	for (size_t i = 0; i < row->n; i++) {
		if (i) {
			str_addch(&text, ',');
		}
		csv_add_field(&text, row->field[i]);
	}
	str_addch(&text, '\n');
	/* quoting may push a row at the limit over it */
	if (text.len < CSV_MAX_ROW) {
		expect_same(row, &text);
	}
	str_release(&text);
}

/** The bytes of @row are in the file, and end where it does. */
static void expect_raw(const struct csv_reader *r, const struct csv_row *row,
		       const uint8_t *data, size_t size)
{
	size_t len;
	const char *raw = csv_raw(r, &len);

	if (len == 0 || len > size || !memmem(data, size, raw, len) ||
	    (raw[len - 1] != '\n' &&
	     (!row->unended || memcmp(data + size - len, raw, len) != 0))) {
		abort();
	}
}

/** Taken as they stand where they can be, the rows are the same @rows, and as
 *  many are bad. */
static void expect_plain(FILE *f, size_t rows, size_t bad_rows)
{
	struct csv_reader r;
	struct csv_row row;
	const char *line;
	size_t n, len;

	rewind(f);
	csv_reader_init(&r, f);
	for (n = 0; csv_next_plain(&r, &line, &len) ||
	     csv_next(&r, &row, NULL) == 1; n++) {
		;
	}
	if (n != rows || r.bad_rows != bad_rows) {
		abort();
	}
	csv_reader_release(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* fmemopen() does not take an empty text */
	FILE *f = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
	struct csv_reader r;
	struct csv_row row;
	size_t line = 0, rows = 0;

	if (!f) {
		return 0;
	}
	csv_reader_init(&r, f);
	while (csv_next(&r, &row, NULL) == 1) {
		if (r.line <= line || row.n < 1 || row.n > CSV_MAX_FIELDS) {
			abort();
		}
		line = r.line;
		rows++;
		expect_raw(&r, &row, data, size);
		write_and_compare(&row);
	}
	if (r.bad_rows && !r.bad_why) {
		abort();
	}
	expect_plain(f, rows, r.bad_rows);
	csv_reader_release(&r);
	fclose(f);
	return 0;
}
