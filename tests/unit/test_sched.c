/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "probes/plan/plan.h"

#define SIZE_MOST 65

/** Partners of a round look at each other, and nobody at itself. */
static void check_round(int size, int round)
{
	int alone = 0;

	for (int a = 0; a < size; a++) {
		int b = sched_partner(size, round, a);

		if (b < 0) {
			alone++;
			continue;
		}
		assert_in_range(b, 0, size - 1);
		assert_int_not_equal(a, b);
		assert_int_equal(sched_partner(size, round, b), a);
		assert_int_equal(sched_round_of(size, a, b), round);
	}
	assert_int_equal(alone, size % 2);
}

static void rounds_are_matchings(void **state)
{
	(void)state;
	for (int size = 2; size <= SIZE_MOST; size++) {
		for (int round = 0; round < sched_rounds(size); round++) {
			check_round(size, round);
		}
	}
}

static void every_pair_meets_once(void **state)
{
	(void)state;
	for (int size = 1; size <= SIZE_MOST; size++) {
		int met[SIZE_MOST][SIZE_MOST] = { 0 };

		for (int round = 0; round < sched_rounds(size); round++) {
			for (int a = 0; a < size; a++) {
				int b = sched_partner(size, round, a);

				if (b >= 0) {
					met[a][b]++;
				}
			}
		}
		for (int a = 0; a < size; a++) {
			for (int b = 0; b < size; b++) {
				assert_int_equal(met[a][b], a != b);
			}
		}
	}
}

static void as_few_rounds_as_possible(void **state)
{
	(void)state;
	assert_int_equal(sched_rounds(0), 0);
	assert_int_equal(sched_rounds(1), 0);
	for (int size = 2; size <= SIZE_MOST; size += 2) {
		assert_int_equal(sched_rounds(size), size - 1);
		assert_int_equal(sched_rounds(size + 1), size + 1);
	}
}

static void large_sizes_do_not_overflow(void **state)
{
	int size = 262144;

	(void)state;
	for (int a = 1; a < size; a += 4099) {
		int round = sched_round_of(size, a, size - 1);

		if (a == size - 1) {
			continue;
		}
		assert_int_equal(round, sched_round_of(size, size - 1, a));
		assert_int_equal(sched_partner(size, round, a), size - 1);
		assert_int_equal(sched_partner(size, round, size - 1), a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds_are_matchings),
		cmocka_unit_test(every_pair_meets_once),
		cmocka_unit_test(as_few_rounds_as_possible),
		cmocka_unit_test(large_sizes_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
