/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/show/collective_show.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/units.h"
#include "report/diff/curve_diff.h"

/** Columns of the whole table; without count, type, reduction and root 78. */
#define TABLE_WIDTH 118
#define NAME_WIDTH 12
#define LEAD_WIDTH 10

/** @value with as many digits behind the point as fit @width, "-" when it was
 *  not measured. */
static void add_real(double value, int width, struct str *out)
{
	char text[UNITS_REAL_SIZE];
	int digits = 3;

	if (!isfinite(value)) {
		str_addf(out, "%*s", width, "-");
		return;
	}
	do {
		units_real_text(value, --digits, text);
	} while (digits > 0 && (int)strlen(text) > width);
	if (value < 1 && (int)strlen(text) > width) {
		snprintf(text, sizeof(text), "%.1g", value);
	}
	str_addf(out, "%*s", width, text);
}

static void add_int(int64_t value, int width, const char *none,
		    struct str *out)
{
	if (value == RECORD_NONE) {
		str_addf(out, "%*s", width, none);
	} else {
		str_addf(out, "%*" PRId64, width, value);
	}
}

static void add_half(const struct collective_row *row, struct str *out)
{
	if (!row) {
		str_addf(out, "  %7s  %6s  %6s  %6s", "-", "-", "-", "N/A");
		return;
	}
	str_add(out, "  ");
	add_real(row->time_us, 7, out);
	str_add(out, "  ");
	add_real(row->algbw_GB_s, 6, out);
	str_add(out, "  ");
	add_real(row->busbw_GB_s, 6, out);
	add_int(row->wrong, 8, "N/A", out);
}

static const char *or_dash(const char *text)
{
	return text[0] ? text : "-";
}

static void add_line(const struct curve *c, const struct collective_row *row,
		     bool narrow, struct str *out)
{
	const struct collective_row *here = curve_at(c, row->size_B, 1);
	const struct collective_row *away = curve_at(c, row->size_B, 0);

	add_int(row->size_B, 12, "-", out);
	if (!narrow) {
		add_int(row->count, 14, "-", out);
		str_addf(out, "  %8s  %6s", or_dash(row->dtype),
			 or_dash(row->redop));
		add_int(row->root, 8, "-", out);
	}
	/* a table that does not say which is shown where one looks first */
	add_half(away ? away : here ? NULL : row, out);
	add_half(here, out);
	str_addch(out, '\n');
}

/** What is the same in every line stands above. */
static void add_what(const struct curve *c, struct str *out)
{
	str_addf(out, "# %s%s%s", or_dash(c->first->dtype),
		 c->first->redop[0] ? ", " : "", c->first->redop);
	if (c->first->root != RECORD_NONE && c->first->root >= 0) {
		str_addf(out, ", root %" PRId64, c->first->root);
	}
	str_addch(out, '\n');
}

/** As nccl-tests has it, but for the columns that a narrow table lacks. */
static void add_head(bool narrow, struct str *out)
{
	static const char names[] = "     time   algbw   busbw  #wrong";
	static const char units[] = "     (us)  (GB/s)  (GB/s)";

	str_addf(out, "#%*s%-*s%s\n", narrow ? 17 : 62, "", narrow ? 33 : 34,
		 "out-of-place", "in-place");
	str_addf(out, "#       size%s%s%s\n", narrow ? "" :
		 "         count      type   redop    root", names, names);
	str_addf(out, "#        (B)%-*s%s%8s%s\n", narrow ? 0 : 40,
		 narrow ? "" : "    (elements)", units, "", units);
}

/** Elements that are wrong, and the mean of the bandwidths, as far as they were
 *  looked at. */
static void add_summary(const struct curve *c, struct str *out)
{
	size_t checked = 0, n = 0;
	int64_t wrong = 0, verified = 0, bad = 0;
	double sum = 0;

	for (size_t i = 0; i < c->n; i++) {
		if (c->rows[i]->wrong != RECORD_NONE) {
			wrong += c->rows[i]->wrong;
			checked++;
		}
		if (c->rows[i]->verified != RECORD_NONE) {
			verified += c->rows[i]->verified;
			bad += c->rows[i]->verified_wrong;
		}
		if (isfinite(c->rows[i]->busbw_GB_s)) {
			sum += c->rows[i]->busbw_GB_s;
			n++;
		}
	}
	if (checked == 0) {
		str_add(out, "# Out of bounds values : N/A, not checked\n");
	} else {
		str_addf(out, "# Out of bounds values : %" PRId64 " %s\n",
			 wrong, wrong ? "FAILED" : "OK");
	}
	if (verified > 0) {
		str_addf(out, "# Verified operations  : %" PRId64 ", %" PRId64
			 " wrong\n", verified, bad);
	}
	if (n > 0) {
		str_addf(out, "# Avg bus bandwidth    : %.6g\n",
			 sum / (double)n);
	}
}

static void add_curve(const struct curve *c, bool narrow, struct str *out)
{
	if (narrow) {
		add_what(c, out);
	}
	if (c->name[0]) {
		str_addf(out, "# %s\n", c->name);
	}
	add_head(narrow, out);
	for (size_t i = 0; i < c->n; i++) {
		if (i == 0 || c->rows[i]->size_B != c->rows[i - 1]->size_B) {
			add_line(c, c->rows[i], narrow, out);
		}
	}
	add_summary(c, out);
}

void collective_table(const struct sweep *s, int width, struct str *out)
{
	bool narrow = width > 0 && width < TABLE_WIDTH;

	for (size_t i = 0; i < s->n_curves; i++) {
		str_add(out, i ? "\n" : "");
		add_curve(&s->curves[i], narrow, out);
	}
}

size_t collective_comparable(const struct sweep *s, const struct curve *of,
			     const struct curve *list[], size_t max)
{
	size_t n = 0;

	for (size_t k = 0; k < s->n_curves && n < max; k++) {
		if (curve_same_op(&s->curves[k], of)) {
			list[n++] = &s->curves[k];
		}
	}
	return n;
}

/** The @n curves @list, which are compared with @of, at @size_B. */
static void add_block_line(const struct sweep *s, const struct curve *of,
			   const struct curve *const list[], size_t n,
			   int64_t size_B, struct str *out)
{
	const struct curve *best = sweep_fastest(s, of, size_B);
	char mark = best && sweep_keep_up(s, best, size_B) > 1 ? '=' : '*';
	char size[32];

	str_addf(out, "%*s", LEAD_WIDTH,
		 units_size_text((uint64_t)size_B, size, sizeof(size)));
	for (size_t i = 0; i < n; i++) {
		add_real(curve_best_at(list[i], size_B), NAME_WIDTH - 1, out);
		str_addch(out, best && curve_keeps_up(list[i], best, size_B) ?
				       mark : ' ');
	}
	str_addch(out, '\n');
}

void collective_compare(const struct sweep *s, const struct curve *of,
			int width, struct str *out)
{
	const size_t room = width > LEAD_WIDTH + NAME_WIDTH ?
			(size_t)((width - LEAD_WIDTH) / NAME_WIDTH) :
			1;
	const struct curve *list[SWEEP_CURVES_MAX];
	size_t n = collective_comparable(s, of, list, SWEEP_CURVES_MAX);

	str_addf(out, "\n%s, GB/s by size; * is the fastest, = cannot be told "
		 "apart\n",
		 of->first->op[0] ? of->first->op : "bandwidth");
	for (size_t i = 0; i < n; i++) {
		str_addf(out, "  %zu = %s\n", i + 1, list[i]->name);
	}
	for (size_t from = 0; from < n; from += room) {
		size_t to = from + room < n ? from + room : n;

		str_addf(out, "%s%*s", from ? "\n" : "", LEAD_WIDTH, "size");
		for (size_t i = from; i < to; i++) {
			str_addf(out, "%*zu ", NAME_WIDTH - 1, i + 1);
		}
		str_addch(out, '\n');
		for (int64_t at = sweep_next_size(s, of, -1); at >= 0;
		     at = sweep_next_size(s, of, at)) {
			add_block_line(s, of, &list[from], to - from, at, out);
		}
	}
}

/** Sizes at which the same ones are the fastest. */
struct range {
	const struct curve *best;	/* at the first; NULL: none yet */
	int64_t from, to;
};

/** Is it at @size_B, where @best is the fastest, as at the first of @r? */
static bool same_lead(const struct sweep *s, const struct range *r,
		      const struct curve *best, int64_t size_B)
{
	for (size_t k = 0; k < s->n_curves; k++) {
		const struct curve *c = &s->curves[k];

		if (curve_keeps_up(c, r->best, r->from) !=
		    curve_keeps_up(c, best, size_B)) {
			return false;
		}
	}
	return true;
}

static void add_names(const struct sweep *s, const struct range *r,
		      struct str *out)
{
	size_t n = sweep_keep_up(s, r->best, r->from), named = 0;

	if (n > 2) {
		str_addf(out, "%zu alike", n);
		return;
	}
	for (size_t k = 0; k < s->n_curves; k++) {
		if (curve_keeps_up(&s->curves[k], r->best, r->from)) {
			str_addf(out, "%s%s", named++ ? " and " : "",
				 s->curves[k].name);
		}
	}
	str_add(out, n == 2 ? " alike" : "");
}

static void add_range(const struct sweep *s, const struct range *r,
		      struct str *out)
{
	char a[32], b[32];

	units_size_text((uint64_t)r->from, a, sizeof(a));
	units_size_text((uint64_t)r->to, b, sizeof(b));
	str_addf(out, "%s%s%s%s: ", out->len ? "; " : "fastest at ", a,
		 r->from == r->to ? "" : " to ", r->from == r->to ? "" : b);
	add_names(s, r, out);
}

void collective_crossovers(const struct sweep *s, const struct curve *of,
			   struct str *out)
{
	struct range r = { 0 };

	for (int64_t at = sweep_next_size(s, of, -1); at >= 0;
	     at = sweep_next_size(s, of, at)) {
		const struct curve *best = sweep_fastest(s, of, at);

		if (!best) {
			continue;
		}
		if (!r.best || !same_lead(s, &r, best, at)) {
			if (r.best) {
				add_range(s, &r, out);
			}
			r = (struct range){ .best = best, .from = at };
		}
		r.to = at;
	}
	if (r.best) {
		add_range(s, &r, out);
	}
}

void collective_beside(const struct curve *c, const struct sweep *reference,
		       struct str *out)
{
	const struct curve *then = curve_partner(c, reference);
	struct str sizes = STR_INIT;
	struct curve_diff d;

	if (!then) {
		str_addf(out, "%s: no curve of the reference has the same "
			 "collective, ranks and type", curve_words(c));
	} else if (curve_compare(c, then, &d) == 0) {
		str_addf(out, "%s against the reference%s%s: %zu of %zu sizes "
			 "slower, %zu faster, %zu the same within noise",
			 curve_words(c), then->name[0] ? " " : "", then->name,
			 d.count[POINT_WORSE] + d.count[POINT_LOST], d.n,
			 d.count[POINT_BETTER], d.count[POINT_SAME]);
		if (d.count[POINT_NOISY] > 0) {
			str_addf(out, ", %zu outliers", d.count[POINT_NOISY]);
		}
		curve_diff_sizes(&d, POINT_NOISY, &sizes);
		str_addf(out, sizes.len ? " (%s)" : "%s", str_text(&sizes));
		curve_diff_release(&d);
	}
	str_release(&sizes);
}
