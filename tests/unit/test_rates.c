/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts that fail now and then, by all of their tests. */
#include "tests/unit/fake_run.h"

#include "report/judge/findings.h"
#include "report/judge/pairs.h"
#include "report/model/run.h"

/** Tests of @f fail at @rate.  Every @passes-th of those is tried again, and
 *  passes; 0 = none. */
static void fail_some(struct run *r, const struct fake_fault *f, double rate,
		      size_t passes)
{
	size_t n = 0;

	for (size_t at = 0; at < run_n_cells(r); at++) {
		int src = run_src(r, at), dst = run_dst(r, at);

		if (src == dst || !fake_hits(r, f, src, dst) ||
		    hash_unit(11, at, 0, 0) >= rate) {
			continue;
		}
		if (passes && n++ % passes == 0) {
			r->cells[at].flaky = true;
			r->cells[at].attempt = 2;
		} else {
			fake_cell(r, src, dst, OUTCOME_ERROR, "");
		}
	}
}

static const struct now_and_then {
	int nodes, nics;
	struct fake_fault part;
	double rate;
} cases[] = {
	{ 8, 8, { .kind = PART_NODE, .a = 3 }, 0.05 },
	{ 8, 8, { .kind = PART_GPU, .a = 3, .b = 5 }, 0.1 },
	{ 8, 8, { .kind = PART_NIC, .a = 3, .b = 5 }, 0.2 },
	{ 8, 4, { .kind = PART_NIC, .a = 1, .b = 2 }, 0.1 },
	{ 8, 8, { .kind = PART_NIC, .a = 2, .b = 0, .direction = PART_TX },
	  0.22 },
	{ 8, 8, { .kind = PART_NODE, .a = 7, .direction = PART_RX }, 0.08 },
	{ 8, 8, { .kind = PART_NODE_PAIR, .a = 1, .b = 4 }, 0.1 },
	{ 8, 8, { .kind = PART_RAIL, .a = 6 }, 0.04 },
	/* of the few tests of a sample: it may be a third */
	{ 3, 8, { .kind = PART_GPU, .a = 1, .b = 5 }, 0.4 },
};

static bool is(const struct part *p, const struct fake_fault *f)
{
	int index = f->kind == PART_RAIL ? f->a :
		    f->kind == PART_GPU || f->kind == PART_NIC ? f->b : -1;

	return p->kind == f->kind && p->direction == f->direction &&
	       (f->kind == PART_RAIL || p->node == f->a) && p->index == index;
}

/** One finding each, whatever became of the failures when tried again. */
static void each_is_one_finding(void **state)
{
	static const size_t passes[] = { 1, 2, 6 };

	(void)state;
	for (size_t i = 0; i < 3 * sizeof(cases) / sizeof(*cases); i++) {
		const struct now_and_then *c = &cases[i / 3];
		struct verdict v;
		struct run r;
		bool named;

		fake_run(&r, c->nodes, 8, c->nics);
		fail_some(&r, &c->part, c->rate, passes[i % 3]);
		assert_int_equal(verdict_compute(&r, &v), 0);
		if (v.n != 1) {
			fail_msg("case %zu: %zu findings", i / 3, v.n);
		}
		named = is(&v.findings[0].part, &c->part);
		for (size_t k = 0; k < v.findings[0].n_or; k++) {
			named |= is(&v.findings[0].or_parts[k], &c->part);
		}
		if (!named) {
			fail_msg("case %zu: %s", i / 3, v.findings[0].says);
		}
		assert_string_equal(v.findings[0].code, "flaky");
		/* how sure that is says the evidence, no sentence */
		assert_null(strstr(v.findings[0].says, "likelihood"));
		assert_true(v.findings[0].n_evidence > 1);
		assert_true(str_starts(
			v.findings[0].evidence[v.findings[0].n_evidence - 1],
			"likelihood ratio 10^"));
		/* what nobody tried again failed, as far as anybody knows */
		assert_int_equal(v.status, i % 3 ? VERDICT_FAIL : VERDICT_WARN);
		verdict_release(&v);
		run_release(&r);
	}
}

/** What is broken beside them is told from them. */
static void beside_what_is_broken(void **state)
{
	static const struct fake_fault flaky = { .kind = PART_NIC, .a = 2,
						 .b = 6 };
	static const struct fake_fault dead[] = {
		{ .kind = PART_NIC, .a = 2, .b = 3 },
		{ .kind = PART_NODE_PAIR, .a = 2, .b = 5 },
		{ .kind = PART_NODE, .a = 6 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(dead) / sizeof(*dead); i++) {
		struct verdict v;
		struct run r;
		size_t right = 0;

		fake_run(&r, 8, 8, 8);
		fail_some(&r, &flaky, 0.2, 4);
		fake_break(&r, &dead[i], OUTCOME_TIMEOUT, "");
		for (size_t at = 0; at < run_n_cells(&r); at++) {
			r.cells[at].flaky &= run_good(r.cells[at].class);
		}
		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_int_equal(v.n, 2);
		for (size_t k = 0; k < v.n; k++) {
			right += is(&v.findings[k].part, &flaky) ||
				 is(&v.findings[k].part, &dead[i]);
		}
		assert_int_equal(right, 2);
		verdict_release(&v);
		run_release(&r);
	}
}

/** Where all tests between nodes fail at nearly the rate of what is broken,
 *  some paths do so more often than that, by chance: these are theirs, too. */
static void near_what_is_broken(void **state)
{
	static const struct fake_fault all = { .kind = PART_INTER_NODE };
	struct rates x;
	struct run r;

	(void)state;
	fake_run(&r, 8, 2, 2);
	fail_some(&r, &all, 0.3, 6);
	assert_int_equal(rates_find(&r, NULL, &x), 0);
	assert_int_equal(x.n, 1);
	assert_int_equal(x.list[0].part.kind, PART_INTER_NODE);
	assert_int_equal(x.list[0].tests, 8 * 7 * 2 * 2);
	rates_release(&x);
	run_release(&r);
}

/** A part stands out by its rate; where all fail as often, none does. */
static void who_is_not_named(void **state)
{
	static const struct fake_fault all = { .kind = PART_INTER_NODE };
	static const struct fake_fault gpu = { .kind = PART_GPU, .a = 1,
					       .b = 1 };
	struct verdict v;
	struct rates x;
	struct run r;

	(void)state;
	fake_run(&r, 8, 8, 8);
	fail_some(&r, &all, 0.01, 1);
	assert_int_equal(rates_find(&r, NULL, &x), 0);
	assert_int_equal(x.n, 0);
	assert_true(x.n_rest > 10);
	assert_int_equal(x.passed, x.n_rest);
	rates_release(&x);
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.findings[0].part.kind, PART_INTER_NODE);
	assert_non_null(strstr(v.findings[0].says, "no part fails more often"));
	assert_true(v.findings[0].scatter);
	assert_int_equal(v.status, VERDICT_WARN);
	verdict_release(&v);
	run_release(&r);

	/* what never passes when tried again is no chance */
	fake_run(&r, 8, 8, 8);
	fail_some(&r, &gpu, 0.15, 0);
	assert_int_equal(rates_find(&r, NULL, &x), 0);
	assert_int_equal(x.n, 0);
	rates_release(&x);
	run_release(&r);

	/* of many parts one is the worst: four of its 112 tests failed */
	fake_run(&r, 8, 8, 8);
	for (int i = 4; i < 8; i++) {
		r.cells[run_at(&r, 29, i * 8 + 1)].flaky = true;
		r.cells[run_at(&r, 29, i * 8 + 1)].attempt = 2;
	}
	assert_int_equal(rates_find(&r, NULL, &x), 0);
	assert_int_equal(x.n, 0);
	assert_int_equal(x.n_rest, 4);
	rates_release(&x);
	run_release(&r);

	/* nor are two pairs a part, both ways */
	fake_run(&r, 3, 8, 8);
	for (int peer = 9; peer < 18; peer += 8) {
		fail_some(&r, &(struct fake_fault){ .kind = PART_PAIR, .a = 0,
						    .b = peer }, 1, 1);
	}
	assert_int_equal(rates_find(&r, NULL, &x), 0);
	assert_int_equal(x.n, 0);
	rates_release(&x);
	run_release(&r);
}

/** Cells that something else explains say nothing. */
static void cells_that_are_explained(void **state)
{
	uint8_t *skip;
	struct rates x;
	struct run r;

	(void)state;
	fake_run(&r, 8, 8, 8);
	fail_some(&r, &cases[1].part, 0.1, 2);
	skip = calloc(run_n_cells(&r), 1);
	assert_non_null(skip);
	for (size_t at = 0; at < run_n_cells(&r); at++) {
		skip[at] = fake_hits(&r, &cases[1].part, run_src(&r, at),
				     run_dst(&r, at));
	}
	assert_int_equal(rates_find(&r, skip, &x), 0);
	assert_int_equal(x.n + x.n_rest, 0);
	rates_release(&x);
	free(skip);
	run_release(&r);
}

/** The follow-up tests @src -> @dst. */
static void follow(struct run *r, int src, int dst, enum outcome o)
{
	const struct p2p_row row = {
		.src_rank = src, .dst_rank = dst, .attempt = 2,
		.size_B = r->size_B, .outcome = o, .bw_GB_s = 45, .lat_us = 5,
	};

	assert_int_equal(follow_take(r, &row), 0);
}

/** Five tests of NIC 5 of n3 fail; the follow-up makes others inside the node,
 *  of which each @every-th fails. */
static void ask_inside(struct run *r, int every)
{
	const int gpu = 3 * 8 + 5;

	for (int i = 4; i < 9; i++) {
		int peer = i % 8;
		size_t at = run_at(r, gpu, peer * 8 + 1);

		r->cells[at].flaky = true;
		r->cells[at].attempt = 2;
		/* tried again, which says nothing of the rate */
		follow(r, gpu, peer * 8 + 1, OUTCOME_ERROR);
	}
	for (int i = 0; i < 42; i++) {
		follow(r, gpu, 3 * 8 + (6 + i % 7) % 8,
		       every && i % every == 0 ? OUTCOME_ERROR : OUTCOME_OK);
	}
}

/** Tests of the follow-up tell a GPU from its NIC. */
static void the_follow_up_counts(void **state)
{
	struct rates x;
	struct run r;

	(void)state;
	fake_run(&r, 8, 8, 8);
	ask_inside(&r, 6);
	assert_int_equal(rates_find(&r, NULL, &x), 0);
	assert_int_equal(x.n, 1);
	assert_int_equal(x.list[0].part.kind, PART_GPU);
	assert_int_equal(x.list[0].failed, 5 + 7);
	assert_int_equal(x.list[0].n_or, 0);
	rates_release(&x);
	run_release(&r);

	/* one of them leaves both open: less than odds of 100 to 1 */
	fake_run(&r, 8, 8, 8);
	ask_inside(&r, 42);
	assert_int_equal(rates_find(&r, NULL, &x), 0);
	assert_int_equal(x.n, 1);
	assert_true(x.list[0].n_or > 0);
	rates_release(&x);
	run_release(&r);

	fake_run(&r, 8, 8, 8);
	ask_inside(&r, 0);
	assert_int_equal(rates_find(&r, NULL, &x), 0);
	assert_int_equal(x.n, 1);
	assert_int_equal(x.list[0].part.kind, PART_NIC);
	assert_int_equal(x.list[0].failed, 5);
	rates_release(&x);
	run_release(&r);
}

/** Of GPU 5 of n3 @pairs failed, and passed when tried again if they were; the
 *  follow-up made 70 tests with other nodes, of which @later failed. */
static void ask_between(struct run *r, int pairs, bool again, int later)
{
	const int gpu = 3 * 8 + 5;

	for (int i = 0; i < pairs; i++) {
		if (again) {
			r->cells[run_at(r, gpu, i * 8 + 1)].flaky = true;
			r->cells[run_at(r, gpu, i * 8 + 1)].attempt = 2;
		} else {
			fake_cell(r, gpu, i * 8 + 1, OUTCOME_ERROR, "");
		}
	}
	for (int i = 0; i < 70; i++) {
		int peer = 4 * 8 + i % 32;

		follow(r, i & 1 ? gpu : peer, i & 1 ? peer : gpu,
		       i % 4 == 0 && i / 4 < later ? OUTCOME_ERROR :
						     OUTCOME_OK);
	}
}

/** What failed in the follow-up alone failed, and passed before. */
static void the_follow_up_fails(void **state)
{
	static const struct {
		int pairs;
		bool again;
		int later;
		size_t parts;
	} looks[] = {
		{ 2, true, 4, 1 }, { 1, true, 4, 1 }, { 1, false, 4, 1 },
		{ 2, true, 0, 0 }, { 1, true, 1, 0 }, { 1, false, 0, 0 },
		/* nobody asked for anything */
		{ 0, true, 4, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(looks) / sizeof(*looks); i++) {
		struct rates x;
		struct run r;

		fake_run(&r, 8, 8, 4);
		ask_between(&r, looks[i].pairs, looks[i].again,
			    looks[i].later);
		assert_int_equal(rates_find(&r, NULL, &x), 0);
		assert_int_equal(x.n, looks[i].parts);
		if (x.n > 0) {
			assert_int_equal(x.list[0].part.node, 3);
			assert_int_equal(x.list[0].failed,
					 looks[i].pairs + looks[i].later);
		}
		rates_release(&x);
		run_release(&r);
	}
}

/** The same pair again and again is no part. */
static void one_pair_fails_again(void **state)
{
	const int gpu = 3 * 8 + 5;
	struct rates x;
	struct run r;

	(void)state;
	fake_run(&r, 8, 8, 4);
	r.cells[run_at(&r, gpu, 1)].flaky = true;
	r.cells[run_at(&r, gpu, 1)].attempt = 2;
	for (int i = 0; i < 20; i++) {
		follow(&r, gpu, 9, i < 4 ? OUTCOME_ERROR : OUTCOME_OK);
		follow(&r, 9, gpu, i < 4 ? OUTCOME_ERROR : OUTCOME_OK);
	}
	assert_int_equal(rates_find(&r, NULL, &x), 0);
	assert_int_equal(x.n, 0);
	rates_release(&x);
	run_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_one_finding),
		cmocka_unit_test(beside_what_is_broken),
		cmocka_unit_test(near_what_is_broken),
		cmocka_unit_test(who_is_not_named),
		cmocka_unit_test(cells_that_are_explained),
		cmocka_unit_test(the_follow_up_counts),
		cmocka_unit_test(the_follow_up_fails),
		cmocka_unit_test(one_pair_fails_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
