/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "lib/base/hash.h"
#include "probes/plan/plan.h"
#include "tests/layout.h"

/**
 * A drain: tasks run, finish in an order that the seed decides, and make room
 * for others.  Everything the header promises is checked at every step by
 * books of its own.
 */
struct drain {
	struct layout layout;
	enum dispatch_rule rule;
	struct dispatch *dispatch;
	struct plan plan;
	uint64_t seed, draws;
	struct task *running;
	size_t n_running;
	size_t added;		/* tasks of the plan that are queued or ran */
	int *ran;		/* times that each task ran */
	int *gpu;		/* that a rank uses */
	bool *busy;		/* GPUs */
	bool *ready;
	bool *nic_busy;		/* node * NICS_MOST + nic */
};

#define NICS_MOST 64

static void drain_init(struct drain *d, enum dispatch_rule rule, int nodes,
		       int gpus, int nics, uint64_t seed)
{
	const char **names = calloc((size_t)nodes, sizeof(*names));
	int *n_gpus = calloc((size_t)nodes, sizeof(*n_gpus));
	int *n_nics = calloc((size_t)nodes, sizeof(*n_nics));
	struct pairs all = { .kind = PAIRS_ALL };
	size_t ranks = (size_t)(nodes * gpus);

	for (int i = 0; i < nodes; i++) {
		names[i] = "n";
		n_gpus[i] = gpus;
		n_nics[i] = nics;
	}
	*d = (struct drain){ .rule = rule, .seed = seed };
	assert_int_equal(layout_of(&d->layout, nodes, names, n_gpus, n_nics),
			 0);
	assert_int_equal(plan_pairs(&d->layout, &all, &d->plan, NULL), 0);
	d->dispatch = dispatch_new(&d->layout, rule);
	assert_non_null(d->dispatch);
	d->running = calloc(ranks, sizeof(*d->running));
	d->ran = calloc(d->plan.n, sizeof(*d->ran));
	d->gpu = calloc(ranks, sizeof(*d->gpu));
	d->busy = calloc(ranks, sizeof(*d->busy));
	d->ready = calloc(ranks, sizeof(*d->ready));
	d->nic_busy = calloc((size_t)nodes * NICS_MOST, sizeof(*d->nic_busy));
	for (int i = 0; i < d->layout.n_ranks; i++) {
		d->gpu[i] = i;
	}
	free(names);
	free(n_gpus);
	free(n_nics);
}

/** Only @gpus GPUs there are: ranks use them in turn. */
static void share_gpus(struct drain *d, int gpus)
{
	for (int i = gpus; i < d->layout.n_ranks; i++) {
		d->gpu[i] = i % gpus;
		layout_share_gpu(&d->layout, i, i % gpus);
	}
}

static void drain_release(struct drain *d)
{
	dispatch_free(d->dispatch);
	plan_release(&d->plan);
	layout_release(&d->layout);
	free(d->running);
	free(d->ran);
	free(d->gpu);
	free(d->busy);
	free(d->ready);
	free(d->nic_busy);
}

static void add_one(struct drain *d)
{
	assert_int_equal(
		dispatch_add(d->dispatch, &d->plan.tasks[d->added++]), 0);
}

static void add_all(struct drain *d)
{
	while (d->added < d->plan.n) {
		add_one(d);
	}
}

static void set_ready(struct drain *d, int rank, bool ready)
{
	d->ready[rank] = ready;
	dispatch_ready(d->dispatch, rank, ready);
}

static void all_ready(struct drain *d)
{
	for (int i = 0; i < d->layout.n_ranks; i++) {
		set_ready(d, i, true);
	}
}

static size_t draw(struct drain *d, size_t n)
{
	return hash_mix(d->seed, d->draws++, 0, 0) % n;
}

static bool *nic_of(struct drain *d, int rank)
{
	const struct cluster_rank *r = &d->layout.ranks[rank];

	return &d->nic_busy[r->node * NICS_MOST + r->nic];
}

static bool takes_nics(const struct drain *d, const struct task *t)
{
	return d->rule == DISPATCH_NIC &&
	       d->layout.ranks[t->a].node != d->layout.ranks[t->b].node;
}

static bool may_start(struct drain *d, const struct task *t)
{
	if (d->busy[d->gpu[t->a]] || d->busy[d->gpu[t->b]] ||
	    !d->ready[t->a] || !d->ready[t->b]) {
		return false;
	}
	if (takes_nics(d, t) && (*nic_of(d, t->a) || *nic_of(d, t->b))) {
		return false;
	}
	for (int i = 0; i < TASK_MATES; i++) {
		int m = t->mates[i] - 1;

		if (m >= 0 && (d->busy[d->gpu[m]] ||
			       (takes_nics(d, t) && *nic_of(d, m)))) {
			return false;
		}
	}
	return d->rule != DISPATCH_SERIAL || d->n_running == 0;
}

static void set_taken(struct drain *d, const struct task *t, bool taken)
{
	d->busy[d->gpu[t->a]] = d->busy[d->gpu[t->b]] = taken;
	if (takes_nics(d, t)) {
		*nic_of(d, t->a) = *nic_of(d, t->b) = taken;
	}
	for (int i = 0; i < TASK_MATES; i++) {
		int m = t->mates[i] - 1;

		if (m >= 0) {
			d->busy[d->gpu[m]] = taken;
		}
		if (m >= 0 && takes_nics(d, t)) {
			*nic_of(d, m) = taken;
		}
	}
}

/** Start what may start; each must have been free to. */
static size_t start_all(struct drain *d)
{
	size_t started = 0;
	struct task t;

	while (dispatch_next(d->dispatch, &t)) {
		assert_true(may_start(d, &t));
		set_taken(d, &t, true);
		d->ran[t.id]++;
		d->running[d->n_running++] = t;
		started++;
	}
	assert_int_equal(dispatch_running(d->dispatch), d->n_running);
	return started;
}

/** One of those that run, by chance, ends. */
static void finish_one(struct drain *d)
{
	size_t i = draw(d, d->n_running);
	struct task t = d->running[i];

	d->running[i] = d->running[--d->n_running];
	set_taken(d, &t, false);
	dispatch_done(d->dispatch, &t);
}

/** No task that waits could have been started. */
static void check_nothing_left_out(struct drain *d)
{
	for (size_t i = 0; i < d->added; i++) {
		assert_false(!d->ran[i] && may_start(d, &d->plan.tasks[i]));
	}
}

static void drain_all(struct drain *d, bool look_at_all)
{
	start_all(d);
	while (d->n_running) {
		finish_one(d);
		start_all(d);
		if (look_at_all) {
			check_nothing_left_out(d);
		}
	}
}

static void check_all_ran_once(const struct drain *d)
{
	assert_int_equal(dispatch_queued(d->dispatch), 0);
	for (size_t i = 0; i < d->plan.n; i++) {
		assert_int_equal(d->ran[i], 1);
	}
}

static void everything_runs_once(void **state)
{
	static const struct {
		int nodes, gpus, nics;
	} shapes[] = {
		{ .nodes = 1, .gpus = 2, .nics = 1 },
		{ .nodes = 1, .gpus = 7, .nics = 2 },
		{ .nodes = 3, .gpus = 5, .nics = 5 },
		{ .nodes = 4, .gpus = 4, .nics = 2 },
		{ .nodes = 3, .gpus = 8, .nics = 1 },
		{ .nodes = 9, .gpus = 1, .nics = 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		for (int rule = DISPATCH_NIC; rule <= DISPATCH_SERIAL; rule++) {
			for (uint64_t seed = 1; seed <= 5; seed++) {
				struct drain d;

				drain_init(&d, (enum dispatch_rule)rule,
					   shapes[i].nodes, shapes[i].gpus,
					   shapes[i].nics, seed);
				add_all(&d);
				all_ready(&d);
				drain_all(&d, true);
				check_all_ran_once(&d);
				drain_release(&d);
			}
		}
	}
}

static bool always(void *ctx, int rank)
{
	(void)ctx;
	return rank >= 0;
}

/** With PXN a pair between rails needs a GPU of each node beside its own. */
static void mates_are_taken_as_well(void **state)
{
	static const struct {
		int nodes, gpus, nics, shared;
	} shapes[] = {
		{ .nodes = 2, .gpus = 4, .nics = 4 },
		{ .nodes = 3, .gpus = 4, .nics = 2 },
		{ .nodes = 2, .gpus = 4, .nics = 4, .shared = 4 },
		{ .nodes = 4, .gpus = 2, .nics = 2, .shared = 3 },
	};

	(void)state;
	for (size_t i = 0; i < 4 * 3 * 5; i++) {
		int s = (int)(i % 4), rule = (int)(i / 4 % 3);
		size_t mates = 0;
		struct drain d;
		bool any;

		drain_init(&d, (enum dispatch_rule)rule, shapes[s].nodes,
			   shapes[s].gpus, shapes[s].nics, i);
		if (shapes[s].shared > 0) {
			share_gpus(&d, shapes[s].shared);
		}
		for (size_t t = 0; t < d.plan.n; t++) {
			struct task *k = &d.plan.tasks[t];

			if (!plan_crosses(&d.layout, k->a, k->b)) {
				continue;
			}
			k->mates[0] = 1 + plan_relay(&d.layout, k->a, k->b,
						     always, NULL, &any);
			k->mates[1] = 1 + plan_relay(&d.layout, k->b, k->a,
						     always, NULL, &any);
			mates += any;
		}
		assert_true(mates > 0);
		add_all(&d);
		all_ready(&d);
		/* of shared GPUs the books know no more than the ends */
		drain_all(&d, shapes[s].shared == 0);
		check_all_ran_once(&d);
		drain_release(&d);
	}
}

static void serial_keeps_the_order(void **state)
{
	struct drain d;
	struct task t;

	(void)state;
	drain_init(&d, DISPATCH_SERIAL, 2, 4, 4, 1);
	add_all(&d);
	all_ready(&d);
	for (size_t i = 0; i < d.plan.n; i++) {
		assert_true(dispatch_next(d.dispatch, &t));
		assert_int_equal(t.id, i);
		assert_false(dispatch_next(d.dispatch, &t));
		dispatch_done(d.dispatch, &t);
	}
	drain_release(&d);
}

static void first_round_starts_whole(void **state)
{
	struct drain d;

	(void)state;
	drain_init(&d, DISPATCH_NIC, 4, 4, 4, 1);
	add_all(&d);
	all_ready(&d);
	assert_int_equal(start_all(&d), 8);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(d.ran[i], 1);
	}
	drain_release(&d);
}

/** With two NICs a node, two of its four ranks can talk to other nodes. */
static void shared_nic_is_used_by_one(void **state)
{
	struct drain d;
	size_t inter = 0;

	(void)state;
	drain_init(&d, DISPATCH_NIC, 2, 4, 2, 1);
	add_all(&d);
	all_ready(&d);
	start_all(&d);
	for (size_t i = 0; i < d.n_running; i++) {
		inter += takes_nics(&d, &d.running[i]);
	}
	assert_in_range(inter, 1, 2);
	drain_release(&d);
}

static void ranks_that_are_not_ready_wait(void **state)
{
	struct drain d;
	struct task t;

	(void)state;
	for (int rule = DISPATCH_NIC; rule <= DISPATCH_SERIAL; rule++) {
		drain_init(&d, (enum dispatch_rule)rule, 2, 3, 3, 7);
		add_all(&d);
		assert_false(dispatch_next(d.dispatch, &t));
		for (int i = 0; i < 6; i++) {
			set_ready(&d, i, i != 4);
		}
		drain_all(&d, true);
		assert_int_equal(dispatch_queued(d.dispatch), 5);
		set_ready(&d, 4, true);
		drain_all(&d, true);
		check_all_ran_once(&d);
		drain_release(&d);
	}
}

/** Ranks of pretend nodes share GPUs; a GPU with itself is a pair, too. */
static void shared_gpu_is_used_by_one(void **state)
{
	(void)state;
	for (int gpus = 1; gpus <= 8; gpus++) {
		struct drain d;

		drain_init(&d, DISPATCH_NIC, 2, 4, 4, (uint64_t)gpus);
		share_gpus(&d, gpus);
		add_all(&d);
		all_ready(&d);
		drain_all(&d, true);
		check_all_ran_once(&d);
		drain_release(&d);
	}
}

/** A worker dies while its task runs: the rank waits after it is done. */
static void rank_lost_in_a_task_waits(void **state)
{
	struct drain d;

	(void)state;
	drain_init(&d, DISPATCH_NIC, 1, 2, 2, 1);
	add_all(&d);
	all_ready(&d);
	assert_int_equal(start_all(&d), 1);
	set_ready(&d, 1, false);
	finish_one(&d);
	assert_int_equal(dispatch_add(d.dispatch, &d.plan.tasks[0]), 0);
	assert_int_equal(start_all(&d), 0);
	set_ready(&d, 1, true);
	assert_int_equal(start_all(&d), 1);
	drain_release(&d);
}

/** Ranks come, go, get tasks added and run, in any order. */
static void any_order_of_calls(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct drain d;

		drain_init(&d, (enum dispatch_rule)(seed % 3), 3, 4, 2, seed);
		while (d.added < d.plan.n || dispatch_queued(d.dispatch)) {
			if (d.added < d.plan.n && draw(&d, 2)) {
				add_one(&d);
			}
			if (draw(&d, 2)) {
				set_ready(&d, (int)draw(&d, 12),
					  draw(&d, 3) != 0);
			}
			if (draw(&d, 2)) {
				start_all(&d);
				check_nothing_left_out(&d);
			}
			if (d.n_running && draw(&d, 2)) {
				finish_one(&d);
			}
		}
		check_all_ran_once(&d);
		drain_release(&d);
	}
}

static void same_pair_runs_in_turn(void **state)
{
	struct drain d;
	struct task t, again;

	(void)state;
	drain_init(&d, DISPATCH_NIC, 1, 2, 2, 1);
	all_ready(&d);
	for (int attempt = 1; attempt <= 3; attempt++) {
		again = d.plan.tasks[0];
		again.attempt = attempt;
		dispatch_add(d.dispatch, &again);
	}
	for (int attempt = 1; attempt <= 3; attempt++) {
		assert_true(dispatch_next(d.dispatch, &t));
		assert_int_equal(t.attempt, attempt);
		assert_false(dispatch_next(d.dispatch, &again));
		dispatch_done(d.dispatch, &t);
	}
	assert_false(dispatch_next(d.dispatch, &t));
	drain_release(&d);
}

static void drop_takes_all_of_a_rank(void **state)
{
	struct drain d;
	struct task t;
	int dropped = 0;

	(void)state;
	drain_init(&d, DISPATCH_NIC, 2, 4, 4, 3);
	add_all(&d);
	all_ready(&d);
	start_all(&d);
	while (dispatch_drop(d.dispatch, 5, &t)) {
		assert_true(t.a == 5 || t.b == 5);
		assert_int_equal(d.ran[t.id], 0);
		d.ran[t.id]++;
		dropped++;
	}
	assert_int_equal(dropped, 6);	/* its seventh is running */
	drain_all(&d, true);
	check_all_ran_once(&d);
	drain_release(&d);
}

static void drop_empties_the_queue_in_order(void **state)
{
	struct drain d;
	struct task t;
	uint32_t last = 0;

	(void)state;
	drain_init(&d, DISPATCH_PARALLEL, 2, 4, 4, 3);
	add_all(&d);
	all_ready(&d);
	start_all(&d);
	assert_int_equal(d.n_running, 4);
	while (dispatch_drop(d.dispatch, -1, &t)) {
		assert_int_equal(d.ran[t.id], 0);
		assert_true(t.id > last);
		last = t.id;
		d.ran[t.id]++;
	}
	while (d.n_running) {
		finish_one(&d);
	}
	assert_int_equal(start_all(&d), 0);
	check_all_ran_once(&d);
	drain_release(&d);
}

/** Two dispatchers that hear the same say the same. */
static void same_calls_same_answers(void **state)
{
	struct drain d[2];
	bool more = true;

	(void)state;
	for (int i = 0; i < 2; i++) {
		drain_init(&d[i], DISPATCH_NIC, 4, 4, 2, 11);
		add_all(&d[i]);
		all_ready(&d[i]);
	}
	while (more) {
		start_all(&d[0]);
		start_all(&d[1]);
		more = d[0].n_running > 0;
		assert_int_equal(d[0].n_running, d[1].n_running);
		for (size_t i = 0; i < d[0].n_running; i++) {
			assert_int_equal(d[0].running[i].id,
					 d[1].running[i].id);
		}
		for (int i = 0; more && i < 2; i++) {
			finish_one(&d[i]);
		}
	}
	drain_release(&d[0]);
	drain_release(&d[1]);
}

/** 128 nodes of 8: far from quadratic in the tasks, or this takes minutes. */
static void thousand_ranks_drain_fast(void **state)
{
	clock_t begin, took;
	struct drain d;

	(void)state;
	drain_init(&d, DISPATCH_NIC, SANITIZED ? 32 : 128, 8, 4, 1);
	begin = clock();
	add_all(&d);
	all_ready(&d);
	drain_all(&d, false);
	took = clock() - begin;
	check_all_ran_once(&d);
	print_message("# %zu tasks in %.0f ms of CPU\n", d.plan.n,
		      1e3 * (double)took / CLOCKS_PER_SEC);
	assert_true(took < 10 * CLOCKS_PER_SEC);
	drain_release(&d);
}

/** A sample of the largest run: what it has takes room and time, not what it
 *  leaves out.  The square of its ranks would be 4 GiB, and 10^9 looks. */
static void sample_of_all_ranks_drains_fast(void **state)
{
	enum { NODES = 4096, GPUS = 8, RANKS = NODES * GPUS, ROUNDS = 4 };
	static const char *names[NODES];
	static int gpus[NODES], nics[NODES];
	struct dispatch *d;
	struct layout l;
	struct task t;
	clock_t begin = clock();

	(void)state;
	for (int i = 0; i < NODES; i++) {
		names[i] = "n";
		gpus[i] = nics[i] = GPUS;
	}
	assert_int_equal(layout_of(&l, NODES, names, gpus, nics), 0);
	d = dispatch_new(&l, DISPATCH_NIC);
	assert_non_null(d);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < RANKS; i++) {
			/* those of a node meet those of the next, or others */
			int peer = i ^ GPUS << round;

			t = (struct task){ .a = i, .b = peer, .dirs = 3,
					   .attempt = 1, .round = round };
			assert_true(i > peer || dispatch_add(d, &t) == 0);
		}
	}
	for (int i = 0; i < RANKS; i++) {
		dispatch_ready(d, i, true);
	}
	for (int round = 0; round < ROUNDS; round++) {
		static struct task running[RANKS / 2];
		int n = 0;

		while (dispatch_next(d, &t)) {
			assert_int_equal(t.round, round);
			running[n++] = t;
		}
		assert_int_equal(n, RANKS / 2);
		while (n > 0) {
			dispatch_done(d, &running[--n]);
		}
	}
	assert_int_equal(dispatch_queued(d), 0);
	assert_true(clock() - begin < 2 * CLOCKS_PER_SEC);
	dispatch_free(d);
	layout_release(&l);
}

/** Everything inside nodes and leaves runs meanwhile, the rest after it. */
static void between_leaves_is_held(void **state)
{
	(void)state;
	for (int rule = DISPATCH_NIC; rule <= DISPATCH_SERIAL; rule++) {
		struct drain d;
		struct task t;
		size_t ran = 0;

		drain_init(&d, (enum dispatch_rule)rule, 4, 2, 2, 5);
		for (int r = 0; r < d.layout.n_ranks; r++) {
			/* two nodes a leaf, and one rank on none */
			d.layout.own[r].leaf = r == 7 ? 0 : 1 + r / 4;
		}
		dispatch_hold(d.dispatch, true);
		add_all(&d);
		all_ready(&d);
		while (dispatch_next(d.dispatch, &t)) {
			assert_false(layout_cross_leaves(&d.layout, t.a, t.b));
			dispatch_done(d.dispatch, &t);
			d.ran[t.id]++;
			ran++;
		}
		for (size_t i = 0; i < d.plan.n; i++) {
			t = d.plan.tasks[i];
			assert_int_equal(d.ran[i], !layout_cross_leaves(
						&d.layout, t.a, t.b));
		}
		assert_true(ran > 0 && ran < d.plan.n);
		dispatch_hold(d.dispatch, false);
		drain_all(&d, true);
		check_all_ran_once(&d);
		drain_release(&d);
	}
}

static void nobody_is_fine(void **state)
{
	struct layout l;
	struct dispatch *d;
	struct task t;

	(void)state;
	assert_int_equal(layout_of(&l, 0, NULL, NULL, NULL), 0);
	d = dispatch_new(&l, DISPATCH_NIC);
	assert_false(dispatch_next(d, &t));
	assert_false(dispatch_drop(d, -1, &t));
	dispatch_free(d);
	dispatch_free(NULL);
	layout_release(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_runs_once),
		cmocka_unit_test(mates_are_taken_as_well),
		cmocka_unit_test(serial_keeps_the_order),
		cmocka_unit_test(first_round_starts_whole),
		cmocka_unit_test(shared_nic_is_used_by_one),
		cmocka_unit_test(shared_gpu_is_used_by_one),
		cmocka_unit_test(ranks_that_are_not_ready_wait),
		cmocka_unit_test(rank_lost_in_a_task_waits),
		cmocka_unit_test(any_order_of_calls),
		cmocka_unit_test(same_pair_runs_in_turn),
		cmocka_unit_test(drop_takes_all_of_a_rank),
		cmocka_unit_test(drop_empties_the_queue_in_order),
		cmocka_unit_test(same_calls_same_answers),
		cmocka_unit_test(thousand_ranks_drain_fast),
		cmocka_unit_test(sample_of_all_ranks_drains_fast),
		cmocka_unit_test(between_leaves_is_held),
		cmocka_unit_test(nobody_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
