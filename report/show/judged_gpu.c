/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of single GPUs, as one of the kinds that can be judged. */
#include "report/show/judged.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/rundir.h"
#include "report/base/grow.h"
#include "report/base/wrap.h"
#include "report/draw/draw.h"
#include "report/judge/gpu.h"
#include "report/model/run.h"
#include "report/show/html_page.h"

/** GPUs that a screen shows. */
#define GPUS_SHOWN 64

static int take_row(const struct run_rows *rows, const void *data)
{
	struct gpu_turns *t = rows->user;
	const struct gpu_row *row = data;

	rows->run->rows++;
	return grow_add(&t->all.list, &t->all.n, row, sizeof(*row)) ? 0 : -1;
}

/** Sort the rows by turns, and note their nodes, of which each is looked for
 *  once. */
static int end(const struct run_rows *rows, struct err *e)
{
	struct gpu_turns *t = rows->user;
	int rc = gpu_turns_make(t);

	(void)e;	/* only memory can be missing */
	for (size_t i = 0; i < t->one.n && rc == 0; i++) {
		const struct gpu_row *r = &t->one.list[i];

		rc = i > 0 && strcmp(r->node, r[-1].node) == 0 ?
			     0 : run_note_node(rows->run, r->node);
	}
	return rc;
}

static int judge(const char *dir, struct judged *j, struct err *e)
{
	struct gpu_turns *t = j->more;
	const struct run_rows rows = { .schema = &schema_gpu, .run = &j->run,
				       .take = take_row, .end = end,
				       .user = t };

	return run_load(dir, &rows, e) < 0 ?
		       -1 : gpu_judge(&j->run, t, &j->verdict);
}

static void release(void *more)
{
	gpu_turns_release(more);
}

static bool head(const struct judged *j, int i, char *buf, size_t size)
{
	const struct gpu_turns *t = j->more;
	size_t n = 0;

	for (size_t k = 0; k < t->one.n; k++) {
		const struct gpu_row *r = &t->one.list[k];

		n += strcmp(r->test, GPU_TEST_OPEN) == 0 &&
		     r->gpu != RECORD_NONE;
	}
	snprintf(buf, size, "gpu: %zu GPU%s on %d node%s", n, n == 1 ? "" : "s",
		 j->run.n_nodes, j->run.n_nodes == 1 ? "" : "s");
	return i == 0;
}

/** The test of the GPU of @of, its first row: its others follow. */
static const struct gpu_row *find(const struct gpu_rows *rows,
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

static void print_gpu(const struct gpu_rows *rows, const struct gpu_row *of,
		      struct str *out)
{
	static const char *const rates[] = {
		GPU_TEST_H2D, GPU_TEST_D2H, GPU_TEST_BOTH, GPU_TEST_COPY,
		GPU_TEST_PATTERN,
	};
	const struct gpu_row *c = find(rows, of, GPU_TEST_COMPUTE);
	const struct gpu_row *h = find(rows, of, GPU_TEST_H2D);

	str_addf(out, "%-12.12s %3" PRId64, of->node, of->gpu);
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		const struct gpu_row *r = find(rows, of, rates[i]);

		if (r && !isnan(r->bw_GB_s)) {
			str_addf(out, " %7.1f", r->bw_GB_s);
		} else {
			str_addf(out, " %7s", r && r->outcome != OUTCOME_OK ?
				 outcome_name(r->outcome) : "-");
		}
	}
	if (h && !isnan(h->lat_us)) {
		str_addf(out, " %6.2f", h->lat_us);
	} else {
		str_addf(out, " %6s", "-");
	}
	if (c && c->power_W > 0 && c->temp_C > 0) {
		str_addf(out, " %5.0f %4.0f", c->power_W, c->temp_C);
	}
	str_addch(out, '\n');
}

static int below(const struct judged *j, int width, enum term_style style,
		 struct str *out)
{
	const struct gpu_turns *t = j->more;
	const struct gpu_rows *rows = &t->one;
	size_t shown = 0;

	(void)width;
	(void)style;
	str_add(out, "\nnode         GPU     h2d     d2h    both    copy "
		"pattern lat us power temp\n");
	for (size_t i = 0; i < rows->n; i++) {
		const struct gpu_row *r = &rows->list[i];

		if (strcmp(r->test, GPU_TEST_OPEN) == 0 &&
		    r->gpu != RECORD_NONE && shown++ < GPUS_SHOWN) {
			print_gpu(rows, r, out);
		}
	}
	if (shown > GPUS_SHOWN) {
		str_addf(out, "%zu more are in results.csv\n",
			 shown - GPUS_SHOWN);
	}
	str_add(out, "GB/s, 10^9 bytes/s; both: the two ways together\n");
	return 0;
}

static int draw(const struct judged *j, const char *dir, struct err *e)
{
	const struct gpu_turns *t = j->more;
	struct picture p;
	int rc = gpu_bars(&j->run, &j->verdict, &t->one, &p);

	rc = rc < 0 ? err_set(e, ENOMEM, "cannot lay out the bars") :
	     rc > 0 ? 0 : picture_render(dir, GPU_BARS_NAME, &p, e);
	picture_release(&p);
	return rc;
}

static void html(const struct judged *j, const char *dir, struct str *out)
{
	struct str text = STR_INIT;

	html_element(out, "h2", "Bandwidth of each GPU, by test");
	html_picture(dir, GPU_BARS_NAME ".svg", "bandwidth by GPU and test",
		     out);
	below(j, 0, TERM_UNICODE, &text);
	html_element(out, "pre", str_text(&text));
	str_release(&text);
}

const struct judged_kind judged_gpu = {
	.probe = "gpu",
	.more_size = sizeof(struct gpu_turns),
	.judge = judge,
	.release = release,
	.head = head,
	.below = below,
	.html = html,
	.draw = draw,
};
