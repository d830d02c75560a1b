/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/csv.h"

#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/units.h"

/* ---- csv scan ------------------------------------------------------------ */

enum { WIDTH = 16 };
typedef unsigned char bytes __attribute__((vector_size(WIDTH)));
typedef signed char flags __attribute__((vector_size(WIDTH)));

static bytes load(const char *p)
{
	bytes v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/** All bits of each byte of @v that is @c. */
static flags is_byte(bytes v, unsigned char c)
{
	return v == (v ^ v) + c;
}

static flags is_within(bytes v, unsigned char from, unsigned char to)
{
	return v - from <= (v ^ v) + (unsigned char)(to - from);
}

static bool any(flags v)
{
	uint64_t half[2];

	memcpy(half, &v, sizeof(half));
	return (half[0] | half[1]) != 0;
}

/** A bit for each byte of @v that is set, the first one lowest. */
static unsigned bits_of(flags v)
{
	unsigned bits = 0;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	uint64_t half[2];

	memcpy(half, &v, sizeof(half));
	for (int i = 0; i < 2; i++) {
		/* the highest bit of each byte to its place in the highest */
		bits |= (unsigned)(((half[i] & 0x8080808080808080) *
				    0x0002040810204081) >> 56) << 8 * i;
	}
#else
	for (int i = 0; i < WIDTH; i++) {
		bits |= (v[i] ? 1u : 0) << i;
	}
#endif
	return bits;
}

/* ---- fields -------------------------------------------------------------- */

size_t csv_scan_fields(const char *text, size_t n, size_t max,
		       size_t offsets[])
{
	flags closer = { 0 };
	size_t i = 0, fields = 1;

	offsets[0] = 0;
	for (; i + WIDTH <= n && fields + WIDTH < max; i += WIDTH) {
		const bytes v = load(text + i);
		unsigned commas = bits_of(is_byte(v, ','));

		closer |= is_byte(v, '\r') | is_byte(v, '"') |
			  is_byte(v, '\0');
		for (; commas; commas &= commas - 1) {
			offsets[fields++] =
				i + (size_t)__builtin_ctz(commas) + 1;
		}
	}
	if (any(closer)) {
		return 0;
	}
	for (; i < n && fields < max; i++) {
		if (text[i] == '\r' || text[i] == '"' || text[i] == '\0') {
			return 0;
		}
		offsets[fields] = i + 1;	/* if it is a comma */
		fields += text[i] == ',';
	}
	return fields < max ? fields : 0;
}

/* ---- plain lines --------------------------------------------------------- */

static const bool csv_scan_is_plain[UCHAR_MAX + 1] = {
	['a' ... 'z'] = true, ['A' ... 'Z'] = true, [',' ... ':'] = true,
	['_'] = true,	      [' '] = true,
};

size_t csv_scan_plain(const char *text, size_t n)
{
	size_t i = 0, fields = 1;

	if (n == 0 || text[0] == '-' || text[0] == ' ') {
		return 0;
	}
	while (i + WIDTH < n) {	/* and one more */
		bytes commas = { 0 };
		flags bad = { 0 };

		for (int k = 0; k < UCHAR_MAX && i + WIDTH < n; k++) {
			const bytes v = load(text + i);
			const bytes next = load(text + i + 1);
			const flags comma = is_byte(v, ',');

			bad |= ~(is_within(v, ',', ':') | is_byte(v, '_') |
				 is_byte(v, ' ') |
				 is_within(v | 0x20, 'a', 'z'));
			/* a formula may begin with it */
			bad |= comma & (is_byte(next, '-') |
					is_byte(next, ' '));
			commas -= (bytes)comma;
			i += WIDTH;
		}
		if (any(bad)) {
			return 0;
		}
		for (int k = 0; k < WIDTH; k++) {
			fields += commas[k];
		}
	}
	for (; i < n; i++) {
		if (!csv_scan_is_plain[(unsigned char)text[i]] ||
		    ((text[i] == '-' || text[i] == ' ') && i > 0 &&
		     text[i - 1] == ',')) {
			return 0;
		}
		fields += text[i] == ',';
	}
	return fields;
}

/* ---- csv ----------------------------------------------------------------- */

#define CSV_CHUNK 65536

/** Signs that begin a formula of a spreadsheet, full-width ones too, and
 *  characters that a spreadsheet may drop in front of them; NULL at the end. */
static const char *const signs[] = { "=", "+", "-", "@", "\t", "\uff1d",
				     "\uff0b", "\uff0d", "\uff20", NULL };
static const char *const blanks[] = {
	" ", "\r", "\n", "\u00a0", "\u00ad", "\u1680", "\u180e", "\u2000",
	"\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007",
	"\u2008", "\u2009", "\u200a", "\u200b", "\u200c", "\u200d", "\u202f",
	"\u205f", "\u2060", "\u3000", "\ufeff", NULL
};

/** Returned instead of ',', '\n' or EOF if a field is malformed: the row is
 *  bad. */
#define BAD 0

void csv_reader_init(struct csv_reader *r, FILE *f)
{
	*r = (struct csv_reader){ .f = f, .next_line = 1 };
}

void csv_reader_release(struct csv_reader *r)
{
	if (r) {
		str_release(&r->raw);
		str_release(&r->text);
	}
}

/** Forget what stands before the row at hand, read on; false at the end. */
static bool fill(struct csv_reader *r)
{
	size_t n = 0;
	char *chunk;

	if (r->start > 0) {
		r->raw.len -= r->start;
		memmove(r->raw.data, r->raw.data + r->start, r->raw.len);
		r->at -= r->start;
		r->start = 0;
	}
	chunk = str_more(&r->raw, CSV_CHUNK);
	if (!chunk) {
		r->error = ENOMEM;
		return false;
	}
	n = fread(chunk, 1, CSV_CHUNK, r->f);
	if (n == 0 && ferror(r->f)) {
		r->error = errno ? errno : EIO;
	}
	str_cut(&r->raw, r->raw.len - CSV_CHUNK + n);
	return n > 0 && !r->error;
}

static int peek(struct csv_reader *r)
{
	if (r->at == r->raw.len && !fill(r)) {
		return EOF;
	}
	return (unsigned char)r->raw.data[r->at];
}

static int next_char(struct csv_reader *r)
{
	int c = peek(r);

	if (c != EOF) {
		r->at++;
	}
	if (c == '\n') {
		r->next_line++;
	}
	return c;
}

/** The same outside of quotes, where CRLF is one newline. */
static int next_bare(struct csv_reader *r)
{
	int c = next_char(r);

	return c == '\r' && peek(r) == '\n' ? next_char(r) : c;
}

static bool ends_field(int c)
{
	return c == ',' || c == '\n' || c == EOF;
}

static int bad(struct csv_reader *r, const char *why)
{
	r->bad_why = why;
	return BAD;
}

/** Keep @c as part of the field; false when the row is bad for it. */
static bool keep(struct csv_reader *r, int c)
{
	if (c == '\0') {
		return bad(r, "NUL byte");
	}
	if (r->at - r->start > CSV_MAX_ROW) {
		return bad(r, "row too long");
	}
	str_addch(&r->text, (char)c);
	return true;
}

/** A field without quotes up to what ends it, which is returned; or BAD. */
static int read_plain(struct csv_reader *r)
{
	static const bool closer[256] = {
		[','] = true, ['\n'] = true, ['\r'] = true, ['"'] = true,
		['\0'] = true,
	};
	int c;

	for (;;) {
		const char *from = r->raw.data + r->at;
		const size_t left = r->raw.len - r->at;
		size_t n = 0;

		/* in one go all up to what may need a closer look */
		while (n < left && !closer[(unsigned char)from[n]]) {
			n++;
		}
		r->at += n;
		if (n > 0 && r->at - r->start > CSV_MAX_ROW) {
			return bad(r, "row too long");
		}
		str_addmem(&r->text, from, n);
		c = next_bare(r);
		if (ends_field(c)) {
			return c;
		}
		if (c == '"') {
			return bad(r, "misplaced quote");
		}
		if (!keep(r, c)) {
			return BAD;
		}
	}
}

/** The same for a quoted field, its opening quote already read. */
static int read_quoted(struct csv_reader *r)
{
	int c;

	for (;;) {
		c = next_char(r);
		if (c == EOF || r->next_line - r->line > CSV_MAX_LINES) {
			return bad(r, "unclosed quote");
		}
		if (c == '"') {
			if (peek(r) != '"') {
				break;
			}
			r->at++;
		}
		if (!keep(r, c)) {
			return BAD;
		}
	}
	c = next_bare(r);
	return ends_field(c) ? c : bad(r, "misplaced quote");
}

/** Bytes of the one of @list that @text begins with, or 0. */
static size_t begin_len(const char *text, const char *const list[])
{
	for (size_t i = 0; list[i]; i++) {
		if (str_starts(text, list[i])) {
			return strlen(list[i]);
		}
	}
	return 0;
}

/** Return true if a spreadsheet could read the beginning of @text as a
 *  formula. */
static bool begins_formula(const char *text)
{
	size_t n;

	while ((n = begin_len(text, blanks)) > 0) {
		text += n;
	}
	return begin_len(text, signs) > 0;
}

/** Return true if @text is apostrophes followed by a formula. */
static bool is_protected(const char *text)
{
	if (*text != '\'') {
		return false;
	}
	text += strspn(text, "'");
	return begins_formula(text);
}

/**
 * A row that is there to its end and has nothing to look at closer but commas,
 * as nearly all are, in one go; false: it is none of those.
 */
static bool read_simple(struct csv_reader *r, size_t offsets[CSV_MAX_FIELDS],
			size_t *fields)
{
	const char *from = r->raw.data + r->at, *end;
	size_t len, n;

	end = memchr(from, '\n', r->raw.len - r->at);
	if (!end || end - from > CSV_MAX_ROW) {
		return false;
	}
	len = (size_t)(end - from);
	n = csv_scan_fields(from, len, CSV_MAX_FIELDS, offsets);
	if (n == 0) {
		return false;
	}
	str_addmem(&r->text, from, len + 1);
	if (r->text.failed) {
		return false;
	}
	for (size_t i = 1; i < n; i++) {
		r->text.data[offsets[i] - 1] = '\0';
	}
	r->text.data[len] = '\0';
	r->at += len + 1;
	r->next_line++;
	*fields = n;
	return true;
}

/**
 * Read one row, its fields one after the other into r->text.  Returns what
 * ended it: '\n', EOF or BAD.
 */
static int read_row(struct csv_reader *r, struct csv_row *row)
{
	size_t offsets[CSV_MAX_FIELDS];
	int end = ',';

	row->n = 0;
	if (read_simple(r, offsets, &row->n)) {
		end = '\n';
	}
	while (end == ',') {	/* field by field */
		if (row->n == CSV_MAX_FIELDS) {
			row->n = 0;
			return bad(r, "too many fields");
		}
		offsets[row->n++] = r->text.len;
		if (peek(r) == '"') {
			r->at++;
			end = read_quoted(r);
		} else {
			end = read_plain(r);
		}
		str_addch(&r->text, '\0');
	}
	if (r->text.failed) {
		r->error = ENOMEM;
		return BAD;
	}
	for (size_t i = 0; i < row->n; i++) {
		const char *text = r->text.data + offsets[i];

		row->field[i] = text + is_protected(text);
	}
	row->unended = end == EOF;
	return end;
}

int csv_next(struct csv_reader *r, struct csv_row *row, struct err *e)
{
	static const char mark[] = "\xef\xbb\xbf";

	/* a byte order mark is not part of the first name */
	if (r->next_line == 1 && r->at == 0 && peek(r) != EOF &&
	    str_starts(r->raw.data, mark)) {
		r->at += sizeof(mark) - 1;
	}
	while (peek(r) != EOF) {
		int end;

		r->start = r->at;
		r->line = r->next_line;
		str_reset(&r->text);
		end = read_row(r, row);
		if (r->error) {
			break;
		}
		if (end == BAD) {
			/* count the row at hand as bad and go on behind the
			 * first newline in it: what a stray quote made part
			 * of it are most likely good rows */
			r->bad_rows++;
			r->bad_line = r->line;
			r->at = r->start;
			r->next_line = r->line;
			while (peek(r) != EOF && next_char(r) != '\n') {
				r->start = r->at; /* so that fill() can let go
						     of it */
			}
		} else if (row->n > 1 || *row->field[0]) {
			return 1;
		}
	}
	if (r->error) {
		return err_set(e, r->error, "cannot read line %zu",
			       r->next_line);
	}
	return 0;
}

const char *csv_raw(const struct csv_reader *r, size_t *len)
{
	*len = r->at - r->start;
	return r->raw.data + r->start;
}

/** Bytes that a field may have anywhere, as nearly all fields are of these
 *  alone. */
static const bool is_plain[UCHAR_MAX + 1] = {
	['a' ... 'z'] = true, ['A' ... 'Z'] = true, ['.' ... ':'] = true,
	['_'] = true, [' '] = true, ['-'] = true,
};

void csv_add_field(struct str *out, const char *text)
{
	struct str clean = STR_INIT;
	const char *c = text;
	double number;
	bool quoted;

	while (is_plain[(unsigned char)*c]) {
		c++;
	}
	if (*c == '\0' && *text != '-' && *text != ' ') {
		str_addmem(out, text, (size_t)(c - text));
		return;
	}
	quoted = strpbrk(text, ",\"\r\n") != NULL;
	/* a formula is what the file has, without control characters */
	str_add(&clean, text);
	str_harmless_from(&clean, 0, STR_LINES);
	text = str_text(&clean);
	if (quoted) {
		str_addch(out, '"');
	}
	/* an apostrophe before a formula, but "-1" and "-" are none, and before
	 * a text whose own apostrophe could be read as such a one */
	if (*text == '\'' ? is_protected(text) :
	    begins_formula(text) && strcmp(text, "-") != 0 &&
	    units_parse_real(text, -DBL_MAX, DBL_MAX, &number, NULL) < 0) {
		str_addch(out, '\'');
	}
	if (!quoted) {
		str_add(out, text);
	}
	for (c = text; quoted && *c; c++) {
		if (*c == '"') {
			str_addch(out, '"');
		}
		str_addch(out, *c);
	}
	if (quoted) {
		str_addch(out, '"');
	}
	out->failed = out->failed || clean.failed;
	str_release(&clean);
}

void csv_add_text(struct str *out, const char *text)
{
	str_addch(out, ',');
	csv_add_field(out, text);
}

void csv_add_real(struct str *out, int digits, double v)
{
	str_addch(out, ',');
	if (isfinite(v)) {
		str_addf(out, "%.*g", digits, v);
	}
}

bool csv_next_plain(struct csv_reader *r, const char **line, size_t *n)
{
	const char *from, *end;

	r->start = r->at;	/* what is before it may go */
	if (r->next_line == 1 || peek(r) == EOF) {
		return false;
	}
	from = r->raw.data + r->at;
	end = memchr(from, '\n', r->raw.len - r->at);
	if (!end && fill(r)) {
		from = r->raw.data + r->at;
		end = memchr(from, '\n', r->raw.len - r->at);
	}
	if (!end || end - from > CSV_MAX_ROW) {
		return false;
	}
	*line = from;
	*n = (size_t)(end - from) + 1;
	if (csv_scan_plain(from, *n - 1) - 1 >= CSV_MAX_FIELDS) {
		return false;
	}
	r->line = r->next_line++;
	r->at += *n;
	return true;
}
