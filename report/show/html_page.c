/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/show/html_page.h"

#include <errno.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "report/base/wrap.h"
#include "report/draw/view.h"
#include "report/judge/caption.h"
#include "report/judge/tell.h"
#include "report/model/part.h"
#include "report/model/run.h"
#include "report/show/judged.h"

/* ---- html data ----------------------------------------------------------- */

/*
 * The tests of a run of pairs, for the script of report.html: a length, so many
 * bytes of JSON, then a column of bytes after the other, all of it compressed.
 * data/html/page.js reads them in the same order.
 */

/** More cells make a page that no browser likes; its words stay. */
#define MAX_CELLS   (4 << 20)
#define MAX_MARKED  32		/* findings that the map shows, ... */
#define MAX_BITS    (32 << 20)	/* ... a bit for each cell and finding */
#define MAX_DETAILS 2000
/** Figures travel as logarithms, in two bytes: 0.2 % apart, from this on. */
#define STEP	    0.002
#define LEAST	    1e-6
#define SHADES	    32

static unsigned logarithm(double value)
{
	double at = value > LEAST ? 1.5 + log(value / LEAST) / STEP : 0;

	return at < UINT16_MAX ? (unsigned)at : UINT16_MAX;
}

/** @n bytes more; NULL without memory. */
static char *more(struct str *raw, size_t n)
{
	static const char zeros[4096];
	size_t from = raw->len;

	for (size_t left = n; left > 0;) {
		size_t k = left < sizeof(zeros) ? left : sizeof(zeros);

		str_addmem(raw, zeros, k);
		left -= k;
	}
	return raw->failed ? NULL : raw->data + from;
}

static void add_columns(const struct run *run, struct str *raw)
{
	const size_t n = run_n_cells(run);
	const size_t n_wide = run->grid.first ? 6 : 4;
	char *bytes = more(raw, 3 * n), *wide;

	for (size_t at = 0; bytes && at < n; at++) {
		const struct cell *c = &run->cells[at];

		bytes[at] = (char)c->class;
		bytes[n + at] = (char)c->path;
		bytes[2 * n + at] = (char)(c->attempt < 255 ? c->attempt : 255);
	}
	wide = more(raw, 2 * n * n_wide);
	for (size_t at = 0; wide && at < n; at++) {
		const struct cell *c = &run->cells[at];
		const unsigned values[] = {
			logarithm((double)c->bw_GB_s),
			logarithm((double)c->lat_us),
			logarithm((double)c->expected_GB_s),
			run->cell_code[at],
			(unsigned)run_src(run, at), (unsigned)run_dst(run, at),
		};

		for (size_t i = 0; i < n_wide; i++) {
			wide[2 * n * i + at] = (char)values[i];
			wide[2 * n * i + n + at] = (char)(values[i] >> 8);
		}
	}
}

/** How tests are coloured, as in pictures: the colours of classes, the scale of
 *  good tests and that of slow ones. */
static json_t *colors_json(void)
{
	json_t *classes = json_array(), *scale = json_array();
	json_t *slow = json_array();

	for (unsigned c = 0; c < CELL_CLASSES; c++) {
		const struct palette_entry *e = palette_class(c);

		json_array_append_new(classes,
				      json_integer(e ? e->fill : 0));
	}
	for (int i = 0; i < SHADES; i++) {
		const double place = (double)i / (SHADES - 1);

		json_array_append_new(scale,
				      json_integer(palette_scale(place)));
		json_array_append_new(slow,
				      json_integer(palette_slow(place)));
	}
	return json_pack("{s:o, s:o, s:o, s:i, s:f, s:f, s:f}", "classes",
			 classes, "scale", scale, "slow", slow, "no_figure",
			 PALETTE_NO_FIGURE, "median_at", SCALE_MEDIAN,
			 "least_range", SCALE_LEAST_RANGE, "deviations",
			 (double)SCALE_DEVIATIONS);
}

static json_t *header_json(const struct judged *j, size_t marked)
{
	const struct run *run = &j->run;
	json_t *ranks = json_array(), *nodes = json_array();
	json_t *codes = json_array(), *slow = json_array();
	json_t *classes = json_array(), *counts = json_array();
	json_t *findings = json_array(), *details = json_object();
	char text[160];
	size_t kept = 0;

	for (int i = 0; i < run->n_ranks; i++) {
		json_array_append_new(ranks, json_text(
			part_rank_name(run, i, text, sizeof(text))));
	}
	for (int i = 0; i < run->n_nodes; i++) {
		json_array_append_new(nodes,
				      json_integer(run->nodes[i].first_rank));
		json_array_append_new(nodes, json_integer(run->nodes[i].gpus));
	}
	for (size_t i = 0; i < run->n_codes; i++) {
		json_array_append_new(codes, json_text(run->codes[i]));
	}
	for (int p = 0; p < PATH_CLASSES; p++) {
		json_array_append_new(slow, json_pack(
			"{s:s, s:o, s:o}", "words",
			run_path_words((enum path_class)p), "median",
			json_real_or_null(run->slow[p].median_GB_s), "limit",
			json_real_or_null(run->slow[p].limit_GB_s)));
	}
	for (unsigned c = 0; c < CELL_CLASSES; c++) {
		json_array_append_new(classes, json_string(cell_class_name(c)));
		json_array_append_new(counts, json_integer(
			(json_int_t)j->verdict.cells[c]));
	}
	for (size_t i = 0; i < marked; i++) {
		json_array_append_new(findings, json_integer((json_int_t)i));
	}
	for (size_t at = 0; at < run_n_cells(run) && kept < MAX_DETAILS; at++) {
		if (run->cell_detail[at]) {
			snprintf(text, sizeof(text), "%zu", at);
			json_object_set_new(details, text,
					    json_text(run->cell_detail[at]));
			kept++;
		}
	}
	return json_pack("{s:I, s:b, s:b, s:f, s:f, s:i, s:o, s:o, s:o, s:o, "
			 "s:o, s:o, s:o, s:o, s:o}",
			 "n", (json_int_t)run_n_cells(run), "square",
			 !run->grid.first, "ping", run->mesh != NULL,
			 "step", STEP, "least", LEAST, "pass", CELL_PASS,
			 "ranks", ranks, "nodes", nodes, "codes", codes,
			 "slow", slow, "classes", classes, "counts", counts,
			 "colors", colors_json(), "findings", findings, "details",
			 details);
}

void html_data(const struct judged *j, struct str *out)
{
	const struct run *run = &j->run;
	const size_t n = run_n_cells(run);
	size_t marked = j->verdict.n < MAX_MARKED ? j->verdict.n : MAX_MARKED;
	struct str raw = STR_INIT, packed = STR_INIT;
	json_t *header;

	if (n == 0 || n > MAX_CELLS || !run->ranks) {
		return;
	}
	while (marked > 0 && marked * n > MAX_BITS) {
		marked--;
	}
	header = header_json(j, marked);
	str_addmem(&raw, "\0\0\0\0", 4);
	json_add(header, JSON_COMPACT | JSON_REAL_PRECISION(9), &raw);
	json_decref(header);
	for (int i = 0; !raw.failed && i < 4; i++) {
		raw.data[i] = (char)((raw.len - 4) >> 8 * i);
	}
	add_columns(run, &raw);
	/* the cells that each of the marked findings touches */
	for (size_t i = 0; i < marked; i++) {
		const struct part *p = &j->verdict.findings[i].part;
		char *bits = more(&raw, (n + 7) / 8);

		for (size_t at = 0; bits && at < n; at++) {
			bits[at / 8] = (char)(bits[at / 8] |
					      part_touches_at(run, p, at)
						      << at % 8);
		}
	}
	if (!raw.failed) {
		pack_add(raw.data, raw.len, &packed);
	}
	str_add(out, "<script type=\"text/plain\" id=\"data\">");
	html_base64(out, packed.data, packed.len);
	str_add(out, "</script>\n");
	out->failed |= raw.failed || packed.failed;
	str_release(&raw);
	str_release(&packed);
}

/* ---- html page ----------------------------------------------------------- */

/** verdict.json has more. */
#define MAX_FINDINGS	  200
#define MAX_PICTURE	  (16 << 20)
#define HTML_MAX_FACTS	  1000
#define HTML_MAX_EVENTS	  1000

/** The style and the script of the page as text, part of the program. */
EMBED_TEXT(page_css, "data/html/page.css");
EMBED_TEXT(page_js, "data/html/page.js");

int html_write(const char *dir, const char *title, const char *status,
	       const char *headline, const struct str *body, struct err *e)
{
	unsigned char hash[crypto_hash_sha256_BYTES];
	struct str out = STR_INIT;
	int rc;

	str_add(&out, "<!DOCTYPE html>\n<html lang=\"en\"><head>"
		"<meta charset=\"utf-8\">");
	/* that nothing but this script runs, and nothing is fetched:
	 * whatever text came into the page */
	crypto_hash_sha256(hash, (const unsigned char *)page_js,
			   strlen(page_js));
	str_add(&out, "<meta http-equiv=\"Content-Security-Policy\" content=\""
		"default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
		"script-src 'sha256-");
	html_base64(&out, hash, sizeof(hash));
	str_add(&out, "'; base-uri 'none'; form-action 'none'\">");
	str_add(&out, "<meta name=\"viewport\" "
		 "content=\"width=device-width\"><title>");
	html_text(&out, title);
	str_add(&out, "</title><style>");
	str_add(&out, page_css);
	str_add(&out, "</style></head><body><main>\n");
	str_addf(&out, "<h1><span class=\"badge %s\">%s</span><i>:</i> ",
		 status, wrap_status_word(status));
	html_text(&out, headline);
	str_add(&out, "</h1>\n");
	str_addmem(&out, str_text(body), body->len);
	str_add(&out, "<script>");
	str_add(&out, page_js);
	str_add(&out, "</script></main></body></html>\n");
	rc = out.failed || body->failed ?
		     err_set(e, ENOMEM, "cannot write report.html") :
		     rundir_write_text(dir, "report.html", str_text(&out),
				       0666, e);
	str_release(&out);
	return rc;
}

void html_tile(struct str *out, const char *name, const char *value)
{
	str_add(out, "<div>");
	html_element(out, "dt", name);
	html_element(out, "dd", value);
	str_add(out, "</div>");
}

static void add_findings(const struct run *run, const struct verdict *v,
			 struct str *out)
{
	struct str next = STR_INIT;
	char name[PART_NAME_SIZE];

	html_element(out, "h2", "Findings");
	if (v->n == 0) {
		html_element(out, "p", "None.");
	}
	for (size_t i = 0; i < v->n && i < MAX_FINDINGS; i++) {
		const struct finding *f = &v->findings[i];
		const char *severity = f->fail ? "fail" : "warn";

		str_addf(out, "<div class=\"finding\"><p><span class=\"badge "
			 "%s\">%s</span> ", severity,
			 wrap_status_word(severity));
		html_text(out, f->says);
		str_addch(out, ' ');
		html_element(out, "code", f->code);
		str_add(out, "</p>\n");
		html_element(out, "pre", f->act);
		str_add(out, "<ul>");
		html_element(out, "li", show_score(f, name, sizeof(name)));
		for (size_t k = 0; k < f->n_evidence; k++) {
			html_element(out, "li", f->evidence[k]);
		}
		for (size_t k = 0; k < f->n_or; k++) {
			str_add(out, "<li>could also be ");
			html_text(out, part_name(run, &f->or_parts[k], name,
						 sizeof(name)));
			str_add(out, "</li>");
		}
		str_add(out, "</ul></div>\n");
	}
	if (v->n > MAX_FINDINGS) {
		str_addf(out, "<p>%zu more are in verdict.json.</p>\n",
			 v->n - MAX_FINDINGS);
	}
	next_words(run, v, &next);
	if (next.len > 0) {
		html_element(out, "pre class=\"next\"", str_text(&next));
	}
	str_release(&next);
}

bool html_picture(const char *dir, const char *name, const char *alt,
		  struct str *out)
{
	size_t n = 0;
	char *data = rundir_read_text(dir, name, MAX_PICTURE, &n, NULL);

	if (n > 0) {
		str_add(out, "<p><img class=\"picture\" alt=\"");
		html_text(out, alt);
		str_add(out, "\" src=\"data:image/svg+xml;base64,");
		html_base64(out, data, n);
		str_add(out, "\"></p>\n");
	}
	free(data);
	return n > 0;
}

static void add_row(const char *tag, const char *const cells[],
		    struct str *out)
{
	str_add(out, "<tr>");
	for (; *cells; cells++) {
		html_element(out, tag, *cells);
	}
	str_add(out, "</tr>\n");
}

void html_header_row(const char *const names[], struct str *out)
{
	str_add(out, "<table>");
	add_row("th", names, out);
}

void html_row(const char *const cells[], struct str *out)
{
	add_row("td", cells, out);
}

const char *html_int(int64_t value, char buf[UNITS_REAL_SIZE])
{
	snprintf(buf, UNITS_REAL_SIZE, "%lld", (long long)value);
	return value == RECORD_NONE ? "" : buf;
}

const char *html_real(double value, int digits, char buf[UNITS_REAL_SIZE])
{
	return isfinite(value) ? units_real_text(value, digits, buf) : "";
}

static void add_lines(const struct judged *j, int first, const char *element,
		      bool (*line)(const struct judged *j, int i, char *buf,
				   size_t size), struct str *out)
{
	char text[CAPTION_SIZE];

	for (int i = first; line && line(j, i, text, sizeof(text)); i++) {
		html_element(out, element, text);
	}
}

/** The command and how far it came; then the notes that a reader must know
 *  first: a drill, a model, damaged rows. */
static void add_notes(const struct judged *j, struct str *out)
{
	char text[CAPTION_SIZE];
	const json_t *note;
	size_t k;

	if (j->kind->head(j, 0, text, sizeof(text)) || text[0]) {
		html_element(out, "p class=\"note\"", text);
	}
	if (caption_partial(&j->run, &j->verdict, text, sizeof(text))) {
		html_element(out, "p", text);
	}
	for (int i = 0; caption_note(&j->run, i, false, text, sizeof(text));
	     i++) {
		html_element(out, j->run.drill && i == 0 ?
			     "p class=\"drill\"" : "p class=\"note\"", text);
	}
	json_array_foreach(run_file(j->run.json).notes, k, note) {
		html_element(out, "p class=\"note\"",
			     json_string_value(note) ?
				     json_string_value(note) : "");
	}
}

static void fold(const char *name, size_t n, const char *file,
		 struct str *out)
{
	str_addf(out, "<details><summary>%s (%zu), all in %s</summary>\n", name,
		 n, file);
}

/** The command and the figures in words, facts, events and run.json, folded
 *  up. */
static void add_end(const struct judged *j, struct str *out)
{
	static const char *const facts[] = {
		"node", "scope", "fact", "value", "unit", "source", NULL
	};
	static const char *const events[] = {
		"time", "node", "rank", "event", "detail", NULL
	};
	const struct run *run = &j->run;
	char *json = json_dumps(run->json, JSON_INDENT(2));
	char rank[UNITS_REAL_SIZE], text[CAPTION_SIZE];

	html_element(out, "h2", "Run details");
	str_add(out, "<details class=\"run\"><summary>Command and figures"
		"</summary>\n");
	html_element(out, "pre", caption_command(run, text, sizeof(text)));
	add_lines(j, 1, "p class=\"note\"", j->kind->head, out);
	add_lines(j, 0, "p class=\"note\"", j->kind->note, out);
	str_add(out, "</details>\n");
	fold("Facts", run->n_facts + run->facts_spare + run->facts_cut,
	     RUN_FACTS, out);
	html_header_row(facts, out);
	for (size_t i = 0; i < run->n_facts && i < HTML_MAX_FACTS; i++) {
		const struct fact_row *f = &run->facts[i];

		html_row((const char *const[]){ f->node, f->scope, f->fact,
						f->value, f->unit, f->source,
						NULL }, out);
	}
	str_add(out, "</table></details>\n");
	fold("Events", run->n_events, RUN_EVENTS, out);
	html_header_row(events, out);
	for (size_t i = 0; i < run->n_events && i < HTML_MAX_EVENTS; i++) {
		const struct event_row *ev = &run->events[i];

		html_row((const char *const[]){ ev->utc, ev->node,
						html_int(ev->rank, rank),
						ev->event, ev->detail, NULL },
			 out);
	}
	str_add(out, "</table></details>\n"
		"<details><summary>run.json</summary>\n");
	html_element(out, "pre", json ? json : "");
	str_add(out, "</details>\n");
	out->failed |= !json;
	free(json);
}

void html_tables(const struct judged *j, const char *heading, struct str *out)
{
	struct tables t = { .n = 0 };

	if (j->kind->tables) {
		j->kind->tables(j, &t);
	}
	for (size_t i = 0; i < t.n; i++) {
		table_html(&t.list[i], heading, out);
	}
	tables_release(&t);
}

int show_html(const struct judged *j, const char *dir, struct err *e)
{
	const char *status = caption_status(&j->run, &j->verdict), *name;
	const struct run *run = &j->run;
	const size_t *cells = j->verdict.cells;
	struct str body = STR_INIT, title = STR_INIT, headline = STR_INIT;
	char text[CAPTION_SIZE], value[80];
	int rc;

	if (caption_aside(&j->verdict, text, sizeof(text))) {
		str_addf(&headline, "(%s) ", text);
	}
	str_add(&headline, caption_short(&j->run, &j->verdict, true, text,
					 sizeof(text)));
	add_notes(j, &body);
	/* the number of tests, how many are bad, the figures of the probe */
	str_add(&body, "<dl class=\"tiles\">");
	html_tile(&body, "tests", UNITS_COUNT(verdict_measured(&j->verdict)));
	html_tile(&body, "bad", UNITS_COUNT(
		cells[CELL_SLOW] + cells[CELL_FAIL] + cells[CELL_TIMEOUT] +
		cells[CELL_CORRUPT]));
	for (int i = 0; j->kind->figure &&
			(name = j->kind->figure(j, i, value, sizeof(value)));
	     i++) {
		html_tile(&body, name, value);
	}
	str_add(&body, "</dl>\n");
	add_findings(&j->run, &j->verdict, &body);
	if (j->kind->html) {
		j->kind->html(j, dir, &body);
	}
	html_tables(j, "h2", &body);
	add_end(j, &body);
	/* "gpucheck p2p FAIL: GPU 4 of n1 (dead) (2 nodes, 2026-11-22)" */
	str_addf(&title, "gpucheck %s %s", run->probe,
		 wrap_status_word(status));
	if (j->verdict.n > 0) {
		str_addf(&title, ": %s", caption_short(run, &j->verdict, false,
						       text, sizeof(text)));
	}
	str_addf(&title, " (%d node%s", run->n_nodes,
		 run->n_nodes == 1 ? "" : "s");
	if (run->started_utc[0]) {
		str_addf(&title, ", %.10s", run->started_utc);
	}
	str_addch(&title, ')');
	rc = html_write(dir, str_text(&title), status, str_text(&headline),
			&body, e);
	str_release(&headline);
	str_release(&title);
	str_release(&body);
	return rc;
}
