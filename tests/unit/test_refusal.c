/* SPDX-License-Identifier: BSD-3-Clause */
/* What is refused is asked for ever more rarely, and said once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/run/jobs.h"
#include "lib/base/clock.h"

static void it_is_said_once_a_reason(void **state)
{
	struct jobs_refusal r = { 0 };

	(void)state;
	assert_true(refusal_is_over(&r, 5));
	assert_false(refusal_note(&r, NULL, 5));
	assert_true(refusal_note(&r, "limit", 5));
	assert_false(refusal_note(&r, "limit", 5));
	assert_true(refusal_note(&r, "account", 5));
	assert_true(refusal_note(&r, "limit", 5));
	assert_false(refusal_note(&r, NULL, 5));
	assert_true(refusal_note(&r, "limit", 5));
}

static void it_is_asked_ever_more_rarely(void **state)
{
	static const int wait_s[] = { 4, 8, 16, 32, 60, 60, 60 };
	struct jobs_refusal r = { 0 };
	int64_t now_ns = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(wait_s) / sizeof(*wait_s); i++) {
		refusal_note(&r, "limit", now_ns);
		now_ns += wait_s[i] * NS_PER_S;
		assert_false(refusal_is_over(&r, now_ns - 1));
		assert_true(refusal_is_over(&r, now_ns));
	}
	refusal_note(&r, "account", now_ns);	/* another one: soon again */
	assert_true(refusal_is_over(&r, now_ns + 4 * NS_PER_S));
	refusal_note(&r, NULL, now_ns);
	assert_true(refusal_is_over(&r, now_ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_said_once_a_reason),
		cmocka_unit_test(it_is_asked_ever_more_rarely),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
