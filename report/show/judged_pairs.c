/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of pairs, as one of the kinds of run that can be judged. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "report/base/wrap.h"
#include "report/draw/draw.h"
#include "report/judge/accepted.h"
#include "report/judge/caption.h"
#include "report/judge/findings.h"
#include "report/judge/pairs.h"
#include "report/model/expected.h"
#include "report/model/part.h"
#include "report/model/ping_run.h"
#include "report/show/html_page.h"
#include "report/show/judged.h"

/* ---- table --------------------------------------------------------------- */

/** More cells than this are a heat map's business, but for the slowest. */
#define TABLE_MAX 32
#define TABLE_WORST 16
#define END_MAX 24

/** Compare two cells by which should be seen first. */
static int worse(const struct run *run, size_t a, size_t b)
{
	float x = run->cells[a].bw_GB_s, y = run->cells[b].bw_GB_s;
	double p = run_line_share(run, a), q = run_line_share(run, b);

	if (!isnan(p) && !isnan(q) && p != q) {
		return p < q ? -1 : 1;
	}
	return x < y ? -1 : x > y;
}

/** The @max slowest measured cells, slowest first; returns how many. */
static size_t find_slowest(const struct run *run, size_t max, size_t *out)
{
	size_t n = run_n_cells(run), found = 0;

	for (size_t at = 0; at < n; at++) {
		size_t k = found;

		if (isnan(run->cells[at].bw_GB_s)) {
			continue;
		}
		while (k > 0 && worse(run, at, out[k - 1]) < 0) {
			k--;
		}
		if (k == max) {
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

static int widest_end(const struct run *run)
{
	int widest = 4;		/* "from" */

	for (int r = 0; r < run->n_ranks; r++) {
		char text[160];
		int width = end_text(run, r, text);

		widest = width > widest ? width : widest;
	}
	return widest < END_MAX ? widest : END_MAX;
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

static void add_row(const struct run *run, size_t at, int width,
		    struct str *out)
{
	const struct cell *c = &run->cells[at];
	char from[160], to[160];

	end_text(run, run_src(run, at), from);
	end_text(run, run_dst(run, at), to);
	str_addf(out, "%-*.*s %-*.*s ", width, width, from, width, width, to);
	add_number((double)c->bw_GB_s, 7, 3, "", out);
	add_number((double)c->bw_GB_s * 8, 8, 2, "", out);
	add_number(100 * run_line_share(run, at), 6, 0, " %", out);
	add_number((double)c->lat_us, 8, 2, "", out);
	if (c->class == CELL_PASS) {
		str_addf(out, " %s\n", run->paths[run->cell_way[at]]);
	} else {
		str_addf(out, " %s %s\n", cell_class_name(c->class),
			 run_cell_code(run, at));
	}
}

void table_render(const struct run *run, struct str *out)
{
	size_t all = run_n_cells(run);
	size_t shown[TABLE_MAX], cells = 0, n;
	int width = widest_end(run);

	for (size_t at = 0; at < all; at++) {
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
		n = find_slowest(run, TABLE_WORST, shown);
		str_addf(out, "the %zu slowest of %zu tests\n", n, cells);
	}
	str_addf(out, "%-*s %-*s %7s %8s %6s %8s  %s\n", width, "from", width,
		 "to", "GB/s", "Gb/s", "line", "us", "path");
	for (size_t i = 0; i < n; i++) {
		add_row(run, shown[i], width, out);
	}
}

/* ---- html pairs ---------------------------------------------------------- */

#define HTML_MAX_CELLS	  500

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

/* Body for pairs: maps, the tests of failed pairs, tests that are not good. */
static void html_pairs(const struct judged *j, const char *dir, struct str *out)
{
	struct pictures p = { .v = &j->verdict, .drawn = j->drawn,
			      .out = out };
	struct str text = STR_INIT;

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
	/* add the facts on which nodes differ */
	if (j->run.n_nodes > 1 && info_table(&j->run, 120, 1, 20, &text) == 0 &&
	    text.len > 0) {
		html_element(out, "h2", "Facts that differ");
		html_element(out, "pre", str_text(&text));
	}
	str_release(&text);
	html_data(j, out);
}

/* ---- judged pairs -------------------------------------------------------- */

/** The earlier run that is @reference, to the empty @then, and where it is to
 *  @dir: 0, or -1 with @e where it is none that @now can stand beside. */
static int read_accepted(const char *reference, const struct run *now,
			 char dir[PATH_MAX], struct run *then, struct err *e)
{
	struct str why = STR_INIT;

	if (reference_find(reference, now->probe, dir, e) != 0 ||
	    levels_read(dir, then, e) < 0) {
		return -1;
	}
	if (accepted_unlike(then, now, &why)) {
		err_set(e, 0, "the reference '%.200s' is not like this run: "
			"%.200s", reference, str_text(&why));
		err_hint(e, "measure as it was measured, or take one that was "
			 "measured so");
		run_release(then);
	}
	str_release(&why);
	return e->text[0] ? -1 : 0;
}

/** Beside @reference.  One that is @asked for now must be there and be alike;
 *  of one that the run was given the verdict says that it is not. */
static int judge_beside(const char *reference, bool asked, struct judged *j,
			struct err *e)
{
	struct err why = { 0 };
	char dir[PATH_MAX] = "";
	struct run then = { 0 };
	bool read = read_accepted(reference, &j->run, dir, &then, &why) == 0;
	int rc;

	if (!read && asked) {
		*e = why;
		return -1;
	}
	rc = verdict_compute_beside(&j->run, read ? &then : NULL, &j->verdict);
	if (rc == 0) {
		struct accepted *a = &j->verdict.accepted;

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

	if (levels_read(dir, &j->run, e) < 0) {
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

static int pairs_below(const struct judged *j, int width,
		       enum term_style style, struct str *out)
{
	str_addch(out, '\n');
	if (j->run.ports) {
		table_render(&j->run, out);
		str_addch(out, '\n');
	}
	return term_render(&j->run, &j->verdict,
			   width > 0 ? width : JUDGED_FILE_WIDTH, style, out);
}

static int pairs_draw(const struct judged *j, const char *dir, struct err *e)
{
	return heatmap_render(dir, &j->run, &j->verdict, false, j->drawn, e);
}

#define PAIRS_SHOWN \
	.head = pairs_head, .note = pairs_note, .below = pairs_below, \
	.html = html_pairs, .draw = pairs_draw

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
