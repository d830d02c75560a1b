/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of pairs, as one of the kinds of run that can be judged. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "report/base/wrap.h"
#include "report/draw/draw.h"
#include "report/draw/picture.h"
#include "report/judge/accepted.h"
#include "report/judge/caption.h"
#include "report/judge/diagnose.h"
#include "report/judge/findings.h"
#include "report/judge/pairs.h"
#include "report/model/run.h"
#include "report/model/part.h"
#include "report/model/sweep.h"
#include "report/show/html_page.h"
#include "report/show/judged.h"

/* ---- table --------------------------------------------------------------- */

/** More cells than this are a heat map's business, but for the slowest. */
#define TABLE_MAX 32
#define TABLE_WORST (TABLE_MAX / 2)
#define END_MAX 34
#define END_MIN 16
#define TABLE_LINE 80

/** The @max slowest cells that passed, slowest first, by their share of the
 *  line if both are known; returns how many. */
static size_t find_slowest(const struct run *run, size_t max, size_t *out)
{
	size_t found = 0;

	run_foreach_cell(run, at) {
		const float bw = run->cells[at].bw_GB_s;
		const double share = run_line_share(run, at);
		size_t k = found;

		for (; k > 0 && !isnan(bw); k--) {
			const double other = run_line_share(run, out[k - 1]);

			if (!isnan(share) && !isnan(other) && share != other ?
				    share > other :
				    bw >= run->cells[out[k - 1]].bw_GB_s) {
				break;
			}
		}
		if (isnan(bw) || !run_good(run->cells[at].class) || k == max) {
			continue;
		}
		found += found < max;
		memmove(&out[k + 1], &out[k],
			(found - 1 - k) * sizeof(*out));
		out[k] = at;
	}
	return found;
}

/** "n0:1 mlx5_1" */
static int end_text(const struct run *run, int rank, char text[160])
{
	char name[80];

	return snprintf(text, 160, "%s %s",
			part_rank_name(run, rank, name, sizeof(name)),
			run->ranks[rank].nic_name);
}

/** The path of a test that passed, or what became of it. */
static int last_text(const struct run *run, size_t at, char text[160])
{
	const unsigned class = run->cells[at].class;

	return snprintf(text, 160, "%s%s%s",
			class == CELL_PASS ? "" : cell_class_name(class),
			class == CELL_PASS ? "" : " ",
			class == CELL_PASS ? run->paths[run->cell_way[at]] :
					     run_cell_code(run, at));
}

/** A number, or nothing where it was not measured. */
static void add_number(double value, int width, int digits, const char *unit,
		       struct str *out)
{
	int rest = width - (int)strlen(unit);
	char text[UNITS_REAL_SIZE];

	if (isnan(value)) {
		str_addf(out, "%*s ", width, "-");
	} else {
		str_addf(out, "%*s%s ", rest,
			 units_real_text(value, digits, text), unit);
	}
}

/** Add the rows of the @n cells in @shown.  If a line had more than TABLE_LINE
 *  columns, it is without Gb/s, and names of ends lose their beginning: the end
 *  of a name tells the port. */
static void add_rows(const struct run *run, const size_t *shown, size_t n,
		     struct str *out)
{
	char end[2][160], last[160];
	int width = 4, tail = 4, rest;	/* "from", "path" */
	bool narrow;

	for (size_t i = 0; i < 2 * n; i++) {
		const size_t at = shown[i % n];
		int wide = end_text(run, i < n ? run_src(run, at) :
						 run_dst(run, at), last);

		width = wide > width ? wide : width;
		wide = last_text(run, at, last);
		tail = wide > tail ? wide : tail;
	}
	width = width < END_MAX ? width : END_MAX;
	narrow = 2 * width + 36 + tail > TABLE_LINE;
	rest = (TABLE_LINE - 27 - tail) / 2;
	if (narrow && width > rest) {
		width = rest > END_MIN ? rest : END_MIN;
	}
	str_addf(out, "%-*s %-*s %7s %s%6s %8s  %s\n", width, "from", width,
		 "to", "GB/s", narrow ? "" : "    Gb/s ", "line", "us", "path");
	for (size_t i = 0; i < n; i++) {
		const struct cell *c = &run->cells[shown[i]];

		for (int k = 0; k < 2; k++) {
			int len = end_text(run, k ? run_dst(run, shown[i]) :
						    run_src(run, shown[i]),
					   end[k]);

			str_addf(out, "%-*s ", width, end[k] +
				 (len > width ? len - width : 0));
		}
		add_number((double)c->bw_GB_s, 7, 3, "", out);
		if (!narrow) {
			add_number((double)c->bw_GB_s * 8, 8, 2, "", out);
		}
		add_number(100 * run_line_share(run, shown[i]), 6, 0, " %",
			   out);
		add_number((double)c->lat_us, 8, 2, "", out);
		last_text(run, shown[i], last);
		str_addf(out, " %s\n", last);
	}
}

void table_render(const struct run *run, struct str *out)
{
	size_t shown[TABLE_MAX], cells = 0, bad = 0, n;

	run_foreach_cell(run, at) {
		if (run->cells[at].class == CELL_UNPLANNED) {
			continue;
		}
		if (cells < TABLE_MAX) {
			shown[cells] = at;
		}
		cells++;
	}
	if (cells == 0) {
		return;
	}
	n = cells;
	if (cells > TABLE_MAX) {
		/* the first that failed instead of the first */
		run_foreach_cell(run, at) {
			const unsigned class = run->cells[at].class;

			if (bad < TABLE_WORST && run_measured(class) &&
			    !run_good(class)) {
				shown[bad++] = at;
			}
		}
		n = bad + find_slowest(run, TABLE_WORST, shown + bad);
		if (bad > 0) {
			str_addf(out, "%zu failed test%s, then ", bad,
				 bad == 1 ? "" : "s");
		}
		str_addf(out, "the %zu slowest of %s tests\n", n - bad,
			 UNITS_COUNT(cells));
	}
	add_rows(run, shown, n, out);
}

/* ---- sizes --------------------------------------------------------------- */

/** Add the table of each class of paths if several sizes were measured; 0, or
 *  -1 without memory. */
static int sizes_render(const struct run *run, struct str *out)
{
	struct sweep s;
	int rc = sweep_of_pairs(run, &s, NULL);

	for (size_t i = 0; rc == 0 && i < s.n_curves; i++) {
		const struct curve *c = &s.curves[i];

		str_addf(out, "%s, by size: median and range of good tests\n"
			 "%12s %8s %8s %8s %8s %7s\n", curve_words(c), "size",
			 "GB/s", "Gb/s", "lowest", "highest", "tests");
		for (size_t k = 0; k < c->n; k++) {
			const struct collective_row *r = c->rows[k];
			const double bytes = (double)r->size_B / 1e3;
			char size[32];

			units_size_text((uint64_t)r->size_B, size,
					sizeof(size));
			str_addf(out, "%12s ", size);
			add_number(r->busbw_GB_s, 8, 3, "", out);
			add_number(8 * r->busbw_GB_s, 8, 2, "", out);
			add_number(bytes / r->time_max_us, 8, 3, "", out);
			add_number(bytes / r->time_min_us, 8, 3, "", out);
			str_addf(out, "%7s\n", UNITS_COUNT(r->count));
		}
		str_addch(out, '\n');
	}
	sweep_release(&s);
	return rc;
}

/* ---- html pairs ---------------------------------------------------------- */

#define HTML_MAX_CELLS	  500
/** Sets of nodes whose facts are listed. */
#define FACT_SETS 20

struct pictures {
	const struct verdict *v;
	const struct drawn *drawn;	/* as they are in their files */
	struct str *out;
	size_t bytes;		/* of those in the page */
	bool linked;		/* some are not */
};

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
		str_add(p->out, p->linked ? ", " : "<p>More maps: ");
		p->linked = true;
		str_add(p->out, "<a href=\"");
		html_text(p->out, name);
		str_add(p->out, ".svg\">");
		html_text(p->out, name);
		str_add(p->out, "</a>");
	}
}

static int add_picture(const struct figure *f, void *arg)
{
	struct pictures *p = arg;
	const struct drawn_map *m =
		p->drawn ? drawn_find(p->drawn, f->name) : NULL;
	struct str svg = STR_INIT;
	struct picture picture;
	int rc;

	if (m) {
		add_svg(p, m->name, m->svg.data, m->len);
		return 0;
	}
	/* not drawn into a file, as none could be */
	rc = figure_picture(f, p->v, &picture);
	if (rc == 0) {
		picture_svg(&picture, &svg);
	}
	picture_release(&picture);
	add_svg(p, f->name, svg.data, svg.len);
	p->out->failed |= svg.failed;
	str_release(&svg);
	return rc < 0 ? -1 : 0;
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
			const struct cell *c = &run->cells[at];
			char from[80], to[80], bw[UNITS_REAL_SIZE];

			html_row(
				(const char *const[]){
					part_rank_name(run, run_src(run, at),
						       from, sizeof(from)),
					part_rank_name(run, run_dst(run, at),
						       to, sizeof(to)),
					cell_class_name(c->class),
					html_real((double)c->bw_GB_s, 2, bw),
					run_cell_code(run, at),
					run_cell_detail(run, at), NULL},
				out);
			shown++;
		}
	}
	str_add(out, "</table>\n");
	if (bad > shown) {
		str_addf(out, "<p>%zu more are in results.csv.</p>\n",
			 bad - shown);
	}
}

/** Add the rates of each slow pair of --diagnose by layer, next to those of the
 *  good pair and of the link, as tables for a screen of @width columns. */
static void layers_text(const struct run *run, int width, struct str *out)
{
	static const struct table_column columns[] = {
		{ .name = "layer or setting" },
		{ .name = "GB/s", .right = true },
		{ .name = "good pair", .right = true },
		{ .name = "link", .right = true, .spare = true },
	};

	for (size_t i = 0; i < run->n_diagnose; i++) {
		const struct diagnose_row *first = &run->diagnose[i];
		struct table t = { .columns = columns, .n_columns = 4,
				   .indent = 2 };
		double GB_s[DIAGNOSE_RATES];
		const char *name;

		if (!diagnose_is_slow(run, i)) {
			continue;
		}
		for (size_t n = 0; diagnose_rates(run, first, n, &name, GB_s);
		     n++) {
			table_add(&t, name);
			for (int k = 0; k < DIAGNOSE_RATES; k++) {
				table_add(&t, GB_s[k] > 0 ?
						  UNITS_REAL(GB_s[k], 1) : "");
			}
		}
		if (table_rows(&t) > 0) {
			str_addf(out, "%s to %s by layer\n",
				 CLUSTER_GPU(first->src_node, first->src_gpu),
				 CLUSTER_GPU(first->dst_node, first->dst_gpu));
			table_text(&t, width, out);
			str_addch(out, '\n');
		}
		table_release(&t);
	}
}

/** Add the tests of --diagnose; each rate is a bar, the fastest a full one.
 *  Below are pictures of the rates of each slow pair by layer. */
static void layers_html(const struct run *run, struct str *out)
{
	static const struct table_column columns[] = {
		{ .name = "from" }, { .name = "to" },
		{ .name = "layer or setting" },
		{ .name = "GB/s", .right = true },
		{ .name = "link", .right = true, .spare = true },
		{ .name = "outcome" }, { .name = "code", .spare = true },
		{ .name = "detail", .spare = true }, { .name = "run" },
	};
	struct table t = { .title = "Failed and slow pairs, layer by layer",
			   .columns = columns,
			   .n_columns = sizeof(columns) / sizeof(*columns) };
	double most = 0;	/* of the bars */
	double GB_s[DIAGNOSE_RATES];
	struct picture p = { 0 };
	const char *name;

	for (size_t i = 0; i < run->n_diagnose; i++) {
		most = fmax(most, run->diagnose[i].bw_GB_s);
	}
	for (size_t i = 0; i < run->n_diagnose; i++) {
		const struct diagnose_row *r = &run->diagnose[i];

		table_addf(&t, "%s:%lld", r->src_node, (long long)r->src_gpu);
		table_addf(&t, "%s:%lld", r->dst_node, (long long)r->dst_gpu);
		table_add(&t, diagnose_says(r->step));
		table_real(&t, 3, r->bw_GB_s);
		if (r->bw_GB_s > 0) {
			table_bar(&t, r->bw_GB_s / most);
		}
		table_real(&t, 3, r->expected_GB_s);
		table_add(&t, outcome_name(r->outcome));
		table_add(&t, r->code);
		table_add(&t, r->detail);
		table_add(&t, r->dir);
	}
	table_html(&t, "h2", out);
	table_release(&t);
	for (size_t i = 0; i < run->n_diagnose; i++) {
		const struct diagnose_row *first = &run->diagnose[i];

		if (diagnose_is_slow(run, i) &&
		    diagnose_rates(run, first, 0, &name, GB_s)) {
			out->failed |= layer_bars(run, first, &p) < 0;
			picture_svg(&p, out);
			picture_release(&p);
		}
	}
}

/** Body for pairs: maps, tests that are not good, the tests of failed pairs row
 *  by row, and the facts on which nodes differ. */
static void html_pairs(const struct judged *j, const char *dir, struct str *out)
{
	struct pictures p = { .v = &j->verdict, .drawn = j->drawn,
			      .out = out };
	const struct run *run = &j->run;
	struct str sizes = STR_INIT;

	/* the script draws these in place of what is still */
	str_add(out, "<div id=\"map\"></div>\n<div class=\"still\">");
	html_element(out, "h2", "Heat map");
	if (figures_each(run, &j->verdict, add_picture, &p) < 0) {
		out->failed = true;
	}
	str_add(out, p.linked ? ".</p>\n" : "");
	str_add(out, "</div><div id=\"bins\"></div><div id=\"tests\"></div>\n"
		"<div class=\"still\">");
	add_bad_cells(run, &j->verdict, out);
	str_add(out, "</div>\n");
	out->failed |= sizes_render(run, &sizes) < 0;
	if (sizes.len > 0) {
		html_element(out, "h2", "Bandwidth by size");
		html_picture(dir, "curves.svg", "bandwidth by size", out);
		html_element(out, "pre", str_text(&sizes));
	}
	str_release(&sizes);
	layers_html(run, out);
	html_data(j, out);
}

static void pairs_tables(const struct judged *j, struct tables *to)
{
	struct table t;

	if (j->run.n_nodes > 1) {
		t.text.failed = info_facts(&j->run, 1, FACT_SETS, &t) < 0;
		t.title = "Facts that differ";
		tables_add(to, &t);
	}
}

/** Median bandwidth by class of path; of addresses the round trip. */
static const char *pairs_figure(const struct judged *j, int i, char *buf,
				size_t size)
{
	static const char *const names[PATH_CLASSES] = {
		[PATH_INTRA] = "median inside nodes",
		[PATH_INTER] = "median between nodes",
		[PATH_NVLINK] = "median, NVLink between nodes",
	};
	const struct run *run = &j->run;
	char value[UNITS_REAL_SIZE];

	if (run->mesh) {
		double median = caption_round_trip(run);

		snprintf(buf, size, "%.0f µs", median);
		return i == 0 && !isnan(median) ? "median round trip" : NULL;
	}
	for (int p = 0; p < PATH_CLASSES; p++) {
		const double median = run->slow[p].median_GB_s;

		if (median > 0 && i-- == 0) {
			snprintf(buf, size, "%s GB/s",
				 units_real_text(median, median < 100 ? 1 : 0,
						 value));
			return names[p];
		}
	}
	return NULL;
}

/* ---- judged pairs -------------------------------------------------------- */

/** Judge beside @reference, an earlier run.  One that is @asked for now must be
 *  there and be alike; of one that the run was given the verdict says that it
 *  is not. */
static int judge_beside(const char *reference, bool asked, struct judged *j,
			struct err *e)
{
	struct accepted *a = &j->verdict.accepted;
	struct err why = { 0 };
	struct str unlike = STR_INIT;
	char dir[PATH_MAX] = "";
	struct run then = { 0 };
	bool read = reference_find(reference, j->run.probe, dir, &why) == 0 &&
		    levels_read(dir, &then, &why) == 0;
	int rc;

	if (read && accepted_unlike(&then, &j->run, &unlike)) {
		err_set(&why, 0, "the reference '%.200s' is not like this run: "
			"%.200s", reference, str_text(&unlike));
		err_hint(&why, "measure as it was measured, or take one that "
			 "was measured so");
		run_release(&then);
		read = false;
	}
	str_release(&unlike);
	if (!read && asked) {
		*e = why;
		return -1;
	}
	rc = verdict_compute_beside(&j->run, read ? &then : NULL, &j->verdict);
	if (rc == 0) {
		str_copy(a->dir, sizeof(a->dir), dir[0] ? dir : reference);
		STR_COPY(a->why_not, why.text);
	}
	if (read) {
		run_release(&then);
	}
	return rc;
}

static int pairs_judge(const char *dir, struct judged *j, struct err *e)
{
	const char *own, *reference = j->ask.reference;

	if (levels_read(dir, &j->run, e) < 0 ||
	    accept_parse(j->ask.accept, &j->run.accept, &j->run.n_accept,
			 e) < 0) {
		return -1;
	}
	if (j->ask.slow_percent > 0) {
		j->run.slow_percent = j->ask.slow_percent;
	}
	own = j->run.foreign ? NULL :
	      json_string_value(run_option(&j->run, "reference"));
	own = own ? own : "";
	if (reference[0] || own[0]) {
		bool asked = reference[0] && strcmp(reference, own) != 0;

		return judge_beside(asked ? reference : own, asked, j, e);
	}
	return verdict_compute(&j->run, &j->verdict);
}

/** Paths between addresses: read otherwise, judged and shown as pairs are. */
static int ping_judge(const char *dir, struct judged *j, struct err *e)
{
	return ping_run_read(dir, &j->run, e) < 0 ?
		       -1 : verdict_compute(&j->run, &j->verdict);
}

static bool pairs_head(const struct judged *j, int i, char *buf, size_t size)
{
	if (i == 0) {
		caption_what(&j->run, buf, size);
	} else if (i == 1) {
		caption_cells(&j->run, buf, size);
	}
	return i < 2;
}

/** Write line @i from 0 of: reference, bandwidth by path, share of the line
 *  rate, contrast with the other pass; absent ones are skipped. */
static bool pairs_note(const struct judged *j, int i, char *buf, size_t size)
{
	for (int k = 0; accepted_note(&j->verdict.accepted, k, buf, size);
	     k++) {
		if (i-- == 0) {
			return true;
		}
	}
	for (int c = 0; c < 2 * PATH_CLASSES + 1; c++) {
		bool there = c < PATH_CLASSES ?
			caption_bandwidth(&j->run, (enum path_class)c, buf,
					  size) :
			c == PATH_CLASSES ? caption_line(&j->run, buf, size) :
			caption_contrast(&j->run, (enum path_class)
					 (c - PATH_CLASSES - 1), buf, size);

		if (there && i-- == 0) {
			return true;
		}
	}
	return false;
}

#define MAP_RANKS 16

/** A map of what is good says little when it is large. */
static bool is_map_wanted(const struct judged *j)
{
	const size_t *cells = j->verdict.cells;

	return j->ask.map == WHEN_ALWAYS ||
	       (j->ask.map == WHEN_AUTO &&
		(j->run.n_ranks <= MAP_RANKS || j->verdict.n > 0 ||
		 cells[CELL_SLOW] + cells[CELL_FAIL] + cells[CELL_TIMEOUT] +
			 cells[CELL_CORRUPT] > 0));
}

static int pairs_below(const struct judged *j, int width,
		       enum term_style style, struct str *out)
{
	if (j->run.ports || is_map_wanted(j)) {
		str_addch(out, '\n');
	}
	layers_text(&j->run, width > 0 ? width : JUDGED_FILE_WIDTH, out);
	if (j->run.ports) {
		table_render(&j->run, out);
		str_addch(out, '\n');
	}
	if (sizes_render(&j->run, out) < 0) {
		return -1;
	}
	return term_render(&j->run, &j->verdict,
			   width > 0 ? width : JUDGED_FILE_WIDTH, style,
			   is_map_wanted(j) ? TERM_FIGURES : TERM_NO_MAP, out);
}

static int pairs_draw(const struct judged *j, const char *dir, struct err *e)
{
	struct sweep s;
	int rc = heatmap_render(dir, &j->run, &j->verdict, false, j->drawn, e);

	if (rc == 0) {
		rc = sweep_of_pairs(&j->run, &s, e);
		rc = rc == 0 && s.n_curves > 0 ?
			     curves_render(dir, &s, NULL, &j->verdict,
					   j->ask.log_scale, e) : rc;
		sweep_release(&s);
	}
	return rc;
}

#define PAIRS_SHOWN \
	.head = pairs_head, .note = pairs_note, .below = pairs_below, \
	.html = html_pairs, .draw = pairs_draw, .tables = pairs_tables, \
	.figure = pairs_figure

const struct judged_kind judged_pairs = {
	.probe = "p2p",
	.judge = pairs_judge,
	.references = true,
	PAIRS_SHOWN,
};

const struct judged_kind judged_ping = {
	.probe = "ping",
	.judge = ping_judge,
	PAIRS_SHOWN,
};
