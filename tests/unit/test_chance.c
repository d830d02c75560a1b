/* SPDX-License-Identifier: BSD-3-Clause */
/* Lone pairs that are slow: by chance, by design, or by themselves. */
#include "tests/unit/fake_run.h"

#include "report/judge/pairs.h"
#include "report/model/run.h"

/** @n pairs far from each other were slow first; of these @twice are again. */
static void disturb(struct run *r, int n, int twice)
{
	for (int i = 0; i < n; i++) {
		int src = i * 7 % r->n_ranks, dst = (src + 9 + i * 5) % 64;
		struct cell *c = &r->cells[run_at(r, src, dst)];

		c->attempt = 2;
		if (i < twice) {
			c->bw_GB_s *= 0.75F;
		}
	}
	cells_mark_slow(r->cells, run_n_cells(r), r->size_B, r->slow);
}

static void what_is_slow_twice(void **state)
{
	static const struct {
		int first, twice;
		bool found;
	} cases[] = {
		{ 1, 1, true },	/* a quiet cluster: 75 % is slow, and a fault */
		{ 3, 2, true },
		{ 60, 0, false },
		{ 60, 2, false },	/* one in seventy, first or second */
		{ 60, 40, true },	/* too many, and nothing in common */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct verdict v;
		struct run r;

		fake_run(&r, 8, 8, 8);
		disturb(&r, cases[i].first, cases[i].twice);
		assert_int_equal(verdict_compute(&r, &v), 0);
		if ((v.n > 0) != cases[i].found) {
			fail_msg("case %zu: %zu findings", i, v.n);
		}
		assert_int_equal(v.status, v.n ? VERDICT_FAIL : VERDICT_PASS);
		verdict_release(&v);
		run_release(&r);
	}
}

/** What is slow first and again may be so by chance: the follow-up says. */
static void a_lone_pair_is_seen_again(void **state)
{
	(void)state;
	for (int slow = 0; slow <= 4; slow += 2) {
		struct verdict v;
		struct run r;

		fake_run(&r, 8, 8, 8);
		disturb(&r, 1, 1);
		for (int i = 0; i < 4; i++) {
			const struct p2p_row row = {
				.src_rank = 0, .dst_rank = 9, .attempt = 3 + i,
				.size_B = r.size_B, .outcome = OUTCOME_OK,
				.bw_GB_s = i < slow ? 33 : 45, .lat_us = 5,
			};

			assert_int_equal(follow_take(&r, &row), 0);
		}
		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_int_equal(v.n, slow > 0);
		assert_int_equal(v.status, slow ? VERDICT_FAIL : VERDICT_PASS);
		verdict_release(&v);
		run_release(&r);
	}
}

/** Sixty tests were below what their lines carry, and were not again; of one
 *  more that was, nobody knows, unless it was tried again. */
static void what_is_below_its_line_once(void **state)
{
	(void)state;
	for (int attempt = 1; attempt <= 2; attempt++) {
		struct verdict v;
		struct cell *c;
		struct run r;

		fake_run(&r, 8, 8, 8);
		for (size_t at = 0; at < run_n_cells(&r); at++) {
			if (r.cells[at].path == PATH_INTER) {
				r.cells[at].expected_GB_s = FAKE_INTER_GB_S;
			}
		}
		disturb(&r, 60, 0);
		c = &r.cells[run_at(&r, 3, 45)];
		assert_int_equal(c->attempt, 1);
		c->attempt = attempt;
		c->bw_GB_s *= 0.85F;
		cells_mark_slow(r.cells, run_n_cells(&r), r.size_B, r.slow);
		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_int_equal(v.n, attempt - 1);
		verdict_release(&v);
		run_release(&r);
	}
}

/** Two GPU numbers that are slow with each other on all nodes. */
static void what_is_built_so(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 8, 8, 8);
	for (int a = 0; a < 8; a++) {
		for (int b = 0; b < 8; b++) {
			if (a != b) {
				r.cells[run_at(&r, a * 8 + 2, b * 8 + 5)]
					.bw_GB_s *= 0.72F;
			}
		}
	}
	cells_mark_slow(r.cells, run_n_cells(&r), r.size_B, r.slow);
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(v.n, 1);
	assert_string_equal(v.findings[0].code, "two_levels");
	assert_int_equal(v.findings[0].explained, 56);
	assert_false(v.findings[0].fail);
	verdict_release(&v);
	/* one of them that is slower still is a fault */
	r.cells[run_at(&r, 2, 8 + 5)].bw_GB_s *= 0.6F;
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(v.n, 2);
	assert_true(v.findings[0].fail);
	verdict_release(&v);
	/* a topology says why tests may differ: a note */
	r.cells[run_at(&r, 2, 8 + 5)].bw_GB_s /= 0.6F;
	for (int i = 0; i < 8; i++) {
		run_join_leaf(&r, i, "leaf0");
	}
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(v.status, VERDICT_PASS);
	assert_int_equal(v.n_notes, 1);
	assert_string_equal(v.notes[0].kind, "built_so");
	assert_int_equal(v.notes[0].tests, 56);
	verdict_release(&v);
	run_release(&r);
}

/** @of 56 tests of GPU 3 of n2 as sender with others, from @first on, are as
 *  slow as @factor makes them. */
static void slow_some(struct run *r, int first, int of, float factor)
{
	for (int i = first; i < first + of; i++) {
		int dst = i * 5 % 56;

		r->cells[run_at(r, 19, dst < 16 ? dst : dst + 8)].bw_GB_s *=
			factor;
	}
	cells_mark_slow(r->cells, run_n_cells(r), r->size_B, r->slow);
}

/** A quarter of a part's tests was slow; the few that were tried again say
 *  whether that is the part's doing. */
static void what_is_mended(void **state)
{
	static const float again[] = { 0.7F, 1 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct verdict v;
		struct run r;

		fake_run(&r, 8, 8, 8);
		slow_some(&r, 0, 16, 0.7F);
		for (int k = 20; k < 23; k++) {
			int dst = k * 5 % 56;

			r.cells[run_at(&r, 19, dst < 16 ? dst : dst + 8)]
				.attempt = 2;
		}
		slow_some(&r, 20, 3, again[i]);
		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_int_equal(v.status == VERDICT_FAIL, i == 0);
		verdict_release(&v);
		run_release(&r);
	}
}

/** NIC 0 is slow with NIC 0 of other switches, on all nodes; one of these is
 *  alone on its switch, so that more of its tests are. */
static void what_is_alike(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 9, 8, 4);
	for (int i = 0; i < 9; i++) {
		assert_true(run_join_leaf(&r, i, i < 4 ? "a" : i < 8 ? "b" :
					  "c") >= 0);
	}
	for (size_t at = 0; at < run_n_cells(&r); at++) {
		const struct cluster_rank *s = &r.ranks[run_src(&r, at)];
		const struct cluster_rank *d = &r.ranks[run_dst(&r, at)];

		if (s->nic == 0 && d->nic == 0 &&
		    r.nodes[s->node].leaf != r.nodes[d->node].leaf) {
			r.cells[at].bw_GB_s *= 0.7F;
		}
	}
	cells_mark_slow(r.cells, run_n_cells(&r), r.size_B, r.slow);
	assert_int_equal(verdict_compute(&r, &v), 0);
	for (size_t i = 0; i < v.n; i++) {
		assert_int_not_equal(v.findings[i].part.kind, PART_NIC);
		assert_int_not_equal(v.findings[i].part.kind, PART_RAIL_LEAF);
	}
	verdict_release(&v);
	run_release(&r);
}

/** The first GPUs, and the first NICs, of two nodes are slower than the others,
 *  and with each other most of all. */
static void what_both_ends_are(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 2, 8, 8);
	for (int i = 0; i < 8; i++) {
		for (int k = 8; k < 16; k++) {
			float by = (i == 0 ? 0.82F : 1) * (k == 8 ? 0.82F : 1);

			r.cells[run_at(&r, i, k)].bw_GB_s *= by;
			r.cells[run_at(&r, k, i)].bw_GB_s *= by;
		}
	}
	cells_mark_slow(r.cells, run_n_cells(&r), r.size_B, r.slow);
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(v.status, VERDICT_PASS);
	verdict_release(&v);
	run_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_slow_twice),
		cmocka_unit_test(a_lone_pair_is_seen_again),
		cmocka_unit_test(what_is_below_its_line_once),
		cmocka_unit_test(what_is_built_so),
		cmocka_unit_test(what_is_mended),
		cmocka_unit_test(what_is_alike),
		cmocka_unit_test(what_both_ends_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
