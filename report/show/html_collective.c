/* SPDX-License-Identifier: BSD-3-Clause */
/* report.html of a collective. */
#include "report/show/collective_show.h"

#include <string.h>

#include "lib/data/cells.h"
#include "report/show/html_page.h"
#include "report/base/html_text.h"

/** What is more is in results.csv. */
#define MAX_CURVES   64

static void add_curves(const char *dir, bool none, struct str *out)
{
	struct str text = STR_INIT;
	char word[PATH_MAX];

	html_element(out, "h2", "Curves");
	/* a gnuplot that failed may have drawn this one */
	if (html_picture(dir, "curves.svg", "bandwidth and time by size",
			 out)) {
		return;
	}
	str_addf(&text, "Not drawn: gnuplot is missing or failed. Draw them "
		 "where gnuplot works: \"gpucheck report %s\".",
		 str_quoted_dir(dir, word, sizeof(word)));
	html_element(out, "p", none ?
		     "Nothing to draw: no size was measured." :
		     str_text(&text));
	str_release(&text);
}

static void add_row(const struct collective_row *r, struct str *out)
{
	char size[UNITS_REAL_SIZE], count[UNITS_REAL_SIZE];
	char time[UNITS_REAL_SIZE], least[UNITS_REAL_SIZE];
	char most[UNITS_REAL_SIZE], algbw[UNITS_REAL_SIZE];
	char busbw[UNITS_REAL_SIZE], wrong[UNITS_REAL_SIZE];
	struct str why = STR_INIT;

	str_addf(&why, "%s%s%s", r->code, r->code[0] && r->detail[0] ? ": " :
		 "", r->detail);
	html_row((const char *const[]){
		html_int(r->size_B, size), html_int(r->count, count), r->dtype,
		r->redop, r->inplace == RECORD_NONE ? "" :
			  r->inplace ? "in" : "out of",
		html_real(r->time_us, 2, time),
		html_real(r->time_min_us, 2, least),
		html_real(r->time_p99_us, 2, most),
		html_real(r->algbw_GB_s, 2, algbw),
		html_real(r->busbw_GB_s, 2, busbw), html_int(r->wrong, wrong),
		r->algo, r->proto, outcome_name(r->outcome), str_text(&why),
		NULL
	}, out);
	str_release(&why);
}

static void add_table(const struct curve *c, struct str *out)
{
	static const char *const names[] = {
		"size, B", "count", "type", "redop", "place", "time, us",
		"shortest", "99 %", "algbw, GB/s", "busbw, GB/s", "wrong",
		"algo", "proto", "outcome", "why", NULL
	};

	html_element(out, "h3", c->name[0] ? c->name : c->first->op);
	html_header_row(names, out);
	for (size_t i = 0; i < c->n; i++) {
		add_row(c->rows[i], out);
	}
	str_add(out, "</table>\n");
}

/** A line of the comparison of @list with @of: the best of all stand out. */
static void add_compared(const struct sweep *s, const struct curve *of,
			 const struct curve *const list[], size_t n,
			 int64_t size_B, struct str *out)
{
	const struct curve *best = sweep_fastest(s, of, size_B);
	char mark = best && sweep_keep_up(s, best, size_B) > 1 ? '=' : '*';
	char size[32], text[UNITS_REAL_SIZE];

	str_add(out, "<tr>");
	html_element(out, "td", units_size_text((uint64_t)size_B, size,
						sizeof(size)));
	for (size_t i = 0; i < n; i++) {
		const char *bw = html_real(curve_best_at(list[i], size_B), 2,
					   text);

		if (best && bw[0] && curve_keeps_up(list[i], best, size_B)) {
			str_addf(out, "<td><strong>%s %c</strong></td>", bw,
				 mark);
		} else {
			html_element(out, "td", bw);
		}
	}
	str_add(out, "</tr>\n");
}

static void add_comparison(const struct sweep *s, const struct curve *of,
			   struct str *out)
{
	const char *names[MAX_CURVES + 2] = { "size" };
	const struct curve *list[MAX_CURVES];
	size_t n = collective_comparable(s, of, list, MAX_CURVES);
	struct str text = STR_INIT;

	for (size_t i = 0; i < n; i++) {
		names[i + 1] = list[i]->name;
	}
	str_add(out, "<p>");
	html_text(out, of->first->op[0] ? of->first->op : "bandwidth");
	str_add(out, ", GB/s by size; * is the fastest, = cannot be told "
		"apart</p>\n");
	html_header_row(names, out);
	for (int64_t at = sweep_next_size(s, of, -1); at >= 0;
	     at = sweep_next_size(s, of, at)) {
		add_compared(s, of, list, n, at, out);
	}
	str_add(out, "</table>\n");
	collective_crossovers(s, of, &text);
	if (text.len > 0) {
		html_element(out, "p", str_text(&text));
	}
	str_release(&text);
}

static void add_comparisons(const struct sweep *s,
			    const struct sweep *reference, struct str *out)
{
	struct str text = STR_INIT;

	for (size_t i = 0; i < s->n_curves; i++) {
		if (sweep_leads(s, i)) {
			add_comparison(s, &s->curves[i], &text);
		}
	}
	if (text.len > 0 || reference) {
		html_element(out, "h2", "Comparison");
	}
	str_add(out, str_text(&text));
	for (size_t i = 0; reference && i < s->n_curves; i++) {
		str_reset(&text);
		collective_beside(&s->curves[i], reference, &text);
		html_element(out, "p", str_text(&text));
	}
	str_release(&text);
}

static void add_tables(const struct sweep *s, struct str *out)
{
	html_element(out, "h2", "Table");
	for (size_t i = 0; i < s->n_curves && i < MAX_CURVES; i++) {
		add_table(&s->curves[i], out);
	}
	if (s->n_curves > MAX_CURVES) {
		str_addf(out, "<p>%zu more are in results.csv.</p>\n",
			 s->n_curves - MAX_CURVES);
	}
}

void collective_html(const struct judged *j, const char *dir, struct str *out)
{
	const struct collective_pair *s = j->more;

	add_curves(dir, j->verdict.cells[CELL_PASS] == 0, out);
	add_comparisons(&s->now, s->reference, out);
	add_tables(&s->now, out);
}
