/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "probes/engine/coord/pairs.h"

#define S NS_PER_S

/** A look of eight seconds takes nothing of five seconds for tests. */
static void looks_do_not_count(void **state)
{
	struct follow t = { .deadline_ns = 105 * S };

	(void)state;
	follow_time_ask(&t, 101 * S);
	assert_false(follow_time_over(&t, 109 * S));
	follow_time_hear(&t, 109 * S, 1000 * S);
	assert_int_equal(t.deadline_ns, 113 * S);
	assert_false(follow_time_over(&t, 113 * S));
	assert_true(follow_time_over(&t, 113 * S + 1));
}

/** All together they have a minute, and never more than the run. */
static void looks_have_an_end(void **state)
{
	struct follow t = { .deadline_ns = 105 * S };

	(void)state;
	follow_time_ask(&t, 100 * S);
	follow_time_hear(&t, 150 * S, 1000 * S);
	assert_int_equal(t.deadline_ns, 155 * S);
	follow_time_ask(&t, 151 * S);
	assert_false(follow_time_over(&t, 165 * S));
	assert_true(follow_time_over(&t, 165 * S + 1));
	follow_time_hear(&t, 166 * S, 160 * S);
	assert_int_equal(t.deadline_ns, 160 * S);
	assert_int_equal(t.looks_ns, FOLLOW_LOOKS_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(looks_do_not_count),
		cmocka_unit_test(looks_have_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
