/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/hostlist.h"
#include "lib/rundir.h"
#include "report/caption.h"
#include "report/figures.h"
#include "report/html_text.h"
#include "report/part.h"
#include "report/picture.h"

#define HTML_MAX_FINDINGS 200
#define HTML_MAX_CELLS	  500
#define HTML_MAX_FACTS	  5000
#define HTML_MAX_EVENTS	  1000

static const char style[] =
	"body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;"
	"max-width:1240px;padding:0 1em;color:#1f2328}"
	"h1{font-size:1.6em;margin-bottom:.2em}h2{font-size:1.2em;"
	"margin-top:2em;border-bottom:1px solid #d1d9e0}"
	".badge{color:#fff;border-radius:.3em;padding:.05em .5em;"
	"font-weight:600}.pass{background:#1a6fb5}.warn{background:#b45309}"
	".fail{background:#c5102e}.unknown{background:#59636e}"
	".note{color:#59636e;margin:0}.drill{background:#c5102e;color:#fff;"
	"padding:.5em 1em;font-weight:600}"
	".finding{border-left:4px solid #d1d9e0;padding:.1em 1em;margin:1em 0}"
	"pre,code{font:13px/1.45 ui-monospace,monospace}"
	"pre{background:#f3f5f7;padding:.6em;white-space:pre-wrap;"
	"margin:.4em 0}"
	"table{border-collapse:collapse;font-size:13px}"
	"td,th{border-bottom:1px solid #e4e8ec;padding:.2em .8em .2em 0;"
	"text-align:left;vertical-align:top}svg{max-width:100%;height:auto}";

static void add_head(const struct run *run, const struct verdict *v,
		     struct str *out)
{
	const char *status = verdict_status_name(v->status);
	char text[CAPTION_SIZE];

	str_addf(out, "<!DOCTYPE html>\n<html lang=\"en\"><head>"
		 "<meta charset=\"utf-8\"><meta name=\"viewport\" "
		 "content=\"width=device-width\"><title>gpucheck: %s</title>"
		 "<style>%s</style></head><body>\n", status, style);
	str_add(out, "<h1>gpucheck ");
	html_text(out, run->probe);
	str_addf(out, " <span class=\"badge %s\">%s</span></h1>\n", status,
		 status);
	html_element(out, "p", caption_what(run, text, sizeof(text)));
	html_element(out, "pre", caption_command(run, text, sizeof(text)));
	html_element(out, "p", caption_cells(run, v, text, sizeof(text)));
	for (int i = 0; caption_note(run, i, text, sizeof(text)); i++) {
		html_element(out, run->drill && i == 0 ? "p class=\"drill\"" :
				  "p class=\"note\"", text);
	}
	for (int c = 0; c < PATH_CLASSES; c++) {
		if (caption_bandwidth(run, (enum path_class)c, text,
				      sizeof(text))) {
			html_element(out, "p class=\"note\"", text);
		}
	}
	for (int c = 0; c < PATH_CLASSES; c++) {
		if (caption_contrast(run, (enum path_class)c, text,
				     sizeof(text))) {
			html_element(out, "p class=\"note\"", text);
		}
	}
}

static void add_finding(const struct run *run, const struct finding *f,
			struct str *out)
{
	const char *severity = f->fail ? "fail" : "warn";
	char name[PART_NAME_SIZE];

	str_addf(out, "<div class=\"finding\"><p><span class=\"badge %s\">%s"
		 "</span> ", severity, severity);
	html_text(out, f->says);
	str_add(out, " <code>");
	html_text(out, f->code);
	str_add(out, "</code></p>\n");
	html_element(out, "pre", f->act);
	str_add(out, "<ul>");
	for (size_t i = 0; i < f->n_evidence; i++) {
		html_element(out, "li", f->evidence[i]);
	}
	for (size_t i = 0; i < f->n_or; i++) {
		str_add(out, "<li>or: ");
		html_text(out, part_name(run, &f->or_parts[i], name,
					 sizeof(name)));
		str_add(out, "</li>");
	}
	str_add(out, "</ul></div>\n");
}

static void add_findings(const struct run *run, const struct verdict *v,
			 struct str *out)
{
	html_element(out, "h2", "Findings");
	if (v->n == 0) {
		html_element(out, "p", "None.");
	}
	for (size_t i = 0; i < v->n && i < HTML_MAX_FINDINGS; i++) {
		add_finding(run, &v->findings[i], out);
	}
	if (v->n > HTML_MAX_FINDINGS) {
		str_addf(out, "<p>%zu more are in verdict.json.</p>\n",
			 v->n - HTML_MAX_FINDINGS);
	}
	if (v->n_exclude > 0) {
		str_add(out, "<p>To run without them: <code>--exclude=");
		for (size_t i = 0; i < v->n_exclude; i++) {
			str_add(out, i ? "," : "");
			html_text(out, v->exclude[i]);
		}
		str_add(out, "</code></p>\n");
	}
	if (v->n_good > 0) {
		struct str names = STR_INIT;

		hostlist_add(&names, v->good[0], sizeof(*v->good), v->n_good);
		str_addf(out, "<p>Good together, as far as measured: %zu of %d "
			 "nodes, <code>--nodelist=", v->n_good, run->n_nodes);
		html_text(out, str_text(&names));
		str_add(out, "</code></p>\n");
		str_release(&names);
	}
}

struct pictures {
	const struct verdict *v;
	struct str *out;
};

static int add_picture(const struct figure *f, void *arg)
{
	const struct pictures *p = arg;
	struct picture picture;
	struct view view;
	int rc = 0;

	if (view_make(f->run, f->max_rows, f->metric, &view) < 0) {
		return -1;
	}
	if (view.n > 0 && (f->always || view.any_value)) {
		rc = picture_make(&view, p->v, &picture);
		if (rc == 0) {
			picture_svg(&picture, p->out);
			picture_release(&picture);
		}
	}
	view_release(&view);
	return rc;
}

static void add_header_row(const char *const names[], struct str *out)
{
	str_add(out, "<table><tr>");
	for (; *names; names++) {
		html_element(out, "th", *names);
	}
	str_add(out, "</tr>\n");
}

static void add_bad_cell(const struct run *run, int src, int dst,
			 struct str *out)
{
	size_t at = run_at(run, src, dst);
	const struct cell *c = &run->cells[at];
	char name[80];

	str_add(out, "<tr>");
	html_element(out, "td", part_rank_name(run, src, name, sizeof(name)));
	html_element(out, "td", part_rank_name(run, dst, name, sizeof(name)));
	html_element(out, "td", cell_class_name(c->class));
	if (isnan(c->bw_GB_s)) {
		str_add(out, "<td></td>");
	} else {
		str_addf(out, "<td>%.2f</td>", (double)c->bw_GB_s);
	}
	html_element(out, "td", run->codes[run->cell_code[at]]);
	html_element(out, "td", run->cell_detail[at] ? run->cell_detail[at] :
						       "");
	str_add(out, "</tr>\n");
}

static void add_bad_cells(const struct run *run, const struct verdict *v,
			  struct str *out)
{
	static const char *const names[] = {
		"sender", "receiver", "outcome", "GB/s", "code", "detail", NULL
	};
	size_t bad = v->cells[CELL_SLOW] + v->cells[CELL_FAIL] +
		     v->cells[CELL_TIMEOUT] + v->cells[CELL_CORRUPT];
	size_t shown = 0;

	if (bad == 0) {
		return;
	}
	html_element(out, "h2", "Cells that are not good");
	add_header_row(names, out);
	for (int s = 0; s < run->n_ranks; s++) {
		for (int d = 0; d < run->n_ranks; d++) {
			unsigned class = run_cell(run, s, d)->class;

			if (run_measured(class) && class != CELL_PASS &&
			    shown < HTML_MAX_CELLS) {
				add_bad_cell(run, s, d, out);
				shown++;
			}
		}
	}
	str_add(out, "</table>\n");
	if (bad > shown) {
		str_addf(out, "<p>%zu more are in results.csv.</p>\n",
			 bad - shown);
	}
}

static void add_facts(const struct run *run, struct str *out)
{
	static const char *const names[] = {
		"node", "scope", "fact", "value", "unit", "source", NULL
	};

	str_addf(out, "<details><summary>Facts (%zu)</summary>\n",
		 run->n_facts);
	add_header_row(names, out);
	for (size_t i = 0; i < run->n_facts && i < HTML_MAX_FACTS; i++) {
		const struct fact_row *f = &run->facts[i];

		str_add(out, "<tr>");
		html_element(out, "td", f->node);
		html_element(out, "td", f->scope);
		html_element(out, "td", f->fact);
		html_element(out, "td", f->value);
		html_element(out, "td", f->unit);
		html_element(out, "td", f->source);
		str_add(out, "</tr>\n");
	}
	str_add(out, "</table></details>\n");
}

static void add_events(const struct run *run, struct str *out)
{
	static const char *const names[] = {
		"time", "node", "rank", "event", "detail", NULL
	};

	str_addf(out, "<details><summary>Events (%zu)</summary>\n",
		 run->n_events);
	add_header_row(names, out);
	for (size_t i = 0; i < run->n_events && i < HTML_MAX_EVENTS; i++) {
		const struct event_row *ev = &run->events[i];

		str_add(out, "<tr>");
		html_element(out, "td", ev->utc);
		html_element(out, "td", ev->node);
		if (ev->rank == RECORD_NONE) {
			str_add(out, "<td></td>");
		} else {
			str_addf(out, "<td>%lld</td>", (long long)ev->rank);
		}
		html_element(out, "td", ev->event);
		html_element(out, "td", ev->detail);
		str_add(out, "</tr>\n");
	}
	str_add(out, "</table></details>\n");
}

static int add_run_json(const struct run *run, struct str *out)
{
	char *text = json_dumps(run->json, JSON_INDENT(2));

	if (!text) {
		return -1;
	}
	str_add(out, "<details><summary>run.json</summary>\n");
	html_element(out, "pre", text);
	str_add(out, "</details>\n");
	free(text);
	return 0;
}

int html_render(const char *dir, const struct run *run,
		const struct verdict *v, struct err *e)
{
	struct str out = STR_INIT;
	int rc = 0;

	add_head(run, v, &out);
	add_findings(run, v, &out);
	html_element(&out, "h2", "Heat map");
	if (figures_each(run, add_picture, &(struct pictures){
				.v = v, .out = &out }) < 0) {
		out.failed = true;
	}
	add_bad_cells(run, v, &out);
	html_element(&out, "h2", "Everything else");
	add_facts(run, &out);
	add_events(run, &out);
	if (add_run_json(run, &out) < 0) {
		out.failed = true;
	}
	str_add(&out, "</body></html>\n");
	rc = out.failed ? err_set(e, ENOMEM, "cannot write report.html") :
			  rundir_write_text(dir, "report.html", str_text(&out),
					    0666, e);
	str_release(&out);
	return rc;
}
