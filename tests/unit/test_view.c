/* SPDX-License-Identifier: BSD-3-Clause */
/* What a heat map shows: rows and cells, scales, colours. */
#include "tests/unit/fake_run.h"

#include <limits.h>

#include "report/draw/picture.h"
#include "report/draw/view.h"
#include "report/judge/pairs.h"
#include "report/model/run.h"

static void test_view_of_ranks(void **state)
{
	struct view v;
	struct run r;

	(void)state;
	fake_run(&r, 2, 4, 4);
	fake_cell(&r, 2, 5, OUTCOME_CORRUPT, "data_corrupt");
	assert_int_equal(view_make(&r, 8, VIEW_BANDWIDTH, NULL, &v), 0);
	assert_int_equal(v.n, 8);
	assert_int_equal(v.nodes_per, 0);
	assert_int_equal(view_cell(&v, 2, 5)->class, CELL_CORRUPT);
	assert_int_equal(view_cell(&v, 5, 2)->class, CELL_PASS);
	assert_int_equal(view_cell(&v, 3, 3)->class, CELL_UNPLANNED);
	assert_int_equal(v.present[CELL_CORRUPT], 1);
	assert_int_equal(v.present[CELL_PASS], 55);
	view_release(&v);
	run_release(&r);
}

/** One bad cell of 64 makes the square of two nodes bad. */
static void test_view_of_nodes(void **state)
{
	char (*labels)[LABEL_SIZE];
	struct view v;
	struct run r;
	char name[64];

	(void)state;
	fake_run(&r, 5, 8, 8);
	fake_cell(&r, 9, 30, OUTCOME_TIMEOUT, "task_timeout");
	fake_cell(&r, 10, 30, OUTCOME_NOT_RUN, "");
	assert_int_equal(view_make(&r, 39, VIEW_BANDWIDTH, NULL, &v), 0);
	assert_int_equal(v.n, 5);
	assert_int_equal(v.nodes_per, 1);
	assert_int_equal(view_cell(&v, 1, 3)->class, CELL_TIMEOUT);
	assert_int_equal(view_cell(&v, 1, 3)->src, 9);
	assert_int_equal(view_cell(&v, 1, 3)->dst, 30);
	assert_true(view_mixed(view_cell(&v, 1, 3)));
	assert_int_equal(view_cell(&v, 1, 3)->planned, 64);
	assert_int_equal(view_cell(&v, 1, 3)->passed, 62);
	assert_int_equal(v.mixed[CELL_TIMEOUT], 1);
	assert_false(view_mixed(view_cell(&v, 3, 1)));
	assert_int_equal(view_cell(&v, 3, 1)->class, CELL_PASS);
	assert_int_equal(view_cell(&v, 0, 0)->class, CELL_PASS);
	view_release(&v);

	assert_int_equal(view_make(&r, 3, VIEW_BANDWIDTH, NULL, &v), 0);
	assert_int_equal(v.n, 3);
	assert_int_equal(v.nodes_per, 2);
	assert_int_equal(view_cell(&v, 0, 1)->class, CELL_TIMEOUT);
	labels = labels_make(&r, 16);
	assert_string_equal(labels_row(&v, labels, 0, name, sizeof(name)),
			    "n0-n1");
	assert_string_equal(labels_row(&v, labels, 2, name, sizeof(name)),
			    "n4");
	free(labels);
	view_release(&v);
	run_release(&r);
}

/** A node that is open has a row for each rank, the others have blocks, which
 *  end where it begins. */
/** A square of two nodes has both paths: what of it is well is drawn on the
 *  scale of its own path, wherever the bad cell is. */
static void test_view_of_both_paths(void **state)
{
	struct scale inside, whole;
	struct view v, ranks;
	struct run r;

	(void)state;
	fake_run(&r, 4, 2, 2);
	fake_cell(&r, 0, 1, OUTCOME_ERROR, "nccl_error");
	assert_int_equal(view_make(&r, 2, VIEW_BANDWIDTH, NULL, &v), 0);
	assert_int_equal(v.nodes_per, 2);
	assert_int_equal(view_cell(&v, 0, 0)->class, CELL_FAIL);
	assert_int_equal(view_cell(&v, 0, 0)->path, PATH_INTER);
	inside = scale_make(&v, PATH_INTRA);
	assert_true(inside.high == 0);
	assert_int_equal(view_make(&r, 8, VIEW_BANDWIDTH, NULL, &ranks), 0);
	whole = scale_make(&ranks, PATH_INTER);
	assert_true(scale_place(&whole, (double)view_cell(&v, 0, 0)->well) >
		    0.85);
	view_release(&ranks);
	view_release(&v);
	run_release(&r);
}

static void test_view_of_an_open_node(void **state)
{
	static const bool open[5] = { [3] = true };
	struct view v;
	struct run r;

	(void)state;
	fake_run(&r, 5, 4, 4);
	fake_cell(&r, 13, 2, OUTCOME_ERROR, "no_route");
	assert_int_equal(view_make(&r, 3, VIEW_BANDWIDTH, open, &v), 0);
	assert_int_equal(v.n, 7);	/* n0-n1, n2, four ranks, n4 */
	assert_int_equal(v.nodes_per, 2);
	assert_int_equal(view_row_last_node(&v, 0), 1);
	assert_int_equal(view_row_last_node(&v, 1), 2);
	for (int row = 0; row < v.n; row++) {
		assert_int_equal(view_is_rank(&v, row), row >= 2 && row < 6);
	}
	assert_int_equal(view_row_rank(&v, 3)->gpu, 1);
	assert_int_equal(view_node_end(&v, 2), 6);
	assert_int_equal(view_cell(&v, 3, 0)->class, CELL_FAIL);
	assert_int_equal(view_cell(&v, 2, 0)->class, CELL_PASS);
	view_release(&v);
	/* where there is room for all of them nothing is a block */
	assert_int_equal(view_make(&r, 20, VIEW_BANDWIDTH, open, &v), 0);
	assert_int_equal(v.n, 20);
	view_release(&v);
	run_release(&r);
}

/** Blocks of nodes, where they do not fit, but for those of a part. */
static void test_accused(void **state)
{
	static const struct fake_fault nic = { PART_NIC, 2, 1, PART_BOTH };
	static const struct fake_fault node = { PART_NODE, 4, 0, PART_BOTH };
	struct accused *list;
	struct verdict v;
	struct run r;
	bool *open;
	size_t n;

	(void)state;
	fake_run(&r, 6, 4, 2);	/* two GPUs behind a NIC */
	fake_break(&r, &nic, OUTCOME_ERROR, "no_route");
	fake_break(&r, &node, OUTCOME_ERROR, "no_route");
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(v.n, 2);
	list = accused_list(&r, &v, &n);
	assert_non_null(list);
	assert_int_equal(n, 2);
	for (size_t i = 0; i < n; i++) {
		bool is_nic = list[i].finding->part.kind == PART_NIC;

		assert_int_equal(list[i].node, is_nic ? 2 : 4);
		assert_int_equal(list[i].first, is_nic ? 10 : 16);
		assert_int_equal(list[i].end, is_nic ? 12 : 20);
	}
	free(list);
	open = accused_nodes(&r, &v, 4);
	for (int i = 0; i < r.n_nodes; i++) {
		assert_int_equal(open[i], i == 2);
	}
	free(open);
	open = accused_nodes(&r, &v, 3);	/* no room */
	assert_false(open[2]);
	free(open);
	list = accused_list(&r, NULL, &n);
	assert_non_null(list);
	assert_int_equal(n, 0);
	free(list);
	verdict_release(&v);
	run_release(&r);
}

/** What is slower than its peers, though none of its tests is slow. */
static void test_accused_a_little(void **state)
{
	static const struct fake_fault nic = { PART_NIC, 2, 1, PART_BOTH };
	struct accused *list;
	struct verdict v;
	struct run r;
	size_t n;

	(void)state;
	fake_run(&r, 6, 4, 4);
	fake_slow(&r, &nic, 0.88);
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.findings[0].explained, 0);
	list = accused_list(&r, &v, &n);
	assert_non_null(list);
	assert_int_equal(n, 1);
	assert_int_equal(list[0].first, 9);
	assert_int_equal(list[0].end, 10);
	free(list);
	verdict_release(&v);
	run_release(&r);
}

/** What sits in no node is marked where its ranks are. */
static void test_accused_spread(void **state)
{
	static const struct {
		struct part part;
		size_t n;
		int first, end;		/* of the last one */
	} cases[] = {
		{ { .kind = PART_RAIL, .node = -1, .index = 1,
		    .peer_node = -1, .peer_index = -1 }, 6, 22, 24 },
		{ { .kind = PART_RAIL_LEAF, .node = -1, .index = 0,
		    .peer_node = -1, .peer_index = 1 }, 2, 12, 14 },
		{ { .kind = PART_LEAF_PAIR, .node = -1, .index = 0,
		    .peer_node = -1, .peer_index = 2 }, 2, 16, 24 },
		{ { .kind = PART_SWITCH, .node = -1, .index = 1,
		    .peer_node = -1, .peer_index = -1 }, 1, 8, 16 },
		{ { .kind = PART_INTER_NODE, .node = -1, .index = -1,
		    .peer_node = -1, .peer_index = -1 }, 0, 0, 0 },
	};
	struct accused *list;
	struct run r;
	bool *open;
	size_t n;

	(void)state;
	fake_run(&r, 6, 4, 2);
	for (int i = 0; i < r.n_nodes; i++) {
		char name[16];

		snprintf(name, sizeof(name), "leaf%d", i / 2);
		assert_true(run_join_leaf(&r, i, name) >= 0);
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct verdict v = { 0 };

		finding_add(&v, cases[i].part, "slow")->cells = 1;
		list = accused_list(&r, &v, &n);
		assert_non_null(list);
		assert_int_equal(n, cases[i].n);
		if (n > 0) {
			assert_int_equal(list[n - 1].first, cases[i].first);
			assert_int_equal(list[n - 1].end, cases[i].end);
		}
		free(list);
		open = accused_nodes(&r, &v, 100);
		for (int k = 0; k < r.n_nodes; k++) {
			assert_false(open[k]);
		}
		free(open);
		verdict_release(&v);
	}
	run_release(&r);
}

/** A ping of which nothing came has no ranks, and a report all the same. */
static void test_view_of_nothing(void **state)
{
	struct mesh none = { 0 };
	struct run r = { .mesh = &none };
	struct view v;

	(void)state;
	assert_int_equal(view_make(&r, 8, VIEW_RTT, NULL, &v), 0);
	assert_int_equal(v.n, 0);
	view_release(&v);
}

/** A block shows its slowest good cell, never the mean. */
static void test_view_worst_value(void **state)
{
	struct view v;
	struct run r;

	(void)state;
	fake_run(&r, 2, 8, 8);
	r.cells[run_at(&r, 3, 12)].bw_GB_s = 40;
	r.cells[run_at(&r, 3, 12)].lat_us = 77;
	assert_int_equal(view_make(&r, 2, VIEW_BANDWIDTH, NULL, &v), 0);
	assert_true(view_cell(&v, 0, 1)->value == 40);
	view_release(&v);
	assert_int_equal(view_make(&r, 2, VIEW_LATENCY, NULL, &v), 0);
	assert_true(view_cell(&v, 0, 1)->value == 77);
	view_release(&v);
	run_release(&r);
}

/** What is fast between nodes is slow inside one: each has its own scale, and
 *  noise is no other colour. */
static void test_scale(void **state)
{
	double ticks[SCALE_TICKS];
	struct scale s;
	struct view v;
	struct run r;

	(void)state;
	fake_run(&r, 2, 4, 4);
	assert_int_equal(view_make(&r, 8, VIEW_BANDWIDTH, NULL, &v), 0);
	for (int path = PATH_INTRA; path <= PATH_INTER; path++) {
		double level = path == PATH_INTRA ? 300 : 45;

		s = scale_make(&v, (enum path_class)path);
		assert_false(s.log);
		assert_true(scale_place(&s, level) > 0.9);
		assert_true(scale_place(&s, level / 2) < 0.05);
		for (double at = 0; at <= 1; at += 0.125) {
			double back = scale_place(&s, scale_value(&s, at));

			assert_true(fabs(back - at) < 1e-9);
		}
	}
	assert_true(scale_make(&v, PATH_NVLINK).high == 0);
	view_release(&v);

	r.cells[run_at(&r, 0, 1)].bw_GB_s = 30;
	assert_int_equal(view_make(&r, 8, VIEW_BANDWIDTH, NULL, &v), 0);
	s = scale_make(&v, PATH_INTRA);
	assert_true(scale_place(&s, 300) > 0.9);	/* one does not count */
	assert_true(scale_place(&s, 30) == 0);
	view_release(&v);

	/* a few fast ones darken nothing; values that scatter stretch it */
	r.cells[run_at(&r, 0, 1)].bw_GB_s = 600;
	for (int k = 0; k < 64; k++) {
		r.cells[k].bw_GB_s *= 0.8F + 0.1F * (float)(k % 5);
	}
	assert_int_equal(view_make(&r, 8, VIEW_BANDWIDTH, NULL, &v), 0);
	s = scale_make(&v, PATH_INTRA);
	assert_true(scale_place(&s, 300) > 0.85);
	assert_true(scale_place(&s, 240) > 0.5);
	view_release(&v);

	assert_int_equal(view_make(&r, 8, VIEW_LATENCY, NULL, &v), 0);
	s = scale_make(&v, PATH_INTER);
	assert_true(scale_place(&s, 5) > 0.9);	/* little is good */
	assert_true(scale_place(&s, 50) == 0);
	view_release(&v);

	/* round trips have the same colours in every run, and round ticks */
	assert_int_equal(view_make(&r, 8, VIEW_RTT, NULL, &v), 0);
	s = scale_make(&v, PATH_INTER);
	assert_true(s.log && s.low == 10 && s.high == 10000);
	assert_int_equal(scale_ticks(&s, ticks), 4);
	assert_true(fabs(ticks[1] - 100) < 1e-6);
	view_release(&v);
	s = (struct scale){ .low = 33.4, .high = 48.7 };
	assert_int_equal(scale_ticks(&s, ticks), 3);
	assert_true(fabs(ticks[0] - 35) < 1e-6 && fabs(ticks[2] - 45) < 1e-6);
	s = (struct scale){ .low = 0, .high = 0.3 };
	assert_true(scale_ticks(&s, ticks) > 1 && ticks[0] == 0);
	assert_false(signbit(ticks[0]));		/* no "-0" */
	s = (struct scale){ .low = -0.3, .high = 0.3 };
	assert_int_equal(scale_ticks(&s, ticks), 3);
	assert_true(ticks[1] == 0 && !signbit(ticks[1]));
	run_release(&r);
}

static void test_scale_of_nothing(void **state)
{
	static const struct fake_fault all = { .kind = PART_INTER_NODE };
	struct scale s;
	struct view v;
	struct run r;

	(void)state;
	fake_run(&r, 2, 1, 1);
	fake_break(&r, &all, OUTCOME_ERROR, "no_route");
	assert_int_equal(view_make(&r, 8, VIEW_BANDWIDTH, NULL, &v), 0);
	s = scale_make(&v, PATH_INTER);
	assert_true(s.high == 0);
	assert_false(v.any_value);
	view_release(&v);
	run_release(&r);
}

static int luminance(uint32_t rgb)
{
	return (int)(299 * (rgb >> 16) + 587 * (rgb >> 8 & 0xff) +
		     114 * (rgb & 0xff)) / 1000;
}

/** Lightness alone tells the scale; no fault wears a colour of it. */
static void test_palette(void **state)
{
	int last = -1;

	(void)state;
	for (int i = 0; i <= 100; i++) {
		int now = luminance(palette_scale(i / 100.0));

		assert_true(now >= last);
		last = now;
	}
	for (unsigned c = 0; c < CELL_CLASSES; c++) {
		const struct palette_entry *entry = palette_class(c);

		if (c == CELL_PASS) {
			assert_null(entry);
			continue;
		}
		assert_int_not_equal(entry->mark, MARK_NONE);
		for (unsigned other = 0; other < c; other++) {
			if (other != CELL_PASS) {
				assert_int_not_equal(entry->mark,
					palette_class(other)->mark);
				assert_int_not_equal(entry->letter,
					palette_class(other)->letter);
			}
		}
		for (int i = 0; i <= 100; i++) {
			uint32_t rgb = palette_scale(i / 100.0);
			int distance = 0;

			for (int k = 0; k < 24; k += 8) {
				distance += abs((int)(rgb >> k & 0xff) -
						(int)(entry->fill >> k &
						      0xff));
			}
			assert_true(distance > 60);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_view_of_ranks),
		cmocka_unit_test(test_view_of_nodes),
		cmocka_unit_test(test_view_of_both_paths),
		cmocka_unit_test(test_view_of_an_open_node),
		cmocka_unit_test(test_accused),
		cmocka_unit_test(test_accused_a_little),
		cmocka_unit_test(test_accused_spread),
		cmocka_unit_test(test_view_of_nothing),
		cmocka_unit_test(test_view_worst_value),
		cmocka_unit_test(test_scale),
		cmocka_unit_test(test_scale_of_nothing),
		cmocka_unit_test(test_palette),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
