/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "probes/plan/plan.h"
#include "probes/transport/xport.h"
#include "probes/probe.h"
#include "tests/layout.h"

/** A pair costs 1 s and measures 2 x 0.025 s; 1 GB is a second more. */
#define PAIR_S (1 + 2 * 0.025)
static const struct xport_ops ops = {
	.name = "test", .default_size_bytes = 1, .default_timeout_ns =
		INT64_C(100000000000),
	.cost = { .open_s = 10, .pair_s = 1, .sample_s = 5e-3, .rate_GB_s = 1 },
};

/** Forecast for 4 nodes of 8 GPUs with @nics, the options in @s. */
static double forecast(const struct spec *s, const char *pairs_text, int nics,
		       int cores)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	const int gpus[] = { 8, 8, 8, 8 };
	const int all_nics[] = { nics, nics, nics, nics };
	struct pairs pairs;
	struct layout l;
	struct plan p;
	double time_s;

	assert_int_equal(layout_of(&l, 4, names, gpus, all_nics), 0);
	assert_int_equal(pairs_parse(pairs_text, &pairs, NULL), 0);
	assert_int_equal(plan_pairs(&l, &pairs, &p, NULL), 0);
	time_s = plan_time_s(plan_turns(&l, &p, s, cores), s, &ops);
	plan_release(&p);
	pairs_release(&pairs);
	layout_release(&l);
	return time_s;
}

static void assert_rounds(double time_s, double open_s, int rounds)
{
	if (fabs(time_s - open_s - rounds * PAIR_S) > 1e-3) {
		fail_msg("%g s, not %g + %d x %g", time_s, open_s, rounds,
			 PAIR_S);
	}
}

static void the_busiest_part_decides(void **state)
{
	struct spec s;

	(void)state;
	spec_init(&s);
	assert_rounds(forecast(&s, "all", 8, 0), 10, 31);
	assert_rounds(forecast(&s, "inter", 8, 0), 10, 24);
	assert_rounds(forecast(&s, "intra", 8, 0), 10, 7);
	assert_rounds(forecast(&s, "rail", 8, 0), 10, 3);
	assert_rounds(forecast(&s, "0-9,0-10,3-4", 8, 0), 10, 2);
	/* two GPUs a NIC: it is in twice as many pairs between nodes */
	assert_rounds(forecast(&s, "all", 4, 0), 10, 48);
	assert_rounds(forecast(&s, "intra", 4, 0), 10, 7);
	s.schedule = SCHEDULE_PARALLEL;
	assert_rounds(forecast(&s, "all", 4, 0), 10, 31);
	s.schedule = SCHEDULE_SERIAL;
	assert_rounds(forecast(&s, "all", 8, 0), 10, 32 * 31 / 2);
}

static void cores_that_all_share_are_a_part_too(void **state)
{
	struct spec s;

	(void)state;
	spec_init(&s);
	assert_rounds(forecast(&s, "all", 8, 2), 10, 32 * 31 / 2);
	assert_rounds(forecast(&s, "all", 8, 8), 10, 32 * 31 / 8);
	assert_rounds(forecast(&s, "all", 8, 256), 10, 31);
}

static void a_contrast_is_two_passes(void **state)
{
	struct spec s;

	(void)state;
	spec_init(&s);
	s.contrast = CONTRAST_SCHEDULE;
	assert_rounds(forecast(&s, "all", 8, 0), 10, 32 * 31 / 2 + 31);
	s.contrast = CONTRAST_PXN;	/* with workers that open anew */
	assert_rounds(forecast(&s, "all", 8, 0), 20, 62);
}

static void sizes_and_iterations_cost_what_they_move(void **state)
{
	struct spec s;

	(void)state;
	spec_init(&s);
	s.warmup = 0;
	s.iters = 4;
	s.size_begin_B = 500000000;	/* 4 x 0.5 s there and back */
	assert_true(fabs(forecast(&s, "rail", 8, 0) - 10 - 3 * 5) < 1e-6);
	s.warmup = 1;
	assert_true(fabs(forecast(&s, "rail", 8, 0) - 10 - 3 * 6) < 1e-6);
	s.size_end_B = 1000000000;	/* and 5 x 1 s */
	assert_true(fabs(forecast(&s, "rail", 8, 0) - 10 - 3 * 16) < 1e-6);
	s.timeout_ns = INT64_C(1000000000);	/* a size; no pair takes
						 * longer */
	assert_true(fabs(forecast(&s, "rail", 8, 0) - 10 - 3 * 3) < 1e-6);
	/* until steady */
	spec_init(&s);
	s.warmup = 0;
	s.size_begin_B = 1000000000;
	assert_true(fabs(forecast(&s, "rail", 8, 0) - 10 -
			 3 * (1 + 2 * SAMPLES_STEADY)) < 1e-6);
}

static void flows_cost_queue_pairs_and_streams(void **state)
{
	struct xport_ops with = ops;
	struct spec s;

	(void)state;
	with.cost.flow_s = 0.5;
	spec_init(&s);
	s.warmup = 0;
	s.iters = 4;
	s.size_begin_B = 500000000;
	s.size_end_B = 1000000000;	/* 4 s, 8 s; three more at the last */
	s.flows = 1;
	assert_true(fabs(plan_pair_s(&s, &with) - 12) < 1e-6);
	s.flows = 3;
	assert_true(fabs(plan_pair_s(&s, &with) - 12 - 3 * 8 - 3 * 0.5) <
		    1e-6);
	assert_true(fabs(plan_pair_bytes(&s, &with) - 12e9 - 3 * 8e9) < 1);
	assert_true(fabs(plan_pair_s(&s, &ops) - 12) < 1e-6);
}

/** In seconds, both directions and all sizes. */
static double task_s(const struct spec *s, double dead_GB_s)
{
	const struct xport_ops slow = {
		.default_size_bytes = 1 << 20, .dead_GB_s = dead_GB_s,
		.default_timeout_ns = INT64_C(2000000000),
	};

	return (double)plan_task_ns(s, &slow) / 1e9;
}

static void what_is_asked_for_is_waited_for(void **state)
{
	struct spec s;

	(void)state;
	spec_init(&s);
	assert_true(task_s(&s, 0.1) == 2);
	s.iters = 999;
	s.size_begin_B = 1000000;	/* 1000 x (10 ms + 0.1 ms), twice */
	assert_true(fabs(task_s(&s, 0.1) - 20.2) < 1e-6);
	assert_true(task_s(&s, 0) == 2);
	s.bidi = true;
	assert_true(fabs(task_s(&s, 0.1) - 40.2) < 1e-6);
	s.warmup = 1001;
	assert_true(fabs(task_s(&s, 0.1) - 80.4) < 1e-6);
	s.bidi = false;
	s.warmup = 1;
	s.size_begin_B = 1000;
	s.size_end_B = 1000000;
	s.size_factor = 1000;		/* a small one as by default */
	assert_true(fabs(task_s(&s, 0.1) - 22.2) < 1e-6);
	s.timeout_ns = INT64_C(3000000000);
	assert_true(task_s(&s, 0.1) == 6);
	/* the sizes of an attempt without -n, and no end */
	spec_init(&s);
	s.size_begin_B = 1000000000;
	assert_true(fabs(task_s(&s, 0.1) - 2 * 6 * 10.0001) < 1e-6);
	s.iters = 1000000;
	s.size_begin_B = INT64_MAX;
	assert_true(task_s(&s, 0.1) == 64 * 3600);
}

/** A default run hangs no longer than its transport says. */
static void defaults_are_what_the_manual_says(void **state)
{
	struct spec s;

	(void)state;
	spec_init(&s);
	for (int i = 0; xports[i] != NULL; i++) {
		assert_int_equal(plan_task_ns(&s, xports[i]),
				 xports[i]->default_timeout_ns);
	}
}

static void without_a_cost_nothing_is_known(void **state)
{
	static const struct xport_ops free_ops = { .name = "free" };
	static const char *const names[] = { "a" };
	const int gpus[] = { 2 }, nics[] = { 2 };
	struct pairs pairs = { .kind = PAIRS_ALL };
	struct layout l;
	struct spec s;
	struct plan p;

	(void)state;
	spec_init(&s);
	assert_int_equal(layout_of(&l, 1, names, gpus, nics), 0);
	assert_int_equal(plan_pairs(&l, &pairs, &p, NULL), 0);
	assert_int_equal(plan_turns(&l, &p, &s, 0), 1);
	assert_true(isnan(plan_time_s(1, &s, &free_ops)));
	assert_true(isnan(plan_retry_s(NAN, &s, &ops)));
	plan_release(&p);
	layout_release(&l);
}

static void second_attempts_have_a_quarter_and_time_for_one(void **state)
{
	struct spec s;

	(void)state;
	spec_init(&s);
	assert_true(fabs(plan_retry_s(1000, &s, &ops) - 250) < 1e-6);
	assert_true(fabs(plan_follow_s(1000, &s, &ops) - 150) < 1e-6);
	assert_true(fabs(plan_retry_s(4, &s, &ops) - 100) < 1e-6);
	assert_true(fabs(plan_follow_s(4, &s, &ops) - 100) < 1e-6);
	s.no_follow_up = true;
	assert_true(isnan(plan_follow_s(1000, &s, &ops)));
	s.size_begin_B = 1;
	s.size_end_B = 4;	/* three sizes */
	s.timeout_ns = INT64_C(2000000000);
	assert_true(fabs(plan_retry_s(4, &s, &ops) - 6) < 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_busiest_part_decides),
		cmocka_unit_test(cores_that_all_share_are_a_part_too),
		cmocka_unit_test(a_contrast_is_two_passes),
		cmocka_unit_test(sizes_and_iterations_cost_what_they_move),
		cmocka_unit_test(flows_cost_queue_pairs_and_streams),
		cmocka_unit_test(what_is_asked_for_is_waited_for),
		cmocka_unit_test(defaults_are_what_the_manual_says),
		cmocka_unit_test(without_a_cost_nothing_is_known),
		cmocka_unit_test(
			second_attempts_have_a_quarter_and_time_for_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
