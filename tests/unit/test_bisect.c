/* SPDX-License-Identifier: BSD-3-Clause */
/* The smallest bad set, for faults of every kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "probes/plan/retry.h"

/** A set is bad when it holds all parts of @mask, and @least or more. */
static bool is_bad(const int *parts, int n, uint64_t mask, int least)
{
	uint64_t has = 0;

	for (int i = 0; i < n; i++) {
		has |= UINT64_C(1) << parts[i];
	}
	return n >= least && (has & mask) == mask;
}

/** Bisect @n parts; bits of the answer, and how many tests it took. */
static uint64_t bisect(int n, int least, uint64_t mask, int needs, int *tests)
{
	struct bisect *b = bisect_new(n, least);
	uint64_t answer = 0;
	const int *parts;
	int k;

	*tests = 0;
	while ((k = bisect_next(b, &parts)) > 0) {
		assert_true(k >= least && k < n);
		assert_true(++*tests < 20 * n);
		for (int i = 0; i < k; i++) {
			assert_true(parts[i] >= 0 && parts[i] < n);
		}
		bisect_tell(b, is_bad(parts, k, mask, needs));
	}
	k = bisect_answer(b, &parts);
	for (int i = 0; i < k; i++) {
		answer |= UINT64_C(1) << parts[i];
	}
	free(b);
	return answer;
}

static void one_bad_part_is_found(void **state)
{
	int tests;

	(void)state;
	for (int n = 2; n <= 33; n++) {
		for (int bad = 0; bad < n; bad++) {
			uint64_t mask = UINT64_C(1) << bad;

			assert_int_equal(bisect(n, 1, mask, 1, &tests), mask);
		}
	}
	bisect(32, 1, 1, 1, &tests);
	assert_int_equal(tests, 5);
	/* always in the half that is asked about last */
	bisect(32, 1, UINT64_C(1) << 31, 1, &tests);
	assert_int_equal(tests, 10);
}

/** Two nodes are needed to see that the NICs of one are dead. */
static void what_is_bad_with_everybody_is_told_from_a_bad_way(
	void **state)
{
	int tests;

	(void)state;
	for (int n = 3; n <= 17; n++) {
		for (int bad = 0; bad < n; bad++) {
			uint64_t mask = UINT64_C(1) << bad;

			assert_int_equal(bisect(n, 1, mask, 2, &tests), mask);
			assert_int_equal(bisect(n, 2, mask, 2, &tests), mask);
		}
	}
}

static void a_bad_way_between_two_is_these_two(void **state)
{
	int tests;

	(void)state;
	for (int n = 2; n <= 16; n++) {
		for (int a = 0; a < n; a++) {
			for (int b = 0; b < a; b++) {
				uint64_t mask = UINT64_C(1) << a |
						UINT64_C(1) << b;

				assert_int_equal(bisect(n, 1, mask, 2, &tests),
						 mask);
				assert_int_equal(bisect(n, 2, mask, 2, &tests),
						 mask);
			}
		}
	}
}

static void three_that_are_only_bad_together_are_three(void **state)
{
	int tests;

	(void)state;
	assert_int_equal(bisect(16, 1, 0x8021, 3, &tests), 0x8021);
	assert_int_equal(bisect(16, 2, 0x0111, 3, &tests), 0x0111);
}

static void what_is_bad_only_as_a_whole_stays_whole(void **state)
{
	int tests;

	(void)state;
	assert_int_equal(bisect(4, 1, 0xf, 4, &tests), 0xf);
	assert_int_equal(bisect(2, 2, 0x3, 2, &tests), 0x3);
	assert_int_equal(tests, 0);
	assert_int_equal(bisect(1, 1, 0x1, 1, &tests), 0x1);
}

/** Is @part in a set of @n? */
static bool holds(const int *set, int n, int part)
{
	for (int i = 0; i < n; i++) {
		if (set[i] == part) {
			return true;
		}
	}
	return false;
}

/** In which of the sets across @n parts are both?  A bit each. */
static unsigned across(int n, int a, int b)
{
	unsigned mask = 0;
	int set[64];

	for (int i = 0; i < BISECT_ACROSS; i++) {
		int size = bisect_across(n, i, set);

		if (holds(set, size, a) && holds(set, size, b)) {
			mask |= 1U << i;
		}
	}
	return mask;
}

static void any_two_parts_are_compared_with_others(void **state)
{
	int set[64];

	(void)state;
	for (int n = 4; n <= 40; n++) {
		int size = bisect_across(n, 0, set);

		for (int i = 0; i < BISECT_ACROSS; i++) {
			assert_int_equal(bisect_across(n, i, set), size);
			assert_true(size < n);
			for (int k = 1; k < size; k++) {
				assert_true(set[k - 1] < set[k]);
			}
			assert_true(set[0] >= 0 && set[size - 1] < n);
		}
		for (int b = 0; b < n; b++) {
			for (int a = 0; a < b; a++) {
				unsigned mask = across(n, a, b);

				if (b < n / 2 || a >= n - n / 2) {
					continue;	/* in a half */
				}
				assert_int_not_equal(mask, 0);
				assert_int_not_equal(mask, 0xf);
				assert_int_not_equal(mask, 0x9);
				assert_int_not_equal(mask, 0x6);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_bad_part_is_found),
		cmocka_unit_test(
			what_is_bad_with_everybody_is_told_from_a_bad_way),
		cmocka_unit_test(a_bad_way_between_two_is_these_two),
		cmocka_unit_test(three_that_are_only_bad_together_are_three),
		cmocka_unit_test(what_is_bad_only_as_a_whole_stays_whole),
		cmocka_unit_test(any_two_parts_are_compared_with_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
