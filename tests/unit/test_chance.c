/* SPDX-License-Identifier: BSD-3-Clause */
/* Lone pairs that are slow: by chance, by design, or by themselves. */
#include "tests/unit/fake_run.h"

#include "report/judge/pairs.h"

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
	assert_int_equal(v.n, 0);
	verdict_release(&v);
	/* one of them that is slower still is not */
	r.cells[run_at(&r, 2, 8 + 5)].bw_GB_s *= 0.6F;
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(v.n, 1);
	verdict_release(&v);
	run_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_slow_twice),
		cmocka_unit_test(what_is_built_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
