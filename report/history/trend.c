/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/history/trend.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/stats.h"

#define DAY_S 86400.0
/** Of a normal distribution, two-sided 95 %. */
#define Z_95 1.96

/** A slope of logarithms a day, as percent a month. */
static double percent_of(double slope)
{
	return 100 * expm1(slope * TREND_MONTH_DAYS);
}

/** The @k-th of @n slopes, the nearest there is. */
static double slope_at(double *slopes, size_t n, double k)
{
	size_t at = k < 0 ? 0 : (size_t)k;

	return stats_select(slopes, n, at < n ? at : n - 1);
}

/** How far from the middle of all slopes the interval reaches: Kendall's S of
 *  @runs that have no trend is so wide. */
static double reach_of(double runs)
{
	return Z_95 * sqrt(runs * (runs - 1) * (2 * runs + 5) / 18);
}

static void judge(double *slopes, size_t n, struct trend *t)
{
	const double reach = reach_of((double)t->runs), all = (double)n;

	t->percent = percent_of((slope_at(slopes, n, (all - 1) / 2) +
				 slope_at(slopes, n, all / 2)) / 2);
	t->low = percent_of(slope_at(slopes, n, floor((all - reach) / 2)));
	t->high = percent_of(slope_at(slopes, n, ceil((all + reach) / 2)));
	t->sure = t->low > 0 || t->high < 0;
}

int trend_of(const struct trend_point *p, size_t n, struct trend *t)
{
	const size_t runs = n < TREND_MOST ? n : TREND_MOST;
	const double days = n < 2 ? 0 :
			    (double)(p[n - 1].at_s - p[0].at_s) / DAY_S;
	double *slopes;
	size_t k = 0;

	*t = (struct trend){ .percent = NAN, .low = NAN, .high = NAN };
	if (runs < TREND_RUNS || days < TREND_DAYS) {
		return 0;
	}
	slopes = malloc(runs * runs / 2 * sizeof(*slopes));
	if (!slopes) {
		return -1;
	}
	for (size_t i = 0; i < runs; i++) {
		const struct trend_point *a = &p[i * (n - 1) / (runs - 1)];

		for (size_t j = i + 1; j < runs; j++) {
			const struct trend_point *b =
				&p[j * (n - 1) / (runs - 1)];

			if (b->at_s > a->at_s) {
				slopes[k++] = log(b->level / a->level) * DAY_S /
					      (double)(b->at_s - a->at_s);
			}
		}
	}
	t->runs = k > 0 ? runs : 0;
	t->days = days;
	if (k > 0) {
		judge(slopes, k, t);
	}
	free(slopes);
	return 0;
}
