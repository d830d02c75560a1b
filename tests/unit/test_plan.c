/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "probes/plan/plan.h"
#include "tests/layout.h"

#define RANKS_MOST 64

/** Nodes of different sizes: 3 + 4 + 2 = 9 ranks, NICs 3, 2 and 1. */
static void make_layout(struct layout *l)
{
	static const char *const names[] = { "gpu-a", "gpu-b", "gpu-c" };
	static const int gpus[] = { 3, 4, 2 };
	static const int nics[] = { 0, 2, 1 };

	assert_int_equal(layout_of(l, 3, names, gpus, nics), 0);
}

static void make_flat(struct layout *l, int ranks)
{
	static const char *const names[] = { "n0" };

	assert_int_equal(layout_of(l, 1, names, &ranks, &ranks), 0);
}

static void ranks_count_node_by_node(void **state)
{
	static const int nodes[] = { 0, 0, 0, 1, 1, 1, 1, 2, 2 };
	static const int gpus[] = { 0, 1, 2, 0, 1, 2, 3, 0, 1 };
	static const int nics[] = { 0, 1, 2, 0, 0, 1, 1, 0, 0 };
	struct layout l;

	(void)state;
	make_layout(&l);
	assert_int_equal(l.n_nodes, 3);
	assert_int_equal(l.n_ranks, 9);
	assert_string_equal(l.nodes[1].name, "gpu-b");
	assert_int_equal(l.nodes[2].first_rank, 7);
	assert_int_equal(l.nodes[0].nics, 3);
	for (int i = 0; i < 9; i++) {
		assert_int_equal(l.ranks[i].node, nodes[i]);
		assert_int_equal(l.ranks[i].gpu, gpus[i]);
		assert_int_equal(l.ranks[i].nic, nics[i]);
	}
	assert_true(layout_same_node(&l, 3, 6));
	assert_false(layout_same_node(&l, 6, 7));
	layout_release(&l);
	layout_release(&l);
	layout_release(NULL);
}

/** Every cell is planned once or never, as @wanted says; rounds in order. */
static void check_plan(const struct layout *l, const struct plan *plan,
		       bool (*wanted)(const struct layout *l, int a, int b))
{
	bool seen[RANKS_MOST][RANKS_MOST] = { 0 };
	int round = 0, lower = -1;
	size_t cells = 0;

	for (size_t i = 0; i < plan->n; i++) {
		const struct task *t = &plan->tasks[i];
		int r = sched_round_of(l->n_ranks, t->a, t->b);

		assert_true(t->a < t->b);
		assert_int_equal(t->id, i);
		assert_int_equal(t->dirs, TASK_AB | TASK_BA);
		assert_int_equal(t->attempt, 1);
		assert_false(seen[t->a][t->b]);
		seen[t->a][t->b] = seen[t->b][t->a] = true;
		assert_true(r > round || (r == round && t->a > lower));
		round = r;
		lower = t->a;
	}
	for (int a = 0; a < l->n_ranks; a++) {
		for (int b = 0; b < l->n_ranks; b++) {
			assert_int_equal(seen[a][b], a != b && wanted(l, a, b));
			cells += seen[a][b];
		}
	}
	assert_int_equal(plan->cells, cells);
}

static bool want_all(const struct layout *l, int a, int b)
{
	(void)l;
	(void)a;
	(void)b;
	return true;
}

static bool want_inter(const struct layout *l, int a, int b)
{
	return l->ranks[a].node != l->ranks[b].node;
}

static bool want_intra(const struct layout *l, int a, int b)
{
	return l->ranks[a].node == l->ranks[b].node;
}

static bool want_rail(const struct layout *l, int a, int b)
{
	return want_inter(l, a, b) && l->ranks[a].nic == l->ranks[b].nic;
}

static void each_kind_plans_its_cells(void **state)
{
	static const struct {
		enum pairs_kind kind;
		bool (*wanted)(const struct layout *l, int a, int b);
		size_t cells;
	} kinds[] = {
		{ .kind = PAIRS_ALL, .wanted = want_all, .cells = 72 },
		{ .kind = PAIRS_INTER, .wanted = want_inter, .cells = 52 },
		{ .kind = PAIRS_INTRA, .wanted = want_intra, .cells = 20 },
		/* NIC 0: 1 + 2 + 2 ranks, NIC 1: 1 + 2 */
		{ .kind = PAIRS_RAIL, .wanted = want_rail, .cells = 20 },
	};
	struct layout l;

	(void)state;
	make_layout(&l);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct pairs p = { .kind = kinds[i].kind };
		struct plan plan;

		assert_int_equal(plan_pairs(&l, &p, &plan, NULL), 0);
		assert_int_equal(plan.cells, kinds[i].cells);
		check_plan(&l, &plan, kinds[i].wanted);
		plan_release(&plan);
	}
	layout_release(&l);
}

static bool want_group(const struct layout *l, int a, int b)
{
	return l->ranks[a].group == l->ranks[b].group;
}

static void groups_do_not_meet(void **state)
{
	static const int groups[RANKS_MOST] = { 0, 0, 1, 0, 2, 1, 0, 0, 1 };
	struct pairs p = { .kind = PAIRS_ALL };
	struct err e = { 0 };
	struct layout l;
	struct plan plan;

	(void)state;
	make_layout(&l);
	for (int i = 0; i < l.n_ranks; i++) {
		l.ranks[i].group = groups[i];
	}
	assert_int_equal(plan_pairs(&l, &p, &plan, NULL), 0);
	assert_int_equal(plan.cells, 5 * 4 + 3 * 2);
	check_plan(&l, &plan, want_group);
	plan_release(&plan);
	for (int i = 0; i < l.n_ranks; i++) {
		l.ranks[i].group = i;
	}
	assert_int_equal(plan_pairs(&l, &p, &plan, &e), -1);
	assert_non_null(strstr(e.text, "of one fabric"));
	layout_release(&l);
}

static void any_size_plans_all_cells(void **state)
{
	(void)state;
	for (int size = 2; size <= RANKS_MOST; size++) {
		struct pairs p = { .kind = PAIRS_ALL };
		struct layout l;
		struct plan plan;

		make_flat(&l, size);
		assert_int_equal(plan_pairs(&l, &p, &plan, NULL), 0);
		assert_int_equal(plan.cells, size * (size - 1));
		check_plan(&l, &plan, want_all);
		plan_release(&plan);
		layout_release(&l);
	}
}

static bool want_listed(const struct layout *l, int a, int b)
{
	static const int listed[][2] = { { 0, 8 }, { 2, 3 }, { 4, 7 },
					 { 1, 2 } };

	(void)l;
	for (size_t i = 0; i < 4; i++) {
		if ((a == listed[i][0] && b == listed[i][1]) ||
		    (b == listed[i][0] && a == listed[i][1])) {
			return true;
		}
	}
	return false;
}

static void list_is_ordered_and_without_doubles(void **state)
{
	struct pairs p;
	struct plan plan;
	struct layout l;

	(void)state;
	make_layout(&l);
	/* 8-0, 3-2 and 2:0-1:1 the wrong way round, two of them twice */
	assert_int_equal(pairs_parse("8-0,gpu-b:0-gpu-a:2,2:0-1:1,0-8,1-2,3-2",
				     &p, NULL), 0);
	assert_int_equal(plan_pairs(&l, &p, &plan, NULL), 0);
	assert_int_equal(plan.n, 4);
	check_plan(&l, &plan, want_listed);
	plan_release(&plan);
	pairs_release(&p);
	layout_release(&l);
}

/** n1:* is each GPU of n1; a node that was expected and has not come has
 *  none. */
static void a_star_is_planned_as_each_gpu(void **state)
{
	static const char *const names[] = { "n0", "n1" };
	static const int gpus[] = { 2, 3 };
	static const struct {
		const char *text, *expected;
		size_t tasks;	/* 0: an error */
		bool what_is_there;
	} cases[] = {
		{ .text = "n0:*-n1:*", .tasks = 6 },
		{ .text = "n1:*-n1:*", .tasks = 3 },
		{ .text = "n0:1-n1:*,n1:2-n0:*", .tasks = 4 },
		{ .text = "n0:*-n1:*,n0:0-n7:*" },
		{ .text = "n0:*-n1:*,n0:0-n7:*", .expected = "n[0-1]" },
		{ .text = "n0:*-n1:*,n0:0-n7:*,n7:3-n1:0",
		  .expected = "n[0-7]", .tasks = 6 },
		{ .text = "n0:*-n7:*", .expected = "n[0-7]" },
		/* of a retest: what has not come back ends nothing */
		{ .text = "n0:2-n1:2,n0:1-n1:*", .tasks = 3,
		  .what_is_there = true },
		{ .text = "n0:2-n1:2,n0:1-n1:*" },
		{ .text = "n0:0-n7:0,n0:0-n1:0", .tasks = 1,
		  .what_is_there = true },
		{ .text = "n0:2-n1:2", .what_is_there = true },
		/* a node that is called 1, and not the second one */
		{ .text = "n0:0-1:0,n0:0-n1:1", .tasks = 1,
		  .what_is_there = true },
		{ .text = "n0:0-1:0,n0:0-n1:1", .tasks = 2 },
	};
	struct layout l;

	(void)state;
	assert_int_equal(layout_of(&l, 2, names, gpus, gpus), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct pairs p;
		struct plan plan;
		bool good = cases[i].tasks > 0;

		assert_int_equal(pairs_parse(cases[i].text, &p, NULL), 0);
		p.expected = cases[i].expected;
		p.what_is_there = cases[i].what_is_there;
		assert_int_equal(plan_pairs(&l, &p, &plan, NULL),
				 good ? 0 : -1);
		assert_int_equal(plan.n, cases[i].tasks);
		plan_release(&plan);
		pairs_release(&p);
	}
	layout_release(&l);
}

/** What the fabric does not connect is not planned, but where it is listed. */
static void rails_that_are_apart_do_not_meet(void **state)
{
	static const char *const names[] = { "n0", "n1" };
	static const int gpus[] = { 4, 4 }, nics[] = { 2, 2 };
	struct pairs all = { .kind = PAIRS_ALL, .rails_apart = true }, list;
	struct spec spec = { .fabric = FABRIC_RAIL_ONLY };
	struct layout l;
	struct plan p;

	(void)state;
	assert_true(plan_rails_apart(&spec, false));
	spec.pxn = true;
	assert_false(plan_rails_apart(&spec, true));
	/* who wants relays compared wants to see that rails are apart */
	spec = (struct spec){ .contrast = CONTRAST_PXN };
	assert_false(plan_rails_apart(&spec, true));
	spec.contrast = CONTRAST_NONE;
	assert_true(plan_rails_apart(&spec, true));
	assert_false(plan_rails_apart(&spec, false));
	spec.fabric = FABRIC_ANY;
	assert_false(plan_rails_apart(&spec, true));
	assert_int_equal(layout_of(&l, 2, names, gpus, nics), 0);
	assert_int_equal(plan_pairs(&l, &all, &p, NULL), 0);
	assert_int_equal(p.cells, 24 + 16);
	for (size_t i = 0; i < p.n; i++) {
		assert_false(plan_crosses(&l, p.tasks[i].a, p.tasks[i].b));
	}
	plan_release(&p);
	assert_int_equal(pairs_parse("0-6", &list, NULL), 0);
	list.rails_apart = true;
	assert_int_equal(plan_pairs(&l, &list, &p, NULL), 0);
	assert_int_equal(p.cells, 2);
	plan_release(&p);
	pairs_release(&list);
	layout_release(&l);
}

static bool works(void *ctx, int rank)
{
	return rank != *(const int *)ctx;
}

/** Of the sender's node, on the receiver's rail, and not the sender. */
static void a_relay_is_near_the_sender(void **state)
{
	static const char *const names[] = { "n0", "n1" };
	static const int gpus[] = { 4, 4 }, nics[] = { 2, 2 };
	static const struct {
		int from, to, broken, relay;
		bool crosses, any;
	} cases[] = {
		{ 0, 6, -1, 2, true, true },
		{ 0, 6, 2, 3, true, true },
		{ 6, 0, -1, 4, true, true },
		{ 3, 4, 0, 1, true, true },
		{ 0, 4, 1, -1, false, true },	/* on one rail: none needed */
		{ 0, 3, -1, -2, false, true },	/* one node: nobody asks */
	};
	struct layout l;
	bool any;

	(void)state;
	assert_int_equal(layout_of(&l, 2, names, gpus, nics), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int broken = cases[i].broken;

		assert_int_equal(plan_crosses(&l, cases[i].from, cases[i].to),
				 cases[i].crosses);
		if (cases[i].relay > -2) {
			assert_int_equal(plan_relay(&l, cases[i].from,
						    cases[i].to, works, &broken,
						    &any), cases[i].relay);
			assert_int_equal(any, cases[i].any);
		}
	}
	layout_release(&l);
}

static void bad_lists_name_their_column(void **state)
{
	static const struct {
		const char *text;
		const char *says;
		const char *hint;
	} bad[] = {
		{ .text = "0-1,3-9",
		  .says = "--pairs, column 5: no rank 9, the ranks are 0 to 8",
		  .hint = "" },
		{ .text = "9-0", .says = "column 1: no rank 9", .hint = "" },
		{ .text = "4-4", .says = "column 1: rank 4 is paired with "
					 "itself", .hint = "" },
		{ .text = "0-1,gpu-b:1-4",
		  .says = "column 5: rank 4 is paired with itself",
		  .hint = "" },
		{ .text = "gpu-d:1-0", .says = "column 1: no node 'gpu-d'",
		  .hint = "the first of 3 nodes is 'gpu-a'" },
		{ .text = "0-3:0", .says = "no node '3'", .hint = "gpu-a" },
		{ .text = "0-gpu-c:2",
		  .says = "no GPU 2 on node 'gpu-c', which has 2",
		  .hint = "" },
	};
	struct layout l;

	(void)state;
	make_layout(&l);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct err e = { 0 };
		struct pairs p;
		struct plan plan;

		assert_int_equal(pairs_parse(bad[i].text, &p, &e), 0);
		assert_int_equal(plan_pairs(&l, &p, &plan, &e), -1);
		assert_int_equal(e.code, 0);
		assert_non_null(strstr(e.text, bad[i].says));
		assert_non_null(strstr(e.hint, bad[i].hint));
		assert_null(plan.tasks);
		pairs_release(&p);
	}
	layout_release(&l);
}

static void check_nothing(int n_nodes, int gpus, enum pairs_kind kind,
			  const char *says)
{
	static const char *const names[] = { "n0", "n1" };
	int counts[] = { gpus, gpus }, nics[] = { 0, 0 };
	struct pairs p = { .kind = kind };
	struct err e = { 0 };
	struct layout l;
	struct plan plan;

	assert_int_equal(layout_of(&l, n_nodes, names, counts, nics), 0);
	assert_int_equal(plan_pairs(&l, &p, &plan, &e), -1);
	assert_string_equal(e.text, says);
	assert_true(e.hint[0]);
	assert_null(plan.tasks);
	layout_release(&l);
}

static void nothing_to_do_says_why(void **state)
{
	(void)state;
	check_nothing(1, 0, PAIRS_ALL,
		      "no pair to test: there is no second rank");
	check_nothing(1, 1, PAIRS_INTER,
		      "no pair to test: there is no second rank");
	check_nothing(1, 8, PAIRS_INTER,
		      "no pair to test: no two ranks are on different nodes");
	check_nothing(1, 8, PAIRS_RAIL,
		      "no pair to test: no two nodes share a rail");
	check_nothing(2, 1, PAIRS_INTRA,
		      "no pair to test: no two ranks are on one node");
}

/** The pairs of the plan of @kind, @k partners a rank, in @seen. */
static size_t draw(const struct layout *l, enum pairs_kind kind, int k,
		   uint64_t seed, bool seen[RANKS_MOST][RANKS_MOST])
{
	struct pairs p = { .kind = kind, .rounds = k, .seed = seed };
	struct plan plan;
	size_t n;

	memset(seen, 0, RANKS_MOST * sizeof(*seen));
	assert_int_equal(plan_pairs(l, &p, &plan, NULL), 0);
	assert_int_equal(plan.cells, 2 * plan.n);
	for (size_t i = 0; i < plan.n; i++) {
		const struct task *t = &plan.tasks[i];

		assert_int_equal(t->id, i);
		assert_false(seen[t->a][t->b]);
		seen[t->a][t->b] = seen[t->b][t->a] = true;
	}
	n = plan.n;
	plan_release(&plan);
	return n;
}

static int partners_of(bool seen[RANKS_MOST][RANKS_MOST], int rank)
{
	int n = 0;

	for (int i = 0; i < RANKS_MOST; i++) {
		n += seen[rank][i];
	}
	return n;
}

static void a_sample_gives_every_rank_its_partners(void **state)
{
	bool seen[RANKS_MOST][RANKS_MOST];

	(void)state;
	for (int size = 2; size <= RANKS_MOST; size++) {
		struct layout l;

		make_flat(&l, size);
		for (int k = 1; k <= 5; k++) {
			size_t pairs = draw(&l, PAIRS_ALL, k, 1, seen);
			int least = k < size - 1 ? k : size - 1;

			for (int r = 0; r < size; r++) {
				assert_true(partners_of(seen, r) >= least);
			}
			/* k * size / 2 is the least there can be */
			assert_true(pairs <= (size_t)((k + 1) * size / 2 + k));
		}
		layout_release(&l);
	}
}

static void a_sample_stays_within_its_kind(void **state)
{
	bool seen[RANKS_MOST][RANKS_MOST];
	struct layout l;

	(void)state;
	make_layout(&l);
	assert_int_equal(draw(&l, PAIRS_INTRA, 50, 1, seen), 10);
	draw(&l, PAIRS_INTER, 2, 1, seen);
	for (int a = 0; a < l.n_ranks; a++) {
		assert_true(partners_of(seen, a) >= 1);
		for (int b = 0; b < l.n_ranks; b++) {
			assert_true(!seen[a][b] || want_inter(&l, a, b));
		}
	}
	layout_release(&l);
}

static void a_seed_is_a_sample(void **state)
{
	bool one[RANKS_MOST][RANKS_MOST], two[RANKS_MOST][RANKS_MOST];
	struct layout l;

	(void)state;
	make_flat(&l, 40);
	draw(&l, PAIRS_ALL, 3, 1, one);
	draw(&l, PAIRS_ALL, 3, 1, two);
	assert_memory_equal(one, two, sizeof(one));
	draw(&l, PAIRS_ALL, 3, 2, two);
	assert_memory_not_equal(one, two, sizeof(one));
	layout_release(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_count_node_by_node),
		cmocka_unit_test(each_kind_plans_its_cells),
		cmocka_unit_test(groups_do_not_meet),
		cmocka_unit_test(any_size_plans_all_cells),
		cmocka_unit_test(list_is_ordered_and_without_doubles),
		cmocka_unit_test(a_star_is_planned_as_each_gpu),
		cmocka_unit_test(rails_that_are_apart_do_not_meet),
		cmocka_unit_test(a_relay_is_near_the_sender),
		cmocka_unit_test(bad_lists_name_their_column),
		cmocka_unit_test(nothing_to_do_says_why),
		cmocka_unit_test(a_sample_gives_every_rank_its_partners),
		cmocka_unit_test(a_sample_stays_within_its_kind),
		cmocka_unit_test(a_seed_is_a_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
