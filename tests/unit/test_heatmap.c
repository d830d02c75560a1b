/* SPDX-License-Identifier: BSD-3-Clause */
/* How a heat map is laid out, as shapes and as pixels. */
#include "tests/unit/fake_run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "report/base/wrap.h"
#include "report/draw/draw.h"
#include "report/draw/picture.h"
#include "report/draw/view.h"
#include "report/judge/pairs.h"
#include "report/model/run.h"

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
			 str_starts(p.shapes[i].text, "1: GPU 3 of n5");
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
	assert_int_equal(p.view.n, 43);
	assert_int_equal(p.view.mixed[CELL_FAIL], 2 * 43 - 1);
	assert_true(has_text(&p, "some failed (85 squares)"));
	assert_false(has_text(&p, "|failed"));
	picture_release(&p);
	zoom.run = &r;
	assert_int_equal(figure_picture(&zoom, &v, &p), 0);
	assert_int_equal(p.view.n, 34 + 8 + 10);
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
	static const uint32_t colors[RASTER_COLORS] = { 0xffffff, 0xc5102e };
	struct str png = STR_INIT;

	(void)state;
	png_add(pixels, 3, 2, colors, &png);
	assert_memory_equal(png.data + 12, "IHDR\0\0\0\3\0\0\0\2\10\3\0\0\0",
			    17);
	/* rows: 0 0 1 1, 0 0 0 1; Adler-32 of them */
	assert_memory_equal(png.data + 8 + 25 + 12 + 3 * RASTER_COLORS + 8, "\x78", 1);
	assert_memory_equal(png.data + png.len - 12 - 8, "\0\x14\0\4", 4);
	assert_memory_equal(png.data + png.len - 4, "\xae\x42\x60\x82", 4);
	str_release(&png);
}

/** What stands beside the matrix has the room that it needs. */
/** In every build; that of UBSan stops at an overflow. */
static void test_numerals_without_end(void **state)
{
	char text[UNITS_REAL_SIZE];

	(void)state;
	assert_string_equal(pic_numeral(0.001, text), "0.00100");
	assert_string_equal(pic_numeral(INFINITY, text), "inf");
	assert_non_null(pic_numeral(1e300, text));
	assert_non_null(pic_numeral(5e-324, text));
}

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
				 metrics[m] == VIEW_RTT);
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
	assert_non_null(strstr(str_text(&all), "FAIL: round trip|"));
	assert_non_null(strstr(str_text(&all), "from a node to a node|"));
	assert_non_null(strstr(str_text(&all), "(1 squares)"));
	assert_non_null(strstr(second, "ping on 3 nodes with 3 addresses in "
			       "10.1.0.0/24"));
	assert_non_null(strstr(second, "|6 tests: 5 pass, 1 timeout|"));
	assert_non_null(strstr(second, "FAIL in the whole run; round trip in "
			       "10.1.0.0/24|"));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_picture),
		cmocka_unit_test(test_raster),
		cmocka_unit_test(test_beyond_pixels),
		cmocka_unit_test(test_png),
		cmocka_unit_test(test_numerals_without_end),
		cmocka_unit_test(test_scale_fits),
		cmocka_unit_test(test_picture_of_a_segment),
		cmocka_unit_test(test_svg_is_escaped),
		cmocka_unit_test(test_tooltips_have_units),
		cmocka_unit_test(test_html_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
