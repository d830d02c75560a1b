/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of single GPUs, as one of the kinds that can be judged. */
#include "report/show/judged.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/stats.h"
#include "lib/data/rundir.h"
#include "report/base/wrap.h"
#include "report/draw/draw.h"
#include "report/judge/gpu.h"
#include "report/model/run.h"
#include "report/show/html_page.h"

/** GPUs that a screen shows. */
#define GPUS_SHOWN 64

/** Sort the rows by turns, and note their nodes, of which each is looked for
 *  once. */
static int end(const struct run_rows *rows, struct err *e)
{
	struct gpu_turns *t = rows->user;
	int rc = gpu_turns_make(rows->run, t);

	(void)e;	/* only memory can be missing */
	for (size_t i = 0; i < t->n && rc == 0; i++) {
		const struct gpu_row *r = &t->list[i];

		rc = i > 0 && strcmp(r->node, r[-1].node) == 0 ?
			     0 : run_note_node(rows->run, r->node);
	}
	return rc;
}

static int judge(const char *dir, struct judged *j, struct err *e)
{
	struct gpu_turns *t = j->more;
	const struct run_rows rows = { .schema = &schema_gpu, .run = &j->run,
				       .end = end, .user = t };

	return run_load(dir, &rows, e) < 0 ?
		       -1 : gpu_judge(&j->run, t, &j->verdict);
}

static bool head(const struct judged *j, int i, char *buf, size_t size)
{
	const struct gpu_turns *t = j->more;
	size_t n = 0;

	for (size_t k = 0; k < t->n; k++) {
		const struct gpu_row *r = &t->list[k];

		n += strcmp(r->test, GPU_TEST_OPEN) == 0 &&
		     r->gpu != RECORD_NONE;
	}
	snprintf(buf, size, "gpu: %zu GPU%s on %d node%s", n, n == 1 ? "" : "s",
		 j->run.n_nodes, j->run.n_nodes == 1 ? "" : "s");
	return i == 0;
}

/** The test of the GPU of @of, its first row: its others follow. */
static const struct gpu_row *find(const struct gpu_turns *rows,
				  const struct gpu_row *of, const char *test)
{
	for (const struct gpu_row *r = of;
	     r < rows->list + rows->n && r->gpu == of->gpu &&
	     strcmp(r->node, of->node) == 0; r++) {
		if (strcmp(r->test, test) == 0) {
			return r;
		}
	}
	return NULL;
}

static const char *const rates[] = {
	GPU_TEST_H2D, GPU_TEST_D2H, GPU_TEST_BOTH, GPU_TEST_COPY,
	GPU_TEST_PATTERN,
};
#define RATES (sizeof(rates) / sizeof(*rates))

/** Add the row of the GPU of @of; @best has the highest rate of each test. */
static void add_gpu(const struct gpu_turns *rows, const struct gpu_row *of,
		    const double best[RATES], struct table *t)
{
	const struct gpu_row *c = find(rows, of, GPU_TEST_COMPUTE);
	const struct gpu_row *h = find(rows, of, GPU_TEST_H2D);
	const bool load = c && c->power_W > 0 && c->temp_C > 0;

	table_add(t, of->node);
	table_addf(t, "%" PRId64, of->gpu);
	for (size_t i = 0; i < RATES; i++) {
		const struct gpu_row *r = find(rows, of, rates[i]);

		if (r && !isnan(r->bw_GB_s)) {
			table_addf(t, "%.1f", r->bw_GB_s);
			table_bar(t, r->bw_GB_s / best[i]);
		} else {
			table_add(t, r && r->outcome != OUTCOME_OK ?
				     outcome_name(r->outcome) : "-");
		}
	}
	if (h && !isnan(h->lat_us)) {
		table_addf(t, "%.2f", h->lat_us);
	} else {
		table_add(t, "-");
	}
	if (load) {
		table_addf(t, "%.0f", c->power_W);
		table_addf(t, "%.0f", c->temp_C);
	} else {
		table_add(t, "");
		table_add(t, "");
	}
}

static void tables(const struct judged *j, struct tables *to)
{
	static const struct table_column columns[] = {
		{ .name = "node", .width = 12, .most = 12 },
		{ .name = "GPU", .width = 3, .right = true },
		{ .name = "h2d", .width = 7, .right = true },
		{ .name = "d2h", .width = 7, .right = true },
		{ .name = "both", .width = 7, .right = true },
		{ .name = "copy", .width = 7, .right = true },
		{ .name = "pattern", .width = 7, .right = true },
		{ .name = "lat us", .width = 6, .right = true },
		{ .name = "power", .width = 5, .right = true },
		{ .name = "temp", .width = 4, .right = true },
	};
	const struct gpu_turns *rows = j->more;
	struct table *t = tables_add(to, &(struct table){
		.title = "Tests of each GPU", .columns = columns,
		.n_columns = 10, .shown = GPUS_SHOWN,
		.note = "GB/s, 10^9 bytes/s; both: the two ways together" });
	double best[RATES] = { 0 };

	for (size_t i = 0; i < rows->n; i++) {
		for (size_t k = 0; k < RATES; k++) {
			if (strcmp(rows->list[i].test, rates[k]) == 0) {
				best[k] = fmax(best[k], rows->list[i].bw_GB_s);
			}
		}
	}
	for (size_t i = 0; i < rows->n; i++) {
		const struct gpu_row *r = &rows->list[i];

		if (strcmp(r->test, GPU_TEST_OPEN) == 0 &&
		    r->gpu != RECORD_NONE) {
			add_gpu(rows, r, best, t);
		}
	}
}

/** Median of the copies from the host and inside the GPU. */
static const char *figure(const struct judged *j, int i, char *buf,
			  size_t size)
{
	static const struct {
		const char *test, *name;
	} figures[] = {
		{ GPU_TEST_H2D, "median host to GPU" },
		{ GPU_TEST_COPY, "median copy in a GPU" },
	};
	const struct gpu_turns *t = j->more;
	double *values = calloc(t->n + 1, sizeof(*values));
	const char *name = NULL;

	for (size_t k = 0; values && !name && k < 2; k++) {
		size_t n = 0;

		for (size_t r = 0; r < t->n; r++) {
			const struct gpu_row *row = &t->list[r];

			if (strcmp(row->test, figures[k].test) == 0 &&
			    row->bw_GB_s > 0) {
				values[n++] = row->bw_GB_s;
			}
		}
		if (n > 0 && i-- == 0) {
			const double median = stats_median(values, n);

			snprintf(buf, size, "%.*f GB/s", median < 100 ? 1 : 0,
				 median);
			name = figures[k].name;
		}
	}
	free(values);
	return name;
}

static int draw(const struct judged *j, const char *dir, struct err *e)
{
	const struct gpu_turns *t = j->more;
	struct picture p;
	int rc = gpu_bars(&j->run, &j->verdict, t, &p);

	rc = rc < 0 ? err_set(e, ENOMEM, "cannot lay out the bars") :
	     rc > 0 ? 0 : picture_render(dir, GPU_BARS_NAME, &p, e);
	picture_release(&p);
	return rc;
}

static void html(const struct judged *j, const char *dir, struct str *out)
{
	(void)j;
	html_element(out, "h2", "Bandwidth of each GPU, by test");
	html_picture(dir, GPU_BARS_NAME ".svg", "bandwidth by GPU and test",
		     out);
}

const struct judged_kind judged_gpu = {
	.probe = "gpu",
	.more_size = sizeof(struct gpu_turns),
	.judge = judge,
	.release = gpu_turns_release,
	.head = head,
	.tables = tables,
	.figure = figure,
	.html = html,
	.draw = draw,
};
