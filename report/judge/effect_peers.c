/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much worse a part is than its peers, and how sure that is.
 */
#include "report/judge/effect_peers.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/stats.h"

/** A part of its partner nodes that is trimmed at either end. */
#define TRIM 0.25
/** The MAD of a sample is as sure as the deviation of this share of it. */
#define MAD_AS_SURE 0.37
/** A median is as much less sure than a mean. */
#define MEDIAN_ERROR 1.2533
/** Of few parts next to nothing would be known: then as if it were of some. */
#define LEAST_FREEDOM 5
/** Deviations that a normal variable is off by once in a hundred. */
#define ALONE 2.576

double effect_tail(double z)
{
	return erfc(z / sqrt(2)) / 2;
}

double effect_deviations(double tail)
{
	double low = 0, high = 40;

	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (effect_tail(middle) > tail) {
			low = middle;
		} else {
			high = middle;
		}
	}
	return low;
}

/** Of Student's variable whose normal one is @z (D. Wallace, Ann. Math.
 *  Statist.  30, 1959). */
static double student_quantile(double z, double freedom)
{
	double u = z * (8 * freedom + 3) / (8 * freedom + 1);

	return sqrt(freedom * expm1(fmin(u * u / freedom, 700)));
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int effect_peers_init(struct effect_peers *x, size_t n, size_t width)
{
	bool whole = true;

	*x = (struct effect_peers){ .n = n, .width = width };
	for (int k = 0; k < 2; k++) {
		x->samples[k] = calloc(n * width + 1, sizeof(float));
		whole = whole && x->samples[k];
	}
	for (int k = 0; k < WAYS; k++) {
		x->mean[k] = calloc(n + 1, sizeof(double));
		x->error[k] = calloc(n + 1, sizeof(double));
		whole = whole && x->mean[k] && x->error[k];
	}
	return whole ? 0 : -1;
}

void effect_peers_release(struct effect_peers *x)
{
	for (int k = 0; k < WAYS; k++) {
		free(x->mean[k]);
		free(x->error[k]);
		if (k < 2) {
			free(x->samples[k]);
		}
	}
}

/** What part @i has with partner @p. */
static double sample(const struct effect_peers *x, size_t i, int way, size_t p)
{
	double a = (double)x->samples[TX][i * x->width + p];
	double b = (double)x->samples[RX][i * x->width + p];

	return way == TX ? a : way == RX ? b : (a + b) / 2;
}

/** The mean of part @i, and its error: NAN where nothing is known. */
static void sum_up(struct effect_peers *x, size_t i, int way)
{
	double sum = 0, squares = 0;
	size_t n = 0;

	for (size_t p = 0; p < x->width; p++) {
		double v = sample(x, i, way, p);

		if (isfinite(v)) {
			sum += v;
			squares += v * v;
			n++;
		}
	}
	x->mean[way][i] = n ? sum / (double)n : NAN;
	x->error[way][i] = n > 1 ?
		sqrt(fmax(squares - sum * sum / (double)n, 0) /
		     (double)(n * (n - 1))) : NAN;
}

/** Those of @v that are known, to @room; returns how many. */
static size_t known_of(const double *v, size_t n, double *room)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++) {
		if (isfinite(v[i])) {
			room[known++] = v[i];
		}
	}
	return known;
}

/** The median of part @i in place of the mean, which one bad partner of a few
 *  moves. */
static void take_median(const struct effect_work *w, struct effect_peers *x,
			size_t i, int way)
{
	size_t n = 0;

	for (size_t p = 0; p < x->width; p++) {
		double v = sample(x, i, way, p);

		if (isfinite(v)) {
			w->room[n++] = v;
		}
	}
	x->mean[way][i] = n ? stats_median(w->room, n) : NAN;
}

void effect_peers_learn(const struct effect_work *w, struct effect_peers *x)
{
	double more = w->t.crossed ? 1 : MEDIAN_ERROR;

	for (int way = 0; way < WAYS; way++) {
		double usual, all;
		size_t known;

		for (size_t i = 0; i < x->n; i++) {
			sum_up(x, i, way);
			if (!w->t.crossed) {
				take_median(w, x, i, way);
			}
		}
		known = known_of(x->error[way], x->n, w->room);
		usual = known ? stats_select(w->room, known, known / 2) : 0;
		known = known_of(x->mean[way], x->n, w->room);
		all = stats_deviation(w->room, known);
		x->usual[way] = usual;
		x->between[way] = sqrt(fmax(all * all - more * more * usual *
							usual, 0));
	}
}

/** Of @n sorted values without number @out: the mean of the middle half, where
 *  those at its ends count by what is in it of them. */
static double middle_mean(const double *v, const double *sums, size_t n,
			  size_t out)
{
	size_t left = n - (out < n), cut = (size_t)(TRIM * (double)left);
	size_t from = cut + (out < n && out <= cut);
	size_t to = from + left - 2 * cut;	/* of the whole list */
	bool holds = out < n && out >= from && out < to;
	double off = TRIM * (double)left - (double)cut, ends;

	to += holds;
	ends = v[from] + v[to - 1];
	return (sums[to] - sums[from] - (holds ? v[out] : 0) - off * ends) /
	       ((1 - 2 * TRIM) * (double)left);
}

/** The deviation of the mean of @n sorted values by leaving out one at a time.
 */
static double jackknife(const double *v, const double *sums, size_t n)
{
	double mean = 0, squares = 0;

	if (n < 2) {
		return 0;
	}
	for (size_t k = 0; k < n; k++) {
		mean += middle_mean(v, sums, n, k) / (double)n;
	}
	for (size_t k = 0; k < n; k++) {
		double off = middle_mean(v, sums, n, k) - mean;

		squares += off * off;
	}
	return sqrt(squares * (double)(n - 1) / (double)n);
}

static double half_of(double z, double error, double freedom, double between)
{
	return hypot(z * error, student_quantile(z, freedom) * between);
}

int effect_estimate(const struct effect_peers *x, size_t i, int way, double z,
		    struct effect_estimate *e)
{
	double *v = calloc(2 * x->width + 2, sizeof(*v)), *sums = v + x->width;
	double freedom = fmax(MAD_AS_SURE * (double)(x->n - 1),
			      LEAST_FREEDOM);
	size_t n = 0;
	double error;

	if (!v) {
		return -1;
	}
	for (size_t p = 0; p < x->width; p++) {
		double s = sample(x, i, way, p);

		if (isfinite(s)) {
			v[n++] = s;
		}
	}
	qsort(v, n, sizeof(*v), compare);
	for (size_t k = 0; k < n; k++) {
		sums[k + 1] = sums[k] + v[k];
	}
	error = fmax(jackknife(v, sums, n), x->usual[way]);
	*e = (struct effect_estimate){
		.by = middle_mean(v, sums, n, n),
		.half = half_of(z, error, freedom, x->between[way]),
		.half_alone = half_of(ALONE, error, freedom, x->between[way]),
		.partners = n,
		.inside = x->inside,
	};
	free(v);
	return 0;
}
