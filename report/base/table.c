/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/base/wrap.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/data/csv.h"

/** Columns that a text which is cut has at least. */
#define TAIL_MIN 16
/** Width of a file. */
#define FILE_WIDTH 10000

/** Begin a cell, whose text follows, with its NUL. */
static void new_cell(struct table *t)
{
	const struct table_cell cell = { .at = t->text.len, .bar = NAN };

	t->text.failed |= !grow_add(&t->cells, &t->n, &cell, sizeof(cell));
}

void table_add(struct table *t, const char *text)
{
	new_cell(t);
	str_addmem(&t->text, text, strlen(text) + 1);
}

void table_addf(struct table *t, const char *fmt, ...)
{
	va_list args;

	new_cell(t);
	va_start(args, fmt);
	str_vaddf(&t->text, fmt, args);
	va_end(args);
	str_addch(&t->text, '\0');
}

void table_real(struct table *t, int digits, double value)
{
	if (isfinite(value)) {
		table_addf(t, "%.*g", digits, value);
	} else {
		table_add(t, "");
	}
}

void table_bar(struct table *t, double bar)
{
	if (t->n > 0 && !isnan(bar)) {
		t->cells[t->n - 1].bar = (float)fmin(fmax(bar, 0), 1);
	}
}

size_t table_rows(const struct table *t)
{
	return t->text.failed || t->n == 0 ? 0 : t->n / t->n_columns;
}

const char *table_cell(const struct table *t, size_t row, size_t column)
{
	return t->text.data + t->cells[row * t->n_columns + column].at;
}

/* ---- screen -------------------------------------------------------------- */

/** Append a row, or with @row SIZE_MAX the headings, in columns that are
 *  @widths wide; negative: not shown. */
static void add_line(const struct table *t, size_t row, const int *widths,
		     int width, struct str *out)
{
	const struct wrap w = { .out = out, .width = width };
	const char *blank = "";
	int at = t->indent;

	str_addf(out, "%*s", t->indent, "");
	for (size_t c = 0; c < t->n_columns; c++) {
		const struct table_column *col = &t->columns[c];
		const bool last = c + 1 == t->n_columns ||
				  (c + 2 == t->n_columns && widths[c + 1] < 0);
		const char *text = row == SIZE_MAX ? col->name :
						     table_cell(t, row, c);
		const int len = (int)strlen(text);
		int room;

		if (widths[c] < 0) {
			continue;
		}
		str_add(out, blank);
		at += blank[0] != '\0';
		blank = " ";
		room = width - at > TAIL_MIN ? width - at : TAIL_MIN;
		if (last && col->tail && len > room) {
			str_addf(out, "...%s", text + len - room + 3);
		} else if (last && !col->right && !col->most && text[0]) {
			wrap_text(&w, at, text);
			return;
		} else if (col->most && len > col->most) {
			str_addf(out, "%.*s", col->most, text);
		} else {
			str_addf(out, col->right ? "%*s" : "%-*s", widths[c],
				 text);
		}
		at += widths[c];
	}
	while (out->len > 0 && out->data[out->len - 1] == ' ') {
		str_cut(out, out->len - 1);
	}
	str_addch(out, '\n');
}

void table_text(const struct table *t, int width, struct str *out)
{
	const size_t all = table_rows(t);
	const size_t n = t->shown > 0 && all > t->shown ? t->shown : all;
	int *widths = calloc(t->n_columns + 1, sizeof(*widths));
	const size_t from = out->len;

	out->failed |= t->text.failed || !widths;
	if (n == 0 || !widths) {
		free(widths);
		return;
	}
	for (size_t c = 0; c < t->n_columns; c++) {
		const struct table_column *col = &t->columns[c];
		int wide = t->bare ? 0 : (int)strlen(col->name);
		bool any = !col->spare;

		for (size_t row = 0; row < n; row++) {
			const int len = (int)strlen(table_cell(t, row, c));

			any = any || len > 0;
			wide = len > wide ? len : wide;
		}
		wide = col->most && wide > col->most ? col->most : wide;
		widths[c] = col->page || !any ? -1 :
			    wide > col->width ? wide : col->width;
	}
	width = width > 0 ? width : FILE_WIDTH;
	if (!t->bare) {
		add_line(t, SIZE_MAX, widths, width, out);
	}
	for (size_t row = 0; row < n; row++) {
		add_line(t, row, widths, width, out);
	}
	if (all + t->left > n) {
		str_addf(out, "%*s%zu more are in results.csv\n", t->indent,
			 "", all + t->left - n);
	}
	if (t->note) {
		str_addf(out, "%*s%s\n", t->indent, "", t->note);
	}
	str_harmless_from(out, from, STR_LINES);
	free(widths);
}

/* ---- page ---------------------------------------------------------------- */

/** Return true if a page shows the column @c. */
static bool is_shown(const struct table *t, size_t c)
{
	bool shown = !t->columns[c].spare;

	for (size_t row = 0; !shown && row < table_rows(t); row++) {
		shown = table_cell(t, row, c)[0] != '\0';
	}
	return shown;
}

void table_html(const struct table *t, const char *heading, struct str *out)
{
	const size_t all = table_rows(t);
	const size_t n = all > TABLE_PAGE_ROWS ? TABLE_PAGE_ROWS : all;

	out->failed |= t->text.failed;
	if (n == 0) {
		return;
	}
	if (t->title) {
		html_element(out, heading, t->title);
	}
	str_add(out, "<table><tr>");
	for (size_t c = 0; c < t->n_columns; c++) {
		if (is_shown(t, c)) {
			html_element(out, t->columns[c].right ? "th class=n" :
								"th",
				     t->columns[c].name);
		}
	}
	str_add(out, "</tr>\n");
	for (size_t row = 0; row < n; row++) {
		str_add(out, "<tr>");
		for (size_t c = 0; c < t->n_columns; c++) {
			const struct table_column *col = &t->columns[c];
			const char *text = table_cell(t, row, c);
			const double bar =
				(double)t->cells[row * t->n_columns + c].bar;

			if (!is_shown(t, c)) {
				continue;
			}
			str_add(out, col->right ? "<td class=n" : "<td");
			if (!isnan(bar)) {
				str_addf(out, " style=\"--bar:%.0f%%\"",
					 100 * bar);
			}
			str_addch(out, '>');
			if (col->link) {
				str_add(out, "<a href=\"#");
				html_text(out, text);
				str_add(out, "\">");
			}
			html_text(out, text);
			str_add(out, col->link ? "</a></td>" : "</td>");
		}
		str_add(out, "</tr>\n");
	}
	str_add(out, "</table>\n");
	if (all + t->left > n) {
		str_addf(out, "<p>%zu more are in results.csv.</p>\n",
			 all + t->left - n);
	}
	if (t->note) {
		html_element(out, "p class=\"note\"", t->note);
	}
}

void table_csv(const struct table *t, struct str *out)
{
	const size_t n = table_rows(t);

	out->failed |= t->text.failed;
	for (size_t c = 0; c < t->n_columns; c++) {
		str_addf(out, "%s%s", c ? "," : "", t->columns[c].name);
	}
	str_addch(out, '\n');
	for (size_t row = 0; row < n; row++) {
		for (size_t c = 0; c < t->n_columns; c++) {
			str_add(out, c ? "," : "");
			csv_add_field(out, table_cell(t, row, c));
		}
		str_addch(out, '\n');
	}
}

void table_release(struct table *t)
{
	free(t->cells);
	str_release(&t->text);
	*t = (struct table){ 0 };
}

struct table *tables_add(struct tables *to, const struct table *like)
{
	if (to->n < TABLES_MAX) {
		to->list[to->n++] = *like;
	}
	return &to->list[to->n - 1];
}

void tables_release(struct tables *t)
{
	for (size_t i = 0; i < t->n; i++) {
		table_release(&t->list[i]);
	}
	t->n = 0;
}
