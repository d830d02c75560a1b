/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/draw/draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "report/base/wrap.h"

#define LEFT	 90	/* of the bars: the names of the tests */
#define WIDTH	 800	/* of all bars of a test */
#define HEIGHT	 70	/* of a test ... */
#define BAR	 50	/* ... and of a bar as high as the median */
#define WIDEST	 40
#define MOST	 1.2	/* times the median; no bar is higher */
#define SLOW	 0.95
#define NAMES	 16	/* of so many nodes names are written */

static const char *const tests[] = {
	GPU_TEST_H2D, GPU_TEST_D2H, GPU_TEST_BOTH, GPU_TEST_FAR_H2D,
	GPU_TEST_FAR_D2H, GPU_TEST_ALL_H2D, GPU_TEST_ALL_D2H, GPU_TEST_COPY,
	GPU_TEST_PATTERN,
};

struct bars {
	const struct gpu_rows *rows;
	size_t nodes;
	double wide;
	double *values;		/* room for one a row */
	struct str *out;
	int y;
};

static bool starts_node(const struct gpu_rows *rows, size_t i)
{
	const struct gpu_row *r = &rows->list[i];

	return i == 0 || strcmp(r->node, r[-1].node) != 0;
}

static bool has_rate(const struct gpu_row *r, const char *test)
{
	return strcmp(r->test, test) == 0 && r->outcome == OUTCOME_OK &&
	       r->bw_GB_s > 0;
}

/** Its slowest GPU, of those at which the test did well; one that failed has no
 *  bar, but a mark. */
static void add_bar(struct bars *b, size_t from, size_t end, size_t node,
		    const char *test, double median)
{
	const struct gpu_row *least = NULL;
	double part, x = LEFT + (double)node * b->wide;
	bool failed = false;

	for (size_t i = from; i < end; i++) {
		const struct gpu_row *r = &b->rows->list[i];

		failed |= strcmp(r->test, test) == 0 &&
			  r->outcome != OUTCOME_OK;
		if (has_rate(r, test) &&
		    (!least || r->bw_GB_s < least->bw_GB_s)) {
			least = r;
		}
	}
	part = least ? fmin(least->bw_GB_s / median, MOST) : 0;
	str_addf(b->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
		 "height=\"%.1f\" fill=\"%s\"><title>", x,
		 b->y + BAR * (1.0 - part), fmax(b->wide * 0.8, 0.2),
		 fmax(part * BAR, failed ? 3 : 0),
		 failed || part < SLOW ? "#c8362c" : "#3b7a57");
	html_text(b->out, b->rows->list[from].node);
	if (least) {
		str_addf(b->out, ", GPU %d: %.1f GB/s", (int)least->gpu,
			 least->bw_GB_s);
	}
	str_add(b->out, failed ? ", one failed</title></rect>\n" :
				 "</title></rect>\n");
}

bool gpu_bars(const struct gpu_rows *rows, struct str *out)
{
	struct bars b = { .rows = rows, .out = out, .y = 4,
			  .values = calloc(rows->n + 1, sizeof(double)) };
	size_t drawn = 0;
	size_t node = 0;

	for (size_t i = 0; i < rows->n; i++) {
		b.nodes += starts_node(rows, i);
	}
	b.wide = b.nodes ? fmin(WIDEST, (double)WIDTH / (double)b.nodes) : 0;
	str_addf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 "
		 "%d %zu\" font-family=\"sans-serif\" font-size=\"12\">\n",
		 LEFT + WIDTH,
		 sizeof(tests) / sizeof(tests[0]) * HEIGHT + 20);
	for (size_t k = 0; b.values && k < sizeof(tests) / sizeof(tests[0]);
	     k++) {
		size_t n = 0, end, at = 0;
		double median;

		for (size_t i = 0; i < b.rows->n; i++) {
			if (has_rate(&b.rows->list[i], tests[k])) {
				b.values[n++] = b.rows->list[i].bw_GB_s;
			}
		}
		median = n > 0 ? stats_median(b.values, n) : NAN;
		if (isnan(median)) {
			continue;
		}
		str_addf(out, "<text x=\"4\" y=\"%d\">%s</text>"
			 "<text x=\"4\" y=\"%d\" fill=\"#777\">%.1f GB/s"
			 "</text>\n", b.y + 20, tests[k], b.y + 36, median);
		for (size_t i = 0; i < rows->n; i = end, at++) {
			for (end = i + 1; end < rows->n &&
					  !starts_node(rows, end); end++) {
			}
			add_bar(&b, i, end, at, tests[k], median);
		}
		b.y += HEIGHT;
		drawn++;
	}
	b.y += 12;
	for (size_t i = 0; b.nodes <= NAMES && i < b.rows->n; i++) {
		if (starts_node(b.rows, i)) {
			str_addf(b.out, "<text x=\"%.1f\" y=\"%d\">",
				 LEFT + (double)node++ * b.wide, b.y - 4);
			html_text(b.out, b.rows->list[i].node);
			str_add(b.out, "</text>\n");
		}
	}
	str_add(out, "</svg>\n");
	free(b.values);
	return drawn > 0;
}
