/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/show/html_page.h"

#include <math.h>
#include <string.h>

#include "lib/base/units.h"
#include "report/draw/figures.h"
#include "report/base/html_text.h"
#include "report/model/part.h"
#include "report/show/tables.h"

#define HTML_MAX_CELLS	  500

struct pictures {
	const struct verdict *v;
	const struct drawn *drawn;	/* as they are in their files */
	struct str *out;
	size_t bytes;		/* of those in the page */
	bool linked;		/* some are not */
};

static void add_link(struct pictures *p, const char *name)
{
	str_add(p->out, p->linked ? ", " : "<p>More maps: ");
	p->linked = true;
	str_add(p->out, "<a href=\"");
	html_text(p->out, name);
	str_add(p->out, ".svg\">");
	html_text(p->out, name);
	str_add(p->out, "</a>");
}

/** @len bytes, which are there where the page has room: the first map is in it
 *  whatever it has, the rest beside it, in files. */
static void add_svg(struct pictures *p, const char *name, const char *svg,
		    size_t len)
{
	if (len == 0) {
		return;
	}
	if (svg && (p->bytes == 0 ||
		    (!p->linked && p->bytes + len <= DRAWN_BYTES))) {
		p->bytes += len;
		str_addmem(p->out, svg, len);
	} else {
		add_link(p, name);
	}
}

/** One that was not drawn into a file, as none could be. */
static int lay_out(struct pictures *p, const struct figure *f)
{
	struct str svg = STR_INIT;
	struct picture picture;
	int rc = figure_picture(f, p->v, &picture);

	if (rc == 0) {
		picture_svg(&picture, &svg);
	}
	picture_release(&picture);
	add_svg(p, f->name, svg.data, svg.len);
	p->out->failed |= svg.failed;
	str_release(&svg);
	return rc < 0 ? -1 : 0;
}

static int add_picture(const struct figure *f, void *arg)
{
	struct pictures *p = arg;
	const struct drawn_map *m =
		p->drawn ? drawn_find(p->drawn, f->name) : NULL;

	if (!m) {
		return lay_out(p, f);
	}
	add_svg(p, m->name, m->svg.data, m->len);
	return 0;
}

static void add_bad_cell(const struct run *run, size_t at, struct str *out)
{
	const struct cell *c = &run->cells[at];
	char from[80], to[80], bw[UNITS_REAL_SIZE];

	html_row((const char *const[]){
		part_rank_name(run, run_src(run, at), from, sizeof(from)),
		part_rank_name(run, run_dst(run, at), to, sizeof(to)),
		cell_class_name(c->class),
		html_real((double)c->bw_GB_s, 2, bw),
		run_cell_code(run, at), run_cell_detail(run, at), NULL
	}, out);
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
	html_element(out, "h2", "Failed and slow tests");
	html_header_row(names, out);
	for (size_t at = 0; at < run_n_cells(run) && shown < HTML_MAX_CELLS;
	     at++) {
		unsigned class = run->cells[at].class;

		if (run_measured(class) && class != CELL_PASS) {
			add_bad_cell(run, at, out);
			shown++;
		}
	}
	str_add(out, "</table>\n");
	if (bad > shown) {
		str_addf(out, "<p>%zu more are in results.csv.</p>\n",
			 bad - shown);
	}
}

/** The tests of failed pairs, row by row. */
static void add_diagnose(const struct run *run, struct str *out)
{
	static const char *const names[] = {
		"from", "to", "step", "outcome", "code", "detail", "run", NULL
	};

	if (run->n_diagnose == 0) {
		return;
	}
	html_element(out, "h2", "Failed pairs, layer by layer");
	html_header_row(names, out);
	for (size_t i = 0; i < run->n_diagnose; i++) {
		const struct diagnose_row *r = &run->diagnose[i];
		char from[80], to[80];

		snprintf(from, sizeof(from), "%s:%lld", r->src_node,
			 (long long)r->src_gpu);
		snprintf(to, sizeof(to), "%s:%lld", r->dst_node,
			 (long long)r->dst_gpu);
		html_row((const char *const[]){ from, to, r->step,
						outcome_name(r->outcome),
						r->code, r->detail, r->dir,
						NULL }, out);
	}
	str_add(out, "</table>\n");
}

/** What some nodes say and not all. */
static void add_differences(const struct run *run, struct str *out)
{
	struct str text = STR_INIT;

	if (run->n_nodes > 1 && info_table(run, 120, 1, 20, &text) == 0 &&
	    text.len > 0) {
		html_element(out, "h2", "Facts that differ");
		html_element(out, "pre", str_text(&text));
	}
	str_release(&text);
}

void html_pairs(const struct judged *j, const char *dir, struct str *out)
{
	struct pictures p = { .v = &j->verdict, .drawn = j->drawn,
			      .out = out };

	(void)dir;	/* they are drawn into the page */
	/* the script draws these in place of what is still */
	str_add(out, "<div id=\"map\"></div><div id=\"bins\"></div>"
		"<div id=\"tests\"></div>\n<div class=\"still\">");
	html_element(out, "h2", "Heat map");
	if (figures_each(&j->run, &j->verdict, add_picture, &p) < 0) {
		out->failed = true;
	}
	str_add(out, p.linked ? ".</p>\n" : "");
	add_bad_cells(&j->run, &j->verdict, out);
	str_add(out, "</div>\n");
	add_diagnose(&j->run, out);
	add_differences(&j->run, out);
	html_data(j, out);
}
