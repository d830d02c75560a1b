/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/data/cells.h"
#include "lib/base/hash.h"
#include "lib/base/stats.h"

static void median_of_any_order(void **state)
{
	double odd[] = { 5, 1, 3 }, even[] = { 4, 1, 3, 2 }, one[] = { 7 };

	(void)state;
	assert_true(stats_median(odd, 3) == 3);
	assert_true(stats_median(even, 4) == 2.5);
	assert_true(stats_median(one, 1) == 7);
	assert_true(isnan(stats_median(NULL, 0)));
}

static void percentile_is_nearest_rank(void **state)
{
	double v[] = { 50, 20, 15, 40, 35 };

	(void)state;
	assert_true(stats_percentile(v, 5, 5) == 15);
	assert_true(stats_percentile(v, 5, 30) == 20);
	assert_true(stats_percentile(v, 5, 40) == 20);
	assert_true(stats_percentile(v, 5, 50) == 35);
	assert_true(stats_percentile(v, 5, 99) == 50);
	assert_true(stats_percentile(v, 5, 100) == 50);
	assert_true(stats_percentile(v, 1, 0.1) == 15);
	assert_true(isnan(stats_percentile(NULL, 0, 50)));
}

/** Whatever the order, with many equal ones or none. */
static void select_finds_what_sorting_finds(void **state)
{
	double v[60], sorted[60];

	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++) {
		size_t n = 1 + seed % 60, kinds = seed % 3 ? 1000 : 4;

		for (size_t k = 0; k < n; k++) {
			for (size_t i = 0; i < n; i++) {
				v[i] = sorted[i] = floor((double)kinds *
							 hash_unit(seed, i, 0,
								   0));
			}
			stats_median(sorted, n);
			assert_true(stats_select(v, n, k) == sorted[k]);
			for (size_t i = 0; i < n; i++) {
				assert_true(i < k ? v[i] <= v[k] :
						    v[i] >= v[k]);
			}
		}
	}
}

static void mad_is_not_moved_by_one_outlier(void **state)
{
	double v[] = { 2, 1, 4, 2, 900, 1, 6 }, median;

	(void)state;
	assert_true(stats_mad(v, 7, &median) == 1);
	assert_true(median == 2);
	assert_true(isnan(stats_mad(NULL, 0, NULL)));
}

static void mode_is_the_largest_of_the_most_common(void **state)
{
	const double v[] = { 1500, NAN, 9000, 9000, 1500, 64, NAN, NAN };

	(void)state;
	assert_true(stats_mode(v, 8) == 9000);
	assert_true(stats_mode(v, 6) == 9000);
	assert_true(stats_mode(v, 3) == 9000);
	assert_true(stats_mode(v + 4, 2) == 1500);
	assert_true(isnan(stats_mode(v + 6, 2)));
	assert_true(isnan(stats_mode(NULL, 0)));
}

static void every_outcome_has_a_class_and_every_class_a_name(void **state)
{
	static const char *const names[] = { "not_run", "pass", "slow", "fail",
					     "timeout", "corrupt", "skipped",
					     "unplanned" };

	(void)state;
	for (int c = 0; c <= CELL_UNPLANNED; c++) {
		assert_string_equal(cell_class_name((enum cell_class)c),
				    names[c]);
	}
	assert_int_equal(cells_class_of(OUTCOME_OK), CELL_PASS);
	assert_int_equal(cells_class_of(OUTCOME_ERROR), CELL_FAIL);
	assert_int_equal(cells_class_of(OUTCOME_CRASHED), CELL_FAIL);
	assert_int_equal(cells_class_of(OUTCOME_TIMEOUT), CELL_TIMEOUT);
	assert_int_equal(cells_class_of(OUTCOME_CORRUPT), CELL_CORRUPT);
	assert_int_equal(cells_class_of(OUTCOME_SKIPPED), CELL_SKIPPED);
	assert_int_equal(cells_class_of(OUTCOME_NOT_RUN), CELL_NOT_RUN);
}

#define SAY(a, o, g) { .attempt = a, .outcome = OUTCOME_##o, .go = g }

/* The later attempt that measured, its worst size, a pass at the largest. */
static void the_worst_size_of_the_last_attempt_decides(void **state)
{
	static const struct {
		struct cell_say before, row;
		bool at_size, decides;
	} cases[] = {
		{ SAY(0, NOT_RUN, 1), SAY(1, OK, 1), true, true },
		{ SAY(0, NOT_RUN, 1), SAY(1, OK, 1), false, false },
		{ SAY(0, NOT_RUN, 1), SAY(1, SKIPPED, 1), true, true },
		{ SAY(0, NOT_RUN, 1), SAY(1, ERROR, 1), false, true },
		{ SAY(1, CORRUPT, 1), SAY(1, OK, 1), true, false },
		{ SAY(1, ERROR, 1), SAY(1, OK, 1), true, false },
		{ SAY(1, OK, 1), SAY(1, CORRUPT, 1), false, true },
		{ SAY(1, OK, 1), SAY(1, TIMEOUT, 1), false, true },
		{ SAY(1, CORRUPT, 1), SAY(1, CRASHED, 1), true, false },
		{ SAY(1, CRASHED, 1), SAY(1, CORRUPT, 1), false, true },
		{ SAY(1, ERROR, 1), SAY(1, TIMEOUT, 1), true, true },
		{ SAY(1, ERROR, 1), SAY(1, TIMEOUT, 1), false, false },
		{ SAY(1, CORRUPT, 1), SAY(2, OK, 1), true, true },
		{ SAY(1, CORRUPT, 1), SAY(2, OK, 1), false, false },
		{ SAY(1, CORRUPT, 1), SAY(2, NOT_RUN, 1), true, false },
		{ SAY(2, OK, 1), SAY(1, CORRUPT, 1), true, false },
		{ SAY(1, OK, 1), SAY(2, CORRUPT, 1), false, true },
		/* it had passed, and was repeated for its speed */
		{ SAY(1, OK, 1), SAY(2, CRASHED, 1), true, false },
		{ SAY(1, OK, 1), SAY(2, TIMEOUT, 1), false, false },
		{ SAY(1, OK, 1), SAY(2, ERROR, 2), true, true },
		{ SAY(1, OK, 1), SAY(2, OK, 1), true, true },
		{ SAY(1, ERROR, 1), SAY(2, TIMEOUT, 1), true, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (cells_decides(cases[i].row, cases[i].at_size,
				  cases[i].before) != cases[i].decides) {
			fail_msg("case %zu", i);
		}
	}
}

#define CELLS 20

/** @n passed cells of one path around 100 GB/s, spread by @spread. */
static void fill(struct cell *cells, size_t n, float spread)
{
	for (size_t i = 0; i < n; i++) {
		cells[i] = (struct cell){
			.bw_GB_s = 100 + spread * (float)((int)(i % 3) - 1),
			.class = CELL_PASS,
			.path = PATH_INTER,
		};
	}
}

static size_t count_slow(const struct cell *cells, size_t n)
{
	size_t slow = 0;

	for (size_t i = 0; i < n; i++) {
		slow += cells[i].class == CELL_SLOW;
	}
	return slow;
}

static void one_slow_cell_is_found(void **state)
{
	struct slow_limit limits[PATH_CLASSES];
	struct cell cells[CELLS];

	(void)state;
	fill(cells, CELLS, 1);
	cells[7].bw_GB_s = 79;
	assert_int_equal(cells_mark_slow(cells, CELLS, 0, limits), 0);
	assert_int_equal(cells[7].class, CELL_SLOW);
	assert_int_equal(count_slow(cells, CELLS), 1);
	assert_true(limits[PATH_INTER].median_GB_s == 100);
	assert_true(limits[PATH_INTER].mad_GB_s == 1);
	assert_true(limits[PATH_INTER].limit_GB_s == 80);
	assert_int_equal(limits[PATH_INTER].peers, CELLS);
	assert_true(isnan(limits[PATH_INTRA].limit_GB_s));
	assert_true(isnan(limits[PATH_INTRA].median_GB_s));
	assert_int_equal(limits[PATH_INTRA].peers, 0);
}

/** Where the others differ as much as on a busy host, 2 % is no matter of
 *  chance. */
static void noise_hides_no_dead_weight(void **state)
{
	struct slow_limit limits[PATH_CLASSES];
	struct cell cells[CELLS];

	(void)state;
	fill(cells, CELLS, 90);
	cells[7].bw_GB_s = 2;
	cells[9].bw_GB_s = 6;
	assert_int_equal(cells_mark_slow(cells, CELLS, 0, limits), 0);
	assert_true(limits[PATH_INTER].mad_GB_s >= 20);
	assert_int_equal(cells[7].class, CELL_SLOW);
	assert_int_equal(count_slow(cells, CELLS), 1);
}

static void short_messages_tell_of_latency(void **state)
{
	static const struct {
		int64_t size_B;
		float lat_us;
		bool slow;
	} cases[] = {
		{ 1024, 1, false },
		{ 199000, 1, false },	/* at 100 GB/s in 1.99 us */
		{ 200000, 1, true },
		{ 1024, NAN, true },	/* nobody knows */
		{ 0, 1, true },
	};
	struct slow_limit limits[PATH_CLASSES];
	struct cell cells[CELLS];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		fill(cells, CELLS, 1);
		for (size_t k = 0; k < CELLS; k++) {
			cells[k].lat_us = cases[i].lat_us;
		}
		cells[7].bw_GB_s = 50;
		cells[7].lat_us *= 50;
		cells[8].lat_us = NAN;
		cells_mark_slow(cells, CELLS, cases[i].size_B, limits);
		assert_int_equal(cells[7].class == CELL_SLOW, cases[i].slow);
		assert_int_equal(limits[PATH_INTER].bound_by_latency,
				 !cases[i].slow);
		assert_true(limits[PATH_INTER].median_GB_s == 100);
	}
	/* what the line is known to carry is another matter */
	cells[7].expected_GB_s = 60;
	cells_mark_slow(cells, CELLS, 1024, limits);
	assert_int_equal(cells[7].class, CELL_SLOW);
}

/** Lines of half the rate are as fast as they should be; what is slow is so
 *  beside those of its own. */
static void each_beside_its_rate(void **state)
{
	struct slow_limit limits[PATH_CLASSES];
	struct cell cells[CELLS];

	(void)state;
	fill(cells, CELLS, 1);
	for (size_t k = 0; k < CELLS; k++) {
		bool half = k % 3 == 0;

		/* a promise that nobody is below */
		cells[k].expected_GB_s = half ? 25 : 50;
		cells[k].bw_GB_s /= half ? 2 : 1;
	}
	cells_mark_slow(cells, CELLS, 0, limits);
	assert_int_equal(count_slow(cells, CELLS), 0);
	assert_true(limits[PATH_INTER].line_GB_s == 50);
	cells[3].bw_GB_s = 35;
	cells[4].bw_GB_s = 70;
	cells_mark_slow(cells, CELLS, 0, limits);
	assert_int_equal(count_slow(cells, CELLS), 2);
	assert_int_equal(cells[3].class, CELL_SLOW);
	assert_int_equal(cells[4].class, CELL_SLOW);
}

static void at_the_limit_is_not_below_it(void **state)
{
	struct slow_limit limits[PATH_CLASSES];
	struct cell cells[CELLS];

	(void)state;
	fill(cells, CELLS, 1);
	cells[7].bw_GB_s = 80;
	cells_mark_slow(cells, CELLS, 0, limits);
	assert_int_equal(count_slow(cells, CELLS), 0);
}

static void wide_spread_is_no_fault(void **state)
{
	struct slow_limit limits[PATH_CLASSES];
	struct cell cells[CELLS];

	(void)state;
	/* 79 is below 0.8 of the median, but within 5 MADs of 20 */
	fill(cells, CELLS, 20);
	cells[7].bw_GB_s = 79;
	cells_mark_slow(cells, CELLS, 0, limits);
	assert_int_equal(count_slow(cells, CELLS), 0);
	assert_true(limits[PATH_INTER].limit_GB_s == 5);
}

static void few_peers_tell_nothing(void **state)
{
	struct slow_limit limits[PATH_CLASSES];
	struct cell cells[CELLS_SLOW_PEERS];

	(void)state;
	fill(cells, CELLS_SLOW_PEERS, 1);
	cells[0].bw_GB_s = 1;
	cells_mark_slow(cells, CELLS_SLOW_PEERS - 1, 0, limits);
	assert_int_equal(count_slow(cells, CELLS_SLOW_PEERS - 1), 0);
	assert_true(isnan(limits[PATH_INTER].limit_GB_s));
	assert_false(isnan(limits[PATH_INTER].median_GB_s));
	cells_mark_slow(cells, CELLS_SLOW_PEERS, 0, limits);
	assert_int_equal(count_slow(cells, CELLS_SLOW_PEERS), 1);
}

static void path_classes_are_judged_apart(void **state)
{
	struct slow_limit limits[PATH_CLASSES];
	struct cell cells[2 * CELLS];

	(void)state;
	fill(cells, CELLS, 1);
	fill(cells + CELLS, CELLS, 1);
	for (size_t i = CELLS; i < 2 * CELLS; i++) {
		cells[i].path = PATH_INTRA;
		cells[i].bw_GB_s += 300;
	}
	cells[CELLS].bw_GB_s = 100;	/* good for inter, not for intra */
	cells_mark_slow(cells, 2 * CELLS, 0, limits);
	assert_int_equal(count_slow(cells, 2 * CELLS), 1);
	assert_int_equal(cells[CELLS].class, CELL_SLOW);
	assert_true(limits[PATH_INTRA].median_GB_s == 400);
}

static void bad_cells_are_left_alone_and_do_not_count(void **state)
{
	struct slow_limit limits[PATH_CLASSES];
	struct cell cells[CELLS];

	(void)state;
	fill(cells, CELLS, 1);
	for (size_t i = 0; i < 12; i++) {
		cells[i].class = CELL_TIMEOUT;
		cells[i].bw_GB_s = 1;
	}
	cells[12].bw_GB_s = NAN;	/* ok, but without a figure */
	cells[13].class = CELL_UNPLANNED;
	cells_mark_slow(cells, CELLS, 0, limits);
	assert_int_equal(limits[PATH_INTER].peers, 6);
	assert_int_equal(cells[0].class, CELL_TIMEOUT);
	assert_int_equal(cells[12].class, CELL_PASS);
	assert_int_equal(cells[13].class, CELL_UNPLANNED);
}

static void a_cell_that_recovered_is_no_longer_slow(void **state)
{
	struct slow_limit limits[PATH_CLASSES];
	struct cell cells[CELLS];

	(void)state;
	fill(cells, CELLS, 1);
	cells[7].bw_GB_s = 10;
	cells_mark_slow(cells, CELLS, 0, limits);
	cells[7].bw_GB_s = 99;
	cells_mark_slow(cells, CELLS, 0, limits);
	assert_int_equal(count_slow(cells, CELLS), 0);
	assert_int_equal(cells_mark_slow(NULL, 0, 0, limits), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(median_of_any_order),
		cmocka_unit_test(percentile_is_nearest_rank),
		cmocka_unit_test(select_finds_what_sorting_finds),
		cmocka_unit_test(mad_is_not_moved_by_one_outlier),
		cmocka_unit_test(mode_is_the_largest_of_the_most_common),
		cmocka_unit_test(
			every_outcome_has_a_class_and_every_class_a_name),
		cmocka_unit_test(the_worst_size_of_the_last_attempt_decides),
		cmocka_unit_test(one_slow_cell_is_found),
		cmocka_unit_test(noise_hides_no_dead_weight),
		cmocka_unit_test(short_messages_tell_of_latency),
		cmocka_unit_test(each_beside_its_rate),
		cmocka_unit_test(at_the_limit_is_not_below_it),
		cmocka_unit_test(wide_spread_is_no_fault),
		cmocka_unit_test(few_peers_tell_nothing),
		cmocka_unit_test(path_classes_are_judged_apart),
		cmocka_unit_test(bad_cells_are_left_alone_and_do_not_count),
		cmocka_unit_test(a_cell_that_recovered_is_no_longer_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
