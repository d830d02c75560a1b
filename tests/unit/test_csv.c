/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/data/csv.h"

/** A reader over text in memory, closed by teardown(). */
struct fixture {
	struct csv_reader reader;
	struct csv_row row;
	FILE *f;
};

static int setup(void **state)
{
	static struct fixture x;

	x = (struct fixture){ 0 };
	*state = &x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	csv_reader_release(&x->reader);
	if (x->f) {
		fclose(x->f);
	}
	return 0;
}

static void given(struct fixture *x, const void *text, size_t len)
{
	/* an own file: fmemopen() does not take an empty text */
	x->f = tmpfile();
	assert_non_null(x->f);
	assert_int_equal(fwrite(text, 1, len, x->f), len);
	rewind(x->f);
	csv_reader_init(&x->reader, x->f);
}

#define GIVEN(x, literal) given((x), (literal), sizeof(literal) - 1)

/** The next row, its fields joined by '|'. */
static void expect_row(struct fixture *x, size_t line, const char *joined)
{
	struct str s = STR_INIT;

	assert_int_equal(csv_next(&x->reader, &x->row, NULL), 1);
	for (size_t i = 0; i < x->row.n; i++) {
		str_add(&s, i ? "|" : "");
		str_add(&s, x->row.field[i]);
	}
	assert_string_equal(str_text(&s), joined);
	assert_int_equal(x->reader.line, line);
	str_release(&s);
}

static void expect_end(struct fixture *x, size_t bad_rows)
{
	assert_int_equal(csv_next(&x->reader, &x->row, NULL), 0);
	assert_int_equal(x->reader.bad_rows, bad_rows);
}

static void plain_rows(void **state)
{
	struct fixture *x = *state;

	GIVEN(x, "a,b,c\n1,,3\n,,\n");
	expect_row(x, 1, "a|b|c");
	expect_row(x, 2, "1||3");
	expect_row(x, 3, "||");
	assert_false(x->row.unended);
	expect_end(x, 0);
}

static void quoted_fields(void **state)
{
	struct fixture *x = *state;

	GIVEN(x, "\"a,b\",\"say \"\"hi\"\"\",\"\"\n\"two\nlines\",x\n3\n");
	expect_row(x, 1, "a,b|say \"hi\"|");
	expect_row(x, 2, "two\nlines|x");
	expect_row(x, 4, "3");
	expect_end(x, 0);
}

static void crlf_is_one_newline_and_a_lone_cr_is_text(void **state)
{
	struct fixture *x = *state;

	GIVEN(x, "a,b\r\nc,\"d\"\r\ne\rf,\"g\r\nh\"\r\n");
	expect_row(x, 1, "a|b");
	expect_row(x, 2, "c|d");
	expect_row(x, 3, "e\rf|g\r\nh");
	expect_end(x, 0);
}

static void blank_lines_and_byte_order_mark_are_no_rows(void **state)
{
	struct fixture *x = *state;

	GIVEN(x, "\xef\xbb\xbf" "a,b\n\n\r\n1,2\n\n");
	expect_row(x, 1, "a|b");
	expect_row(x, 4, "1|2");
	expect_end(x, 0);
}

static void empty_file_has_no_rows(void **state)
{
	GIVEN(*state, "");
	expect_end(*state, 0);
}

static void last_line_without_newline_is_marked(void **state)
{
	struct fixture *x = *state;

	GIVEN(x, "a,b\n1,2");
	expect_row(x, 1, "a|b");
	assert_false(x->row.unended);
	expect_row(x, 2, "1|2");
	assert_true(x->row.unended);
	expect_end(x, 0);
}

static void nul_byte_spoils_its_row_only(void **state)
{
	struct fixture *x = *state;

	GIVEN(x, "a,b\n1,\0002\n3,4\n");
	expect_row(x, 1, "a|b");
	expect_row(x, 3, "3|4");
	expect_end(x, 1);
	assert_string_equal(x->reader.bad_why, "NUL byte");
	assert_int_equal(x->reader.bad_line, 2);
}

static void misplaced_quotes_spoil_their_row_only(void **state)
{
	struct fixture *x = *state;

	GIVEN(x, "a\"b,c\n\"d\"e,f\ng,h\n");
	expect_row(x, 3, "g|h");
	expect_end(x, 2);
	assert_string_equal(x->reader.bad_why, "misplaced quote");
}

static void unclosed_quote_does_not_swallow_what_follows(void **state)
{
	struct fixture *x = *state;

	/* cut in a quoted field, then a later run went on */
	GIVEN(x, "1,\"cut\n2,x\n3,\"y, z\"\n4,\"cut again");
	expect_row(x, 2, "2|x");
	expect_row(x, 3, "3|y, z");
	expect_end(x, 2);
	assert_int_equal(x->reader.bad_line, 4);
}

static void unclosed_quote_in_a_long_file(void **state)
{
	struct fixture *x = *state;
	struct str s = STR_INIT;
	size_t rows = 0;

	str_add(&s, "\"open\n");
	for (int i = 0; i < 200000; i++) {
		str_addf(&s, "%d,x\n", i);
	}
	given(x, s.data, s.len);
	str_release(&s);
	while (csv_next(&x->reader, &x->row, NULL) == 1) {
		rows++;
	}
	assert_int_equal(rows, 200000);
	assert_int_equal(x->reader.bad_rows, 1);
	assert_string_equal(x->reader.bad_why, "unclosed quote");
	/* nothing but the rows at hand is kept in memory */
	assert_true(x->reader.raw.cap < 1024 * 1024);
}

static void row_of_a_megabyte_is_bad(void **state)
{
	struct fixture *x = *state;
	struct str s = STR_INIT;

	str_add(&s, "a,b\n");
	for (int i = 0; i < 1024 * 1024; i++) {
		str_addch(&s, 'x');
	}
	str_add(&s, ",y\n1,2\n");
	given(x, s.data, s.len);
	str_release(&s);
	expect_row(x, 1, "a|b");
	expect_row(x, 3, "1|2");
	expect_end(x, 1);
	assert_string_equal(x->reader.bad_why, "row too long");
	assert_true(x->reader.raw.cap < 1024 * 1024);
}

static void number_of_fields_is_limited(void **state)
{
	struct fixture *x = *state;
	struct str s = STR_INIT;

	for (int i = 1; i < CSV_MAX_FIELDS; i++) {
		str_addch(&s, ',');
	}
	str_add(&s, "last\n,");
	for (int i = 1; i < CSV_MAX_FIELDS; i++) {
		str_addch(&s, ',');
	}
	str_add(&s, "\nz\n");
	given(x, s.data, s.len);
	str_release(&s);
	assert_int_equal(csv_next(&x->reader, &x->row, NULL), 1);
	assert_int_equal(x->row.n, CSV_MAX_FIELDS);
	assert_string_equal(x->row.field[CSV_MAX_FIELDS - 1], "last");
	expect_row(x, 3, "z");
	expect_end(x, 1);
	assert_string_equal(x->reader.bad_why, "too many fields");
}

static void read_error_is_told(void **state)
{
	struct fixture *x = *state;
	struct err e;

	x->f = fopen("/", "r");	/* opens, but cannot be read */
	assert_non_null(x->f);
	csv_reader_init(&x->reader, x->f);
	assert_int_equal(csv_next(&x->reader, &x->row, &e), -1);
	assert_int_equal(e.code, EISDIR);
}

static void writing_quotes_only_what_needs_it(void **state)
{
	static const char *const fields[][2] = {
		{ "", "" },
		{ "plain text", "plain text" },
		{ "a,b", "\"a,b\"" },
		{ "say \"hi\"", "\"say \"\"hi\"\"\"" },
		{ "two\nlines", "\"two\nlines\"" },
		{ "cr\r", "\"cr?\"" },
		{ "\r\t=1", "\"?\t=1\"" },
		{ "C1 \xc2\x9b \xe2\x80\xae \x9b", "C1 ? ? ?" },
		{ "\xc3\xbc \xe6\x9d\xb1", "\xc3\xbc \xe6\x9d\xb1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		struct str s = STR_INIT;

		csv_add_field(&s, fields[i][0]);
		assert_string_equal(str_text(&s), fields[i][1]);
		str_release(&s);
	}
}

static void no_text_becomes_a_formula(void **state)
{
	/* as it is, as it is written; "-1" and the like are numbers */
	static const char *const fields[][2] = {
		{ "=1+1", "'=1+1" },
		{ "=HYPERLINK(\"http://x\",\"y\")",
		  "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\"" },
		{ "+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0" },
		{ "-2+3", "'-2+3" },
		{ "@SUM(1)", "'@SUM(1)" },
		{ "\t=1", "'\t=1" },
		{ " =1", "' =1" },
		{ " -x", "' -x" },
		{ "\u00a0=1", "'\u00a0=1" },
		{ "\u200b\ufeff @x", "'\u200b\ufeff @x" },
		{ "\uff1d1", "'\uff1d1" },
		{ "\uff0b1", "'\uff0b1" },
		{ "\uff0d1", "'\uff0d1" },
		{ "\uff20x", "'\uff20x" },
		{ "'\uff1d1", "''\uff1d1" },
		{ "' =1", "'' =1" },
		{ " x", " x" },
		{ "\u00fc=1", "\u00fc=1" },
		{ "-1", "-1" },
		{ "-1.5e-05", "-1.5e-05" },
		{ "-", "-" },
		{ "a=b", "a=b" },
		/* an apostrophe of its own is not lost */
		{ "'=1", "''=1" },
		{ "''-1", "'''-1" },
		{ "'tis", "'tis" },
		{ "'", "'" },
	};
	struct fixture *x = *state;
	struct str s = STR_INIT;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const size_t from = s.len;

		csv_add_field(&s, fields[i][0]);
		assert_string_equal(s.data + from, fields[i][1]);
		str_addch(&s, '\n');
	}
	given(x, s.data, s.len);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		expect_row(x, i + 1, fields[i][0]);
	}
	expect_end(x, 0);
	str_release(&s);
}

/** As many rows as fill the buffer several times, so that each kind is cut by
 *  its end at some place. */
static void rows_are_the_same_wherever_the_buffer_ends(void **state)
{
	static const char *const rows[][2] = {
		{ "a,b,-c\n", "a|b|-c" },
		{ "1,,\n", "1||" },
		{ "\"x,y\",z,\n", "x,y|z|" },
		{ "p,q,r\r\n", "p|q|r" },
		{ "'=1,'b,c\n", "=1|'b|c" },
		{ ",,\n", "||" },
	};
	const size_t kinds = sizeof(rows) / sizeof(rows[0]), n = 60000;
	struct fixture *x = *state;
	struct str text = STR_INIT;

	for (size_t i = 0; i < n; i++) {
		str_add(&text, rows[i % kinds][0]);
	}
	given(x, text.data, text.len);
	for (size_t i = 0; i < n; i++) {
		expect_row(x, i + 1, rows[i % kinds][1]);
	}
	expect_end(x, 0);
	str_release(&text);
}

/** Only what would be written so again is taken as it stands; what is not stays
 *  there to be read. */
static void plain_lines_are_those_that_come_back(void **state)
{
	static const struct {
		const char *line, *fields;	/* NULL: no row at all */
		bool plain;
	} lines[] = {
		{ "0,n1:3,ok,2026-01-01T00:00:00.000Z,1.5\n",
		  "0|n1:3|ok|2026-01-01T00:00:00.000Z|1.5", true },
		{ ",,\n", "||", true },	 { "\n", NULL, false },
		{ "a,b", "a|b", false },	 { "", NULL, false },
		{ "a,b\r\n", "a|b", false },	 { "-1,b\n", "-1|b", false },
		{ "a,-b\n", "a|-b", false },	 { "a,=b\n", "a|=b", false },
		{ "a,'b\n", "a|'b", false },	 { "a,\"b\"\n", "a|b", false },
		{ "a,\x1b[1m\n", "a|\x1b[1m", false },
		{ "a,\xff\n", "a|\xff", false },
	};
	struct fixture *x = *state;
	struct str text = STR_INIT;
	const char *line;
	size_t n;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		str_reset(&text);
		str_addf(&text, "head\n%s", lines[i].line);
		given(x, text.data, text.len);
		assert_false(csv_next_plain(&x->reader, &line, &n));
		expect_row(x, 1, "head");
		if (csv_next_plain(&x->reader, &line, &n) != lines[i].plain) {
			fail_msg("'%s'", lines[i].line);
		} else if (lines[i].plain) {
			assert_int_equal(n, strlen(lines[i].line));
			assert_memory_equal(line, lines[i].line, n);
			assert_int_equal(x->reader.line, 2);
		} else if (lines[i].fields) {
			expect_row(x, 2, lines[i].fields);
		}
		expect_end(x, 0);
		teardown(state);
		setup(state);
	}
	str_release(&text);
}

/** By turns as they stand and field by field, wherever the buffer ends; one
 *  with too many fields is a bad one either way. */
static void plain_lines_and_others_by_turns(void **state)
{
	const size_t n = 40000;
	struct fixture *x = *state;
	struct str text = STR_INIT;
	const char *line;
	size_t len, plain = 0;

	str_add(&text, "head\n");
	for (size_t i = 0; i < n; i++) {
		str_add(&text, i % 3 == 0 ? "\"a\",b\n" : "12,34.5\n");
	}
	for (int i = 0; i < CSV_MAX_FIELDS; i++) {
		str_addch(&text, ',');
	}
	str_addch(&text, '\n');
	given(x, text.data, text.len);
	expect_row(x, 1, "head");
	for (size_t i = 0; i < n; i++) {
		if (i % 3 == 2) {
			expect_row(x, i + 2, "12|34.5");
		} else if (csv_next_plain(&x->reader, &line, &len)) {
			assert_int_equal(x->reader.line, i + 2);
			assert_memory_equal(line, "12,34.5\n", len);
			plain++;
		} else {
			expect_row(x, i + 2, i % 3 ? "12|34.5" : "a|b");
		}
	}
	assert_true(plain > n / 4);
	assert_false(csv_next_plain(&x->reader, &line, &len));
	expect_end(x, 1);
	str_release(&text);
}

#define CSV_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CSV_TEST(plain_rows),
		CSV_TEST(rows_are_the_same_wherever_the_buffer_ends),
		CSV_TEST(plain_lines_are_those_that_come_back),
		CSV_TEST(plain_lines_and_others_by_turns),
		CSV_TEST(quoted_fields),
		CSV_TEST(crlf_is_one_newline_and_a_lone_cr_is_text),
		CSV_TEST(blank_lines_and_byte_order_mark_are_no_rows),
		CSV_TEST(empty_file_has_no_rows),
		CSV_TEST(last_line_without_newline_is_marked),
		CSV_TEST(nul_byte_spoils_its_row_only),
		CSV_TEST(misplaced_quotes_spoil_their_row_only),
		CSV_TEST(unclosed_quote_does_not_swallow_what_follows),
		CSV_TEST(unclosed_quote_in_a_long_file),
		CSV_TEST(row_of_a_megabyte_is_bad),
		CSV_TEST(number_of_fields_is_limited),
		CSV_TEST(read_error_is_told),
		CSV_TEST(writing_quotes_only_what_needs_it),
		CSV_TEST(no_text_becomes_a_formula),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
