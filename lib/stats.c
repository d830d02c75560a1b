/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/stats.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void sort(double *v, size_t n)
{
	if (n > 1) {
		qsort(v, n, sizeof(*v), compare);
	}
}

double stats_median(double *v, size_t n)
{
	if (n == 0) {
		return NAN;
	}
	sort(v, n);
	return n % 2 ? v[n / 2] : v[n / 2 - 1] / 2 + v[n / 2] / 2;
}

double stats_percentile(double *v, size_t n, double p)
{
	size_t rank;

	if (n == 0) {
		return NAN;
	}
	sort(v, n);
	rank = (size_t)ceil(p / 100 * (double)n);
	rank = rank < 1 ? 1 : rank;
	return v[(rank > n ? n : rank) - 1];
}

double stats_mad(double *v, size_t n, double *median)
{
	double middle = stats_median(v, n);

	if (median) {
		*median = middle;
	}
	for (size_t i = 0; i < n; i++) {
		v[i] = fabs(v[i] - middle);
	}
	return stats_median(v, n);
}
