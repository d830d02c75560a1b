/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of which some tests were slow, and what they are when made again. */
#include "tests/unit/fake_run.h"

#include "report/judge/pairs.h"
#include "report/model/run.h"

#define NODES 8
#define GPUS  8

/** One in four of what NIC 2 of the second node receives from others is slow,
 *  at most @most of it. */
static size_t meet(struct run *r, size_t most, size_t *at)
{
	size_t n = 0;

	for (int src = 0; src < r->n_ranks && n < most; src += 4) {
		if (r->ranks[src].node != 1) {
			at[n] = run_at(r, src, GPUS + 2);
			r->cells[at[n++]].bw_GB_s *= 0.6F;
		}
	}
	cells_mark_slow(r->cells, run_n_cells(r), r->size_B, r->slow);
	return n;
}

/** The follow-up makes @n of the tests @at, of which @slow are as before. */
static void make_again(struct run *r, const size_t *at, size_t n, size_t slow)
{
	for (size_t i = 0; i < n; i++) {
		struct p2p_row row = {
			.src_rank = run_src(r, at[i]),
			.dst_rank = run_dst(r, at[i]),
			.attempt = 2, .size_B = r->size_B,
			.outcome = OUTCOME_OK,
			.bw_GB_s = (double)r->cells[at[i]].bw_GB_s /
				   (i < slow ? 1 : 0.6),
			.lat_us = 5,
		};

		assert_int_equal(follow_take(r, &row), 0);
	}
}

static void slow_tests_are_made_again(void **state)
{
	static const struct {
		size_t tests, slow;
		enum verdict_status status;
		const char *code, *evidence;
	} cases[] = {
		{ 0, 0, VERDICT_FAIL, "slow", NULL },
		{ 3, 0, VERDICT_FAIL, "slow", NULL },	/* too few */
		{ 8, 8, VERDICT_FAIL, "slow", "confirmed by the follow-up: 8 "
		  "of 8 slow tests were slow again" },
		{ 8, 4, VERDICT_FAIL, "slow", "confirmed by the follow-up: 4 "
		  "of 8 slow tests were slow again" },
		{ 8, 3, VERDICT_WARN, "collisions", "NIC 2 of n1 when it "
		  "receives: 14 of 56 were slow; the follow-up repeated "
		  "8 of them, and 5 passed" },
	};
	size_t at[NODES * GPUS];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct finding *f;
		struct verdict v;
		struct run r;
		bool told = cases[i].evidence == NULL;

		fake_run(&r, NODES, GPUS, GPUS);
		assert_int_equal(meet(&r, 14, at), 14);
		make_again(&r, at, cases[i].tests, cases[i].slow);
		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_int_equal(v.n, 1);
		f = &v.findings[0];
		assert_string_equal(f->code, cases[i].code);
		assert_int_equal(v.status, cases[i].status);
		assert_int_equal(f->explained, 14);
		for (size_t k = 0; k < f->n_evidence && !told; k++) {
			told = strcmp(f->evidence[k], cases[i].evidence) == 0;
		}
		if (!told) {
			fail_msg("case %zu: %s; %s", i, f->says,
				 f->n_evidence ? f->evidence[0] : "");
		}
		verdict_release(&v);
		run_release(&r);
	}
}

/** Some tests of a GPU inside its node were slow for a while: that is said, but
 *  it is a fault only if they are again. */
static void what_is_not_again_is_a_warning(void **state)
{
	(void)state;
	for (size_t slow = 0; slow <= 4; slow += 2) {
		size_t at[5];
		struct verdict v;
		struct run r;

		fake_run(&r, NODES, GPUS, GPUS);
		for (int i = 0; i < 5; i++) {
			at[i] = run_at(&r, GPUS + 7, GPUS + i);
		}
		for (int i = 0; i < 5; i++) {
			r.cells[at[i]].bw_GB_s *= 0.6F;
		}
		cells_mark_slow(r.cells, run_n_cells(&r), r.size_B, r.slow);
		make_again(&r, at, 5, slow);
		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_int_equal(v.n, 1);
		assert_string_equal(v.findings[0].code, "slow");
		assert_int_equal(v.status, slow > 2 ? VERDICT_FAIL :
						      VERDICT_WARN);
		verdict_release(&v);
		run_release(&r);
	}
}

/** Where all tests of a part are slow nothing met: whatever it is then, it was
 *  there all the time. */
static void what_is_slow_as_a_whole_stays_a_fault(void **state)
{
	size_t at[NODES * GPUS], n = 0;
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, NODES, GPUS, GPUS);
	for (int src = 0; src < r.n_ranks; src++) {
		if (r.ranks[src].node != 1) {
			at[n] = run_at(&r, src, GPUS + 2);
			r.cells[at[n++]].bw_GB_s *= 0.6F;
		}
	}
	cells_mark_slow(r.cells, run_n_cells(&r), r.size_B, r.slow);
	make_again(&r, at, 8, 0);
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.status, VERDICT_FAIL);
	assert_string_equal(v.findings[0].code, "slow");
	verdict_release(&v);
	run_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slow_tests_are_made_again),
		cmocka_unit_test(what_is_not_again_is_a_warning),
		cmocka_unit_test(what_is_slow_as_a_whole_stays_a_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
