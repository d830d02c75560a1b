/* SPDX-License-Identifier: BSD-3-Clause */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/base/units.h"

static void size_reads_powers_of_1024(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "0", 0 },
		{ "8", 8 },
		{ "1k", UINT64_C(1) << 10 },
		{ "64M", UINT64_C(64) << 20 },
		{ "2g", UINT64_C(2) << 30 },
		{ "3T", UINT64_C(3) << 40 },
		{ "16777215T", UINT64_C(16777215) << 40 },
		{ "18446744073709551615", UINT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		uint64_t bytes = 1;

		assert_int_equal(units_parse_size(good[i].text, &bytes, NULL),
				 0);
		assert_true(bytes == good[i].bytes);
	}
}

static void size_refuses_the_rest_and_names_it(void **state)
{
	static const char *const bad[] = {
		"",    "K",    "8Q",   "-1",   "+1",  " 1", "1 ", "1.5M",
		"1KK", "0x10", "1e3",  "M64",  "8B",  "1P", "\xff",
		"16777216T", "18446744073709551616",
		"99999999999999999999999G", NULL
	};
	uint64_t bytes = 42;
	struct err e;

	(void)state;
	for (size_t i = 0; bad[i]; i++) {
		assert_int_equal(units_parse_size(bad[i], &bytes, &e), -1);
		assert_non_null(strstr(e.text, bad[i]));
		assert_true(bytes == 42);
	}
}

static void size_in_KB_gets_a_hint(void **state)
{
	static const char *const bad[] = { "64KB", "64kib", "64Kb", NULL };
	uint64_t bytes;
	struct err e;

	(void)state;
	for (size_t i = 0; bad[i]; i++) {
		assert_int_equal(units_parse_size(bad[i], &bytes, &e), -1);
		assert_non_null(strstr(e.hint, "64"));
		assert_non_null(strstr(e.hint, "1024"));
	}
}

static void duration_reads_every_unit(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} good[] = {
		{ "0", 0 },
		{ "0s", 0 },
		{ "7us", 7 * NS_PER_US },
		{ "0.5us", 500 },
		{ "250ms", 250 * NS_PER_MS },
		{ "1.5s", 1500 * NS_PER_MS },
		{ "0.000000001s", 1 },
		{ "2m", 120 * NS_PER_S },
		{ "1h", 3600 * NS_PER_S },
		/* more digits than a double has */
		{ "4416370955160.401us", INT64_C(4416370955160401) },
		{ "2400h", 100 * 24 * 3600 * NS_PER_S },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		int64_t ns = -1;

		assert_int_equal(units_parse_duration(good[i].text, &ns, NULL),
				 0);
		assert_true(ns == good[i].ns);
	}
}

static void duration_refuses_the_rest(void **state)
{
	static const char *const bad[] = {
		"",    "3",    "s",    "1.s",  ".5s",  "-1s",  "1 s", "1sec",
		"0x1s", "1e3s", "infs", "nans", "1.2.3s", "1,5s",
		"2400.1h", "99999999999999999999999999h", NULL
	};
	int64_t ns = 42;
	struct err e;

	(void)state;
	for (size_t i = 0; bad[i]; i++) {
		assert_int_equal(units_parse_duration(bad[i], &ns, &e), -1);
		assert_non_null(strstr(e.text, bad[i]));
		assert_true(ns == 42);
	}
}

static void int_obeys_its_limits(void **state)
{
	static const char *const bad[] = { "",	 "-",  "+1", " 1", "1 ",
					   "1.0", "0x1", "1e1", "--1",
					   "-11", "11", "9223372036854775808",
					   NULL };
	int64_t n = 42;
	struct err e;

	(void)state;
	for (size_t i = 0; bad[i]; i++) {
		assert_int_equal(units_parse_int(bad[i], -10, 10, &n, &e), -1);
		assert_true(n == 42);
	}
	assert_int_equal(units_parse_int("-10", -10, 10, &n, &e), 0);
	assert_true(n == -10);
	assert_int_equal(units_parse_int("10", -10, 10, &n, &e), 0);
	assert_true(n == 10);
	assert_int_equal(units_parse_int("-9223372036854775808", INT64_MIN,
					 INT64_MAX, &n, &e), 0);
	assert_true(n == INT64_MIN);
	assert_int_equal(units_parse_int("9223372036854775808", INT64_MIN,
					 INT64_MAX, &n, &e), -1);
}

static void real_takes_no_nan_no_hex(void **state)
{
	static const char *const bad[] = { "",	   "nan", "inf", "-inf",
					   "0x1p3", "1e",  "e1",  "1 ",
					   " 1",   ".",	  "1.2.3", "1e999",
					   "2.5", NULL };
	double x = 42;
	struct err e;

	(void)state;
	for (size_t i = 0; bad[i]; i++) {
		assert_int_equal(units_parse_real(bad[i], -1, 1, &x, &e), -1);
		assert_true(x == 42);
	}
	assert_int_equal(units_parse_real("0.25", -1, 1, &x, &e), 0);
	assert_true(x == 0.25);
	assert_int_equal(units_parse_real("-5e-1", -1, 1, &x, &e), 0);
	assert_true(x == -0.5);
	assert_int_equal(units_parse_real("1e999", 0, INFINITY, &x, &e), -1);
}

static void sizes_in_words(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text, *arg;
	} sizes[] = {
		{ 0, "0 B", "0" },
		{ 8, "8 B", "8" },
		{ 1023, "1023 B", "1023" },
		{ 1536, "1.5 KiB", "1536" },
		{ 64 << 20, "64 MiB", "64M" },
		{ UINT64_C(5) << 40, "5 TiB", "5T" },
		{ UINT64_C(2) << 50, "2 PiB", "2048T" },
		{ UINT64_MAX, "16 EiB", "18446744073709551615" },
	};
	char buf[32];

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_string_equal(units_size_text(sizes[i].bytes, buf,
						    sizeof(buf)),
				    sizes[i].text);
		assert_string_equal(units_size_arg(sizes[i].bytes, buf,
						   sizeof(buf)),
				    sizes[i].arg);
	}
}

static void durations_in_words(void **state)
{
	static const struct {
		int64_t ns;
		const char *text, *arg;
	} durations[] = {
		{ 0, "0 s", "0" },
		{ 7, "7 ns", "0.007us" },
		{ 1500, "1.5 us", "1.500us" },
		{ 250 * NS_PER_MS, "250 ms", "250ms" },
		{ 3 * NS_PER_S, "3 s", "3s" },
		{ 125 * NS_PER_S, "2 min 5 s", "125s" },
		{ 120 * NS_PER_S, "2 min", "2m" },
		{ 5400 * NS_PER_S, "1 h 30 min", "90m" },
		{ 7200 * NS_PER_S, "2 h", "2h" },
	};
	char buf[32];

	(void)state;
	for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
		assert_string_equal(units_duration_text(durations[i].ns, buf,
							sizeof(buf)),
				    durations[i].text);
		assert_string_equal(units_duration_arg(durations[i].ns, buf,
						       sizeof(buf)),
				    durations[i].arg);
	}
}

static void args_are_read_back_exactly(void **state)
{
	char buf[32];

	(void)state;
	for (int shift = 0; shift < 53; shift++) {
		for (int64_t d = -1; d <= 1; d++) {
			int64_t n = (INT64_C(1) << shift) + d, ns;
			uint64_t bytes;

			units_size_arg((uint64_t)n, buf, sizeof(buf));
			assert_int_equal(units_parse_size(buf, &bytes, NULL),
					 0);
			assert_true(bytes == (uint64_t)n);
			units_duration_arg(n, buf, sizeof(buf));
			assert_int_equal(units_parse_duration(buf, &ns, NULL),
					 0);
			assert_true(ns == n);
		}
	}
}

/** Short decimals are read without strtod(), to the same bit. */
static void real_is_what_strtod_says(void **state)
{
	static const char *const odd[] = {
		"0", "-0", "5.", ".5", "-.5", "1e3", "0.1", "999999999999999",
		"9999999999999999", "0.000000000000001", "123456789012345.6",
		"1.7976931348623157e308", "4.9e-324", "00000000000000000001",
	};
	char text[64];
	double got, want;
	uint64_t r = 1;

	(void)state;
	for (size_t i = 0; i < 20000 + sizeof(odd) / sizeof(*odd); i++) {
		if (i < sizeof(odd) / sizeof(*odd)) {
			STR_COPY(text, odd[i]);
		} else {
			r = r * 6364136223846793005 + 1442695040888963407;
			snprintf(text, sizeof(text), "%s%.*f",
				 r >> 63 ? "-" : "", (int)(r >> 59) % 16,
				 (double)(r >> 20) / (double)(r % 1000003 + 1));
		}
		want = strtod(text, NULL);
		assert_int_equal(units_parse_real(text, -DBL_MAX, DBL_MAX, &got,
						  NULL), 0);
		if (memcmp(&got, &want, sizeof(got)) != 0) {
			fail_msg("'%s' is %a, not %a", text, want, got);
		}
	}
	assert_int_equal(units_parse_real(".", 0, 1, &got, NULL), -1);
	assert_int_equal(units_parse_real("-", -1, 1, &got, NULL), -1);
	assert_int_equal(units_parse_real("1.2.3", 0, 9, &got, NULL), -1);
}

static void test_real_text(void **state)
{
	static const struct {
		double value;
		int digits;
		const char *text;
	} texts[] = {
		{ 45.204, 2, "45.20" }, { 0.12, 2, "0.12" },
		{ 0.1, 2, "0.10" }, { 0.0035, 2, "0.0035" },
		{ 0.05, 2, "0.05" }, { 0.00012345, 2, "0.00012" },
		{ 0.000083, 2, "8.3e-05" }, { 0, 2, "0.00" },
		{ 400.2, 0, "400" }, { -0.0035, 2, "-0.0035" },
	};
	char buf[UNITS_REAL_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_string_equal(units_real_text(texts[i].value,
						    texts[i].digits, buf),
				    texts[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real_text),
		cmocka_unit_test(size_reads_powers_of_1024),
		cmocka_unit_test(size_refuses_the_rest_and_names_it),
		cmocka_unit_test(size_in_KB_gets_a_hint),
		cmocka_unit_test(duration_reads_every_unit),
		cmocka_unit_test(duration_refuses_the_rest),
		cmocka_unit_test(int_obeys_its_limits),
		cmocka_unit_test(real_takes_no_nan_no_hex),
		cmocka_unit_test(real_is_what_strtod_says),
		cmocka_unit_test(sizes_in_words),
		cmocka_unit_test(durations_in_words),
		cmocka_unit_test(args_are_read_back_exactly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
