/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"

#define MS INT64_C(1000000)

static void looks_count_from_the_last(void **state)
{
	int64_t l = 0;

	(void)state;
	assert_int_equal(late_look(&l, 5000 * MS, 100 * MS), 0);
	assert_int_equal(late_look(&l, 5090 * MS, 100 * MS), 0);
	assert_int_equal(late_look(&l, 9190 * MS, 100 * MS), 4000 * MS);
	assert_int_equal(late_look(&l, 9290 * MS, 100 * MS), 0);
}

static void schedstat_is_read(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} cases[] = {
		{ "789320 163072 2\n", 163072 },
		{ "0 0 0\n", 0 },
		{ "", 0 },
		{ "789320", 0 },
		{ "x y z", 0 },
		{ "1 18446744073709551615 1", 0 },
		{ "1 99999999999999999999999999 1", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(late_parse(cases[i].text), cases[i].ns);
	}
	assert_true(late_waited_ns(getpid()) >= 0);
	assert_int_equal(late_waited_ns(-1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(looks_count_from_the_last),
		cmocka_unit_test(schedstat_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
