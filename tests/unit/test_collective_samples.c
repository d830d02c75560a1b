/* SPDX-License-Identifier: BSD-3-Clause */
/* When a size is measured enough, and what comes out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "probes/collective/collective.h"

/** Take what is asked for; sample i lasts @us[i modulo @n] on both ranks. */
static int take(struct collective_samples *s, const double *us, int n)
{
	int taken = 0, next, rounds = 0;

	while ((next = collective_samples_next(s)) > 0) {
		assert_true(next <= COLLECTIVE_STEP_SAMPLES && ++rounds < 200);
		while (next-- > 0) {
			double both[2] = { us[taken % n], us[taken % n] };

			collective_samples_add(s, both, 2);
			taken++;
		}
	}
	assert_true(taken <= COLLECTIVE_SAMPLES);
	return taken;
}

static void a_steady_size_is_done_soon(void **state)
{
	struct collective_samples s;

	(void)state;
	collective_samples_begin(&s, 0, 45000, 1);
	assert_int_equal(s.batch, 1);
	assert_int_equal(take(&s, (double[]){ 45000, 45010 }, 2), 6);
}

static void short_ones_are_taken_in_batches(void **state)
{
	struct collective_samples s;

	(void)state;
	collective_samples_begin(&s, 0, 60, 1);
	assert_int_equal(s.batch, 9);	/* 500 us and more */
	collective_samples_begin(&s, 0, 0, 1);
	assert_int_equal(s.batch, COLLECTIVE_BATCH);
}

/** NCCL's proxies have room for fewer operations than a GPU's queue. */
static void what_waits_fits_the_queue(void **state)
{
	(void)state;
	for (int64_t nodes = 1; nodes <= 2; nodes++) {
		for (double us = 1; us < 1e6; us *= 3) {
			struct collective_samples s;
			int next;

			collective_samples_begin(&s, 0, us, nodes);
			next = collective_samples_next(&s);
			assert_true(next >= 1);
			assert_true(next * (s.batch + 1) <=
				    collective_samples_room(nodes));
		}
	}
	assert_true(collective_samples_room(2) < collective_samples_room(1));
}

static void what_does_not_get_steady_ends_too(void **state)
{
	double us[COLLECTIVE_SAMPLES];
	struct collective_samples s;

	(void)state;
	for (int i = 0; i < COLLECTIVE_SAMPLES; i++) {
		us[i] = 100 + 10 * i;	/* slower and slower */
	}
	collective_samples_begin(&s, 0, 100, 1);
	assert_true(take(&s, us, COLLECTIVE_SAMPLES) > 40);
	collective_samples_begin(&s, 0, 2e6, 1);
	assert_int_equal(take(&s, us, COLLECTIVE_SAMPLES), 6);
}

static void a_given_number_is_kept(void **state)
{
	static const int64_t wanted[] = { 1, 4, 5, 20, 100, 1000, 100000 };

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		for (double us = 1; us < 1e6; us *= 10) {
			struct collective_samples s;

			collective_samples_begin(&s, wanted[i], us, 1);
			assert_true(take(&s, &us, 1) >= 1);
			assert_int_equal(s.done, wanted[i]);
		}
	}
}

static void the_mean_over_ranks_counts(void **state)
{
	struct collective_samples s;
	struct collective_row row;

	(void)state;
	record_init(&schema_collective, &row);
	STR_COPY(row.op, "allreduce");
	row.ranks = 8;
	row.size_B = 1 << 20;
	collective_samples_begin(&s, 4, 600, 1);
	collective_samples_add(&s, (double[]){ 90, 110 }, 2);
	collective_samples_add(&s, (double[]){ 100, 100 }, 2);
	collective_samples_add(&s, (double[]){ 98, 104 }, 2);
	collective_samples_add(&s, (double[]){ 200, 200 }, 2);
	collective_samples_result(&s, &row);
	assert_int_equal(row.iters, 4);
	assert_true(row.time_us == 125.25);
	assert_true(row.time_med_us == 100.5);
	assert_true(row.time_min_us == 100 && row.time_max_us == 200 &&
		    row.time_p99_us == 200);
	assert_true(row.algbw_GB_s > 8.371 && row.algbw_GB_s < 8.372);
	assert_true(row.busbw_GB_s == row.algbw_GB_s * 1.75);
}

static void nothing_measured_is_no_figure(void **state)
{
	struct collective_samples s;
	struct collective_row row;

	(void)state;
	record_init(&schema_collective, &row);
	collective_samples_begin(&s, 0, 1, 1);
	collective_samples_result(&s, &row);
	assert_true(isnan(row.time_us) && isnan(row.busbw_GB_s));
	assert_true(row.iters == RECORD_NONE);
}

/** As many as data/reference/allreduce-2xH200 has taken, or half, or twice. */
static void what_will_be_taken_is_known_ahead(void **state)
{
	static const struct {
		double one_us;
		int iters;
	} seen[] = { { 5.92, 360 }, { 28, 187 }, { 47, 176 }, { 140, 160 },
		     { 250, 100 }, { 898, 33 }, { 6305, 6 }, { 24600, 6 } };
	int steps;

	(void)state;
	for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
		int64_t ops = collective_samples_ops(seen[i].one_us, 0, 1,
						     &steps);

		ops -= collective_samples_first(seen[i].one_us);
		if (ops * 2 < seen[i].iters || ops > 2 * seen[i].iters) {
			fail_msg("%d of %g us", (int)ops, seen[i].one_us);
		}
		assert_true(steps >= 2 && steps < 10);
	}
	assert_int_equal(collective_samples_ops(1, 1000000, 1, &steps),
			 1000000 + 3);
	assert_int_equal(collective_samples_ops(5000, 7, 2, &steps), 7 + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_steady_size_is_done_soon),
		cmocka_unit_test(short_ones_are_taken_in_batches),
		cmocka_unit_test(what_waits_fits_the_queue),
		cmocka_unit_test(what_does_not_get_steady_ends_too),
		cmocka_unit_test(a_given_number_is_kept),
		cmocka_unit_test(the_mean_over_ranks_counts),
		cmocka_unit_test(nothing_measured_is_no_figure),
		cmocka_unit_test(what_will_be_taken_is_known_ahead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
