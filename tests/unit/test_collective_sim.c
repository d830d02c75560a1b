/* SPDX-License-Identifier: BSD-3-Clause */
/* Orders on the wire, the model of collectives, and drills of groups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "probes/collective/collective.h"
#include "probes/sim/model.h"
#include "tests/layout.h"

static struct collective_order order_of(int64_t ranks, int64_t nodes,
					int64_t size_B)
{
	return (struct collective_order){
		.what = DO_STEP,
		.id = 7,
		.nonce = "00",
		.rank = 1,
		.ranks = ranks,
		.nodes = nodes,
		.me = 1,
		.op = COLLECTIVE_ALLREDUCE,
		.dtype = dtype_find("float"),
		.redop = redop_find("sum"),
		.size_B = size_B,
		.factor = 2,
		.check = true,
		.samples = 5,
		.batch = 1,
		.seed = 1,
		.slow_factor = 1,
	};
}

static struct collective_result model(const struct collective_order *o)
{
	struct collective_result r;

	collective_sim(o, 1, 0, &r);
	return r;
}

static void orders_go_there_and_back(void **state)
{
	struct collective_order o = order_of(16, 2, 1 << 20), back;
	json_t *j, *again;
	struct err e = { 0 };

	(void)state;
	STR_COPY(o.variant, "Ring LL");
	STR_COPY(o.algo, "Ring");
	o.inplace = o.silent = true;
	o.drill = XPORT_DRILL_HANG;
	o.slow_factor = 0.25;
	o.budget_ns = 12345;
	o.verify = 7;
	o.verify_from = 1000;
	o.wrong_rate = 0.5;
	o.wrong_by = 3;
	j = collective_order_json(&o);
	assert_int_equal(collective_order_parse(j, &back, &e), 0);
	again = collective_order_json(&back);
	assert_true(json_equal(j, again));
	json_decref(again);
	json_object_set_new(j, "me", json_integer(16));
	assert_int_equal(collective_order_parse(j, &back, &e), -1);
	json_object_set_new(j, "me", json_integer(0));
	json_object_set_new(j, "samples",
			    json_integer(COLLECTIVE_STEP_SAMPLES + 1));
	assert_int_equal(collective_order_parse(j, &back, &e), -1);
	json_object_set_new(j, "samples", json_integer(1));
	assert_int_equal(collective_order_parse(j, &back, &e), 0);
	assert_int_equal(back.verify_from, 1000);
	assert_int_equal(back.wrong_by, 3);
	json_object_set_new(j, "verify",
			    json_integer(COLLECTIVE_STEP_VERIFY + 1));
	assert_int_equal(collective_order_parse(j, &back, &e), -1);
	json_decref(j);
}

static void results_go_there_and_back(void **state)
{
	struct collective_order o = order_of(16, 2, 1 << 20);
	struct collective_result r = model(&o), back;
	json_t *j = schema_json(collective_result_fields, &r);

	(void)state;
	assert_int_equal(collective_result_parse(j, &back, NULL), 0);
	assert_int_equal(back.n, 5);
	assert_true(back.us[4] == r.us[4]);
	assert_int_equal(back.wrong, 0);
	assert_int_equal(back.bad, 0);
	json_object_set_new(j, "bad", json_integer(5));
	assert_int_equal(collective_result_parse(j, &back, NULL), 0);
	assert_int_equal(back.bad, 5);
	json_object_set_new(j, "bad", json_integer(-1));
	assert_int_equal(collective_result_parse(j, &back, NULL), -1);
	json_object_set_new(j, "bad", json_integer(0));
	json_array_append_new(json_object_get(j, "us"), json_string("1"));
	assert_int_equal(collective_result_parse(j, &back, NULL), -1);
	json_decref(j);
}

/* All ranks' wrong elements are added up, and deadlines are made of times. */
static void results_have_limits(void **state)
{
	struct collective_order o = order_of(16, 2, 1 << 20);
	struct collective_result r = model(&o), back;
	json_t *j = schema_json(collective_result_fields, &r);

	(void)state;
	json_object_set_new(j, "wrong", json_integer(INT64_MAX));
	assert_int_equal(collective_result_parse(j, &back, NULL), -1);
	json_object_set_new(j, "wrong", json_integer(1));
	assert_int_equal(collective_result_parse(j, &back, NULL), 0);
	json_object_set_new(j, "us", json_pack("[f]", 1e300));
	assert_int_equal(collective_result_parse(j, &back, NULL), -1);
	json_decref(j);
}

static void the_model_is_a_line_with_a_crossover(void **state)
{
	double ring[2], tree[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct collective_order o =
			order_of(16, 2, i ? 1 << 28 : 1 << 10);

		STR_COPY(o.algo, "Ring");
		ring[i] = model(&o).us[0];
		STR_COPY(o.algo, "Tree");
		tree[i] = model(&o).us[0];
		o.algo[0] = '\0';	/* the better one */
		assert_true(model(&o).us[0] == (ring[i] < tree[i] ? ring[i] :
								      tree[i]));
	}
	assert_true(tree[0] < ring[0] && tree[1] > ring[1]);
}

static void what_the_model_does_not_know_it_ignores(void **state)
{
	struct collective_order o = order_of(16, 2, 1 << 20);
	struct collective_result r;

	(void)state;
	STR_COPY(o.algo, "NVLS");	/* inside a node only */
	r = model(&o);
	assert_string_not_equal(r.algo, "NVLS");
	o.nodes = 1;
	r = model(&o);
	assert_string_equal(r.algo, "NVLS");
}

static void one_rank_is_fast_and_alone(void **state)
{
	struct collective_order o = order_of(1, 1, 1 << 20);

	(void)state;
	o.me = 0;
	assert_true(model(&o).us[0] > 0 && model(&o).us[0] < 1e4);
}

/* All members see the same operations go wrong, if it comes to them at all. */
static void who_spoils_what_it_sends_is_seen_by_whom_it_comes_to(void **state)
{
	static const struct {
		enum collective op;
		int by;
		const char *see;	/* of four ranks */
	} cases[] = {
		{ COLLECTIVE_ALLREDUCE, 2, "yyyy" },
		{ COLLECTIVE_ALLGATHER, 2, "yyyy" },
		{ COLLECTIVE_REDUCESCATTER, 2, "ynnn" },
		{ COLLECTIVE_REDUCE, 2, "ynnn" },
		{ COLLECTIVE_BROADCAST, 0, "yyyy" },
		{ COLLECTIVE_BROADCAST, 2, "nnnn" },
		{ COLLECTIVE_ALLTOALL, 2, "ynnn" },
		{ COLLECTIVE_SENDRECV, 3, "ynnn" },
	};
	uint64_t seen = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		for (int me = 0; me < 4; me++) {
			struct collective_order o = order_of(4, 1, 1 << 20);
			struct collective_result r;

			o.check = false;
			o.op = cases[i].op;
			o.me = me;
			o.verify = COLLECTIVE_STEP_VERIFY;
			o.wrong_by = cases[i].by;
			assert_int_equal(model(&o).wrong, 0);
			o.wrong_rate = 0.3;
			r = model(&o);
			if (cases[i].see[me] == 'n') {
				assert_int_equal(r.bad, 0);
				continue;
			}
			seen = seen ? seen : r.bad;
			assert_true(r.bad == seen && seen != 0);
			assert_int_equal(r.wrong,
					 16 * __builtin_popcountll(r.bad));
			o.verify_from = 60;
			assert_true(model(&o).bad != seen);
		}
	}
	/* of 60, about 18 */
	assert_in_range(__builtin_popcountll(seen), 8, 30);
}

/* ---- drills -------------------------------------------------------------- */

static struct layout layout;
static struct collective_act acts[16];

static double drill(const char *text, int n)
{
	static const char *const names[] = { "n0", "n1" };
	static const int gpus[] = { 8, 8 }, nics[] = { 8, 8 };
	int members[16];
	struct drill d;
	double factor;

	assert_int_equal(layout_of(&layout, 2, names, gpus, nics), 0);
	assert_int_equal(drill_parse(text, strlen(text), &d, NULL), 0);
	for (int i = 0; i < n; i++) {
		members[i] = i;
	}
	factor = collective_drill(&d, &layout, members, n, 1, 1, acts);
	drill_release(&d);
	layout_release(&layout);
	return factor;
}

static int n_acting(int n)
{
	int acting = 0;

	for (int i = 0; i < n; i++) {
		acting += acts[i].drill != XPORT_DRILL_NONE;
	}
	return acting;
}

static void a_fault_of_a_rank_makes_it_act(void **state)
{
	(void)state;
	assert_true(drill("dead gpu=1:4\n", 16) == 1);
	assert_int_equal(acts[12].drill, XPORT_DRILL_STAY_AWAY);
	assert_false(acts[12].silent);
	assert_int_equal(n_acting(16), 1);
	drill("dead node=1\n", 16);
	assert_int_equal(n_acting(16), 8);
	drill("crash rank=3\n", 16);
	assert_int_equal(acts[3].drill, XPORT_DRILL_CRASH);
	drill("dead gpu=1:4\n", 8);
	assert_int_equal(n_acting(8), 0);
}

static void a_fault_between_two_has_no_culprit(void **state)
{
	(void)state;
	drill("hang pair=2-5\n", 16);
	assert_int_equal(n_acting(16), 1);
	assert_true(acts[5].silent || acts[2].silent);
	drill("hang pair=2-5\n", 5);
	assert_int_equal(n_acting(5), 0);
	drill("dead nic=1:0\n", 16);
	assert_true(n_acting(16) > 0 && n_acting(16) < 16);
	drill("dead nic=1:0\n", 8);
	assert_int_equal(n_acting(8), 0);
	drill("corrupt pair=0-3\n", 4);
	assert_int_equal(acts[3].drill, XPORT_DRILL_CORRUPT);
}

static void a_wrong_part_is_wrong_as_often_as_it_says(void **state)
{
	(void)state;
	drill("wrong gpu=1:4 rate=0.25\n", 16);
	assert_true(acts[12].wrong == 0.25 && acts[11].wrong == 0);
	assert_int_equal(n_acting(16), 0);
	drill("wrong gpu=1:4 rate=0.25\n", 8);
	assert_true(acts[4].wrong == 0);
	drill("wrong rank=0 rate=0.5\n", 1);	/* alone as well */
	assert_true(acts[0].wrong == 0.5);
	/* one of the two, and only where both are in it */
	drill("wrong pair=2-5 rate=1\nwrong pair=2-5 rate=0.1\n", 16);
	assert_true(acts[2].wrong + acts[5].wrong == 1);
	drill("wrong pair=2-5 rate=1\n", 5);
	assert_true(acts[2].wrong == 0);
	/* nothing else changes */
	assert_true(drill("wrong node=1 rate=1\nslow pair=1-2 factor=0.5\n",
			  16) == 0.5);
	assert_true(acts[8].wrong == 1 && acts[15].wrong == 1 &&
		    acts[7].wrong == 0);
}

static void the_slowest_way_slows_all(void **state)
{
	(void)state;
	assert_true(drill("slow gpu=0:3 factor=0.5\n", 16) == 0.5);
	assert_true(drill("slow pair=3-12 factor=0.2\n", 16) == 0.2);
	assert_true(drill("slow pair=3-12 factor=0.2\n", 12) == 1);
	assert_true(drill("# nothing\n", 16) == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders_go_there_and_back),
		cmocka_unit_test(results_go_there_and_back),
		cmocka_unit_test(results_have_limits),
		cmocka_unit_test(the_model_is_a_line_with_a_crossover),
		cmocka_unit_test(what_the_model_does_not_know_it_ignores),
		cmocka_unit_test(one_rank_is_fast_and_alone),
		cmocka_unit_test(a_fault_of_a_rank_makes_it_act),
		cmocka_unit_test(a_fault_between_two_has_no_culprit),
		cmocka_unit_test(
			who_spoils_what_it_sends_is_seen_by_whom_it_comes_to),
		cmocka_unit_test(a_wrong_part_is_wrong_as_often_as_it_says),
		cmocka_unit_test(the_slowest_way_slows_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
