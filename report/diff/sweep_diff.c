/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/units.h"
#include "lib/data/json.h"
#include "report/base/wrap.h"
#include "report/diff/run_diff.h"

static const char *const change_names[POINT_CHANGES] = {
	[POINT_SAME] = "same", [POINT_WORSE] = "worse",
	[POINT_BETTER] = "better", [POINT_NOISY] = "noisy",
	[POINT_LOST] = "lost",
};

/* ---- sweep diff ---------------------------------------------------------- */

int sweep_diff_make(const struct sweep *then, const struct sweep *now,
		    struct sweep_diff *d)
{
	size_t left = 0;

	*d = (struct sweep_diff){ 0 };
	d->curves = calloc(now->n_curves + 1, sizeof(*d->curves));
	if (!d->curves) {
		return -1;
	}
	for (size_t i = 0; i < now->n_curves; i++) {
		const struct curve *c = &now->curves[i];
		struct curve_diff *to = &d->curves[d->n];
		int rc = curve_compare_with(c, now, then, to);

		if (rc == 0) {
			d->alone++;
			continue;
		}
		if (rc < 0) {
			sweep_diff_release(d);
			return -1;
		}
		for (int k = 0; k < POINT_CHANGES; k++) {
			d->count[k] += to->count[k];
		}
		d->missing += to->missing;
		d->failing += to->failing;
		d->n++;
	}
	/* curves of then that none of d is compared with */
	for (size_t i = 0; i < then->n_curves; i++) {
		size_t k = 0;

		while (k < d->n && d->curves[k].then != &then->curves[i]) {
			k++;
		}
		left += k == d->n;
	}
	d->gone = left;
	d->alone += d->gone;
	return 0;
}

void sweep_diff_release(struct sweep_diff *d)
{
	for (size_t i = 0; i < d->n; i++) {
		curve_diff_release(&d->curves[i]);
	}
	free(d->curves);
	*d = (struct sweep_diff){ 0 };
}

/** Points that both measured. */
static size_t compared(const struct sweep_diff *d)
{
	size_t n = 0;

	for (int k = 0; k < POINT_CHANGES; k++) {
		n += d->count[k];
	}
	return n;
}

static size_t worse(const struct sweep_diff *d)
{
	return d->count[POINT_WORSE] + d->count[POINT_LOST];
}

enum diff_status sweep_diff_status(const struct sweep_diff *d)
{
	return diff_status(compared(d) + d->failing, worse(d) + d->failing, 0,
			   d->missing + d->gone);
}

static void add_change(const struct wrap *w, const struct curve_diff *c,
		       enum point_change change, const char *tag, int color)
{
	struct str text = STR_INIT;

	if (c->count[change] == 0) {
		return;
	}
	wrap_tag(w, tag, color);
	str_addf(&text, "%s: ", curve_words(c->now));
	curve_diff_sizes(c, change, &text);
	wrap_text(w, 6, str_text(&text));
	str_release(&text);
}

void sweep_diff_words(const struct sweep_diff *d, int width, bool color,
		      struct str *out)
{
	const struct wrap w = { .out = out, .width = width, .color = color };
	size_t points = compared(d);
	struct str text = STR_INIT;

	wrap_status(&w, diff_status_name(sweep_diff_status(d)));
	str_addf(&text, "%zu measurement%s compared: %zu worse, %zu lost, %zu "
		 "better, %zu outliers, %zu the same", points,
		 points == 1 ? "" : "s",
		 d->count[POINT_WORSE], d->count[POINT_LOST],
		 d->count[POINT_BETTER], d->count[POINT_NOISY],
		 d->count[POINT_SAME]);
	if (d->failing > 0) {
		str_addf(&text, "; %zu failed in both runs", d->failing);
	}
	if (d->missing > 0) {
		str_addf(&text, "; %zu %s measured only in the first run",
			 d->missing, d->missing == 1 ? "was" : "were");
	}
	if (d->alone > 0) {
		str_addf(&text, "; %zu curve%s not in both runs, %zu of them "
			 "only in the first", d->alone,
			 d->alone == 1 ? " is" : "s are", d->gone);
	}
	wrap_text(&w, 6, str_text(&text));
	str_reset(&text);
	for (size_t i = 0; i < d->n; i++) {
		const struct curve_diff *c = &d->curves[i];

		if (c->shares) {
			wrap_tag(&w, "shares", 0);
			str_addf(&text, "%s: %lld ranks, and %lld before: "
				 "compared by their shares of the ceilings",
				 curve_words(c->now),
				 (long long)c->now->first->ranks,
				 (long long)c->then->first->ranks);
			wrap_text(&w, 6, str_text(&text));
			str_reset(&text);
		}
		add_change(&w, &d->curves[i], POINT_LOST, "lost", 31);
		add_change(&w, &d->curves[i], POINT_WORSE, "worse", 31);
		add_change(&w, &d->curves[i], POINT_BETTER, "faster", 32);
		add_change(&w, &d->curves[i], POINT_NOISY, "alone", 33);
	}
	str_release(&text);
}

void sweep_diff_table(const struct sweep_diff *d, struct table *t)
{
	static const struct table_column columns[] = {
		{ .name = "curve" }, { .name = "size_B", .right = true },
		{ .name = "inplace" }, { .name = "change" },
		{ .name = "old_us", .right = true },
		{ .name = "new_us", .right = true },
		{ .name = "ratio", .right = true },
	};

	*t = (struct table){ .columns = columns, .n_columns = 7,
			     .title = "Measurements" };
	for (size_t i = 0; i < d->n; i++) {
		for (size_t k = 0; k < d->curves[i].n; k++) {
			const struct point_diff *p = &d->curves[i].points[k];

			table_add(t, curve_words(d->curves[i].now));
			table_addf(t, "%lld", (long long)p->size_B);
			table_add(t, p->inplace == RECORD_NONE ? "" :
				     p->inplace ? "1" : "0");
			table_add(t, change_names[p->change]);
			table_real(t, 9, p->then->time_us);
			table_real(t, 9, p->now->time_us);
			table_real(t, 9, p->ratio);
		}
	}
}

json_t *sweep_diff_json(const struct sweep_diff *d)
{
	json_t *counts = json_object(), *points = json_array();

	for (int k = 0; k < POINT_CHANGES; k++) {
		json_object_set_new(counts,
				    change_names[k],
				    json_integer((json_int_t)d->count[k]));
	}
	for (size_t i = 0; i < d->n; i++) {
		for (size_t k = 0; k < d->curves[i].n; k++) {
			const struct curve_diff *c = &d->curves[i];
			const struct point_diff *p = &c->points[k];

			json_array_append_new(points, json_pack(
				"{s:o, s:I, s:o, s:s, s:o}", "curve",
				json_text(curve_words(c->now)), "size_B",
				(json_int_t)p->size_B, "inplace",
				p->inplace == RECORD_NONE ? json_null() :
				json_integer((json_int_t)p->inplace),
				"change", change_names[p->change], "ratio",
				json_real_or_null(p->ratio)));
		}
	}
	return json_pack("{s:s, s:b, s:o, s:I, s:I, s:I, s:I, s:o}", "status",
			 diff_status_name(sweep_diff_status(d)),
			 "regression", worse(d) > 0, "counts",
			 counts, "missing", (json_int_t)d->missing,
			 "still_bad", (json_int_t)d->failing, "curves_alone",
			 (json_int_t)d->alone, "curves_missing",
			 (json_int_t)d->gone, "points", points);
}
