/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/base/hash.h"
#include "probes/plan/plan.h"

#define TICK_NS PACE_AHEAD_NS
#define TICKS	2000
#define CAP	1e9

/** Who asks at every tick and begins all that may, of @most bytes each at most:
 *  in no time is more sent than the header says, and over all of it not much
 *  less. */
static void hold_to_the_cap(double most)
{
	struct pace p = { .bytes_s = CAP };
	static double sent[TICKS + 1];	/* before that tick */
	uint64_t draws = 0;

	for (int t = 0; t < TICKS; t++) {
		sent[t + 1] = sent[t];
		while (pace_is_open(&p, t * (int64_t)TICK_NS)) {
			double bytes = most * (double)(1 + hash_mix(1, 2, 3,
						draws++) % 100) / 100;

			pace_spend(&p, t * (int64_t)TICK_NS, bytes);
			sent[t + 1] += bytes;
		}
	}
	for (int from = 0; from < TICKS; from += 7) {
		for (int to = from; to < TICKS; to += 13) {
			double s = (double)(to - from) * TICK_NS / 1e9;

			assert_true(sent[to + 1] - sent[from] <=
				    CAP * (s + 0.1001) + most);
		}
	}
	assert_true(sent[TICKS] > 0.95 * CAP * TICKS * TICK_NS / 1e9);
}

static void no_more_is_sent_than_the_cap_allows(void **state)
{
	(void)state;
	hold_to_the_cap(1e6);	/* a hundred a tick */
	hold_to_the_cap(1e8);
	hold_to_the_cap(1e10);	/* each takes ten seconds to pay for */
}

static void what_was_paid_and_not_sent_is_given_back(void **state)
{
	struct pace p = { .bytes_s = CAP };

	(void)state;
	pace_spend(&p, 0, 10e9);
	assert_int_equal(pace_left_ns(&p, 0), 10000000000 - PACE_AHEAD_NS);
	pace_spend(&p, 1000000000, -8e9);	/* it was 2e9 after all */
	assert_int_equal(pace_left_ns(&p, 1000000000),
			 1000000000 - PACE_AHEAD_NS);
	pace_spend(&p, 2000000000, 1e9);	/* or 3e9 */
	assert_int_equal(pace_left_ns(&p, 2000000000),
			 1000000000 - PACE_AHEAD_NS);
	/* nobody saves up: after an hour of rest the next is paid for as any */
	pace_spend(&p, 3600000000000, 1e9);
	assert_int_equal(pace_left_ns(&p, 3600000000000),
			 1000000000 - PACE_AHEAD_NS);
	pace_spend(&p, 3600000000000, -1e30);
	pace_spend(&p, 3600000000000, NAN);
	assert_true(pace_is_open(&p, 3600000000000));
	pace_spend(&p, 3600000000000, 1e30);
	assert_false(pace_is_open(&p, 7200000000000));
}

static void without_a_cap_nothing_waits(void **state)
{
	struct pace p = { 0 };

	(void)state;
	pace_spend(&p, 0, 1e30);
	assert_true(pace_is_open(&p, 0));
	assert_int_equal(p.open_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_more_is_sent_than_the_cap_allows),
		cmocka_unit_test(what_was_paid_and_not_sent_is_given_back),
		cmocka_unit_test(without_a_cap_nothing_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
