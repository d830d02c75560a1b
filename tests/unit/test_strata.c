/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probes/plan/plan.h"
#include "tests/layout.h"

/** A cluster; its first nodes may be of another size than the rest. */
struct shape {
	int nodes, gpus, nics;
	int odd_gpus[4], odd_nics[4];	/* up to 0 */
};

#define EVEN(n, g, i) { .nodes = (n), .gpus = (g), .nics = (i) }

static void make_layout(struct layout *l, const struct shape *s)
{
	assert_int_equal(layout_init(l, s->nodes), 0);
	for (int i = 0; i < s->nodes; i++) {
		bool odd = i < 4 && s->odd_gpus[i] > 0;

		snprintf(l->nodes[i].name, sizeof(l->nodes[i].name), "n%d", i);
		l->nodes[i].gpus = odd ? s->odd_gpus[i] : s->gpus;
		l->nodes[i].nics = odd ? s->odd_nics[i] : s->nics;
	}
	assert_int_equal(layout_number(l), 0);
}

/** What came of one turn, or of all. */
struct heard {
	const struct layout *l;
	enum stratum of;
	int *rank, *nic;	/* so often each */
	uint64_t *pairs;	/* of all turns */
	size_t n, room;
};

static void hear(struct heard *h, int a, int b)
{
	const struct cluster_rank *x = &h->l->ranks[a], *y = &h->l->ranks[b];

	assert_true(a != b && x->group == y->group);
	assert_int_equal(x->node == y->node, h->of == STRATUM_INSIDE);
	if (h->of == STRATUM_RAIL || h->of == STRATUM_CROSS) {
		assert_int_equal(x->nic == y->nic, h->of == STRATUM_RAIL);
	}
	h->rank[a]++;
	h->rank[b]++;
	h->nic[layout_nic_at(h->l, x->node, x->nic)]++;
	h->nic[layout_nic_at(h->l, y->node, y->nic)]++;
	if (h->n == h->room) {
		h->room = 2 * h->room + 64;
		h->pairs = realloc(h->pairs, h->room * sizeof(*h->pairs));
		assert_non_null(h->pairs);
	}
	h->pairs[h->n++] = a < b ? (uint64_t)a << 32 | (uint64_t)b :
				   (uint64_t)b << 32 | (uint64_t)a;
}

static int by_pair(const void *x, const void *y)
{
	const uint64_t *p = x, *q = y;

	return (*p > *q) - (*p < *q);
}

static int most_of(const int *count, int n)
{
	int most = 0;

	for (int i = 0; i < n; i++) {
		most = count[i] > most ? count[i] : most;
	}
	return most;
}

struct bounds {
	int rank_least, rank_most;	/* partners in one turn */
	int nic_most;
};

/** All turns of a sample: each within @b, no pair twice.  How many pairs. */
static size_t check_turns(const struct layout *l, enum pairs_kind kind, int k,
			  const struct bounds *b)
{
	struct pairs p = { .kind = kind };
	struct heard h = { .l = l };
	const size_t room = 2 * (size_t)l->n_ranks;
	struct grid_pair *pairs = calloc(room, sizeof(*pairs));
	struct strata s;
	size_t n;

	assert_int_equal(strata_make(&s, l, &p, k, 7, NULL), 0);
	for (int i = 0; i < s.n; i++) {
		h.of = s.turns[i];
		h.rank = calloc((size_t)l->n_ranks, sizeof(*h.rank));
		h.nic = calloc((size_t)l->n_nics, sizeof(*h.nic));
		n = strata_pairs(&s, i, pairs);
		assert_true(n <= room);
		for (size_t x = 0; x < n; x++) {
			hear(&h, pairs[x].src, pairs[x].dst);
		}
		for (int r = 0; h.of != STRATUM_NODES && r < l->n_ranks; r++) {
			assert_in_range(h.rank[r], b->rank_least,
					b->rank_most);
		}
		assert_true(most_of(h.nic, l->n_nics) <= b->nic_most);
		free(h.rank);
		free(h.nic);
	}
	qsort(h.pairs, h.n, sizeof(*h.pairs), by_pair);
	for (size_t i = 1; kind != PAIRS_NODES && i < h.n; i++) {
		assert_true(h.pairs[i] != h.pairs[i - 1]);
	}
	n = h.n;
	free(pairs);
	free(h.pairs);
	strata_release(&s);
	return n;
}

static void a_turn_has_each_rank_once(void **state)
{
	static const struct {
		struct shape shape;
		int k;
		struct bounds bounds;
		size_t pairs;
	} cases[] = {
		/* even: each rank once a turn, its NIC too */
		{ EVEN(16, 8, 8), 12, { 1, 1, 1 }, 12 * 64 },
		{ EVEN(2, 8, 8), 9, { 1, 1, 1 }, 9 * 8 },
		/* two GPUs have a NIC, four, all */
		{ EVEN(16, 8, 4), 12, { 1, 1, 2 }, 12 * 64 },
		{ EVEN(16, 8, 2), 24, { 1, 1, 4 }, 24 * 64 },
		{ EVEN(16, 8, 1), 24, { 1, 1, 8 }, 24 * 64 },
		/* somebody is left over: no third use */
		{ EVEN(17, 8, 8), 12, { 1, 2, 2 }, 0 },
		{ EVEN(16, 7, 7), 12, { 1, 2, 2 }, 0 },
		{ EVEN(3, 8, 8), 3, { 1, 2, 2 }, 0 },
		/* one GPU a node; one node */
		{ EVEN(40, 1, 1), 12, { 1, 1, 1 }, 12 * 20 },
		{ EVEN(41, 1, 1), 12, { 1, 2, 2 }, 0 },
		{ EVEN(1, 8, 8), 7, { 1, 1, 1 }, 28 },
		{ EVEN(1, 8, 8), 99, { 1, 1, 1 }, 28 },
		{ EVEN(1, 7, 7), 3, { 1, 2, 2 }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct layout l;
		size_t n;

		make_layout(&l, &cases[i].shape);
		n = check_turns(&l, PAIRS_ALL, cases[i].k, &cases[i].bounds);
		assert_true(cases[i].pairs == 0 || n == cases[i].pairs);
		layout_release(&l);
	}
}

static void uneven_nodes_leave_none_out(void **state)
{
	static const struct shape shapes[] = {
		{ 20, 8, 8, { 4 }, { 4 } },
		{ 20, 8, 8, { 4, 2, 1 }, { 4, 1, 1 } },
		{ 3, 8, 8, { 4, 3 }, { 2, 2 } },
	};
	static const struct bounds any = { 0, 16, 32 };

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		struct pairs p = { .kind = PAIRS_ALL, .rounds = 12,
				   .seed = 1 };
		struct plan plan;
		struct layout l;
		int *tests;

		make_layout(&l, &shapes[i]);
		check_turns(&l, PAIRS_ALL, 12, &any);
		tests = calloc((size_t)l.n_ranks, sizeof(*tests));
		assert_int_equal(plan_pairs(&l, &p, &plan, NULL), 0);
		for (size_t t = 0; t < plan.n; t++) {
			tests[plan.tasks[t].a]++;
			tests[plan.tasks[t].b]++;
		}
		for (int r = 0; r < l.n_ranks; r++) {
			assert_true(tests[r] >= 3);
		}
		free(tests);
		plan_release(&plan);
		layout_release(&l);
	}
}

/** As many rounds as there are: every pair, and once. */
static void all_rounds_are_all_pairs(void **state)
{
	static const struct shape shapes[] = {
		EVEN(4, 4, 4), EVEN(5, 4, 4), EVEN(4, 4, 2), EVEN(4, 4, 1),
		EVEN(1, 8, 8), EVEN(9, 1, 1), EVEN(3, 3, 3), EVEN(4, 6, 3),
	};
	static const struct bounds any = { 0, 2, 12 };

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		struct layout l;
		size_t n;

		make_layout(&l, &shapes[i]);
		n = (size_t)l.n_ranks;
		assert_int_equal(check_turns(&l, PAIRS_ALL, 1000, &any),
				 n * (n - 1) / 2);
		layout_release(&l);
	}
}

static void turns_have_a_sort_each(void **state)
{
	static const struct {
		struct shape shape;
		enum pairs_kind kind;
		int k;
		int rounds[STRATA];
	} cases[] = {
		{ EVEN(64, 8, 8), PAIRS_ALL, 1, { 1, 0, 0, 0 } },
		{ EVEN(64, 8, 8), PAIRS_ALL, 2, { 1, 1, 0, 0 } },
		{ EVEN(64, 8, 8), PAIRS_ALL, 3, { 1, 1, 1, 0 } },
		{ EVEN(64, 8, 8), PAIRS_ALL, 8, { 5, 1, 2, 0 } },
		{ EVEN(64, 8, 8), PAIRS_ALL, 12, { 8, 1, 3, 0 } },
		{ EVEN(64, 8, 8), PAIRS_ALL, 24, { 16, 2, 6, 0 } },
		{ EVEN(64, 8, 8), PAIRS_NODES, 12, { 8, 1, 3, 63 } },
		{ EVEN(64, 8, 8), PAIRS_INTER, 12, { 9, 0, 3, 0 } },
		{ EVEN(64, 8, 8), PAIRS_RAIL, 12, { 12, 0, 0, 0 } },
		{ EVEN(64, 8, 8), PAIRS_INTRA, 12, { 0, 7, 0, 0 } },
		{ EVEN(1, 8, 8), PAIRS_ALL, 12, { 0, 7, 0, 0 } },
		{ EVEN(64, 1, 1), PAIRS_ALL, 12, { 12, 0, 0, 0 } },
		{ EVEN(64, 8, 1), PAIRS_ALL, 12, { 10, 2, 0, 0 } },
		{ EVEN(2, 8, 8), PAIRS_ALL, 12, { 1, 4, 7, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct pairs p = { .kind = cases[i].kind };
		struct layout l;
		struct strata s;

		make_layout(&l, &cases[i].shape);
		assert_int_equal(strata_make(&s, &l, &p, cases[i].k, 1, NULL),
				 0);
		assert_memory_equal(s.rounds, cases[i].rounds,
				    sizeof(s.rounds));
		strata_release(&s);
		layout_release(&l);
	}
}

static void what_is_unreachable_by_design_is_left_out(void **state)
{
	static const struct shape shape = EVEN(16, 8, 8);
	struct pairs p = { .kind = PAIRS_ALL, .rails_apart = true };
	struct layout l;
	struct strata s;

	(void)state;
	make_layout(&l, &shape);
	assert_int_equal(strata_make(&s, &l, &p, 12, 1, NULL), 0);
	assert_int_equal(s.rounds[STRATUM_CROSS], 0);
	assert_int_equal(s.rounds[STRATUM_RAIL], 10);
	strata_release(&s);
	for (int r = 0; r < l.n_ranks; r++) {
		l.ranks[r].group = l.ranks[r].node < 5;
	}
	check_turns(&l, PAIRS_ALL, 12, &(struct bounds){ 0, 2, 2 });
	layout_release(&l);
}

/** What was heard of a NIC since must not move the pairs of a run that goes
 *  on. */
static void what_is_heard_moves_no_pair(void **state)
{
	static const struct shape shape = EVEN(16, 8, 8);
	struct pairs p = { .kind = PAIRS_ALL, .rounds = 12, .seed = 3 };
	struct plan one, two;
	struct layout l;

	(void)state;
	make_layout(&l, &shape);
	assert_int_equal(plan_pairs(&l, &p, &one, NULL), 0);
	l.ranks[5].nic = 0;
	assert_int_equal(plan_pairs(&l, &p, &two, NULL), 0);
	assert_int_equal(one.n, two.n);
	assert_memory_equal(one.tasks, two.tasks, one.n * sizeof(*one.tasks));
	assert_int_equal(one.sample.inside, 1);
	assert_int_equal(one.sample.rail, 8);
	assert_int_equal(one.sample.cross, 3);
	plan_release(&one);
	plan_release(&two);
	layout_release(&l);
}

static void any_two_nodes_meet(void **state)
{
	static const struct shape shapes[] = {
		EVEN(24, 8, 8), EVEN(25, 4, 4), EVEN(30, 1, 1),
		{ 12, 4, 4, { 2, 1 }, { 1, 1 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		struct pairs p = { .kind = PAIRS_NODES, .rounds = 12 };
		struct layout l;
		struct plan plan;
		bool met[32][32] = { 0 };
		size_t seen = 0;

		make_layout(&l, &shapes[i]);
		assert_int_equal(plan_pairs(&l, &p, &plan, NULL), 0);
		for (size_t t = 0; t < plan.n; t++) {
			int a = l.ranks[plan.tasks[t].a].node;
			int b = l.ranks[plan.tasks[t].b].node;

			seen += a != b && !met[a][b];
			met[a][b] = met[b][a] = true;
		}
		assert_int_equal(seen, l.n_nodes * (l.n_nodes - 1) / 2);
		assert_true(plan.sample.nodes);
		plan_release(&plan);
		layout_release(&l);
	}
}

static void thousands_cost_what_they_have_pairs(void **state)
{
	static const struct shape shape = EVEN(4096, 8, 8);
	static const struct bounds bounds = { 1, 1, 1 };
	struct pairs all = { .kind = PAIRS_ALL };
	struct plan plan;
	struct layout l;
	struct err e;

	(void)state;
	make_layout(&l, &shape);
	assert_int_equal(check_turns(&l, PAIRS_ALL, 12, &bounds),
			 12 * 16384);
	assert_int_equal(plan_pairs(&l, &all, &plan, &e), -1);
	assert_non_null(strstr(e.text, "all pairs of 32768 ranks are too "
				       "many"));
	all.kind = PAIRS_INTRA;
	assert_int_equal(plan_pairs(&l, &all, &plan, NULL), 0);
	assert_int_equal(plan.n, 4096 * 28);
	assert_int_equal(plan.sample.inside, 0);
	plan_release(&plan);
	layout_release(&l);
}

static void what_is_asked_for_settles_the_rounds(void **state)
{
	static const struct {
		struct shape shape;
		enum pairs_kind kind, settled;
		int64_t sample;
		bool quick;
		int rounds;
	} cases[] = {
		{ EVEN(128, 8, 8), PAIRS_DEFAULT, PAIRS_ALL, 0, false, 0 },
		{ EVEN(129, 8, 8), PAIRS_DEFAULT, PAIRS_ALL, 0, false, 12 },
		{ EVEN(129, 8, 8), PAIRS_ALL, PAIRS_ALL, 0, false, 0 },
		{ EVEN(129, 8, 8), PAIRS_AUTO, PAIRS_RAIL, 0, false, 12 },
		{ EVEN(128, 8, 8), PAIRS_AUTO, PAIRS_RAIL, 0, false, 0 },
		{ EVEN(1, 8, 8), PAIRS_AUTO, PAIRS_INTRA, 0, false, 0 },
		{ EVEN(16, 8, 8), PAIRS_DEFAULT, PAIRS_ALL, 5, false, 5 },
		{ EVEN(16, 8, 8), PAIRS_ALL, PAIRS_ALL, 0, true, 3 },
		{ EVEN(2, 4, 4), PAIRS_DEFAULT, PAIRS_ALL, 7, false, 0 },
		{ EVEN(16, 8, 8), PAIRS_NODES, PAIRS_NODES, 0, false, 12 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct spec s = { .sample = cases[i].sample,
				  .quick = cases[i].quick, .seed = 1 };
		struct pairs p = { .kind = cases[i].kind };
		struct layout l;

		make_layout(&l, &cases[i].shape);
		pairs_settle(&p, &s, &l);
		assert_int_equal(p.kind, cases[i].settled);
		assert_int_equal(p.rounds, cases[i].rounds);
		layout_release(&l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_has_each_rank_once),
		cmocka_unit_test(uneven_nodes_leave_none_out),
		cmocka_unit_test(all_rounds_are_all_pairs),
		cmocka_unit_test(turns_have_a_sort_each),
		cmocka_unit_test(what_is_unreachable_by_design_is_left_out),
		cmocka_unit_test(what_is_heard_moves_no_pair),
		cmocka_unit_test(any_two_nodes_meet),
		cmocka_unit_test(thousands_cost_what_they_have_pairs),
		cmocka_unit_test(what_is_asked_for_settles_the_rounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
