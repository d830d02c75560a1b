/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "lib/base/str.h"
#include "lib/data/rundir.h"
#include "report/base/wrap.h"
#include "report/draw/draw.h"
#include "report/history/history.h"
#include "report/judge/caption.h"
#include "report/show/html_page.h"

/* ---- page ---------------------------------------------------------------- */

/** Columns of the words, which stand there as they are. */
#define PAGE_WIDTH 110
#define PAGE_ROWS  2000

/** data/html/page.css as text, part of the program. */
EMBED_TEXT(history_css, "data/html/page.css");

/** Add a table with figures of each part that no sentence has. */
static void add_table(const struct history *h, struct str *out)
{
	static const char *const names[] = {
		"part", "setup", "found", "of", "first", "last", "last runs",
		"% a month", "code", NULL
	};
	char setup[SUMMARY_SETUP], pattern[HISTORY_LAST + 1];
	size_t rows = 0;

	html_header_row(names, out);
	for (size_t i = 0; i < h->n_parts && rows < PAGE_ROWS; i++) {
		const struct history_part *p = &h->parts[i];
		const size_t n = p->failed + p->warned;
		char found[24], of[24], first[11], last[11], trend[32] = "";

		if (!history_is(p, h->part)) {
			continue;
		}
		snprintf(found, sizeof(found), "%zu", n);
		snprintf(of, sizeof(of), "%zu", p->n);
		snprintf(first, sizeof(first), "%.10s", p->first_utc);
		snprintf(last, sizeof(last), "%.10s", p->last_utc);
		if (p->trend.sure) {
			snprintf(trend, sizeof(trend), "%+.1f",
				 p->trend.percent);
		}
		html_row((const char *const[]){
				 p->name,
				 summary_setup(&h->runs[h->setups[p->setup]],
					       setup),
				 found, of, first, last,
				 history_pattern(p, pattern), trend,
				 p->is.code, NULL }, out);
		rows++;
	}
	str_add(out, "</table>\n");
}

int history_page(const char *dir, const struct history *h, struct err *e)
{
	struct str out = STR_INIT, words = STR_INIT;
	const struct wrap w = { .out = &words, .width = PAGE_WIDTH };
	int rc;

	/* nothing runs, and nothing is fetched */
	str_add(&out, "<!DOCTYPE html>\n<html lang=\"en\"><head>"
		"<meta charset=\"utf-8\"><meta http-equiv=\"Content-Security-"
		"Policy\" content=\"default-src 'none'; img-src data:; "
		"style-src 'unsafe-inline'; base-uri 'none'; form-action "
		"'none'\"><meta name=\"viewport\" content=\"width=device-"
		"width\"><title>gpucheck: history</title><style>");
	str_add(&out, history_css);
	str_add(&out, "</style></head><body>\n");
	html_element(&out, "h1", "gpucheck history");
	history_words(h, &w);
	html_element(&out, "pre", str_text(&words));
	html_picture(dir, HISTORY_PICTURE ".svg",
		     "levels of parts over the runs", &out);
	html_element(&out, "h2", "All parts");
	add_table(h, &out);
	str_add(&out, "</body></html>\n");
	str_release(&words);
	rc = out.failed ? err_set(e, ENOMEM, "no memory for the page") :
	     rundir_write_text(dir, HISTORY_PICTURE ".html", str_text(&out),
			       0666, e);
	str_release(&out);
	return rc;
}

/* ---- plot ---------------------------------------------------------------- */

/** More colours there are not; the rest is in the table. */
#define PARTS_MAX 8
/** Range that the picture shows at least, percent of a median. */
#define LOW  90.0
#define HIGH 105.0
/** Seconds around the runs. */
#define MARGIN_S 60
/** A run without a value gets a point far outside the plot. */
#define NO_POINT "0\t-1\n"

/** data/gnuplot/history.gp as text, part of the program. */
EMBED_TEXT(history_script, "data/gnuplot/history.gp");

struct history_plot_drawing {
	const struct history *h;
	const struct history_part *parts[PARTS_MAX];
	size_t n;
	double low, high;	/* of the levels */
	double step;		/* between marks below them */
	struct plot plot;
};

/** Return the usual level of the part; NAN if it was never measured. */
static double median_of(const struct history_part *p)
{
	double *v = calloc(p->n + 1, sizeof(*v)), median;
	size_t n = 0;

	for (size_t i = 0; v && i < p->n; i++) {
		if (p->points[i].level_GB_s > 0) {
			v[n++] = p->points[i].level_GB_s;
		}
	}
	median = v ? stats_median(v, n) : NAN;
	free(v);
	return median;
}

/** Write the levels of part @k, or a mark for each run that found it: below all
 *  levels, in a line of its own, if that run did not measure it. */
static int write_points(const struct history_plot_drawing *d, size_t k,
			bool found, struct err *e)
{
	const struct history_part *p = d->parts[k];
	const double median = median_of(p);
	const double below = d->low - d->step * ((double)k + 1);
	struct str text = STR_INIT, part = STR_INIT;
	char name[32];
	int rc, n = 0;

	str_add(&text, "time\t");
	history_name(d->h, p, &part);
	plot_add_field(str_text(&part), &text);
	str_release(&part);
	str_addch(&text, '\n');
	for (size_t i = 0; i < p->n; i++) {
		const struct history_point *at = &p->points[i];
		const bool measured = at->level_GB_s > 0;

		if (found ? at->state != HISTORY_GOOD : measured) {
			str_addf(&text, "%" PRId64 "\t%.2f\n",
				 at->at_s,
				 measured ? 100 * at->level_GB_s / median :
					    below);
			n++;
		}
	}
	str_add(&text, n > 0 ? "" : NO_POINT);
	snprintf(name, sizeof(name), "%s%zu", found ? "found" : "level",
		 k + 1);
	rc = plot_write(&d->plot, name, &text, e);
	str_release(&text);
	return rc;
}

static int draw(struct history_plot_drawing *d, struct err *e)
{
	const int64_t first = d->h->runs[0].started_s;
	const int64_t last = d->h->runs[d->h->n_runs - 1].started_s;
	/* a range of one run is no range */
	const int64_t margin = (last - first) / 20 + MARGIN_S;
	char from[CAPTION_UTC_SIZE], to[CAPTION_UTC_SIZE];
	struct str title = STR_INIT, settings = STR_INIT;
	int rc;

	caption_utc(d->h->runs[0].started_utc, from);
	caption_utc(d->h->runs[d->h->n_runs - 1].started_utc, to);
	str_addf(&title, "%zu run%s from %s to %s\n", d->h->n_runs,
		 d->h->n_runs == 1 ? "" : "s", from, to);
	rc = plot_write(&d->plot, "title", &title, e);
	str_release(&title);
	for (size_t k = 0; rc == 0 && k < d->n; k++) {
		rc = write_points(d, k, false, e) < 0 ? -1 :
		     write_points(d, k, true, e);
	}
	str_addf(&settings, "n=%zu; ylow=%.2f; yleast=%.2f; yhigh=%.2f; "
		 "tlow=%" PRId64 "; thigh=%" PRId64, d->n,
		 d->low - d->step * ((double)d->n + 1), d->low, d->high,
		 first - margin, last + margin);
	rc = rc == 0 ? plot_draw(&d->plot, history_script, &settings,
				 HISTORY_PICTURE, true, e) : rc;
	str_release(&settings);
	return rc;
}

int history_draw(const char *dir, const struct history *h, struct err *e)
{
	struct history_plot_drawing d = { .h = h, .low = LOW, .high = HIGH };
	sigset_t ends;
	int rc;

	/* parts with findings, even if no run measured them, then levels of all
	 * nodes */
	for (size_t i = 0; i < 2 * h->n_parts && d.n < PARTS_MAX; i++) {
		const struct history_part *p = &h->parts[i % h->n_parts];
		const bool told = h->part ? history_is(p, h->part) :
					    history_tells(p);

		if (i < h->n_parts ? told :
				     !h->part && !told && !p->is.node[0] &&
				     median_of(p) > 0) {
			d.parts[d.n++] = p;
		}
	}
	for (size_t k = 0; k < d.n; k++) {
		const double median = median_of(d.parts[k]);

		for (size_t i = 0; i < d.parts[k]->n; i++) {
			const double at = 100 *
				d.parts[k]->points[i].level_GB_s / median;

			d.low = at < d.low ? at : d.low;
			d.high = at > d.high ? at : d.high;
		}
	}
	d.high += 2;
	d.step = (d.high - d.low) / 50;
	if (d.n == 0) {
		return 0;
	}
	if (!plot_usable()) {
		err_set(e, 0, "no picture of the history: gnuplot is not "
			      "installed");
		return 1;
	}
	plot_hold_signals(&ends);
	rc = plot_begin(&d.plot, &ends, dir, e);
	if (rc == 0) {
		rc = plot_end(&d.plot, draw(&d, e), e);
	}
	plot_release_signals(&ends);
	return rc;
}
