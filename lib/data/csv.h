/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_CSV_H
#define LIB_DATA_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "lib/base/err.h"
#include "lib/base/str.h"

/* ---- csv scan ------------------------------------------------------------ */

/**
 * Scan a line of CSV 16 bytes at a time, because runs have a million lines.
 * Uses the vector extensions that gcc and clang have on every machine.
 */

/**
 * Store the offsets at which the fields of @text (@n bytes without the end of
 * the line) begin in @offsets of @max entries.  Returns their number; 0 if it
 * has quotes, carriage returns or NULs, or @max fields or more.
 */
size_t csv_scan_fields(const char *text, size_t n, size_t max,
		       size_t offsets[]);

/**
 * Number of fields in the @n bytes of @text, without the end of the line, if
 * they consist of letters, digits and the signs of names, numbers and times,
 * and no field begins with '-'; else 0.
 */
size_t csv_scan_plain(const char *text, size_t n);

/* ---- csv ----------------------------------------------------------------- */

#define CSV_MAX_FIELDS 128
#define CSV_MAX_ROW    (256 * 1024)	/* bytes, larger rows are bad rows */
#define CSV_MAX_LINES  64		/* that one row may span */

/**
 * RFC 4180, read leniently: LF or CRLF, quoted fields with doubled quotes and
 * newlines, blank lines and a byte order mark skipped.  A bad row (NUL byte,
 * unclosed or misplaced quote, too many fields, too long) is counted and
 * skipped up to the next newline, even one in quotes: a line that lost its end
 * when its writer died does not take the lines after it along.
 */
struct csv_reader {
	FILE *f;		/* borrowed */
	struct str raw;		/* as read, from the row at hand on */
	size_t start, at;	/* in raw: of this row, of the next character */
	struct str text;	/* the fields of this row, NUL-ended each */
	size_t line;		/* of the row last returned, from 1 */
	size_t next_line;
	int error;		/* errno of a failed read */
	size_t bad_rows;
	const char *bad_why;	/* of the last bad row, static text */
	size_t bad_line;
};

struct csv_row {
	size_t n;
	const char *field[CSV_MAX_FIELDS];	/* NUL-ended, in the reader */
	bool unended;	/* last line without its newline: may be truncated */
};

void csv_reader_init(struct csv_reader *r, FILE *f);
void csv_reader_release(struct csv_reader *r);
/** 1: @row is filled, valid until the next call; 0: end; -1: read error. */
int csv_next(struct csv_reader *r, struct csv_row *row, struct err *e);
/** The bytes of that row as they stand in the file, *@len of them, up to and
 *  with its newline; valid as long as the row. */
const char *csv_raw(const struct csv_reader *r, size_t *len);
/** Take the next row unparsed, @n bytes with the end of the line, if its fields
 *  would be written the same way; valid until the next call.  Returns false if
 *  not, and takes nothing: call csv_next(). */
bool csv_next_plain(struct csv_reader *r, const char **line, size_t *n);

/**
 * Append one field, made harmless, quoted only where RFC 4180 needs it.  What a
 * spreadsheet would take for a formula gets an apostrophe in front, as does
 * what already has one so: csv_next() takes one off, and gives the same text.
 * Numbers stay as they are.
 */
void csv_add_field(struct str *out, const char *text);
/** Append a comma and the field. */
void csv_add_text(struct str *out, const char *text);
/** A comma, and @v with @digits digits if it is finite. */
void csv_add_real(struct str *out, int digits, double v);

#endif
