/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/ladder_run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "report/judge/caption.h"
#include "report/show/html_page.h"
#include "report/base/html_text.h"
#include "report/model/run_read.h"

#define WORDS_MAX (1024 * 1024)

/** What a rung may have drawn. */
static const char *const pictures[] = {
	"heatmap-nodes.svg", "heatmap-bw.svg", "heatmap-lat.svg",
	"curves.svg", NULL
};

static void add_table(const struct ladder_run *run, struct str *out)
{
	static const char *const names[] = {
		"probe", "verdict", "cells, or why not", "findings", NULL
	};

	html_header_row(names, out);
	for (size_t i = 0; i < run->n; i++) {
		const struct ladder_rung *r = &run->rungs[i];
		char text[sizeof(r->row.detail)];

		str_add(out, "<tr><td><a href=\"#");
		html_text(out, r->row.rung);
		str_add(out, "\">");
		html_text(out, r->row.rung);
		str_add(out, "</a></td>");
		html_element(out, "td", r->row.outcome == OUTCOME_OK ?
			     json_member(r->verdict, "status") :
			     outcome_name(r->row.outcome));
		html_element(out, "td",
			     ladder_rung_text(r, text, sizeof(text)));
		str_addf(out, "<td>%zu</td></tr>\n",
			 json_array_size(json_object_get(r->verdict,
							 "findings")));
	}
	str_add(out, "</table>\n");
}

/** What the rung said to the one who ran it. */
static void add_words(const char *dir, const struct ladder_rung *r,
		      struct str *out)
{
	char name[64], *text;

	snprintf(name, sizeof(name), "%s/%s.txt", RUN_LOGS, r->row.rung);
	text = rundir_read_text(dir, name, WORDS_MAX, NULL, NULL);
	if (text) {
		html_element(out, "pre", text);
	}
	free(text);
}

static void add_rung(const char *dir, const struct ladder_rung *r,
		     struct str *out)
{
	char path[PATH_MAX];

	str_add(out, "<h2 id=\"");
	html_text(out, r->row.rung);
	str_add(out, "\">");
	html_text(out, r->row.rung);
	str_add(out, "</h2>\n");
	add_words(dir, r, out);
	if (rundir_path(dir, r->row.rung, path, NULL) < 0 || !r->verdict) {
		return;
	}
	for (int i = 0; pictures[i]; i++) {
		html_picture(path, pictures[i], r->row.rung, out);
	}
	str_add(out, "<p><a href=\"");
	html_text(out, r->row.rung);
	str_add(out, "/report.html\">all of it</a></p>\n");
}

int ladder_html(const char *dir, const struct ladder_run *run, struct err *e)
{
	struct run whole = { .json = json_incref(run->json) };
	char command[CAPTION_SIZE];
	struct str out = STR_INIT;
	int rc = -1;

	if (run_read_header(&whole, e) == 0) {
		html_begin(&whole, json_member(run->verdict, "status"), &out);
		html_element(&out, "pre",
			     caption_command(&whole, command,
					     sizeof(command)));
		html_notes(&whole, &out);
		add_table(run, &out);
		html_findings(run->verdict, &out);
		for (size_t i = 0; i < run->n; i++) {
			add_rung(dir, &run->rungs[i], &out);
		}
		html_end(&whole, &out);
		rc = html_write(dir, &out, e);
	}
	str_release(&out);
	run_release(&whole);
	return rc;
}
