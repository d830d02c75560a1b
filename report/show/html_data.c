/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tests of a run of pairs, for the script of report.html: a length, so many
 * bytes of JSON, then a column of bytes after the other, all of it compressed.
 * data/html/page.js reads them in the same order.
 */
#include "report/show/html_page.h"

#include <math.h>
#include <string.h>

#include "lib/data/json.h"
#include "report/base/pack.h"
#include "report/base/html_text.h"
#include "report/base/palette.h"
#include "report/model/part.h"

/** More cells make a page that no browser likes; its words stay. */
#define MAX_CELLS   (4 << 20)
#define MAX_MARKED  32		/* findings that the map shows, ... */
#define MAX_BITS    (32 << 20)	/* ... a bit for each cell and finding */
#define MAX_DETAILS 20000
/** Figures travel as logarithms, in two bytes: 0.2 % apart, from this on. */
#define STEP	    0.002
#define LEAST	    1e-6
#define SHADES	    32

static void put_wide(unsigned value, size_t at, size_t n, char *bytes)
{
	bytes[at] = (char)value;
	bytes[n + at] = (char)(value >> 8);
}

static unsigned logarithm(double value)
{
	double at = value > LEAST ? 1.5 + log(value / LEAST) / STEP : 0;

	return at < UINT16_MAX ? (unsigned)at : UINT16_MAX;
}

/** What a wide column has of the cell @at. */
typedef unsigned wide_fn(const struct run *run, size_t at);

static unsigned bw_of(const struct run *run, size_t at)
{
	return logarithm((double)run->cells[at].bw_GB_s);
}

static unsigned lat_of(const struct run *run, size_t at)
{
	return logarithm((double)run->cells[at].lat_us);
}

static unsigned expected_of(const struct run *run, size_t at)
{
	return logarithm((double)run->cells[at].expected_GB_s);
}

static unsigned code_of(const struct run *run, size_t at)
{
	return run->cell_code[at];
}

static unsigned src_of(const struct run *run, size_t at)
{
	return (unsigned)run_src(run, at);
}

static unsigned dst_of(const struct run *run, size_t at)
{
	return (unsigned)run_dst(run, at);
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

static void add_wide(const struct run *run, wide_fn *of, struct str *raw)
{
	const size_t n = run_n_cells(run);
	char *bytes = more(raw, 2 * n);

	for (size_t at = 0; bytes && at < n; at++) {
		put_wide(of(run, at), at, n, bytes);
	}
}

static void add_touched(const struct run *run, const struct part *p,
			struct str *raw)
{
	const size_t n = run_n_cells(run);
	char *bits = more(raw, (n + 7) / 8);

	for (size_t at = 0; bits && at < n; at++) {
		if (part_touches_at(run, p, at)) {
			bits[at / 8] = (char)(bits[at / 8] | 1 << at % 8);
		}
	}
}

static void add_columns(const struct run *run, struct str *raw)
{
	static wide_fn *const wide[] = { bw_of, lat_of, expected_of, code_of,
					 src_of, dst_of };
	const size_t n = run_n_cells(run);
	const size_t n_wide = run->grid.first ? 6 : 4;
	char *bytes = more(raw, 3 * n);

	for (size_t at = 0; bytes && at < n; at++) {
		const struct cell *c = &run->cells[at];

		bytes[at] = (char)c->class;
		bytes[n + at] = (char)c->path;
		bytes[2 * n + at] = (char)(c->attempt < 255 ? c->attempt : 255);
	}
	for (size_t i = 0; i < n_wide; i++) {
		add_wide(run, wide[i], raw);
	}
}

static size_t n_marked(const struct judged *j)
{
	size_t n = j->verdict.n < MAX_MARKED ? j->verdict.n : MAX_MARKED;

	while (n > 0 && n * run_n_cells(&j->run) > MAX_BITS) {
		n--;
	}
	return n;
}

static json_t *real_json(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *header_json(const struct judged *j, size_t marked)
{
	const struct run *run = &j->run;
	json_t *ranks = json_array(), *nodes = json_array();
	json_t *codes = json_array(), *slow = json_array();
	json_t *classes = json_array(), *good = json_array();
	json_t *colors = json_array(), *scale = json_array();
	json_t *findings = json_array(), *details = json_object();
	char text[160];
	size_t kept = 0;

	for (int i = 0; i < run->n_ranks; i++) {
		json_array_append_new(ranks, json_text(
			part_rank_name(run, i, text, sizeof(text))));
	}
	for (int i = 0; i < run->n_nodes; i++) {
		json_array_append_new(nodes, json_pack(
			"{s:i, s:i}", "first", run->nodes[i].first_rank,
			"gpus", run->nodes[i].gpus));
	}
	for (size_t i = 0; i < run->n_codes; i++) {
		json_array_append_new(codes, json_text(run->codes[i]));
	}
	for (int p = 0; p < PATH_CLASSES; p++) {
		json_array_append_new(slow, json_pack(
			"{s:s, s:o, s:o}", "words",
			run_path_words((enum path_class)p), "median",
			real_json(run->slow[p].median_GB_s), "limit",
			real_json(run->slow[p].limit_GB_s)));
	}
	for (unsigned c = 0; c < CELL_CLASSES; c++) {
		const struct palette_entry *e = palette_class(c);

		json_array_append_new(classes, json_string(cell_class_name(c)));
		json_array_append_new(good, json_boolean(run_good(c)));
		json_array_append_new(colors, json_integer(e ? e->fill : 0));
	}
	for (int i = 0; i < SHADES; i++) {
		json_array_append_new(scale, json_integer(
			palette_scale((double)i / (SHADES - 1))));
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
			 "s:o, s:o, s:o, s:o, s:o, s:o}",
			 "n", (json_int_t)run_n_cells(run), "square",
			 !run->grid.first, "ping", run->mesh != NULL,
			 "step", STEP, "least", LEAST, "pass", CELL_PASS,
			 "ranks", ranks, "nodes", nodes, "codes", codes,
			 "slow", slow, "classes", classes, "good", good,
			 "colors", colors, "scale", scale, "findings",
			 findings, "details", details);
}

void html_data(const struct judged *j, struct str *out)
{
	const size_t marked = n_marked(j), n = run_n_cells(&j->run);
	struct str raw = STR_INIT, packed = STR_INIT;
	json_t *header;

	if (n == 0 || n > MAX_CELLS || !j->run.ranks) {
		return;
	}
	header = header_json(j, marked);
	str_addmem(&raw, "\0\0\0\0", 4);
	json_add(header, JSON_COMPACT | JSON_REAL_PRECISION(9), &raw);
	json_decref(header);
	for (int i = 0; !raw.failed && i < 4; i++) {
		raw.data[i] = (char)((raw.len - 4) >> 8 * i);
	}
	add_columns(&j->run, &raw);
	for (size_t i = 0; i < marked; i++) {
		add_touched(&j->run, &j->verdict.findings[i].part, &raw);
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
