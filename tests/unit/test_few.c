/* SPDX-License-Identifier: BSD-3-Clause */
/* Slow parts with too little beside them to say that it is their fault. */
#include "tests/unit/fake_run.h"

#include "report/judge/pairs.h"

/** Half the speed for all tests of @p; what it makes of the whole. */
static enum verdict_status status_of(int nodes, int gpus, struct part p,
				     float line_GB_s)
{
	enum verdict_status status;
	struct verdict v;
	struct run r;

	fake_run(&r, nodes, gpus, gpus);
	for (size_t at = 0; at < run_n_cells(&r); at++) {
		struct cell *c = &r.cells[at];

		c->bw_GB_s *= part_touches_at(&r, &p, at) ? 0.5F : 1;
		if (line_GB_s > 0 && c->path == PATH_INTER) {
			c->expected_GB_s = line_GB_s;
		}
	}
	cells_mark_slow(r.cells, run_n_cells(&r), r.size_B, r.slow);
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_true(v.n > 0);
	status = v.status;
	verdict_release(&v);
	run_release(&r);
	return status;
}

static void few_are_no_measure(void **state)
{
	static const struct {
		enum part_kind kind;
		int nodes, gpus, index;
		float line_GB_s;
		enum verdict_status status;
	} cases[] = {
		{ PART_NIC, 3, 8, 2, 0, VERDICT_WARN },
		{ PART_NIC, 4, 8, 2, 0, VERDICT_FAIL },
		{ PART_NIC, 3, 8, 2, 1, VERDICT_WARN },
		{ PART_NIC, 3, 8, 2, 1000, VERDICT_FAIL },
		{ PART_NODE_NETWORK, 3, 8, -1, 0, VERDICT_WARN },
		{ PART_NODE_NETWORK, 5, 8, -1, 0, VERDICT_FAIL },
		/* the others of its node are as good as nodes */
		{ PART_GPU, 2, 8, 2, 0, VERDICT_FAIL },
		{ PART_GPU_NVLINK, 1, 8, 2, 0, VERDICT_FAIL },
		{ PART_GPU, 3, 3, 2, 0, VERDICT_WARN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		enum verdict_status status =
			status_of(cases[i].nodes, cases[i].gpus,
				  part_at(cases[i].kind, 0, cases[i].index),
				  cases[i].line_GB_s);

		if (status != cases[i].status) {
			fail_msg("case %zu: %s", i,
				 verdict_status_name(status));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_are_no_measure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
