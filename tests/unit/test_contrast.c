/* SPDX-License-Identifier: BSD-3-Clause */
/* --compare: which passes there are, and what the second one says. */
#include "probes/plan/plan.h"
#include "report/draw/view.h"
#include "report/judge/pairs.h"
#include "report/judge/verdict.h"
#include "tests/unit/fake_run.h"

/* ---- passes ------------------------------------------------------------ */

static void check_passes(enum spec_contrast contrast, bool pxn, const char *one,
			 const char *two)
{
	struct pass passes[PASS_MAX];
	struct spec s;

	spec_init(&s);
	s.contrast = contrast;
	s.pxn = pxn;
	assert_int_equal(pass_list(&s, passes), two ? 2 : 1);
	assert_string_equal(passes[0].name, one);
	if (two) {
		assert_string_equal(passes[1].name, two);
	}
}

static void passes_have_names_of_their_own(void **state)
{
	(void)state;
	check_passes(CONTRAST_NONE, false, "nic", NULL);
	check_passes(CONTRAST_NONE, true, "nic", NULL);
	check_passes(CONTRAST_PXN, false, "nic", "nic+pxn");
	check_passes(CONTRAST_SCHEDULE, false, "serial", "parallel");
	check_passes(CONTRAST_SCHEDULE, true, "serial+pxn", "parallel+pxn");
	check_passes(CONTRAST_MEMORY, false, "nic", "nic+gpu");
}

static void only_other_settings_need_other_workers(void **state)
{
	const struct pass nic = { .schedule = SCHEDULE_NIC };
	const struct pass pxn = { .schedule = SCHEDULE_NIC, .pxn = true };
	const struct pass serial = { .schedule = SCHEDULE_SERIAL };
	const struct pass gpu = { .schedule = SCHEDULE_NIC,
				  .memory = MEMORY_GPU };

	(void)state;
	assert_true(pass_needs_fresh(&nic, &pxn, false));
	assert_true(pass_needs_fresh(&nic, &pxn, true));
	assert_true(pass_needs_fresh(&nic, &gpu, false));
	assert_false(pass_needs_fresh(&nic, &serial, false));
	assert_true(pass_needs_fresh(&nic, &serial, true));
	assert_false(pass_needs_fresh(&nic, &nic, true));
}

/* ---- findings ---------------------------------------------------------- */

/** All cells of @r have the same in the other pass. */
static void contrast_run(struct run *r, int nodes, int gpus, int nics,
			 enum spec_contrast kind)
{
	size_t cells;

	fake_run(r, nodes, gpus, nics);
	cells = (size_t)r->n_ranks * (size_t)r->n_ranks;
	STR_COPY(r->schedule, kind == CONTRAST_SCHEDULE ? "serial" : "nic");
	STR_COPY(r->contrast.pass, kind == CONTRAST_PXN ? "nic+pxn" :
				   kind == CONTRAST_MEMORY ? "nic+gpu" :
							     "parallel");
	r->contrast.kind = kind;
	r->contrast.outcome = calloc(cells, 1);
	r->contrast.bw_GB_s = calloc(cells, sizeof(float));
	for (size_t at = 0; at < cells; at++) {
		r->contrast.outcome[at] = r->cells[at].outcome;
		r->contrast.bw_GB_s[at] = r->cells[at].bw_GB_s;
	}
}

/** Cells that @f touches, and that are on @path, have @factor there. */
static void load(struct run *r, const struct fake_fault *f,
		 enum path_class path, double factor)
{
	for (int s = 0; s < r->n_ranks; s++) {
		for (int d = 0; d < r->n_ranks; d++) {
			size_t at = run_at(r, s, d);

			if (fake_hits(r, f, s, d) &&
			    r->cells[at].path == path) {
				r->contrast.bw_GB_s[at] *= (float)factor;
			}
		}
	}
}

static void fail_there(struct run *r, int src, int dst, enum outcome outcome)
{
	size_t at = run_at(r, src, dst);

	r->contrast.outcome[at] = (uint8_t)outcome;
	r->contrast.bw_GB_s[at] = NAN;
}

/** Judge and release @r; it must have @n findings. */
static struct verdict judge(struct run *r, size_t n)
{
	struct verdict v;

	assert_int_equal(verdict_compute(r, &v), 0);
	assert_int_equal(v.n, n);
	assert_int_equal(v.status, n > 0 ? VERDICT_WARN : VERDICT_PASS);
	run_release(r);
	return v;
}

static void equal_passes_are_no_finding(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	contrast_run(&r, 2, 4, 4, CONTRAST_SCHEDULE);
	v = judge(&r, 0);
	verdict_release(&v);
	contrast_run(&r, 2, 4, 4, CONTRAST_PXN);
	v = judge(&r, 0);
	verdict_release(&v);
	contrast_run(&r, 2, 4, 4, CONTRAST_MEMORY);
	v = judge(&r, 0);
	verdict_release(&v);
}

static void what_suffers_as_a_whole_is_oversubscribed(void **state)
{
	static const struct {
		struct fake_fault fault;
		enum path_class path;
		const char *says;
		size_t cells;
	} cases[] = {
		{ .fault = { .kind = PART_INTER_NODE }, .path = PATH_INTER,
		  .says = "the network between the nodes keeps 50 %",
		  .cells = 96 },
		{ .fault = { .kind = PART_NODE, .a = 1 }, .path = PATH_INTER,
		  .says = "node n1", .cells = 64 },
		{ .fault = { .kind = PART_NIC, .a = 1, .b = 1 },
		  .path = PATH_INTER, .says = "n1", .cells = 32 },
		{ .fault = { .kind = PART_GPU, .a = 2, .b = 3 },
		  .path = PATH_INTRA, .says = "n2", .cells = 6 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct finding *f;
		struct verdict v;
		struct run r;

		contrast_run(&r, 3, 4, 2, CONTRAST_SCHEDULE);
		load(&r, &cases[i].fault, cases[i].path, 0.5);
		v = judge(&r, 1);
		f = &v.findings[0];
		assert_int_equal(f->part.kind, PART_CONFIG);
		assert_false(f->fail);
		assert_string_equal(f->code, "oversubscribed");
		assert_int_equal(f->cells, cases[i].cells);
		assert_int_equal(f->explained, f->cells);
		assert_int_equal(f->n_or, 1);
		assert_int_equal(f->or_parts[0].kind, cases[i].fault.kind);
		assert_non_null(strstr(f->says, cases[i].says));
		assert_non_null(strstr(f->says, "50 %"));
		assert_int_equal(f->n_evidence, 1);
		assert_non_null(strstr(f->evidence[0], "GB/s serial"));
		assert_non_null(strstr(f->evidence[0], "GB/s parallel"));
		assert_true(f->act[0]);
		verdict_release(&v);
	}
}

static void a_little_or_here_and_there_is_not(void **state)
{
	static const struct fake_fault all = { .kind = PART_INTER_NODE };
	struct verdict v;
	struct run r;

	(void)state;
	contrast_run(&r, 3, 4, 2, CONTRAST_SCHEDULE);
	load(&r, &all, PATH_INTER, 0.85);
	for (int i = 0; i < r.n_ranks - 1; i += 4) {
		r.contrast.bw_GB_s[run_at(&r, i, i + 1)] *= 0.3f;
	}
	v = judge(&r, 0);
	verdict_release(&v);
}

/** Ranks that share cores lose by that; it says nothing of the network. */
static void shared_cores_lose_by_that(void **state)
{
	static const struct fake_fault all = { .kind = PART_INTER_NODE };
	struct verdict v;
	struct run r;

	(void)state;
	for (int k = CONTRAST_SCHEDULE; k <= CONTRAST_MEMORY; k++) {
		contrast_run(&r, 2, 4, 4, (enum spec_contrast)k);
		r.shared_cores = true;
		load(&r, &all, PATH_INTER, 0.3);
		v = judge(&r, 0);
		verdict_release(&v);
	}
}

static void gpu_memory_far_below_host_memory_is_a_warning(void **state)
{
	static const struct {
		struct fake_fault fault;
		double factor;
		size_t n, cells;
		const char *says;
	} cases[] = {
		{ .fault = { .kind = PART_NIC, .a = 1, .b = 2 },
		  .factor = 0.4, .n = 1, .cells = 16,
		  .says = "NIC 2 of n1 keeps 40 %" },
		{ .fault = { .kind = PART_NODE, .a = 1 }, .factor = 0.5,
		  .n = 1, .cells = 64, .says = "node n1 keeps 50 %" },
		{ .fault = { .kind = PART_INTER_NODE }, .factor = 0.3,
		  .n = 1, .cells = 96, .says = "all traffic between the nodes "
					       "keeps" },
		{ .fault = { .kind = PART_INTER_NODE }, .factor = 0.85 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct finding *f;
		struct verdict v;
		struct run r;

		contrast_run(&r, 3, 4, 4, CONTRAST_MEMORY);
		load(&r, &cases[i].fault, PATH_INTER, cases[i].factor);
		v = judge(&r, cases[i].n);
		if (v.n > 0) {
			f = &v.findings[0];
			assert_int_equal(f->part.kind, PART_CONFIG);
			assert_false(f->fail);
			assert_string_equal(f->code, "gpu_memory_slow");
			assert_int_equal(f->cells, cases[i].cells);
			assert_non_null(strstr(f->says, cases[i].says));
			assert_non_null(strstr(f->says, "GPU memory"));
			assert_non_null(strstr(f->act, "topo -m"));
			assert_non_null(strstr(f->evidence[0], "nic+gpu"));
		}
		verdict_release(&v);
	}
}

static void what_fails_in_the_other_pass_only_is_said(void **state)
{
	const struct finding *f;
	struct verdict v;
	struct run r;

	(void)state;
	contrast_run(&r, 2, 4, 4, CONTRAST_SCHEDULE);
	r.shared_cores = true;
	fail_there(&r, 1, 6, OUTCOME_TIMEOUT);
	fail_there(&r, 6, 1, OUTCOME_ERROR);
	fail_there(&r, 0, 1, OUTCOME_NOT_RUN);	/* that is no failure */
	v = judge(&r, 1);
	f = &v.findings[0];
	assert_int_equal(f->part.kind, PART_CONFIG);
	assert_string_equal(f->code, "fails_in_contrast");
	assert_int_equal(f->cells, 56);
	assert_int_equal(f->explained, 2);
	assert_non_null(strstr(f->says, "2 of 56 tests that pass in pass "
					"serial fail in pass parallel, for "
					"example n0:1 "
					"-> n1:2: timeout"));
	assert_false(f->fail);
	verdict_release(&v);
}

static void what_is_flaky_is_no_matter_of_the_pass(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	for (int corrupt = 0; corrupt < 2; corrupt++) {
		contrast_run(&r, 2, 4, 4, CONTRAST_SCHEDULE);
		r.shared_cores = true;
		r.cells[run_at(&r, 1, 6)].flaky = 1;
		fail_there(&r, 1, 6, corrupt ? OUTCOME_CORRUPT : OUTCOME_ERROR);
		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_int_equal(v.n, 1 + corrupt);
		assert_string_equal(v.findings[corrupt].code, "flaky");
		assert_string_equal(v.findings[0].code,
				    corrupt ? "fails_in_contrast" : "flaky");
		verdict_release(&v);
		run_release(&r);
	}
}

static void changed_data_in_the_other_pass_is_a_fault(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	contrast_run(&r, 2, 4, 4, CONTRAST_SCHEDULE);
	r.shared_cores = true;
	fail_there(&r, 1, 6, OUTCOME_TIMEOUT);
	fail_there(&r, 2, 1, OUTCOME_CORRUPT);
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(v.status, VERDICT_FAIL);
	assert_int_equal(v.n, 1);
	assert_non_null(strstr(v.findings[0].says, "for example n0:2 -> n0:1: "
						   "corrupt (corrupt data)"));
	verdict_release(&v);
	run_release(&r);
}

static void dead_rails_that_pxn_rescues_are_a_warning(void **state)
{
	static const struct fake_fault rails = { .kind = PART_CROSS_RAIL };
	const struct finding *f;
	struct verdict v;
	struct run r;

	(void)state;
	contrast_run(&r, 2, 4, 4, CONTRAST_PXN);
	fake_break(&r, &rails, OUTCOME_TIMEOUT, "timeout");
	v = judge(&r, 1);
	f = &v.findings[0];
	assert_int_equal(f->part.kind, PART_CROSS_RAIL);
	assert_string_equal(f->code, "pxn_needed");
	assert_int_equal(f->cells, 24);
	assert_int_equal(f->explained, 24);
	assert_non_null(strstr(f->evidence[0], "timeout, with PXN 4"));
	verdict_release(&v);
}

/** Dead with it as well: PXN is no answer, and the verdict is as always. */
static void dead_rails_that_stay_dead_are_a_fault(void **state)
{
	static const struct fake_fault rails = { .kind = PART_CROSS_RAIL };
	struct verdict v;
	struct run r;

	(void)state;
	contrast_run(&r, 2, 4, 4, CONTRAST_PXN);
	fake_break(&r, &rails, OUTCOME_TIMEOUT, "timeout");
	for (int s = 0; s < r.n_ranks; s++) {
		for (int d = 0; d < r.n_ranks; d++) {
			if (fake_hits(&r, &rails, s, d)) {
				fail_there(&r, s, d, OUTCOME_TIMEOUT);
			}
		}
	}
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.status, VERDICT_FAIL);
	assert_int_equal(v.findings[0].part.kind, PART_CROSS_RAIL);
	assert_string_not_equal(v.findings[0].code, "pxn_needed");
	verdict_release(&v);
	run_release(&r);
}

/* ---- the map of the ratio ---------------------------------------------- */

static void the_map_shows_ratios_and_what_lacks_one(void **state)
{
	static const struct fake_fault all = { .kind = PART_INTER_NODE };
	const struct view_cell *c;
	struct scale scale;
	struct view v;
	struct run r;
	char text[64];

	(void)state;
	contrast_run(&r, 2, 2, 2, CONTRAST_SCHEDULE);
	load(&r, &all, PATH_INTER, 0.5);
	fake_cell(&r, 0, 1, OUTCOME_ERROR, "x");	/* here only */
	fail_there(&r, 1, 0, OUTCOME_TIMEOUT);		/* there only */
	fail_there(&r, 2, 3, OUTCOME_NOT_RUN);
	r.contrast.bw_GB_s[run_at(&r, 3, 2)] *= 1.5f;
	assert_int_equal(view_make(&r, 16, VIEW_CONTRAST, NULL, &v), 0);
	c = view_cell(&v, 0, 2);
	assert_int_equal(c->class, CELL_PASS);
	assert_true(fabs((double)c->value - 0.5) < 1e-6);
	assert_int_equal(view_cell(&v, 0, 0)->class, CELL_UNPLANNED);
	assert_int_equal(view_cell(&v, 0, 1)->class, CELL_FAIL);
	assert_true(isnan(view_cell(&v, 0, 1)->value));
	assert_int_equal(view_cell(&v, 1, 0)->class, CELL_TIMEOUT);
	assert_int_equal(view_cell(&v, 2, 3)->class, CELL_NOT_RUN);
	assert_string_equal(view_metric_text(&v, text, sizeof(text)),
			    "parallel / serial");
	scale = scale_make(&v, PATH_INTRA);
	assert_true(scale.low == 0 && scale.high == 1 && !scale.log);
	assert_true(scale_place(&scale, 0.5) == 0.5);
	assert_true(scale_place(&scale, 1.5) == 1);
	view_release(&v);
	run_release(&r);
}

static void without_a_contrast_there_is_no_map(void **state)
{
	struct view v;
	struct run r;

	(void)state;
	fake_run(&r, 2, 2, 2);
	assert_int_equal(view_make(&r, 16, VIEW_CONTRAST, NULL, &v), 0);
	assert_false(v.any_value);
	assert_int_equal(view_cell(&v, 0, 1)->class, CELL_UNPLANNED);
	view_release(&v);
	run_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(passes_have_names_of_their_own),
		cmocka_unit_test(only_other_settings_need_other_workers),
		cmocka_unit_test(equal_passes_are_no_finding),
		cmocka_unit_test(what_suffers_as_a_whole_is_oversubscribed),
		cmocka_unit_test(a_little_or_here_and_there_is_not),
		cmocka_unit_test(shared_cores_lose_by_that),
		cmocka_unit_test(
			gpu_memory_far_below_host_memory_is_a_warning),
		cmocka_unit_test(what_fails_in_the_other_pass_only_is_said),
		cmocka_unit_test(what_is_flaky_is_no_matter_of_the_pass),
		cmocka_unit_test(changed_data_in_the_other_pass_is_a_fault),
		cmocka_unit_test(dead_rails_that_pxn_rescues_are_a_warning),
		cmocka_unit_test(dead_rails_that_stay_dead_are_a_fault),
		cmocka_unit_test(the_map_shows_ratios_and_what_lacks_one),
		cmocka_unit_test(without_a_contrast_there_is_no_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
