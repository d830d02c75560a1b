/* SPDX-License-Identifier: BSD-3-Clause */
/* How often a test is repeated to be trusted. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "probes/plan/retry.h"

/** The chance that @n repeats all pass at @rate. */
static double missed(double rate, int64_t n)
{
	return pow(1 - rate, (double)n);
}

static void a_fault_at_the_rate_seen_is_not_missed(void **state)
{
	(void)state;
	for (int64_t n = 1; n <= 1000000; n *= 10) {
		for (int64_t bad = 1; bad <= n; bad *= 3) {
			double rate = (double)bad / (double)n;

			assert_true(missed(rate, repeats_to_trust(bad, n)) <=
				    1e-3);
		}
	}
}

/* Of what was seen once the rate may well be ten times lower. */
static void the_rarer_the_less_is_the_rate_believed(void **state)
{
	(void)state;
	assert_true(missed(1e-4, repeats_to_trust(1, 1000)) < 0.01);
	assert_true(repeats_to_trust(1, 1000) > 50 * 1000);
	assert_true(repeats_to_trust(10, 1000) < 2 * 1000);
	assert_in_range(repeats_to_trust(1000, 1000), 1, 3);
	for (int64_t bad = 2; bad <= 1000; bad++) {
		assert_true(repeats_to_trust(bad, 1000) <=
			    repeats_to_trust(bad - 1, 1000));
	}
}

static void enough_repeats_are_trusted_soon(void **state)
{
	int64_t n = repeats_for_enough(1, 1000);

	(void)state;
	assert_int_equal(n, 10000);
	assert_true(repeats_to_trust(REPEATS_ENOUGH, n) < 2 * n);
	assert_int_equal(repeats_for_enough(3, 100), 334);
}

static void there_is_no_end_to_rareness_but_to_numbers(void **state)
{
	(void)state;
	assert_true(repeats_to_trust(1, INT64_C(1) << 60) <= 1e15);
	assert_true(repeats_for_enough(1, INT64_C(1) << 60) <= 1e15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fault_at_the_rate_seen_is_not_missed),
		cmocka_unit_test(the_rarer_the_less_is_the_rate_believed),
		cmocka_unit_test(enough_repeats_are_trusted_soon),
		cmocka_unit_test(there_is_no_end_to_rareness_but_to_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
