/* SPDX-License-Identifier: BSD-3-Clause */
/* When to stop measuring, and what comes out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "probes/transport/xport.h"

#define MIB (1 << 20)

/** Take samples whose speeds are @GB_s, over and over, until it is enough. */
static int take(struct samples *s, const struct xport_cell *c,
		const double *GB_s, int n)
{
	int taken = 0;

	while (!samples_enough(s, c)) {
		int count = samples_batch(s, c);

		assert_true(count > 0 && taken < SAMPLES_MAX);
		samples_add(s, c, count,
			    count * (double)c->size_bytes / 1e9 /
				    GB_s[taken++ % n]);
	}
	return taken;
}

static void a_steady_pair_is_done_soon(void **state)
{
	struct xport_cell c = { .size_bytes = 64 * MIB };
	struct samples s = { .sample_s = 5e-3, .one_s = 64 * MIB / 390e9 };
	struct xport_result r;

	(void)state;
	assert_int_equal(take(&s, &c, (double[]){ 390, 391 }, 2), 5);
	samples_result(&s, &r);
	assert_true(r.bw_GB_s > 389.9 && r.bw_GB_s < 390.1);
	assert_true(r.bw_max_GB_s > 390.9 && r.bw_min_GB_s < 390.1);
	assert_int_equal(r.iters, 5 * 29);	/* of 5 ms */
}

static void an_unsteady_pair_ends_by_time(void **state)
{
	static const double far[] = { 200, 300, 390 }, near[] = { 380, 390 };
	struct xport_cell c = { .size_bytes = 64 * MIB };
	struct samples s = { .sample_s = 5e-3, .one_s = 64 * MIB / 390e9 };
	struct samples t = s;

	(void)state;
	assert_true(take(&s, &c, far, 3) > 5);
	assert_true(s.total_s > 0.125 && s.total_s < 0.14);
	assert_true(take(&t, &c, near, 2) > 5);
}

static void a_slow_pair_takes_three(void **state)
{
	struct xport_cell c = { .size_bytes = 1024 * MIB };
	struct samples s = { .sample_s = 5e-3, .one_s = 1 };

	(void)state;
	assert_int_equal(take(&s, &c, (double[]){ 1 }, 1), 3);
	assert_int_equal(s.iters, 3);
}

static void a_given_number_is_kept(void **state)
{
	static const int numbers[] = { 1, 2, 7, 8, 9, 100, 513, 20000 };

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct xport_cell c = { .size_bytes = 8, .iters = numbers[i] };
		struct samples s = { .sample_s = 5e-3, .one_s = 1e-6 };

		take(&s, &c, (double[]){ 1, 2, 3 }, 3);
		assert_int_equal(s.iters, numbers[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_steady_pair_is_done_soon),
		cmocka_unit_test(an_unsteady_pair_ends_by_time),
		cmocka_unit_test(a_slow_pair_takes_three),
		cmocka_unit_test(a_given_number_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
