/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/data/csv.h"

/* Lines whose bytes are looked at 16 at a time, against one at a time. */

#define LONGEST 70
#define MOST	24

static size_t slow_fields(const char *text, size_t n, size_t max,
			  size_t offsets[])
{
	size_t fields = 1;

	offsets[0] = 0;
	for (size_t i = 0; i < n; i++) {
		if (strchr("\r\"", text[i])) {	/* and the NUL */
			return 0;
		}
		if (text[i] == ',' && ++fields < max) {
			offsets[fields - 1] = i + 1;
		}
	}
	return fields < max ? fields : 0;
}

static size_t slow_plain(const char *text, size_t n)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789,-./:_ ";
	char before = ',';
	size_t fields = 1;

	for (size_t i = 0; i < n; i++) {
		if (!memchr(good, text[i], sizeof(good) - 1) ||
		    ((text[i] == '-' || text[i] == ' ') && before == ',')) {
			return 0;
		}
		fields += text[i] == ',';
		before = text[i];
	}
	return n > 0 ? fields : 0;
}

/** The first @n bytes of @text, by both. */
static void compare(const char *text, size_t n)
{
	size_t slow[LONGEST + 1], fast[MOST];
	size_t want = slow_fields(text, n, MOST, slow);

	assert_int_equal(csv_scan_fields(text, n, MOST, fast), want);
	assert_memory_equal(fast, slow, want * sizeof(*slow));
	assert_int_equal(csv_scan_plain(text, n), slow_plain(text, n));
}

static void every_byte_everywhere(void **state)
{
	char text[LONGEST + 1];

	(void)state;
	for (int c = 0; c < 256; c++) {
		memset(text, 'x', sizeof(text));
		for (size_t at = 0; at < LONGEST; at++) {
			text[at] = (char)c;
			for (size_t n = at & ~7u; n <= LONGEST; n += 3) {
				compare(text, n);
			}
			text[at] = 'x';
		}
	}
}

static void dashes_behind_commas_everywhere(void **state)
{
	char text[LONGEST + 1];

	(void)state;
	memset(text, '7', sizeof(text));
	for (size_t at = 0; at + 1 < LONGEST; at++) {
		memcpy(text + at, ",-", 2);
		compare(text, LONGEST);
		compare(text, at + 1);
		compare(text, at + 2);
		memcpy(text + at, ", ", 2);
		compare(text, at + 2);
		memcpy(text + at, "77", 2);
	}
}

static void commas_of_any_number(void **state)
{
	char text[LONGEST + 1];

	(void)state;
	for (size_t step = 1; step < 20; step++) {
		for (size_t n = 0; n <= LONGEST; n++) {
			memset(text, '-', sizeof(text));
			for (size_t i = step - 1; i < n; i += step) {
				text[i] = ',';
			}
			compare(text, n);
		}
	}
}

/** More blocks than a byte can count commas of. */
static void long_lines(void **state)
{
	static char text[16 * 600 + 5];

	(void)state;
	memset(text, ',', sizeof(text));
	assert_int_equal(csv_scan_plain(text, sizeof(text)),
			 sizeof(text) + 1);
	text[16 * 300] = '"';
	assert_int_equal(csv_scan_plain(text, sizeof(text)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_everywhere),
		cmocka_unit_test(dashes_behind_commas_everywhere),
		cmocka_unit_test(commas_of_any_number),
		cmocka_unit_test(long_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
