/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "probes/plan/retry.h"

#define N 8

static bool works(void *ctx, int rank)
{
	(void)ctx;
	(void)rank;
	return true;
}

static int queue(void *ctx, const struct task *t)
{
	assert_int_equal(t->attempt, 2);
	*(int *)ctx += t->dirs == TASK_AB ? 1 : 2;
	return 0;
}

/* chosen_of() of the cells that were tested alone, as of a sample. */
static size_t chosen_of_few(const struct layout *all, enum retry_bad kind,
			    const struct retry_ops *ops, int *dirs)
{
	struct grid_pair pairs[N * N];
	struct cell cells[N * N + 1] = { 0 };
	struct layout l = *all;
	size_t n = 0;

	for (int at = 0; at < N * N; at++) {
		if (all->cells[at].attempt > 0) {
			pairs[n++] = (struct grid_pair){ at / N, at % N };
		}
	}
	assert_int_equal(grid_of(&l.grid, N, pairs, n), 0);
	for (size_t at = 0; at < l.grid.n; at++) {
		cells[at] = all->cells[l.grid.src[at] * N + l.grid.dst[at]];
	}
	l.cells = cells;
	*dirs = 0;
	n = retry_choose(&l, kind, ops, dirs);
	grid_release(&l.grid);
	return n;
}

/** Eight nodes of one rank, where rank 0 fails towards @bad others, which are
 *  of @class; what is chosen of @kind. */
static size_t chosen_of(int bad, enum cell_class class, enum retry_bad kind,
			int *dirs)
{
	static const struct retry_ops ops = { .works = works, .queue = queue };
	struct cell cells[N * N] = { 0 };
	struct layout l;
	size_t n;
	int few;

	assert_int_equal(layout_init(&l, N), 0);
	for (int i = 0; i < N; i++) {
		l.nodes[i].gpus = 1;
	}
	assert_int_equal(layout_number(&l), 0);
	for (int i = 1; i <= bad; i++) {
		cells[i].class = (uint8_t)class;
		cells[i].attempt = 1;
	}
	*dirs = 0;
	l.grid = grid_square(l.n_ranks);
	l.cells = cells;
	n = retry_choose(&l, kind, &ops, dirs);
	assert_int_equal(chosen_of_few(&l, kind, &ops, &few), n);
	assert_int_equal(few, *dirs);
	layout_release(&l);
	return n;
}

static size_t chosen(int bad, int *dirs)
{
	return chosen_of(bad, CELL_FAIL, RETRY_BROKEN, dirs);
}

static void what_did_not_get_to_run_is_tried_again(void **state)
{
	int dirs;

	(void)state;
	assert_int_equal(chosen_of(1, CELL_NOT_RUN, RETRY_STARVED, &dirs), 1);
	assert_int_equal(chosen_of(1, CELL_NOT_RUN, RETRY_BROKEN, &dirs), 0);
	assert_int_equal(chosen_of(1, CELL_FAIL, RETRY_STARVED, &dirs), 0);
}

static void what_fails_alone_is_tried_again(void **state)
{
	int dirs;

	(void)state;
	assert_int_equal(chosen(0, &dirs), 0);
	assert_int_equal(chosen(1, &dirs), 1);
	assert_int_equal(dirs, 1);	/* the way that failed, not both */
	assert_int_equal(chosen(2, &dirs), 2);
}

static void of_a_part_that_many_share_two_are_enough(void **state)
{
	int dirs;

	(void)state;
	assert_int_equal(chosen(3, &dirs), 2);
	assert_int_equal(chosen(7, &dirs), 2);
}

/** Rank 0 has passed the other way, with as many as makes it a tenth: slow by
 *  chance, all of them, where nothing else is slow more often. */
static void slow_ones_are_tried_again_one_by_one(void **state)
{
	enum { MANY = 48 };
	static const struct retry_ops ops = { .works = works, .queue = queue };
	static struct cell cells[MANY * MANY];
	struct layout l;
	int dirs = 0;

	(void)state;
	assert_int_equal(layout_init(&l, MANY), 0);
	for (int i = 0; i < MANY; i++) {
		l.nodes[i].gpus = 1;
	}
	assert_int_equal(layout_number(&l), 0);
	l.grid = grid_square(MANY);
	l.cells = cells;
	for (int i = 0; i < MANY * MANY; i++) {
		cells[i].class = CELL_PASS;
		cells[i].attempt = 1;
	}
	for (int i = 1; i <= 9; i++) {
		cells[i].class = CELL_SLOW;
	}
	assert_int_equal(retry_choose(&l, RETRY_SLOW, &ops, &dirs), 9);
	for (int i = 1; i <= 20; i++) {
		cells[i].class = CELL_SLOW;
	}
	assert_int_equal(retry_choose(&l, RETRY_SLOW, &ops, &dirs), 2);
	layout_release(&l);
}

/** Two GPUs share a NIC and fail with two nodes each: by the NIC it is that, of
 *  which two tests are enough; by NVLink it is four tests alone. */
static void a_nic_has_no_tests_by_nvlink(void **state)
{
	static const struct retry_ops ops = { .works = works, .queue = queue };

	(void)state;
	for (int nvlink = 0; nvlink < 2; nvlink++) {
		struct cell cells[100] = { 0 };
		struct layout l;
		int dirs = 0;

		assert_int_equal(layout_init(&l, 5), 0);
		for (int i = 0; i < 5; i++) {
			l.nodes[i].gpus = 2;
			l.nodes[i].nics = 1;
		}
		assert_int_equal(layout_number(&l), 0);
		l.grid = grid_square(10);
		l.cells = cells;
		for (int at = 0; at < 100; at++) {
			cells[at].path = at / 20 == at % 10 / 2 ? PATH_INTRA :
					 nvlink ? PATH_NVLINK : PATH_INTER;
			cells[at].class = CELL_PASS;
			cells[at].attempt = at / 10 != at % 10;
		}
		cells[2].class = cells[4].class = CELL_FAIL;
		cells[16].class = cells[18].class = CELL_FAIL;
		cluster_find_domains(&l.cluster);
		assert_int_equal(l.n_domains, nvlink);
		assert_int_equal(retry_choose(&l, RETRY_BROKEN, &ops, &dirs),
				 nvlink ? 4 : 2);
		layout_release(&l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fails_alone_is_tried_again),
		cmocka_unit_test(what_did_not_get_to_run_is_tried_again),
		cmocka_unit_test(of_a_part_that_many_share_two_are_enough),
		cmocka_unit_test(slow_ones_are_tried_again_one_by_one),
		cmocka_unit_test(a_nic_has_no_tests_by_nvlink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
