/* SPDX-License-Identifier: BSD-3-Clause */
/* --accept: what a file says, and what it says of a run. */
#include "tests/unit/fake_run.h"

#include <stdio.h>

#include "report/judge/findings.h"
#include "report/model/sweep.h"

static void a_wrong_line_is_named(void **state)
{
	static const char *const wrong[] = {
		"", "# nothing\n", "allreduce 2 16 8G 300", "sum 2 16 8G 300 -",
		"allreduce 2 16 8G - -", "allreduce 2 16 8G 0 -",
		"allreduce 2 16 8G -5 -", "allreduce 0 16 8G 300 -",
		"allreduce 2 99999999 8G 300 -", "allreduce 2 16 8X 300 -",
		"allreduce 2 16 8G nan -", "allreduce 2 16 8G inf -",
		"allreduce 2 16 8G 1e99 -", "allreduce 2 16 8G 300 - 7",
		"p2p NET/IB 40", "p2p - - -",
	};
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct accept_test *list = NULL;
		size_t n = 0;

		e = (struct err){ 0 };
		if (accept_parse(wrong[i], &list, &n, &e) == 0 || !e.text[0]) {
			fail_msg("'%s' is taken", wrong[i]);
		}
		free(list);
	}
}

static void add_row(struct sweep *s, double bw, double us)
{
	struct collective_row row;

	record_init(&schema_collective, &row);
	STR_COPY(row.op, "allreduce");
	row.nodes = 2;
	row.ranks = 16;
	row.size_B = INT64_C(8) << 30;
	row.inplace = s->n > 0;
	row.busbw_GB_s = bw;
	row.time_us = us;
	row.outcome = OUTCOME_OK;
	assert_int_equal(sweep_add(s, &row), 0);
}

/** What is said of line @text in a run of two nodes with four rails that
 *  reached 187.7 GB/s in @us. */
static enum test_result judge_us(const char *text, double us, char says[300])
{
	struct run run = { .probe = "allreduce", .json = json_object() };
	struct sweep s = { .run = &run };
	struct verdict v = { 0 };
	enum test_result how;

	machine_init(&s.machine);
	machine_set_rails(&s.machine, 4, 50, 8);
	add_row(&s, 170, us);
	add_row(&s, 187.7, us);
	assert_int_equal(accept_parse(text, &run.accept, &run.n_accept, NULL),
			 0);
	accept_findings(&run, &s, &v);
	assert_int_equal(v.n_tests, 1);
	how = v.tests[0].how;
	str_copy(says, 300, v.tests[0].says);
	assert_int_equal(v.n, how == TEST_MISSED || how == TEST_NOT_MEASURED);
	if (v.n) {
		assert_true(v.findings[0].fail);
	}
	verdict_release(&v);
	sweep_release(&s);
	run_release(&run);
	return how;
}

static enum test_result judge(const char *text, char says[300])
{
	return judge_us(text, 85820, says);
}

static void each_line_is_a_test(void **state)
{
	char says[300];

	(void)state;
	assert_int_equal(judge("allreduce 2 16 8G 187 -", says), TEST_MET);
	assert_int_equal(judge("allreduce - - - 187 90000", says), TEST_MET);
	assert_int_equal(judge("allreduce 2 16 8G 190 - # more", says),
			 TEST_MISSED);
	assert_null(strstr(says, "no run can"));
	assert_int_equal(judge("allreduce 2 16 8G - 85000", says), TEST_MISSED);
	assert_int_equal(judge("allreduce 2 16 4G 187 -", says),
			 TEST_NOT_MEASURED);
	assert_int_equal(judge("allgather 2 16 8G 187 -", says),
			 TEST_NOT_MEASURED);
	assert_int_equal(judge("p2p NET 40 -", says), TEST_OTHER);
	/* a contract that was made for eight rails */
	assert_int_equal(judge("allreduce 2 16 8G 491.8 -", says),
			 TEST_MISSED);
	assert_string_equal(says, "allreduce of 8 GiB on 2 nodes with 16 GPUs: "
			    "187.7 GB/s, below 491.8; no run can reach that: 4 "
			    "rails of this machine carry at most 375.0 GB/s, by "
			    "Tree");
}

static void pairs_meet_a_limit_together(void **state)
{
	struct verdict v = { 0 };
	struct run r;

	(void)state;
	fake_run(&r, 2, 2, 2);
	STR_COPY(r.paths[0], "NET/IB");
	assert_int_equal(accept_parse("p2p NET 30 10\np2p NET 200 -\n"
				      "p2p P2P 1 -\nallreduce - - - 1 -\n",
				      &r.accept, &r.n_accept, NULL), 0);
	accept_findings(&r, NULL, &v);
	assert_int_equal(v.n_tests, 4);
	assert_int_equal(v.tests[0].how, TEST_MET);
	assert_int_equal(v.tests[1].how, TEST_MISSED);
	assert_true(strstr(v.tests[1].says, "4 of 12 pairs by NET meet"));
	assert_int_equal(v.tests[2].how, TEST_NOT_MEASURED);
	assert_int_equal(v.tests[3].how, TEST_OTHER);
	verdict_release(&v);
	/* several NICs at once meet no limit of one */
	v = (struct verdict){ 0 };
	json_object_set_new(r.json, "options",
			    json_pack("{s:s}", "nic-choice", "nccl"));
	accept_findings(&r, NULL, &v);
	assert_int_equal(v.tests[0].how, TEST_NOT_MEASURED);
	assert_string_equal(v.tests[0].says, "not measured: with "
			    "--nic-choice=nccl, pairs by NET use all near "
			    "NICs, not those of the plan");
	verdict_release(&v);
	run_release(&r);
}

/** A pair that failed does not meet a limit; what has no latency was not
 *  tested for it. */
static void what_was_not_measured_meets_nothing(void **state)
{
	struct verdict v = { 0 };
	struct run r;
	char says[300];

	(void)state;
	fake_run(&r, 2, 2, 2);
	STR_COPY(r.paths[0], "NET/IB");
	assert_int_equal(accept_parse("p2p NET 1 -\np2p NET - 1000\n",
				      &r.accept, &r.n_accept, NULL), 0);
	run_foreach_cell(&r, at) {
		r.cells[at].lat_us = NAN;
	}
	r.cells[run_at(&r, 0, 3)].class = CELL_FAIL;
	accept_findings(&r, NULL, &v);
	assert_int_equal(v.tests[0].how, TEST_MISSED);
	assert_true(strstr(v.tests[0].says, "11 of 12 pairs by NET meet"));
	assert_int_equal(v.tests[1].how, TEST_NOT_MEASURED);
	verdict_release(&v);
	run_release(&r);
	assert_int_equal(judge_us("allreduce 2 16 8G - 90000", NAN, says),
			 TEST_NOT_MEASURED);
}

/** The examples are shares of the ceilings, as they say. */
static void examples_are_made_from_the_ceilings(void **state)
{
	static const struct {
		const char *file;
		int rails;
	} examples[] = {
		{ "data/accept/h100-2x8-8rails", 8 },
		{ "data/accept/h100-2x8-4rails", 4 },
	};
	struct expected x;

	(void)state;
	assert_int_equal(expected_read(NULL, &x, NULL), 0);
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		char text[ACCEPT_MAX_BYTES];
		FILE *f = fopen(examples[i].file, "r");
		struct accept_test *list = NULL;
		struct machine m;
		size_t n = 0;

		assert_non_null(f);
		text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
		fclose(f);
		assert_int_equal(accept_parse(text, &list, &n, NULL), 0);
		machine_init(&m);
		machine_set_rails(&m, examples[i].rails, 50, 8);
		for (size_t k = 0; k < n && list[k].op[0]; k++) {
			struct collective_row row;
			struct ceiling most, least;

			record_init(&schema_collective, &row);
			STR_COPY(row.op, list[k].op);
			row.nodes = list[k].nodes;
			row.ranks = list[k].gpus;
			ceiling_of_row(&m, &row, &most, &least);
			assert_true(fabs(list[k].bw_min_GB_s -
					 least.GB_s *
						 x.shares[least.path].warn /
						 100) < 0.01);
		}
		free(list);
	}
	expected_release(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wrong_line_is_named),
		cmocka_unit_test(each_line_is_a_test),
		cmocka_unit_test(pairs_meet_a_limit_together),
		cmocka_unit_test(what_was_not_measured_meets_nothing),
		cmocka_unit_test(examples_are_made_from_the_ceilings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
