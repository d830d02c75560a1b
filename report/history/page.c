/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/history/history.h"

#include <errno.h>
#include <stdio.h>

#include "lib/data/rundir.h"
#include "report/base/html_text.h"
#include "report/show/html_page.h"

/** Columns of the words, which stand there as they are. */
#define PAGE_WIDTH 110
#define PAGE_ROWS  2000

/** data/html/page.css as text, part of the program. */
__asm__(".section .rodata\n"
	"history_css:\n"
	".incbin \"data/html/page.css\"\n"
	".byte 0\n"
	".previous\n");
extern const char history_css[];

/** What a table has of each part, and no line of words. */
static void add_table(const struct history *h, const struct history_about *a,
		      struct str *out)
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
		char found[24], of[24], first[11] = "", last[11] = "";
		char trend[32] = "";

		if (!history_is(p, a->part)) {
			continue;
		}
		snprintf(found, sizeof(found), "%zu", n);
		snprintf(of, sizeof(of), "%zu", p->n);
		if (n > 0) {
			snprintf(first, sizeof(first), "%.10s",
				 h->runs[p->first].started_utc);
			snprintf(last, sizeof(last), "%.10s",
				 h->runs[p->last].started_utc);
		}
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

static void add_page(const struct history *h, const struct history_about *a,
		     const char *dir, struct str *out)
{
	struct str words = STR_INIT;
	const struct wrap w = { .out = &words, .width = PAGE_WIDTH };

	/* nothing runs, and nothing is fetched */
	str_add(out, "<!DOCTYPE html>\n<html lang=\"en\"><head>"
		"<meta charset=\"utf-8\"><meta http-equiv=\"Content-Security-"
		"Policy\" content=\"default-src 'none'; img-src data:; "
		"style-src 'unsafe-inline'; base-uri 'none'; form-action "
		"'none'\"><meta name=\"viewport\" content=\"width=device-"
		"width\"><title>gpucheck: history</title><style>");
	str_add(out, history_css);
	str_add(out, "</style></head><body>\n");
	html_element(out, "h1", "gpucheck history");
	history_words(h, a, &w);
	html_element(out, "pre", str_text(&words));
	html_picture(dir, HISTORY_PICTURE ".svg",
		     "levels of parts over the runs", out);
	html_element(out, "h2", "All parts");
	add_table(h, a, out);
	str_add(out, "</body></html>\n");
	str_release(&words);
}

int history_page(const char *dir, const struct history *h,
		 const struct history_about *a, struct err *e)
{
	struct str out = STR_INIT;
	int rc;

	add_page(h, a, dir, &out);
	rc = out.failed ? err_set(e, ENOMEM, "no memory for the page") :
	     rundir_write_text(dir, HISTORY_PICTURE ".html", str_text(&out),
			       0666, e);
	str_release(&out);
	return rc;
}
