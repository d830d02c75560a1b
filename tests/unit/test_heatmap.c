/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/fake_run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "report/model/ping_run.h"
#include "report/draw/accused.h"
#include "report/model/run_read.h"
#include "report/draw/figures.h"
#include "report/base/html_text.h"
#include "report/draw/labels.h"
#include "report/base/palette.h"
#include "report/base/png.h"
#include "report/draw/picture.h"
#include "report/draw/view.h"
#include "report/draw/draw.h"
#include "report/judge/pairs.h"

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
		    0.9);
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
	assert_int_equal(view_row_gpu(&v, 3), 1);
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

		finding_add(&v, &cases[i].part, "slow")->cells = 1;
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
	assert_true(s.log);
	assert_true(scale_place(&s, 30) > 0.15);
	view_release(&v);

	assert_int_equal(view_make(&r, 8, VIEW_LATENCY, NULL, &v), 0);
	s = scale_make(&v, PATH_INTER);
	assert_true(scale_place(&s, 5) == 1);	/* little is good */
	assert_true(scale_place(&s, 50) == 0);
	view_release(&v);
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

static bool has_text(const struct picture *p, const char *text)
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->shapes[i].text && strstr(p->shapes[i].text, text)) {
			return true;
		}
	}
	return false;
}

static void test_picture(void **state)
{
	struct picture p;
	struct verdict v;
	size_t cells = 0, marks = 0;
	struct run r;

	(void)state;
	fake_run(&r, 2, 8, 8);
	r.drill = true;
	fake_cell(&r, 0, 9, OUTCOME_ERROR, "no_route");
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(picture_make(&r, VIEW_BANDWIDTH, &v, NULL, &p), 0);
	for (size_t i = 0; i < p.n; i++) {
		const struct picture_shape *rect = &p.shapes[i];

		marks += rect->layer == LAYER_MARK;
		if (rect->layer != LAYER_RECT) {
			continue;
		}
		assert_true(rect->x >= 0 && rect->y >= 0);
		assert_true(rect->x + rect->width <= (float)p.width);
		assert_true(rect->y + rect->height <= (float)p.height);
		cells += rect->cell != NULL;
	}
	assert_int_equal(cells, 240);
	assert_int_equal(marks, 2);	/* the cell and the legend */
	assert_true(has_text(&p, "DRILL"));
	assert_true(has_text(&p, "FAIL"));
	assert_true(has_text(&p, "failed (1)"));
	assert_false(has_text(&p, "timeout"));
	assert_true(has_text(&p, "10^9 bytes per second"));
	assert_true(has_text(&p, "n1"));
	picture_release(&p);
	verdict_release(&v);
	run_release(&r);
}

/** More ranks than shapes: every cell is a pixel at least, and what was found
 *  is named in both margins. */
static void test_raster(void **state)
{
	static const struct fake_fault gpu = { PART_GPU, 5, 3, PART_BOTH };
	const struct picture_raster *raster;
	size_t red = 0, white = 0, names = 0;
	struct str svg = STR_INIT;
	struct picture p;
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 20, 8, 8);
	fake_break(&r, &gpu, OUTCOME_ERROR, "no_route");
	fake_cell(&r, 7, 9, OUTCOME_TIMEOUT, "task_timeout");
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(picture_make(&r, VIEW_BANDWIDTH, &v, NULL, &p), 0);
	raster = &p.raster;
	assert_int_equal(raster->width, 160 * 6 + 19);	/* and a gap a node */
	assert_int_equal(raster->height, raster->width);
	for (int i = 0; i < raster->width * raster->height; i++) {
		uint32_t rgb = raster->colors[raster->pixels[i]];

		red += rgb == palette_class(CELL_FAIL)->fill;
		white += rgb == 0xffffff;
	}
	assert_int_equal(red, 2 * 159 * 36);
	assert_int_equal(white, 979 * 979 - 160 * 159 * 36);
	/* row 7, column 9: behind no gap, and behind one */
	assert_int_equal(raster->colors[raster->pixels[7 * 6 * 979 + 9 * 6 +
						       1]],
			 palette_class(CELL_TIMEOUT)->fill);
	for (size_t i = 0; i < p.n; i++) {
		names += p.shapes[i].text &&
			 strcmp(p.shapes[i].text, "GPU 3 of n5") == 0;
	}
	assert_int_equal(names, 2);
	assert_true(has_text(&p, "failed (318)"));
	picture_svg(&p, &svg);
	assert_int_equal(svg.failed, false);
	assert_non_null(strstr(str_text(&svg), "image/png;base64,iVBORw0KGgo"));
	str_release(&svg);
	picture_release(&p);
	verdict_release(&v);
	run_release(&r);
}

/** Names of @f to @arg. */
static int gather_names(const struct figure *f, void *arg)
{
	str_addf(arg, "%s ", f->name);
	return 0;
}

/** Beyond that, blocks that say how much of them is bad, and each node of which
 *  a part is accused against all others. */
static void test_beyond_pixels(void **state)
{
	static const struct fake_fault gpu = { PART_GPU, 100, 3, PART_BOTH };
	struct figure zoom = { .metric = VIEW_BANDWIDTH, .zoom = 101 };
	struct str names = STR_INIT;
	struct picture p;
	struct verdict v;
	struct run r;

	(void)state;
	if (SANITIZED) {
		return;		/* a million cells: without them alone */
	}
	fake_run(&r, 129, 8, 8);
	fake_break(&r, &gpu, OUTCOME_ERROR, "no_route");
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(figures_each(&r, &v, gather_names, &names), 0);
	assert_string_equal(str_text(&names),
			    "heatmap-bw heatmap-lat heatmap-line "
			    "heatmap-contrast heatmap-n100 ");
	assert_int_equal(picture_make(&r, VIEW_BANDWIDTH, &v, NULL, &p), 0);
	assert_int_equal(p.raster.width, 0);
	assert_int_equal(p.view.n, 65);
	assert_int_equal(p.view.mixed[CELL_FAIL], 2 * 65 - 1);
	assert_true(has_text(&p, "some failed (129 squares)"));
	assert_false(has_text(&p, "|failed"));
	picture_release(&p);
	zoom.run = &r;
	assert_int_equal(figure_picture(&zoom, &v, &p), 0);
	assert_int_equal(p.view.n, 50 + 8 + 14);
	assert_int_equal(p.view.mixed[CELL_FAIL], 0);
	picture_release(&p);
	str_release(&names);
	verdict_release(&v);
	run_release(&r);
}

/** The checksums and sizes of a picture of two colours. */
static void test_png(void **state)
{
	static const uint8_t pixels[] = { 0, 1, 1, 0, 0, 1 };
	static const uint32_t colors[16] = { 0xffffff, 0xc5102e };
	struct str png = STR_INIT;

	(void)state;
	png_add(pixels, 3, 2, colors, &png);
	assert_memory_equal(png.data + 12, "IHDR\0\0\0\3\0\0\0\2\4\3\0\0\0",
			    17);
	/* rows: 0 01 10, 0 00 10; Adler-32 of them */
	assert_memory_equal(png.data + 8 + 25 + 60 + 8, "\x78", 1);
	assert_memory_equal(png.data + png.len - 12 - 8, "\0\x5b\0\x22", 4);
	assert_memory_equal(png.data + png.len - 4, "\xae\x42\x60\x82", 4);
	str_release(&png);
}

/** What stands beside the matrix has the room that it needs. */
static void test_scale_fits(void **state)
{
	static const enum view_metric metrics[] = {
		VIEW_BANDWIDTH, VIEW_LATENCY, VIEW_RTT,
	};

	(void)state;
	for (size_t m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++) {
		struct verdict v;
		struct picture p;
		struct run r;

		fake_run(&r, 2, 8, 8);
		r.cells[run_at(&r, 0, 1)].lat_us = 500;
		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_int_equal(picture_make(&r, metrics[m], &v, NULL, &p), 0);
		assert_int_equal(has_text(&p, "log scale"),
				 metrics[m] != VIEW_BANDWIDTH);
		for (size_t i = 0; i < p.n; i++) {
			const struct picture_shape *t = &p.shapes[i];

			if (t->layer == TEXT_LEFT &&
			    t->x > (float)p.width / 2) {
				/* of an average letter */
				float wide = 7.3F * (float)strlen(t->text);

				assert_true(t->x + wide <= (float)p.width);
			}
		}
		picture_release(&p);
		verdict_release(&v);
		run_release(&r);
	}
}

/** Addresses in two segments, the second on the last two nodes only. */
static void fake_ping(struct run *r)
{
	fake_run(r, 3, 2, 2);
	r->mesh = mesh_new((size_t)r->n_ranks, r->grid.n);
	assert_non_null(r->mesh);
	for (int i = 0; i < r->n_ranks; i++) {
		STR_COPY(r->mesh->ends[i].segment, i % 2 == 0 ? "10.1.0.0/24" :
						   i > 2 ? "10.2.0.0/24" : "");
	}
	fake_cell(r, 0, 2, OUTCOME_TIMEOUT, "");
}

/** What the picture of @f says, one after the other into @arg. */
static int gather_texts(const struct figure *f, void *arg)
{
	struct verdict v = { .status = VERDICT_FAIL };
	struct picture p;

	assert_int_equal(figure_picture(f, &v, &p), 0);
	str_addf(arg, "%s|", f->name);
	for (size_t i = 0; i < p.n; i++) {
		if (p.shapes[i].text) {
			str_addf(arg, "%s|", p.shapes[i].text);
		}
	}
	str_addch(arg, '\n');
	picture_release(&p);
	return 0;
}

/** The picture of a segment tells of that alone. */
static void test_picture_of_a_segment(void **state)
{
	struct str all = STR_INIT;
	char *second, *third;
	struct run r;

	(void)state;
	fake_ping(&r);
	assert_int_equal(figures_each(&r, NULL, gather_texts, &all), 0);
	second = strstr(str_text(&all), "heatmap-10.1.0.0_24|");
	third = strstr(str_text(&all), "heatmap-10.2.0.0_24|");
	assert_true(second && third);
	third[-1] = second[-1] = '\0';
	assert_non_null(strstr(str_text(&all), "ping on 3 nodes with 6 addr"));
	assert_non_null(strstr(str_text(&all),
			       "|30 tests: 29 pass, 1 timeout"));
	assert_non_null(strstr(str_text(&all), "trip: FAIL|"));
	assert_non_null(strstr(str_text(&all), "from a node to a node|"));
	assert_non_null(strstr(str_text(&all), "(1 squares)"));
	assert_non_null(strstr(second, "ping on 3 nodes with 3 addresses in "
			       "10.1.0.0/24"));
	assert_non_null(strstr(second, "|6 tests: 5 pass, 1 timeout|"));
	assert_non_null(strstr(second, "trip; the whole run: FAIL|"));
	assert_null(strstr(second, "square"));	/* each is one cell */
	assert_non_null(strstr(third, "ping on 2 nodes with 2 addresses in "
			       "10.2.0.0/24"));
	assert_non_null(strstr(third, "|2 tests: 2 pass|"));
	str_release(&all);
	run_release(&r);
}

static void test_svg_is_escaped(void **state)
{
	struct str out = STR_INIT;
	struct picture p;
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 1, 2, 2);
	STR_COPY(r.nodes[0].name, "<script>&\"'");
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(picture_make(&r, VIEW_BANDWIDTH, &v, NULL, &p), 0);
	picture_svg(&p, &out);
	assert_null(strstr(str_text(&out), "<script"));
	assert_non_null(strstr(str_text(&out),
			       "&lt;script&gt;&amp;&quot;&#39;"));
	str_release(&out);
	picture_release(&p);
	verdict_release(&v);
	run_release(&r);
}

/** Each value of a tooltip has the unit of its metric. */
static void test_tooltips_have_units(void **state)
{
	static const char *const units[] = {
		[VIEW_BANDWIDTH] = ", 337 GB/s<", [VIEW_LATENCY] = ", 5 us<",
		[VIEW_RTT] = ", 5 us<",
	};
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 1, 2, 2);
	r.cells[run_at(&r, 0, 1)].bw_GB_s = 337;
	r.cells[run_at(&r, 0, 1)].lat_us = 5;
	assert_int_equal(verdict_compute(&r, &v), 0);
	for (size_t m = 0; m < sizeof(units) / sizeof(*units); m++) {
		struct str out = STR_INIT;
		struct picture p;

		if (units[m]) {
			assert_int_equal(picture_make(&r, (enum view_metric)m,
						      &v, NULL, &p), 0);
			picture_svg(&p, &out);
			assert_non_null(strstr(str_text(&out), units[m]));
			picture_release(&p);
		}
		str_release(&out);
	}
	verdict_release(&v);
	run_release(&r);
}

static void test_html_text(void **state)
{
	struct str out = STR_INIT;

	(void)state;
	html_text(&out, "a<b>&'\"\x01\xc3\xa9");
	assert_string_equal(str_text(&out),
			    "a&lt;b&gt;&amp;&#39;&quot; \xc3\xa9");
	str_reset(&out);
	html_text(&out, "\x9b" "1m\xc2\x9b\xe2\x80\xae" "evil\n");
	assert_string_equal(str_text(&out), "?1m??evil\n");
	str_reset(&out);
	html_element(&out, "p class=\"x\"", "<i>");
	assert_string_equal(str_text(&out), "<p class=\"x\">&lt;i&gt;</p>");
	str_release(&out);
}

static char scratch[] = "/tmp/gpucheck-test-heatmap-XXXXXX";

static long size_of(const char *name)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	if (stat(path, &st) < 0) {
		return -1;
	}
	unlink(path);
	return (long)st.st_size;
}

/** The text of NAME.svg in the scratch folder, which goes. */
static void take_svg(const char *name, struct str *text)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s.svg", scratch, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(str_add_file(text, fd, 1 << 24), 0);
	unlink(path);
}

/** A page gets each map as its file has it, of one that shows nothing that
 *  there is none, and as many bytes as it takes. */
static void test_drawn(void **state)
{
	char *path = strdup(getenv("PATH"));
	const struct drawn_map *m;
	struct str file = STR_INIT, large = STR_INIT;
	struct drawn d = { 0 };
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 1, 2, 2);
	assert_int_equal(verdict_compute(&r, &v), 0);
	setenv("PATH", "/nowhere", 1);	/* maps, without PNG */
	assert_int_equal(heatmap_render(scratch, &r, &v, false, &d, NULL), 1);
	setenv("PATH", path, 1);
	take_svg("heatmap-bw", &file);
	m = drawn_find(&d, "heatmap-bw");
	assert_non_null(m);
	assert_string_equal(str_text(&m->svg), str_text(&file));
	assert_int_equal(m->len, file.len);
	assert_true(drawn_find(&d, "heatmap-lat")->svg.len > 0);
	assert_int_equal(drawn_find(&d, "heatmap-contrast")->len, 0);
	assert_null(drawn_find(&d, "heatmap-rtt"));
	str_add(&large, "<svg>");
	assert_non_null(str_more(&large, DRAWN_BYTES));
	assert_int_equal(drawn_add(&d, "large", &large), 0);
	m = drawn_find(&d, "large");
	assert_int_equal(m->len, DRAWN_BYTES + 5);
	assert_null(m->svg.data);
	assert_int_equal(large.len, DRAWN_BYTES + 5);
	size_of("heatmap-lat.svg");
	drawn_release(&d);
	str_release(&large);
	str_release(&file);
	free(path);
	verdict_release(&v);
	run_release(&r);
}

/** The real gnuplot, and names that it must not take for commands. */
static void test_gnuplot(void **state)
{
	struct err e = { 0 };
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 2, 3, 3);
	STR_COPY(r.nodes[0].name, "`touch x`\"\\#\t{_}");
	fake_cell(&r, 0, 4, OUTCOME_TIMEOUT, "task_timeout");
	assert_int_equal(verdict_compute(&r, &v), 0);
	if (heatmap_render(scratch, &r, &v, false, NULL, &e) == 1) {
		verdict_release(&v);
		run_release(&r);
		skip();
	}
	assert_string_equal(e.text, "");
	assert_true(size_of("heatmap-bw.png") > 5000);
	assert_true(size_of("heatmap-bw.svg") > 5000);
	assert_true(size_of("heatmap-lat.png") > 5000);
	assert_true(size_of("heatmap-lat.svg") > 5000);
	assert_int_equal(rmdir(scratch), 0);	/* nothing else is left */
	assert_int_equal(mkdir(scratch, 0700), 0);
	verdict_release(&v);
	run_release(&r);
}

static void test_no_gnuplot(void **state)
{
	char *path = strdup(getenv("PATH"));
	struct err e = { 0 };
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 1, 2, 2);
	assert_int_equal(verdict_compute(&r, &v), 0);
	setenv("PATH", "/nowhere", 1);
	assert_int_equal(heatmap_render(scratch, &r, &v, false, NULL, &e), 1);
	setenv("PATH", path, 1);
	assert_true(size_of("heatmap-bw.svg") > 1000);
	assert_true(size_of("heatmap-lat.svg") > 1000);
	assert_int_equal(size_of("heatmap-bw.png"), -1);
	assert_non_null(strstr(e.text, "gnuplot"));
	assert_non_null(strstr(e.hint, "apt-get install gnuplot-nox"));
	free(path);
	verdict_release(&v);
	run_release(&r);
}

/** Draw with a gnuplot that is @script, in shell, @folder being what it is
 *  given; what heatmap_render() returned. */
static int draw_with(const char *script, struct err *e)
{
	char dir[] = "/tmp/gpucheck-gnuplot-XXXXXX", file[64];
	char *path = strdup(getenv("PATH"));
	struct str with = STR_INIT;
	struct verdict v;
	struct run r;
	FILE *f;
	int rc;

	fake_run(&r, 1, 2, 2);
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/gnuplot", dir);
	f = fopen(file, "w");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\nfolder=$5\n%s\n", script);
	fclose(f);
	assert_int_equal(chmod(file, 0700), 0);
	str_addf(&with, "%s:%s", dir, path);
	setenv("PATH", str_text(&with), 1);
	rc = heatmap_render(scratch, &r, &v, false, NULL, e);
	setenv("PATH", path, 1);
	unlink(file);
	assert_int_equal(rmdir(dir), 0);
	str_release(&with);
	free(path);
	verdict_release(&v);
	run_release(&r);
	return rc;
}

static void test_gnuplot_fails(void **state)
{
	struct err e = { 0 };

	(void)state;
	/* the maps that need none are whole */
	assert_int_equal(draw_with("echo no terminal >&2; exit 1", &e), -1);
	assert_non_null(strstr(e.text, "no terminal"));
	assert_true(size_of("heatmap-bw.svg") > 1000);
	assert_true(size_of("heatmap-lat.svg") > 1000);
	e = (struct err){ 0 };
	assert_int_equal(draw_with("exit 0", &e), -1);
	assert_non_null(strstr(e.text, "gnuplot made no 'heatmap-bw.png'"));
	size_of("heatmap-bw.svg");	/* removes */
	size_of("heatmap-lat.svg");
	assert_int_equal(rmdir(scratch), 0);	/* nothing else is left */
	assert_int_equal(mkdir(scratch, 0700), 0);
}

static void note_signal(int sig)
{
	(void)sig;
}

/** A gnuplot that is asked to draw while a SIGTERM arrives: how long it is
 *  given.  @script must end with the picture. */
static int draw_under_term(const char *script, struct err *e)
{
	char with_kill[256];

	snprintf(with_kill, sizeof(with_kill), "kill -TERM %d\n%s",
		 (int)getpid(), script);
	return draw_with(with_kill, e);
}

static void test_a_signal_while_drawing(void **state)
{
	static const char png[] = "echo picture >$folder/picture.png";
	struct sigaction quiet = { .sa_handler = note_signal }, were;
	int64_t start_ns = clock_now_ns();
	struct err e = { 0 };
	sigset_t term, mask;
	int got = 0;

	(void)state;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	/* it would end the program: nobody waits for gnuplot */
	sigaction(SIGTERM, &quiet, &were);
	assert_int_equal(draw_under_term("sleep 100", &e), -1);
	assert_true(clock_now_ns() - start_ns < 60 * NS_PER_S);
	/* whoever ignores it, or holds it back, wants the pictures */
	signal(SIGTERM, SIG_IGN);
	assert_int_equal(draw_under_term(png, &e), 0);
	assert_true(size_of("heatmap-bw.png") > 5);
	sigaction(SIGTERM, &quiet, NULL);
	sigprocmask(SIG_BLOCK, &term, &mask);
	assert_int_equal(draw_under_term(png, &e), 0);
	assert_int_equal(sigwait(&term, &got), 0);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	sigaction(SIGTERM, &were, NULL);
	size_of("heatmap-bw.svg");	/* removes */
	size_of("heatmap-bw.png");
	size_of("heatmap-lat.svg");
	size_of("heatmap-lat.png");
	assert_int_equal(rmdir(scratch), 0);	/* nothing else is left */
	assert_int_equal(mkdir(scratch, 0700), 0);
}

static void test_nowhere_to_write(void **state)
{
	struct err e = { 0 };
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 1, 2, 2);
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_not_equal(heatmap_render("/nowhere/at/all", &r, &v, false,
					    NULL, &e), 0);
	assert_true(e.text[0] != '\0');
	verdict_release(&v);
	run_release(&r);
}

static int make_scratch(void **state)
{
	(void)state;
	return mkdtemp(scratch) ? 0 : -1;
}

static int remove_scratch(void **state)
{
	(void)state;
	return rmdir(scratch);
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
		cmocka_unit_test(test_picture),
		cmocka_unit_test(test_raster),
		cmocka_unit_test(test_beyond_pixels),
		cmocka_unit_test(test_png),
		cmocka_unit_test(test_scale_fits),
		cmocka_unit_test(test_picture_of_a_segment),
		cmocka_unit_test(test_svg_is_escaped),
		cmocka_unit_test(test_tooltips_have_units),
		cmocka_unit_test(test_html_text),
		cmocka_unit_test(test_drawn),
		cmocka_unit_test(test_gnuplot),
		cmocka_unit_test(test_no_gnuplot),
		cmocka_unit_test(test_gnuplot_fails),
		cmocka_unit_test(test_a_signal_while_drawing),
		cmocka_unit_test(test_nowhere_to_write),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
