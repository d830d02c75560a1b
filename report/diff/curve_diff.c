/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/diff/curve_diff.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "report/base/grow.h"

static const char *const change_names[POINT_CHANGES] = {
	[POINT_SAME] = "same", [POINT_WORSE] = "worse",
	[POINT_BETTER] = "better", [POINT_NOISY] = "noisy",
	[POINT_LOST] = "lost",
};

const char *point_change_name(enum point_change c)
{
	return change_names[c];
}

static bool can_compare(const struct curve *a, const struct curve *b)
{
	const struct collective_row *x = a->first, *y = b->first;

	return curve_same_op(a, b) && row_texts_agree(x->dtype, y->dtype) &&
	       row_texts_agree(x->redop, y->redop) &&
	       row_numbers_agree(x->nodes, y->nodes);
}

/** How much more of two settings is the same, besides. */
static int likeness(const struct collective_row *a,
		    const struct collective_row *b)
{
	return (strcmp(a->table, b->table) == 0) +
	       2 * (strcmp(a->variant, b->variant) == 0) +
	       2 * (strcmp(a->algo, b->algo) == 0) +
	       2 * (strcmp(a->proto, b->proto) == 0) +
	       (strcmp(a->lib, b->lib) == 0);
}

const struct curve *curve_partner(const struct curve *c,
				  const struct sweep *among)
{
	const struct curve *best = NULL;

	for (size_t i = 0; i < among->n_curves; i++) {
		const struct curve *other = &among->curves[i];

		if (can_compare(c, other) &&
		    (!best || likeness(c->first, other->first) >
				      likeness(c->first, best->first))) {
			best = other;
		}
	}
	return best;
}

/** How fast @now is beside @then; NAN when one of them was not measured. */
static double ratio_of(const struct collective_row *now,
		       const struct collective_row *then)
{
	double ratio = then->time_us / now->time_us;

	return isfinite(ratio) ? ratio :
				 row_bandwidth(now) / row_bandwidth(then);
}

static bool has_figure(const struct collective_row *row)
{
	return row->outcome == OUTCOME_OK &&
	       (isfinite(row->time_us) || isfinite(row_bandwidth(row)));
}

static bool has_failed(const struct collective_row *row)
{
	return row->outcome != OUTCOME_OK &&
	       row->outcome != OUTCOME_NOT_RUN &&
	       row->outcome != OUTCOME_SKIPPED;
}

/** Those of @then that @now has no row for. */
static size_t count_absent(const struct curve *now, const struct curve *then)
{
	size_t n = 0;

	for (size_t i = 0; i < then->n; i++) {
		const struct collective_row *row = then->rows[i];
		/* a row that does not say where it was measured may be it */
		const struct collective_row *any =
			curve_at(now, row->size_B, -1);

		n += has_figure(row) &&
		     curve_at(then, row->size_B, row->inplace) == row &&
		     !curve_at(now, row->size_B, row->inplace) &&
		     !(any && any->inplace == RECORD_NONE);
	}
	return n;
}

static enum point_change change_of(const struct point_diff *p)
{
	double band = curve_band(p->size_B);

	if (p->now->outcome != OUTCOME_OK) {
		return POINT_LOST;
	}
	return p->ratio < 1 - band ? POINT_WORSE :
	       p->ratio > 1 + band ? POINT_BETTER : POINT_SAME;
}

/** A point that is off while the ones beside it are not is noise; where there
 *  is none beside it, it is believed. */
static void mark_noise(struct curve_diff *d)
{
	enum point_change was = POINT_SAME, before;

	for (size_t i = 0; i < d->n; i++) {
		struct point_diff *p = &d->points[i];
		bool first = i == 0 || p[-1].inplace != p->inplace;
		bool last = i + 1 == d->n || p[1].inplace != p->inplace;

		before = was;	/* it may be marked already */
		was = p->change;
		if ((was == POINT_WORSE || was == POINT_BETTER) &&
		    !(first && last) && (first || before != was) &&
		    (last || p[1].change != was)) {
			p->change = POINT_NOISY;
		}
	}
}

static int add_points(struct curve_diff *d, int64_t inplace)
{
	for (size_t i = 0; i < d->now->n; i++) {
		const struct collective_row *now = d->now->rows[i], *then;
		struct point_diff p;

		if (now->inplace != inplace ||
		    curve_at(d->now, now->size_B, inplace) != now) {
			continue;
		}
		then = curve_at(d->then, now->size_B, inplace);
		if (!then || then->outcome != OUTCOME_OK) {
			d->failing += then && has_failed(then) &&
				      has_failed(now);
			continue;
		}
		p = (struct point_diff){
			.size_B = now->size_B, .inplace = inplace,
			.now = now, .then = then, .ratio = ratio_of(now, then),
		};
		if (!has_failed(now) && isnan(p.ratio)) {
			d->missing += has_figure(then);
			continue;
		}
		p.change = change_of(&p);
		if (!grow_add(&d->points, &d->n, &p, sizeof(p))) {
			return -1;
		}
	}
	return 0;
}

int curve_compare(const struct curve *now, const struct curve *then,
		  struct curve_diff *d)
{
	static const int64_t ways[] = { 0, 1, RECORD_NONE };

	*d = (struct curve_diff){ .now = now, .then = then };
	for (size_t i = 0; i < 3; i++) {
		if (add_points(d, ways[i]) < 0) {
			curve_diff_release(d);
			return -1;
		}
	}
	d->missing += count_absent(now, then);
	mark_noise(d);
	for (size_t i = 0; i < d->n; i++) {
		d->count[d->points[i].change]++;
	}
	return 0;
}

void curve_diff_release(struct curve_diff *d)
{
	free(d->points);
	*d = (struct curve_diff){ 0 };
}

void curve_diff_sizes(const struct curve_diff *d, enum point_change change,
		      struct str *out)
{
	const char *comma = "";
	char from[32], to[32];
	size_t end;

	for (size_t i = 0; i < d->n; i = end) {
		const struct point_diff *p = &d->points[i];
		double sum = 0;

		for (end = i; end < d->n && d->points[end].change == change &&
			      d->points[end].inplace == p->inplace; end++) {
			sum += d->points[end].ratio;
		}
		if (end == i) {
			end++;
			continue;
		}
		units_size_text((uint64_t)p->size_B, from, sizeof(from));
		units_size_text((uint64_t)d->points[end - 1].size_B, to,
				sizeof(to));
		str_addf(out, "%s%s%s%s%s", comma, from,
			 end - i > 1 ? " to " : "", end - i > 1 ? to : "",
			 p->inplace == 1 ? " in place" : "");
		if (isfinite(sum)) {
			str_addf(out, " at %.0f %%",
				 100 * sum / (double)(end - i));
		}
		comma = ", ";
	}
}
