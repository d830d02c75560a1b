/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/show/show.h"

#include <math.h>
#include <string.h>

#include "lib/data/hostlist.h"
#include "lib/base/units.h"
#include "report/judge/caption.h"
#include "report/draw/figures.h"
#include "report/show/details.h"
#include "report/show/html_page.h"
#include "report/base/html_text.h"
#include "report/judge/next.h"
#include "report/model/part.h"
#include "report/draw/picture.h"

#define HTML_MAX_FINDINGS 200
#define HTML_MAX_CELLS	  500

static void add_head(const struct run *run, const struct verdict *v,
		     struct str *out)
{
	char text[CAPTION_SIZE];

	html_begin(run, verdict_status_name(v->status), out);
	html_element(out, "p", caption_what(run, text, sizeof(text)));
	html_element(out, "pre", caption_command(run, text, sizeof(text)));
	html_element(out, "p", caption_cells(run, text, sizeof(text)));
	html_notes(run, out);
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
	char name[PART_NAME_SIZE];

	html_finding_begin(f->fail, f->says, f->code, f->act, out);
	html_element(out, "li", details_score(f, name, sizeof(name)));
	for (size_t i = 0; i < f->n_evidence; i++) {
		html_element(out, "li", f->evidence[i]);
	}
	for (size_t i = 0; i < f->n_or; i++) {
		str_add(out, "<li>or: ");
		html_text(out, part_name(run, &f->or_parts[i], name,
					 sizeof(name)));
		str_add(out, "</li>");
	}
	html_finding_end(out);
}

static void add_findings(const struct run *run, const struct verdict *v,
			 struct str *out)
{
	struct str exclude = STR_INIT;

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
	if (next_exclude(run, v, &exclude)) {
		html_element(out, "p", str_text(&exclude));
	}
	str_release(&exclude);
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

static void add_bad_cell(const struct run *run, int src, int dst,
			 struct str *out)
{
	size_t at = run_at(run, src, dst);
	const struct cell *c = &run->cells[at];
	char name[80], bw[UNITS_REAL_SIZE];

	str_add(out, "<tr>");
	html_element(out, "td", part_rank_name(run, src, name, sizeof(name)));
	html_element(out, "td", part_rank_name(run, dst, name, sizeof(name)));
	html_element(out, "td", cell_class_name(c->class));
	if (isnan(c->bw_GB_s)) {
		str_add(out, "<td></td>");
	} else {
		html_element(out, "td",
			     units_real_text((double)c->bw_GB_s, 2, bw));
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
	html_header_row(names, out);
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

/** The ladder of failed pairs, row by row. */
static void add_diagnose(const struct run *run, struct str *out)
{
	static const char *const names[] = {
		"from", "to", "step", "outcome", "code", "detail", "run", NULL
	};

	if (run->n_diagnose == 0) {
		return;
	}
	html_element(out, "h2", "Ladder of failed pairs");
	html_header_row(names, out);
	for (size_t i = 0; i < run->n_diagnose; i++) {
		const struct diagnose_row *r = &run->diagnose[i];
		char name[80];

		str_add(out, "<tr>");
		snprintf(name, sizeof(name), "%s:%lld", r->src_node,
			 (long long)r->src_gpu);
		html_element(out, "td", name);
		snprintf(name, sizeof(name), "%s:%lld", r->dst_node,
			 (long long)r->dst_gpu);
		html_element(out, "td", name);
		html_element(out, "td", r->step);
		html_element(out, "td", outcome_name(r->outcome));
		html_element(out, "td", r->code);
		html_element(out, "td", r->detail);
		html_element(out, "td", r->dir);
		str_add(out, "</tr>\n");
	}
	str_add(out, "</table>\n");
}

int html_render(const char *dir, const struct run *run,
		const struct verdict *v, struct err *e)
{
	struct str out = STR_INIT;
	int rc;

	add_head(run, v, &out);
	add_findings(run, v, &out);
	html_element(&out, "h2", "Heat map");
	if (figures_each(run, add_picture, &(struct pictures){
				.v = v, .out = &out }) < 0) {
		out.failed = true;
	}
	add_diagnose(run, &out);
	add_bad_cells(run, v, &out);
	html_end(run, &out);
	rc = html_write(dir, &out, e);
	str_release(&out);
	return rc;
}
