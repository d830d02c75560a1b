/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/draw/draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "lib/base/units.h"
#include "report/draw/picture.h"
#include "report/judge/caption.h"
#include "report/judge/diagnose.h"
#include "report/model/run.h"

#define LEFT	 150	/* of the bars: the names of the tests */
#define WIDTH	 900	/* of all bars of a test */
#define HEIGHT	 104	/* of a test ... */
#define BAR	 70	/* ... and of a bar as high as the median */
#define WIDEST	 40
#define MOST	 1.2	/* times the median; no bar is higher */
#define SLOW	 0.95
#define NAME_MIN 11	/* pixels of a bar that has its number */

/** Okabe and Ito's colours: told apart by readers of any kind of sight. */
#define GOOD	 0x0072b2
#define BELOW	 0xd55e00
#define FAINT	 0xb4bac2	/* what others are compared with */

static const char *const tests[] = {
	GPU_TEST_H2D, GPU_TEST_D2H, GPU_TEST_BOTH, GPU_TEST_FAR_H2D,
	GPU_TEST_FAR_D2H, GPU_TEST_ALL_H2D, GPU_TEST_ALL_D2H, GPU_TEST_COPY,
	GPU_TEST_PATTERN,
};

struct bars {
	struct picture *p;
	const struct gpu_turns *rows;
	bool by_node;		/* a bar is the slowest GPU of a node */
	size_t n;		/* bars of a test */
	double wide;
	double *values;		/* room for one a row */
	float y;		/* of the 100 % line */
	bool below, failed;	/* there are such bars */
};

static bool starts_node(const struct gpu_turns *rows, size_t i)
{
	const struct gpu_row *r = &rows->list[i];

	return i == 0 || strcmp(r->node, r[-1].node) != 0;
}

/** Return true if row @i begins a bar: a node, or a GPU. */
static bool starts_bar(const struct bars *b, size_t i)
{
	const struct gpu_row *r = &b->rows->list[i];

	return starts_node(b->rows, i) || (!b->by_node && r->gpu != r[-1].gpu);
}

static bool has_rate(const struct gpu_row *r, const char *test)
{
	return strcmp(r->test, test) == 0 && r->outcome == OUTCOME_OK &&
	       r->bw_GB_s > 0;
}

/** The bar of rows @from to @end: the slowest GPU, of those that passed; one
 *  that failed has a cross. */
static void add_bar(struct bars *b, size_t from, size_t end, size_t at,
		    const char *test, double median)
{
	const struct gpu_row *least = NULL, *first = &b->rows->list[from];
	const double x = LEFT + (double)at * b->wide;
	const double gap = b->wide >= 4 ? b->wide * 0.2 : 0;
	bool failed = false, tested = false;
	struct str tip = STR_INIT;
	double part;

	for (size_t i = from; i < end; i++) {
		const struct gpu_row *r = &b->rows->list[i];

		const bool of = strcmp(r->test, test) == 0;

		/* a GPU that cannot be opened has no other test */
		failed |= r->outcome != OUTCOME_OK &&
			  (of || strcmp(r->test, GPU_TEST_OPEN) == 0);
		tested |= of || failed;
		if (has_rate(r, test) &&
		    (!least || r->bw_GB_s < least->bw_GB_s)) {
			least = r;
		}
	}
	if (!tested) {
		return;
	}
	part = least ? least->bw_GB_s / median : 0;
	str_addf(&tip, "%s, GPU %d", first->node,
		 (int)(least ? least->gpu : first->gpu));
	if (least) {
		str_addf(&tip, ": %.1f GB/s, %.0f %% of the median",
			 least->bw_GB_s, 100 * part);
	}
	str_add(&tip, failed ? b->by_node ? ", one failed" : ", failed" : "");
	b->p->failed |= tip.failed;
	part = fmin(part, MOST);
	pic_shape(b->p, (struct picture_shape){
		.x = (float)(x + gap / 2), .width = (float)(b->wide - gap),
		.y = b->y + (float)(BAR * (1 - part)),
		.height = (float)fmax(BAR * part, 1),
		.rgb = failed ? ALARM : part < SLOW ? BELOW : GOOD,
		.text = tip.data });
	if (failed) {
		pic_mark(b->p, (float)(x + b->wide / 2), b->y + BAR - 8,
			 (float)fmin(12, fmax(b->wide, 4)),
			 &(struct palette_entry){ .ink = ALARM,
						  .mark = MARK_CROSS });
	}
	b->failed |= failed;
	b->below |= !failed && part < SLOW;
}

/** Names of nodes, as many as have room, and numbers of GPUs. */
static void add_names(const struct bars *b)
{
	const float line = b->y - HEIGHT + BAR;
	double free_from = 0;
	size_t at = 0;

	for (size_t i = 0; i < b->rows->n; i++) {
		const struct gpu_row *r = &b->rows->list[i];
		const double x = LEFT + (double)at * b->wide;

		if (!starts_bar(b, i)) {
			continue;
		}
		at++;
		if (!b->by_node && b->wide >= NAME_MIN) {
			pic_text(b->p, TEXT_CENTER, (float)(x + b->wide / 2),
				 line + 12, INK_SOFT, "%d", (int)r->gpu);
		}
		if (starts_node(b->rows, i) && x >= free_from) {
			pic_text(b->p, TEXT_LEFT, (float)x, line + 28, INK,
				 "%s", r->node);
			free_from = x + LETTER * ((double)strlen(r->node) + 2);
		}
	}
}

static void add_legend(const struct bars *b, float y)
{
	static const struct {
		uint32_t rgb;
		const char *words;
	} entries[] = {
		{ GOOD, "95 % of the median or more" },
		{ BELOW, "less" },
		{ ALARM, "failed" },
	};
	float x = LEFT;

	for (int i = 0; i < 3; i++) {
		if ((i == 1 && !b->below) || (i == 2 && !b->failed)) {
			continue;
		}
		pic_shape(b->p, (struct picture_shape){
			.x = x, .y = y - 7, .width = 14, .height = 14,
			.rgb = entries[i].rgb });
		pic_text(b->p, TEXT_LEFT, x + 22, y, INK, "%s",
			 entries[i].words);
		x += 60 + (float)(LETTER * (double)strlen(entries[i].words));
	}
}

/** All tests of which there are rates; returns how many. */
static size_t add_tests(struct bars *b)
{
	const float wide = (float)(b->wide * (double)b->n);
	const struct gpu_turns *rows = b->rows;
	size_t drawn = 0;

	for (size_t k = 0; k < sizeof(tests) / sizeof(tests[0]); k++) {
		size_t n = 0, end, at = 0;
		double median;

		for (size_t i = 0; i < rows->n; i++) {
			if (has_rate(&rows->list[i], tests[k])) {
				b->values[n++] = rows->list[i].bw_GB_s;
			}
		}
		if (n == 0) {
			continue;
		}
		median = stats_median(b->values, n);
		/* the axis, with its name and what 100 % are */
		pic_text(b->p, TEXT_LEFT, EDGE, b->y + 8, INK, "%s", tests[k]);
		pic_text(b->p, TEXT_SMALL, EDGE, b->y + 26, INK_SOFT,
			 "100 %% is");
		pic_text(b->p, TEXT_SMALL, EDGE, b->y + 41, INK_SOFT,
			 "%.1f GB/s", median);
		for (int percent = 0; percent <= 100; percent += 50) {
			const float y =
				b->y + BAR * (1 - (float)percent / 100);

			pic_line(b->p, LEFT - 5, y,
				 percent == 50 ? 5 : wide + 10, 0);
			pic_text(b->p, TEXT_RIGHT, LEFT - 9, y, INK_SOFT,
				 "%d%s", percent, percent == 100 ? " %" : "");
		}
		pic_line(b->p, LEFT - 1, b->y, 0, BAR);
		for (size_t i = 0; i < rows->n; i = end, at++) {
			for (end = i + 1; end < rows->n && !starts_bar(b, end);
			     end++) {
			}
			add_bar(b, i, end, at, tests[k], median);
		}
		b->y += HEIGHT;
		drawn++;
	}
	return drawn;
}

int gpu_bars(const struct run *run, const struct verdict *v,
	     const struct gpu_turns *rows, struct picture *p)
{
	struct bars b = { .p = p, .rows = rows,
			  .values = calloc(rows->n + 1, sizeof(double)) };
	char text[CAPTION_SIZE], utc[CAPTION_UTC_SIZE];
	size_t drawn = 0;
	float y;

	*p = (struct picture){ .stroke = 2 };
	pic_fonts(p);
	for (int turn = 0; turn < 2 && (turn == 0 || b.n > GPU_BARS_MAX);
	     turn++) {
		b.by_node = turn > 0;
		b.n = 0;
		for (size_t i = 0; i < rows->n; i++) {
			b.n += starts_bar(&b, i);
		}
	}
	b.wide = b.n ? fmin(WIDEST, (double)WIDTH / (double)b.n) : 0;
	y = pic_title(p, LEFT + WIDTH + EDGE, run, v, "bandwidth of GPUs");
	caption_utc(run->started_utc, utc);
	snprintf(text, sizeof(text), "bandwidth by test of GPUs on %d node%s%s%s",
		 run->n_nodes, run->n_nodes == 1 ? "" : "s", utc[0] ? ", " : "",
		 utc);
	y = pic_caption(p, y, INK, text);
	y = pic_caption(p, y, INK, b.by_node ?
			"each bar: the slowest GPU of a node, percent of the "
			"median of all GPUs" :
			"each bar: a GPU, percent of the median of all GPUs");
	for (int i = 0; caption_note(run, i, false, text, sizeof(text)); i++) {
		y = pic_caption(p, y, run->drill && i == 0 ? ALARM : INK_SOFT,
				text);
	}
	b.y = y + 24;
	if (b.values) {
		drawn = add_tests(&b);
	}
	add_names(&b);
	add_legend(&b, b.y + 24);
	p->width = (int)fmax(MIN_WIDTH, LEFT + b.wide * (double)b.n + 2 * EDGE);
	p->height = (int)b.y + 24 + EDGE;
	p->failed |= !b.values;
	free(b.values);
	return p->failed ? -1 : drawn == 0;
}

/* ---- layers of a slow pair ----------------------------------------------- */

#define NAMES  310	/* of the bars: the names of layers and settings */
#define LAYERS 400	/* of the longest bar */
#define THICK  12

/** A bar of @GB_s with its number. */
static void layer_bar(struct picture *p, float y, double GB_s, double most,
		      uint32_t rgb)
{
	float wide = (float)(LAYERS * GB_s / most);

	pic_shape(p, (struct picture_shape){ .x = NAMES, .y = y, .width = wide,
					     .height = THICK, .rgb = rgb });
	pic_text(p, TEXT_SMALL, NAMES + wide + 8, y + THICK / 2, INK, "%s",
		 UNITS_REAL(GB_s, 1));
}

/** The title and the legend; @good: NULL without a good pair. */
static void layer_heading(struct picture *p, const struct diagnose_row *first,
			  const struct diagnose_row *good, bool links)
{
	static const struct {
		uint32_t rgb;
		const char *words;
	} entries[] = {
		{ GOOD, "full rate" }, { BELOW, "rate is lost" },
		{ FAINT, "good pair" }, { INK_SOFT, "link" },
	};
	float x = EDGE;

	pic_text(p, TEXT_LEFT, EDGE, EDGE, INK,
		 "%s to %s by layer, GB/s",
		 CLUSTER_GPU(first->src_node, first->src_gpu),
		 CLUSTER_GPU(first->dst_node, first->dst_gpu));
	for (int i = 0; i < 4; i++) {
		if (i == 2 ? !good : i == 3 && !links) {
			continue;
		}
		pic_shape(p, (struct picture_shape){
			.x = x + (i == 3 ? 13 : 0), .y = EDGE + 25,
			.width = i == 3 ? 1 : 14, .height = 14,
			.rgb = entries[i].rgb });
		pic_text(p, TEXT_SMALL, x + 20, EDGE + 32, INK, "%s",
			 entries[i].words);
		x += 120;
	}
	if (good) {
		pic_text(p, TEXT_SMALL, x, EDGE + 32, INK_SOFT,
			 "good pair: %s to %s",
			 CLUSTER_GPU(good->src_node, good->src_gpu),
			 CLUSTER_GPU(good->dst_node, good->dst_gpu));
	}
}

int layer_bars(const struct run *run, const struct diagnose_row *first,
	       struct picture *p)
{
	const struct diagnose_row *good = NULL, *r;
	double most = 0, GB_s[DIAGNOSE_RATES];
	float y = EDGE + 64;
	bool links = false;
	const char *name;

	*p = (struct picture){ .stroke = 2 };
	pic_fonts(p);
	for (size_t n = 0; (r = diagnose_rates(run, first, n, &name, GB_s));
	     n++) {
		for (int k = 0; k < DIAGNOSE_RATES; k++) {
			most = fmax(most, GB_s[k]);
		}
	}
	for (size_t n = 0; (r = diagnose_rates(run, first, n, &name, GB_s));
	     n++) {
		const struct diagnose_step s = { .name = r->step };
		int src = (int)r->src_rank, dst = (int)r->dst_rank;
		bool full = strcmp(r->kind, DIAGNOSE_KNOB) == 0 ?
				    diagnose_helps(run, r) :
				    diagnose_keeps(run, &s, src, dst) > 0;
		bool two = GB_s[DIAGNOSE_GOOD] > 0;

		good = good ? good : diagnose_good(run, &s, src, dst);
		pic_text(p, TEXT_SMALL, EDGE, y + (two ? THICK : THICK / 2),
			 INK, "%.34s%s", name, strlen(name) > 34 ? "..." : "");
		layer_bar(p, y, r->bw_GB_s, most, full ? GOOD : BELOW);
		if (two) {
			layer_bar(p, y + THICK + 2, GB_s[DIAGNOSE_GOOD], most,
				  FAINT);
		}
		if (GB_s[DIAGNOSE_LINK] > 0) {
			links = true;
			pic_line(p, (float)(NAMES + LAYERS *
					    GB_s[DIAGNOSE_LINK] / most), y - 3,
				 0, (two ? 2 : 1) * THICK + 8);
		}
		y += two ? 40 : 24;
	}
	layer_heading(p, first, good, links);
	p->width = MIN_WIDTH;
	p->height = (int)y + EDGE / 2;
	return p->failed ? -1 : 0;
}
