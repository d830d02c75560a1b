/* SPDX-License-Identifier: BSD-3-Clause */
/* Two runs beside each other: what is compared, and what it comes to. */
#include "lib/base/err.h"
#include "report/diff/run_diff.h"
#include "tests/unit/fake_run.h"

/** Compare @then with @now, and free both. */
static struct run_diff compare(struct run *then, struct run *now,
			       enum diff_status want)
{
	struct run_diff d, counts;

	assert_int_equal(run_diff_make(then, now, &d), 0);
	assert_int_equal(run_diff_status(&d), want);
	counts = d;
	run_diff_release(&d);
	run_release(then);
	run_release(now);
	return counts;
}

static void what_a_sum_comes_to(void **state)
{
	static const struct {
		size_t compared, bad, slow, missing;
		enum diff_status status;
		int code;
	} cases[] = {
		{ 0, 0, 0, 9, DIFF_UNKNOWN, CODE_UNABLE },
		{ 1, 0, 0, 0, DIFF_PASS, CODE_HEALTHY },
		{ 1, 0, 1, 0, DIFF_WARN, CODE_HEALTHY },
		{ 1, 0, 1, 1, DIFF_PARTIAL, CODE_PARTIAL },
		{ 1, 1, 0, 0, DIFF_FAIL, CODE_FAULT },
		{ 1, 1, 0, 1, DIFF_FAIL, CODE_FAULT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(diff_status(cases[i].compared, cases[i].bad,
					     cases[i].slow, cases[i].missing),
				 cases[i].status);
		assert_int_equal(diff_exit(cases[i].status), cases[i].code);
	}
}

static void what_is_missing_now_is_no_pass(void **state)
{
	struct run then, now;
	struct run_diff d;

	(void)state;
	fake_run(&then, 3, 4, 4);
	fake_run(&now, 2, 4, 4);
	d = compare(&then, &now, DIFF_PARTIAL);
	assert_int_equal(d.count[CHANGE_SAME], 56);
	assert_int_equal(d.missing, 76);
	assert_int_equal(d.added, 0);
	fake_run(&then, 2, 4, 4);
	fake_run(&now, 3, 4, 4);
	d = compare(&then, &now, DIFF_PASS);
	assert_int_equal(d.missing, 0);
	assert_int_equal(d.added, 76);
	/* a test that did not come to its turn */
	fake_run(&then, 2, 4, 4);
	fake_run(&now, 2, 4, 4);
	fake_cell(&now, 0, 5, OUTCOME_NOT_RUN, "");
	assert_int_equal(compare(&then, &now, DIFF_PARTIAL).missing, 1);
	/* the follow-up goes where something fails */
	fake_run(&then, 2, 4, 4);
	fake_run(&now, 2, 4, 4);
	fake_cell(&now, 0, 5, OUTCOME_NOT_RUN, "");
	then.follow_only = calloc(run_n_cells(&then) + 1, 1);
	assert_non_null(then.follow_only);
	then.follow_only[run_at(&then, 0, 5)] = 1;
	assert_int_equal(compare(&then, &now, DIFF_PASS).missing, 0);
}

static void nodes_of_other_names_go_by_their_place(void **state)
{
	struct run then, now;
	struct run_diff d;

	(void)state;
	fake_run(&then, 2, 4, 4);
	fake_run(&now, 3, 2, 2);
	for (int i = 0; i < 3; i++) {
		snprintf(now.nodes[i].name, sizeof(now.nodes[i].name), "m%d",
			 i);
	}
	d = compare(&then, &now, DIFF_PARTIAL);
	assert_int_equal(d.count[CHANGE_SAME], 12);
	assert_int_equal(d.missing, 44);
	assert_int_equal(d.added, 18);
}

static void what_stays_broken_is_no_pass(void **state)
{
	struct run then, now;
	struct run_diff d;

	(void)state;
	fake_run(&then, 2, 4, 4);
	fake_run(&now, 2, 4, 4);
	fake_cell(&then, 0, 5, OUTCOME_ERROR, "wc_retry_exceeded");
	fake_cell(&now, 0, 5, OUTCOME_TIMEOUT, "");
	d = compare(&then, &now, DIFF_FAIL);
	assert_int_equal(d.count[CHANGE_STILL_BAD], 1);
	assert_int_equal(d.count[CHANGE_SAME], 55);
	assert_int_equal(d.count[CHANGE_BROKE], 0);
	fake_run(&then, 2, 4, 4);
	fake_run(&now, 2, 4, 4);
	then.cells[run_at(&then, 0, 5)].class = CELL_SLOW;
	now.cells[run_at(&now, 0, 5)].class = CELL_SLOW;
	d = compare(&then, &now, DIFF_WARN);
	assert_int_equal(d.count[CHANGE_STILL_SLOW], 1);
}

static void other_transports_and_sizes_are_unlike(void **state)
{
	struct run then, now;
	struct str why = STR_INIT;

	(void)state;
	fake_run(&then, 1, 2, 2);
	fake_run(&now, 1, 2, 2);
	assert_false(run_unlike(&then, &now, &why));
	STR_COPY(now.transport, "tcp");
	now.size_B = 1 << 20;
	assert_true(run_unlike(&then, &now, &why));
	assert_string_equal(str_text(&why), "transport nccl, now tcp; "
			    "messages of 64 MiB, now 1 MiB");
	/* an import, and a run that measured nothing, do not say */
	now.transport[0] = '\0';
	now.size_B = 0;
	assert_false(run_unlike(&then, &now, &why));
	str_release(&why);
	/* which NICs were used matters only if both used HCAs */
	fake_fact(&now, "n0", "gpu0", "nccl_ib_hca", "=mlx5_0:1");
	assert_string_equal(run_nic_choice(&now), "");
	STR_COPY(then.paths[0], "NET/IB/GDRDMA");
	assert_string_equal(run_nic_choice(&then), "nccl");
	assert_false(run_unlike(&then, &now, &why));
	STR_COPY(now.paths[0], "NET/IB/GDRDMA");
	assert_string_equal(run_nic_choice(&now), "plan");
	assert_true(run_unlike(&then, &now, &why));
	assert_true(run_unlike(&now, &then, &why));
	assert_string_equal(str_text(&why), "all near NICs, now those of the "
			    "plan (--nic-choice)NICs of the plan, now all near "
			    "ones (--nic-choice)");
	assert_false(run_unlike(&now, &now, &why));
	str_release(&why);
	run_release(&then);
	run_release(&now);
}

/** By up to 1 %, never the same for two neighbours. */
static double jitter(int src, int dst)
{
	return 1 + ((src * 37 + dst * 11) % 21 - 10) / 1000.0;
}

static void one_slow_node_of_four_is_no_noise(void **state)
{
	struct run then, now;
	struct run_diff d;

	(void)state;
	fake_run(&then, 4, 4, 4);
	fake_run(&now, 4, 4, 4);
	for (int s = 0; s < 16; s++) {
		for (int t = 0; t < 16; t++) {
			bool out = (s / 4 == 2) != (t / 4 == 2);
			double slow = out ? 0.7 : 1;

			if (s != t) {
				now.cells[run_at(&now, s, t)].bw_GB_s *=
					(float)(slow * jitter(s, t));
			}
		}
	}
	d = compare(&then, &now, DIFF_FAIL);
	assert_int_equal(d.count[CHANGE_WORSE], 2 * 3 * 16);
	assert_int_equal(d.count[CHANGE_BETTER], 0);
}

static void add_point(struct sweep *s, int64_t size_B, enum outcome outcome)
{
	struct collective_row row;

	record_init(&schema_collective, &row);
	STR_COPY(row.op, "allreduce");
	row.ranks = 8;
	row.size_B = size_B;
	row.inplace = 0;
	row.outcome = outcome;
	row.time_us = outcome == OUTCOME_OK ? 10 : NAN;
	assert_int_equal(sweep_add(s, &row), 0);
}

static void sizes_that_fail_in_both_are_no_pass(void **state)
{
	struct sweep s = { 0 };
	struct sweep_diff d;

	(void)state;
	add_point(&s, 1024, OUTCOME_OK);
	add_point(&s, 2048, OUTCOME_TIMEOUT);
	add_point(&s, 4096, OUTCOME_NOT_RUN);
	assert_int_equal(sweep_group(&s), 0);
	assert_int_equal(sweep_diff_make(&s, &s, &d), 0);
	assert_int_equal(d.failing, 1);
	assert_int_equal(d.missing, 0);
	assert_int_equal(sweep_diff_status(&d), DIFF_FAIL);
	assert_int_equal(d.count[POINT_WORSE] + d.count[POINT_LOST], 0);
	sweep_diff_release(&d);
	sweep_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_sum_comes_to),
		cmocka_unit_test(what_is_missing_now_is_no_pass),
		cmocka_unit_test(nodes_of_other_names_go_by_their_place),
		cmocka_unit_test(what_stays_broken_is_no_pass),
		cmocka_unit_test(other_transports_and_sizes_are_unlike),
		cmocka_unit_test(one_slow_node_of_four_is_no_noise),
		cmocka_unit_test(sizes_that_fail_in_both_are_no_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
