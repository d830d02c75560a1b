/* SPDX-License-Identifier: BSD-3-Clause */
/* What fails once and then passes. */
#include "tests/unit/fake_judge.h"
#include "report/judge/verdict.h"

static void a_pair_that_fails_once_is_a_warning(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 2, 4, 4);
	r.cells[run_at(&r, 1, 6)].flaky = 1;
	v = judge(&r);
	assert_int_equal(v.status, VERDICT_WARN);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.findings[0].part.kind, PART_PAIR);
	assert_string_equal(v.findings[0].code, "flaky");
	assert_false(v.findings[0].fail);
	assert_int_equal(v.n_exclude, 0);
	verdict_release(&v);
	run_release(&r);
}

/** Data that arrived changed once is a fault, and it is said what failed; a
 *  dead GPU is no explanation, one that changes data is. */
static void data_that_was_changed_once_is_a_fault(void **state)
{
	static const struct fake_fault gpu = { .kind = PART_GPU, .a = 0,
					       .b = 1 };
	static const struct {
		enum outcome first, gpu;	/* of the pair, of a part of
						 * it */
		const char *code, *says, *evidence;
		size_t findings;
	} cases[] = {
		{ OUTCOME_TIMEOUT, OUTCOME_OK, "flaky", "when retried",
		  "n0:1 -> n1:2 timeout it_was: why; passed when retried",
		  1 },
		{ OUTCOME_CORRUPT, OUTCOME_OK, "data_corrupt",
		  "when retried: corrupt data",
		  "n0:1 -> n1:2 corrupt it_was: why; passed when retried",
		  1 },
		{ OUTCOME_TIMEOUT, OUTCOME_TIMEOUT, "", "", "", 1 },
		{ OUTCOME_CORRUPT, OUTCOME_TIMEOUT, "data_corrupt",
		  "when retried: corrupt data", "", 2 },
		{ OUTCOME_CORRUPT, OUTCOME_CORRUPT, "", "", "", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct run_failure failure = { .outcome = cases[i].first,
					       .detail = (char *)"why" };
		struct run_failure *failures[64] = { 0 };
		const struct finding *f;
		struct verdict v;
		struct run r;

		fake_run(&r, 2, 4, 4);
		failure.code = fake_code(&r, "it_was");
		if (cases[i].gpu != OUTCOME_OK) {
			fake_break(&r, &gpu, cases[i].gpu, "bad");
			fake_cell(&r, 1, 6, OUTCOME_OK, "");
		}
		r.cells[run_at(&r, 1, 6)].flaky = 1;
		failures[run_at(&r, 1, 6)] = &failure;
		r.cell_failure = failures;
		v = judge(&r);
		assert_int_equal(v.n, cases[i].findings);
		assert_int_equal(v.findings[0].part.kind,
				 cases[i].gpu == OUTCOME_OK ? PART_PAIR :
							      PART_GPU);
		f = &v.findings[v.n - 1];
		if (cases[i].code[0]) {
			assert_string_equal(f->code, cases[i].code);
			assert_int_equal(f->fail,
					 cases[i].first == OUTCOME_CORRUPT);
			assert_non_null(strstr(f->says, cases[i].says));
			assert_non_null(strstr(f->evidence[0],
					       cases[i].evidence));
		}
		verdict_release(&v);
		r.cell_failure = NULL;
		run_release(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pair_that_fails_once_is_a_warning),
		cmocka_unit_test(data_that_was_changed_once_is_a_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
