/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as printf() writes them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/hash.h"
#include "lib/base/units.h"

static void check_real(double value, int digits)
{
	struct str out = STR_INIT;
	char want[64];

	number_add_real(&out, value, digits);
	snprintf(want, sizeof(want), "%.*g", digits, value);
	assert_string_equal(str_text(&out), want);
	str_release(&out);
}

static void reals_are_those_of_printf(void **state)
{
	static const double ends[] = {
		0, 1, 10, 0.1, 0.5, 2.5, 1e-4, 9.9999e-5, 1e5, 99999.95,
		999999.5, 9.9999995, 0.99999949999, 0.999999500001, 123456.5,
		1e9 - 0.5, 1e9, 1e300, 5e-324, 0.00012345650000001, 1048576,
		64.0625, 100000, 123456789.5,
	};

	(void)state;
	for (int digits = 1; digits <= 9; digits++) {
		for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
			check_real(ends[i], digits);
			check_real(-ends[i], digits);
			check_real(nextafter(ends[i], 0), digits);
			check_real(nextafter(ends[i], HUGE_VAL), digits);
		}
	}
	for (uint64_t i = 0; i < 100000; i++) {
		double u = hash_unit(1, i, 0, 0), e = hash_unit(1, i, 1, 0);

		check_real(u * pow(10, 16 * e - 6), i % 2 ? 6 : 9);
		/* near the middle of two numbers, and there */
		check_real((floor(u * 1e6) + .5) / 1e3, 6);
	}
}

static void integers_are_those_of_printf(void **state)
{
	static const int64_t values[] = {
		0, 1, -1, 9, 10, 1234567890, INT64_MAX, INT64_MIN, -100,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct str out = STR_INIT;
		char want[32];

		number_add_int(&out, values[i]);
		snprintf(want, sizeof(want), "%lld", (long long)values[i]);
		assert_string_equal(str_text(&out), want);
		str_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reals_are_those_of_printf),
		cmocka_unit_test(integers_are_those_of_printf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
