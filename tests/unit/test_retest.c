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
		const struct pair_end *a = &p.list[i][0], *b = &p.list[i][1];
		const int gpus = r->nodes[0].gpus;
		int x = run_find_node(r, a->node, -1) * gpus;
		int y = run_find_node(r, b->node, -1) * gpus;

		for (int k = 0; k < gpus * gpus; k++) {
			int s = k / gpus, d = k % gpus;

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

/** Slurm has all nodes drained, for @why. */
static void drain_all(struct run *r, const char *why)
{
	char detail[80];

	snprintf(detail, sizeof(detail), "Slurm has it as draining: %s", why);
	for (int i = 0; i < r->n_nodes; i++) {
		fake_event(r, "", r->nodes[i].name, "slurm_state", detail);
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
	drain_all(r, "gpucheck: nic dead");
	if (broken) {
		break_it(r, c);
	}
	*v = judge(r);
}

/** Does part @i of the retest have the line that has Slurm use its node? */
static bool undrains(const struct run *run, const struct verdict *v, size_t i)
{
	json_t *json = retest_json(run, v);
	const json_t *part = json_array_get(json, i);
	const char *line = json_string_value(json_object_get(part, "undrain"));
	char wanted[160];
	bool is = line != NULL;

	snprintf(wanted, sizeof(wanted), "scontrol update nodename=%s "
		 "state=resume", json_member(part, "node"));
	if (line) {
		assert_string_equal(line, wanted);
	}
	json_decref(json);
	return is;
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
		struct str words = STR_INIT;
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
		assert_false(undrains(&now, &v, 0));
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
		assert_int_equal(undrains(&now, &v, 0),
				 c->drain);
		retest_words(&now, &v, &words);
		assert_non_null(strstr(str_text(&words), "retest of"));
		assert_int_equal(c->drain, strstr(str_text(&words),
			"\n    scontrol update nodename=") != NULL);
		/* of one that is in use, or that somebody else drained */
		drain_all(&now, "fan is loud");
		assert_false(undrains(&now, &v, 0));
		now.n_events = 0;
		assert_false(undrains(&now, &v, 0));
		verdict_release(&v);
		run_release(&now);

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
	assert_false(undrains(&now, &v, 0));
	assert_false(retest_part(&now, &v, 1, &r));
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

/* ---- what passes, and what does not -------------------------------------- */

/** A run, and the retest of what it has found. */
struct scene {
	struct run first, now;
	struct verdict then, v;
	struct retest_plan p;
	bool confirmed;		/* the follow-up of the first did */
};

static void begin(struct scene *x)
{
	*x = (struct scene){ .confirmed = false };
	fake_run(&x->first, 6, 4, 4);
	json_object_set_new(x->first.json, "launcher", json_string("sbatch"));
}

/** What was broken in x->first is found, and repaired; nodes have @gpus now. */
static void repair(struct scene *x, int gpus)
{
	x->then = judge(&x->first);
	assert_true(x->then.n > 0);
	x->then.findings[0].fail |= x->confirmed;
	assert_int_equal(retest_plan(&x->first, &x->then, &x->p), 0);
	fake_run(&x->now, 6, gpus, gpus);
	leave_out(&x->now, str_text(&x->p.pairs));
	json_object_set_new(x->now.json, "launcher", json_string("sbatch"));
	json_object_set_new(x->now.json, "retest", json_pack(
		"{s:s, s:O}", "dir", "/a/b", "parts", x->p.parts));
	drain_all(&x->now, "gpucheck: nic dead");
}

static void part_is_of_code(struct scene *x, const char *code)
{
	json_object_set_new(json_array_get(x->p.parts, 0), "code",
			    json_string(code));
}

/** Part @i of it passes or not, and @resumes its node; the run ends with exit
 *  code @code; @text is said. */
static void ends(struct scene *x, size_t i, bool passes, int code,
		 bool resumes, const char *text)
{
	struct str words = STR_INIT;
	struct retested r;

	x->v = judge(&x->now);
	assert_true(retest_part(&x->now, &x->v, i, &r));
	assert_int_equal(r.state == RETEST_PASSES, passes);
	assert_int_equal(verdict_exit(&x->now, &x->v), code);
	assert_int_equal(undrains(&x->now, &x->v, i), resumes);
	retest_words(&x->now, &x->v, &words);
	if (!strstr(str_text(&words), text)) {
		fail_msg("no '%s' in: %s", text, str_text(&words));
	}
	str_release(&words);
}

static void clear(struct scene *x)
{
	retest_plan_release(&x->p);
	verdict_release(&x->v);
	verdict_release(&x->then);
	run_release(&x->first);
	run_release(&x->now);
}

/** Nobody need confirm what a run has found and its retest finds again. */
static void a_fault_that_is_found_again_is_one(void **state)
{
	static const struct fake_fault nic = { .kind = PART_NIC, .a = 0,
					       .b = 3 };
	static const double now[] = { 0.93, 0.965 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct scene x;

		begin(&x);
		fake_slow(&x.first, &nic, 0.8);
		x.confirmed = true;
		repair(&x, 4);
		if (i > 0) {	/* a retest of a retest */
			part_is_of_code(&x, "still_slow");
		}
		fake_slow(&x.now, &nic, now[i]);
		ends(&x, 0, false, 1, false, "still slow");
		assert_true(x.v.findings[0].fail);
		clear(&x);
	}
}

/** A warning that nobody had confirmed is a fault where it is slow enough. */
static void a_retest_confirms_a_warning(void **state)
{
	static const struct fake_fault nic = { .kind = PART_NIC, .a = 0,
					       .b = 3 };
	static const double now[] = { 0.85, 0.94 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct scene x;

		begin(&x);
		fake_slow(&x.first, &nic, now[i]);
		repair(&x, 4);
		assert_false(x.then.findings[0].fail);
		fake_slow(&x.now, &nic, now[i]);
		ends(&x, 0, false, 1, false, "still slow");
		assert_int_equal(x.v.findings[0].fail, i == 0);
		clear(&x);
	}
}

/** A node that comes back with fewer GPUs, or with other ones. */
static void what_is_missing_does_not_pass(void **state)
{
	static const struct fake_fault faults[] = {
		{ .kind = PART_GPU, .a = 1, .b = 3 },
		{ .kind = PART_GPU, .a = 1, .b = 1 },
		{ .kind = PART_NODE_NETWORK, .a = 1 },
		{ .kind = PART_NODE_PAIR, .a = 1, .b = 4 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		const json_t *part;
		struct scene x;

		begin(&x);
		fake_break(&x.first, &faults[i], OUTCOME_ERROR, "x");
		repair(&x, 3);
		ends(&x, 0, false, 1, false, "still missing: n1 now has 3 "
		     "GPUs; it had 4");
		assert_string_equal(x.v.findings[0].code, "still_missing");
		assert_false(x.v.findings[0].drain);
		/* nor does it in a retest of this one */
		retest_plan_release(&x.p);
		assert_int_equal(retest_plan(&x.now, &x.v, &x.p), 0);
		part = json_array_get(x.p.parts, 0);
		assert_string_equal(json_member(part, "node"), "n1");
		assert_int_equal(json_integer_value(
			json_object_get(part, "gpus")), 4);
		clear(&x);
	}
	for (size_t i = 0; i < 2; i++) {
		struct scene x;

		/* a node that has not come: --gpus-per-node left none out */
		begin(&x);
		fake_break(&x.first, &faults[1], OUTCOME_ERROR, "x");
		repair(&x, 4);
		STR_COPY(x.now.nodes[1].name, "n9");
		if (i == 0) {
			json_object_set_new(x.now.json, "options", json_pack(
				"{s:i}", "gpus-per-node", 4));
		}
		ends(&x, 0, false, 1, false, "still missing: n1 has not "
		     "connected");
		clear(&x);
	}
	for (size_t i = 0; i < 2; i++) {
		struct scene x;

		begin(&x);
		fake_break(&x.first, &faults[1], OUTCOME_ERROR, "x");
		repair(&x, i ? 5 : 3);
		if (i == 0) {	/* they were left out */
			json_object_set_new(x.now.json, "options", json_pack(
				"{s:i}", "gpus-per-node", 3));
		}
		ends(&x, 0, false, 4, false, i ? "open: n1 now has 5 GPUs" :
		     "open: --gpus-per-node selects 3 of the 4 GPUs of n1");
		assert_int_equal(x.v.status, VERDICT_PARTIAL);
		clear(&x);
	}
}

/** Each for itself, and a node for all that it has. */
static void another_fault_is_not_held_against_it(void **state)
{
	static const struct fake_fault gpu = { .kind = PART_GPU, .a = 1,
					       .b = 1 };
	static const struct fake_fault beside = { .kind = PART_GPU, .a = 1,
						  .b = 3 };
	static const struct fake_fault partner = { .kind = PART_GPU, .a = 2,
						   .b = 1 };
	struct scene x;

	(void)state;
	begin(&x);
	fake_break(&x.first, &gpu, OUTCOME_ERROR, "x");
	repair(&x, 4);
	fake_break(&x.now, &partner, OUTCOME_ERROR, "x");
	ends(&x, 0, true, 1, true, "GPU 1 of n1 (x): 10 tests pass");
	clear(&x);

	begin(&x);
	fake_break(&x.first, &gpu, OUTCOME_ERROR, "x");
	fake_break(&x.first, &beside, OUTCOME_ERROR, "x");
	repair(&x, 4);
	fake_break(&x.now, &beside, OUTCOME_ERROR, "x");
	ends(&x, 0, true, 1, false, "GPU 1 of n1 (x): 10 tests pass");
	verdict_release(&x.v);
	ends(&x, 1, false, 1, false, "GPU 3 of n1 (x): still faulty");
	clear(&x);
}

/** Each is a way to have good tests that do not say that it is repaired. */
static void what_was_not_measured_well_is_open(void **state)
{
	static const struct fake_fault nic = { .kind = PART_NIC, .a = 1,
					       .b = 2 };
	static const struct doubt {
		const char *name, *text;
	} doubts[] = {
		{ "latency", "too few to decide" },
		{ "slow", "too few to decide" },
		{ "flaky", "passed only when retried" },
		{ "inside", "too few to decide" },
		{ "other", "used another NIC" },
		{ "other name", "used another NIC" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(doubts) / sizeof(*doubts); i++) {
		struct cluster_rank *rank;
		struct scene x;

		print_message("%s\n", doubts[i].name);
		begin(&x);
		rank = &x.first.ranks[6];
		STR_COPY(rank->nic_name, i == 5 ? "mlx5_2" : "");
		fake_break(&x.first, &nic, OUTCOME_ERROR, "x");
		repair(&x, 4);
		if (i < 2) {
			part_is_of_code(&x, doubts[i].name);
		}
		rank = &x.now.ranks[6];
		rank->nic = i == 4 ? 3 : rank->nic;
		STR_COPY(rank->nic_name, i == 5 ? "mlx5_7" : "");
		for (size_t at = 0; at < run_n_cells(&x.now); at++) {
			struct cell *c = &x.now.cells[at];
			bool here = run_src(&x.now, at) == 6 ||
				    run_dst(&x.now, at) == 6;

			if (i == 0) {
				c->lat_us = NAN;
			} else if (i == 1) {
				c->bw_GB_s = NAN;
			} else if (i == 2 && here && c->path == PATH_INTER &&
				   c->class == CELL_PASS) {
				c->flaky = 1;
				break;
			} else if (i == 3 && here && c->path == PATH_INTER) {
				c->class = CELL_UNPLANNED;
			}
		}
		ends(&x, 0, false, 4, false, doubts[i].text);
		assert_int_equal(x.v.status, VERDICT_PARTIAL);
		/* and the next retest has it still */
		retest_plan_release(&x.p);
		assert_int_equal(retest_plan(&x.now, &x.v, &x.p), 0);
		assert_true(json_array_size(x.p.parts) > 0);
		assert_non_null(strstr(str_text(&x.p.pairs), "n1:2-n2:2"));
		assert_non_null(strstr(str_text(&x.p.nodes), "n1"));
		clear(&x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fault_that_is_found_again_is_one),
		cmocka_unit_test(a_retest_confirms_a_warning),
		cmocka_unit_test(what_is_missing_does_not_pass),
		cmocka_unit_test(another_fault_is_not_held_against_it),
		cmocka_unit_test(what_was_not_measured_well_is_open),
		cmocka_unit_test(few_tests_convict_and_acquit),
		cmocka_unit_test(what_was_not_tested_stays_open),
		cmocka_unit_test(a_drill_undrains_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
