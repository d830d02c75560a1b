/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sweep on its own.  The limits lie between what healthy sweeps have, all of
 * data/reference and those that were measured for it, and what is to be found:
 *
 *	                                       healthy, at most   seen
 *	time over that of the neighbours        1.37              1.63
 *	in place beside out of place, twice     1.13              7.13
 *	bandwidth of the two largest sizes      0.94 of the best  -
 *
 * What healthy ones have are the steps where NCCL goes from LL to LL128 and on
 * to Simple, or from tree to ring: there a size takes up to 2.2 times as long
 * as the one before.  A step stays up; a size that is off comes down again.
 */
#include "report/judge/sweep_findings.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/units.h"
#include "report/base/grow.h"

#define OFF_FACTOR	1.5	/* over the time between the neighbours */
#define APART_FACTOR	1.5	/* in place beside out of place */
#define APART_SIZES	2
#define FALL_SHARE	0.75	/* of the second best bandwidth */
/** Below this, latencies decide, and tell nothing of bandwidths. */
#define LARGE_B		(1024 * 1024)

struct point {
	int64_t size_B;
	double time_us;
	const struct collective_row *row;
};

/** The rows of a curve that went well and are alike in place, by size. */
struct series {
	struct point *points;
	size_t n;
};

static double rate(const struct point *p)
{
	return (double)p->size_B / p->time_us;
}

/** The median where it is known: one slow operation is no slow size. */
static double time_of(const struct collective_row *r)
{
	return isfinite(r->time_med_us) ? r->time_med_us : r->time_us;
}

static int take_series(const struct curve *c, int64_t inplace,
		       struct series *out)
{
	*out = (struct series){ 0 };
	for (size_t i = 0; i < c->n; i++) {
		const struct collective_row *r = c->rows[i];
		struct point p = { .size_B = r->size_B, .row = r,
				   .time_us = time_of(r) };

		if (r->inplace != inplace || r->outcome != OUTCOME_OK ||
		    r->size_B <= 0 || !(p.time_us > 0)) {
			continue;
		}
		if (out->n > 0 && out->points[out->n - 1].size_B == r->size_B) {
			out->points[out->n - 1] = p;	/* measured again */
		} else if (!grow_add(&out->points, &out->n, &p, sizeof(p))) {
			return -1;
		}
	}
	return 0;
}

static const char *place_of(const struct collective_row *r)
{
	return r->inplace == 1 ? ", in place" :
	       r->inplace == 0 ? ", out of place" : "";
}

static struct finding *warn(struct verdict *v, const char *code, size_t cells,
			    size_t explained)
{
	const struct part p = part_of_kind(PART_CONFIG);
	struct finding *f = finding_add(v, &p, code);

	f->cells = cells;
	f->explained = explained;
	return f;
}

static const char *size_text(const struct point *p, char buf[32])
{
	return units_size_text((uint64_t)p->size_B, buf, 32);
}

/* ---- a size that is off -------------------------------------------------- */

/** Times what its neighbours give, on a line between them in logarithms: curves
 *  of time bend upwards, so that a good size lies below it. */
static double over_neighbours(const struct point *p)
{
	double at = log((double)p->size_B / (double)p[-1].size_B) /
		    log((double)p[1].size_B / (double)p[-1].size_B);

	return p->time_us / (pow(p[-1].time_us, 1 - at) *
			     pow(p[1].time_us, at));
}

/** Is @p, which has a neighbour on either side, off?  Then the next size takes
 *  less time, or the rate falls and comes up again: a step does neither. */
static bool is_off(const struct point *p)
{
	return over_neighbours(p) > OFF_FACTOR &&
	       (p->time_us > p[1].time_us ||
		rate(&p[-1]) > OFF_FACTOR * rate(p));
}

static void find_off(const struct curve *c, const struct series *s,
		     struct verdict *v)
{
	struct finding *f = NULL;
	char size[32], before[32], after[32];
	size_t off = 0;

	for (size_t i = 1; i + 1 < s->n; i++) {
		off += is_off(&s->points[i]);
	}
	for (size_t i = 1; i + 1 < s->n; i++) {
		const struct point *p = &s->points[i];

		if (!is_off(p)) {
			continue;
		}
		if (!f) {
			f = warn(v, "size_off_curve", s->n, off);
			finding_say(f, "%s%s: %s took %.4g us, %.1f times what "
				    "the sizes beside it give", curve_words(c),
				    place_of(p->row), size_text(p, size),
				    p->time_us, over_neighbours(p));
		}
		finding_add_evidence(f, "%s: %.4g us; %s: %.4g us; %s: %.4g us",
				     size_text(p - 1, before), p[-1].time_us,
				     size_text(p, size), p->time_us,
				     size_text(p + 1, after), p[1].time_us);
	}
}

/* ---- in place beside out of place ---------------------------------------- */

/** How many times as long the slower of both takes. */
static double apart_by(const struct point *p, const struct point *q)
{
	double ratio = q->time_us / p->time_us;

	return ratio < 1 ? 1 / ratio : ratio;
}

/** From a size on, up to the largest one that both have; one alone may be
 *  off. */
static void find_apart(const struct curve *c, const struct series *out,
		       const struct series *in, struct verdict *v)
{
	const struct point *p = NULL, *q = NULL, *first = NULL;
	size_t apart = 0, both = 0, k = 0;
	char from[32], to[32];

	for (size_t i = 0; i < out->n; i++) {
		const struct point *one = &out->points[i];

		while (k < in->n && in->points[k].size_B < one->size_B) {
			k++;
		}
		if (one->size_B < LARGE_B || k == in->n ||
		    in->points[k].size_B != one->size_B) {
			continue;
		}
		both++;
		p = one;
		q = &in->points[k];
		apart = apart_by(p, q) > APART_FACTOR ? apart + 1 : 0;
		first = apart == 1 ? p : first;
	}
	if (apart < APART_SIZES) {
		return;
	}
	finding_say(warn(v, "inplace_differs", 2 * both, apart),
		    "%s: in place is %.1f times as %s as out of place at %s, "
		    "and so from %s on: %.1f and %.1f GB/s", curve_words(c),
		    apart_by(p, q), q->time_us > p->time_us ? "slow" : "fast",
		    size_text(p, to), size_text(first, from),
		    row_bandwidth(q->row), row_bandwidth(p->row));
}

/* ---- a curve that falls -------------------------------------------------- */

/** The second best rate, which no single size makes, against the two largest
 *  sizes, for the same reason. */
static void find_fall(const struct curve *c, const struct series *s,
		      struct verdict *v)
{
	const struct point *best = NULL, *second = NULL;
	const struct point *last = s->n > 3 ? &s->points[s->n - 1] : NULL;
	char from[32], to[32];

	for (size_t i = 0; last && i + 2 < s->n; i++) {
		const struct point *p = &s->points[i];

		if (p->size_B < LARGE_B) {
			continue;
		}
		if (!best || rate(p) > rate(best)) {
			second = best;
			best = p;
		} else if (!second || rate(p) > rate(second)) {
			second = p;
		}
	}
	if (!second || !(rate(last) < FALL_SHARE * rate(second)) ||
	    !(rate(last - 1) < FALL_SHARE * rate(second))) {
		return;
	}
	finding_say(warn(v, "curve_falls", s->n, 2),
		    "%s%s: bandwidth falls from %.1f GB/s at %s to %.1f GB/s "
		    "at %s", curve_words(c), place_of(last->row),
		    row_bandwidth(second->row), size_text(second, from),
		    row_bandwidth(last->row), size_text(last, to));
}

/* ---- all ----------------------------------------------------------------- */

void sweep_findings(const struct sweep *s, struct verdict *v)
{
	static const int64_t places[] = { 0, 1, RECORD_NONE };

	for (size_t i = 0; i < s->n_curves; i++) {
		const struct curve *c = &s->curves[i];
		struct series in[3] = { 0 };

		for (size_t k = 0; k < 3; k++) {
			if (take_series(c, places[k], &in[k]) < 0) {
				v->failed = true;
				break;
			}
			find_off(c, &in[k], v);
			find_fall(c, &in[k], v);
		}
		find_apart(c, &in[0], &in[1], v);
		for (size_t k = 0; k < 3; k++) {
			free(in[k].points);
		}
	}
}
