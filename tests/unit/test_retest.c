/* SPDX-License-Identifier: BSD-3-Clause */
/* --retest: do so few tests convict what is still broken, and nothing else? */
#include "tests/unit/fake_judge.h"

#include "lib/data/json.h"
#include "probes/plan/plan.h"
#include "report/judge/retest.h"

static const struct retest_case {
	struct fake_fault fault;
	double slow;		/* factor; 0 = dead */
	int nodes, tests;	/* of the part then, ordered; 0: any */
	bool drain;
} cases[] = {
	{ .fault = { .kind = PART_GPU, .a = 1, .b = 2 }, .nodes = 6,
	  .tests = 12, .drain = true },
	{ .fault = { .kind = PART_NIC, .a = 0, .b = 3 }, .nodes = 6,
	  .tests = 12, .drain = true },
	{ .fault = { .kind = PART_NODE, .a = 5 }, .nodes = 6, .drain = true },
	{ .fault = { .kind = PART_NODE_NETWORK, .a = 2 }, .nodes = 6,
	  .drain = true },
	{ .fault = { .kind = PART_INTRA_NODE, .a = 2 }, .nodes = 6,
	  .drain = true },
	{ .fault = { .kind = PART_NODE_PAIR, .a = 1, .b = 4 }, .nodes = 6 },
	{ .fault = { .kind = PART_PAIR, .a = 0, .b = 4 }, .nodes = 6 },
	{ .fault = { .kind = PART_RAIL, .a = 1 }, .nodes = 6 },
	{ .fault = { .kind = PART_GPU, .a = 0, .b = 1 }, .nodes = 2,
	  .drain = true },
	{ .fault = { .kind = PART_NIC, .a = 0, .b = 3 }, .nodes = 6,
	  .slow = 0.8, .tests = 12 },
};

/** What --pairs has of @text; the others are not planned. */
static void leave_out(struct run *r, const char *text)
{
	uint8_t *in = calloc(run_n_cells(r) + 1, 1);
	struct pairs p;

	assert_int_equal(pairs_parse(text, &p, NULL), 0);
	for (size_t i = 0; i < p.n; i++) {
		const struct pair_end *a = &p.list[i].a, *b = &p.list[i].b;
		int x = run_find_node(r, a->node, -1) * 4;
		int y = run_find_node(r, b->node, -1) * 4;

		for (int k = 0; k < 16; k++) {
			int s = k / 4, d = k % 4;

			if ((a->index == PAIR_ALL || a->index == s) &&
			    (b->index == PAIR_ALL || b->index == d)) {
				in[run_at(r, x + s, y + d)] = 1;
				in[run_at(r, y + d, x + s)] = 1;
			}
		}
	}
	pairs_release(&p);
	for (size_t at = 0; at < run_n_cells(r); at++) {
		if (!in[at]) {
			r->cells[at].class = CELL_UNPLANNED;
			r->cells[at].bw_GB_s = r->cells[at].lat_us = NAN;
		}
	}
	free(in);
}

static void break_it(struct run *r, const struct retest_case *c)
{
	if (c->slow > 0) {
		fake_slow(r, &c->fault, c->slow);
	} else {
		fake_break(r, &c->fault, OUTCOME_ERROR, "x");
	}
}

/** The retest of @first, still broken or repaired. */
static void retest(const struct retest_case *c, const struct retest_plan *p,
		   bool broken, struct run *r, struct verdict *v)
{
	fake_run(r, c->nodes, 4, 4);
	leave_out(r, str_text(&p->pairs));
	json_object_set_new(r->json, "launcher", json_string("sbatch"));
	json_object_set_new(r->json, "retest", json_pack(
		"{s:s, s:O}", "dir", "/a/b", "parts", p->parts));
	if (broken) {
		break_it(r, c);
	}
	*v = judge(r);
}

static bool names(const struct verdict *v, const struct part *p)
{
	const struct finding *f = &v->findings[0];
	bool is = v->n > 0 && part_same_place(&f->part, p);

	for (size_t i = 0; v->n > 0 && i < f->n_or; i++) {
		is = is || part_same_place(&f->or_parts[i], p);
	}
	return is;
}

static void few_tests_convict_and_acquit(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct retest_case *c = &cases[i];
		struct run first, now;
		struct verdict v, then;
		struct retest_plan p;
		struct retested r;
		struct str line = STR_INIT, words = STR_INIT;
		struct part part;

		print_message("case %zu\n", i);
		fake_run(&first, c->nodes, 4, 4);
		json_object_set_new(first.json, "launcher",
				    json_string("sbatch"));
		break_it(&first, c);
		then = judge(&first);
		assert_true(then.n > 0);
		assert_int_equal(retest_plan(&first, &then, &p), 0);
		assert_int_equal(json_array_size(p.parts), then.n);
		part = then.findings[0].part;

		retest(c, &p, true, &now, &v);
		assert_true(names(&v, &part));
		if (part_is(&part, KIND(GPU) | KIND(NIC) | KIND(NODE))) {
			assert_true(part_same_place(&v.findings[0].part,
						    &part));
		}
		assert_true(retest_part(&now, &v, 0, &r));
		assert_int_equal(r.state, RETEST_FAILS);
		assert_false(retest_undrain(&now, &v, r.node, &line));
		if (c->tests > 0) {
			assert_int_equal(r.tests, c->tests);
		}
		if (c->drain) {
			assert_true(then.findings[0].drain);
			assert_true(v.findings[0].drain);
		}
		verdict_release(&v);
		run_release(&now);

		retest(c, &p, false, &now, &v);
		assert_int_equal(v.n, 0);
		assert_true(retest_part(&now, &v, 0, &r));
		assert_int_equal(r.state, RETEST_PASSES);
		assert_int_equal(retest_undrain(&now, &v, r.node, &line),
				 c->drain);
		retest_words(&now, &v, &words);
		assert_non_null(strstr(str_text(&words), "retest of"));
		assert_int_equal(c->drain, strstr(str_text(&words),
			"\n    scontrol update nodename=") != NULL);
		verdict_release(&v);
		run_release(&now);

		str_release(&line);
		str_release(&words);
		retest_plan_release(&p);
		verdict_release(&then);
		run_release(&first);
	}
}

/** Nothing is said to pass that was not tested. */
static void what_was_not_tested_stays_open(void **state)
{
	struct run first, now;
	struct verdict v, then;
	struct retest_plan p;
	struct retested r;
	struct str line = STR_INIT;

	(void)state;
	fake_run(&first, 6, 4, 4);
	json_object_set_new(first.json, "launcher", json_string("sbatch"));
	fake_break(&first, &cases[0].fault, OUTCOME_ERROR, "x");
	then = judge(&first);
	assert_int_equal(retest_plan(&first, &then, &p), 0);
	retest(&cases[0], &p, false, &now, &v);
	verdict_release(&v);
	for (size_t at = 0; at < run_n_cells(&now); at++) {
		if (part_touches_at(&now, &then.findings[0].part, at)) {
			now.cells[at].class = CELL_UNPLANNED;
		}
	}
	v = judge(&now);
	assert_true(retest_part(&now, &v, 0, &r));
	assert_int_equal(r.state, RETEST_OPEN);
	assert_false(retest_undrain(&now, &v, "n1", &line));
	assert_false(retest_part(&now, &v, 1, &r));
	str_release(&line);
	retest_plan_release(&p);
	verdict_release(&v);
	verdict_release(&then);
	run_release(&now);
	run_release(&first);
}

/** A drill was on purpose, and so is what drained its node. */
static void a_drill_undrains_nobody(void **state)
{
	struct run r;
	struct verdict v;
	struct retest_plan p;

	(void)state;
	fake_run(&r, 6, 4, 4);
	r.drill = true;
	json_object_set_new(r.json, "launcher", json_string("sbatch"));
	fake_break(&r, &cases[0].fault, OUTCOME_ERROR, "x");
	v = judge(&r);
	assert_int_equal(retest_plan(&r, &v, &p), 0);
	assert_true(json_is_false(json_object_get(
		json_array_get(p.parts, 0), "drain")));
	retest_plan_release(&p);
	verdict_release(&v);
	run_release(&r);
	/* nothing found, nothing planned */
	fake_run(&r, 4, 2, 2);
	v = judge(&r);
	assert_int_equal(retest_plan(&r, &v, &p), 0);
	assert_int_equal(json_array_size(p.parts), 0);
	retest_plan_release(&p);
	verdict_release(&v);
	run_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_tests_convict_and_acquit),
		cmocka_unit_test(what_was_not_tested_stays_open),
		cmocka_unit_test(a_drill_undrains_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
