/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/stats.h"

#include <math.h>
#include <stdlib.h>

int stats_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double stats_median(double *v, size_t n)
{
	if (n == 0) {
		return NAN;
	}
	qsort(v, n, sizeof(*v), stats_order);
	return n % 2 ? v[n / 2] : v[n / 2 - 1] / 2 + v[n / 2] / 2;
}

double stats_mode(const double *v, size_t n)
{
	double mode = NAN;
	size_t most = 0;

	for (size_t i = 0; i < n; i++) {
		size_t alike = 0;

		for (size_t k = 0; k < n; k++) {
			alike += v[k] == v[i];
		}
		if (alike > most || (alike == most && v[i] > mode)) {
			most = alike;
			mode = v[i];
		}
	}
	return mode;
}

double stats_percentile(double *v, size_t n, double p)
{
	size_t rank;

	if (n == 0) {
		return NAN;
	}
	qsort(v, n, sizeof(*v), stats_order);
	rank = (size_t)ceil(p / 100 * (double)n);
	rank = rank < 1 ? 1 : rank;
	return v[(rank > n ? n : rank) - 1];
}

/* C. A. R. Hoare: Algorithm 65, Find; CACM 4(7), 1961 */
double stats_select(double *v, size_t n, size_t k)
{
	ptrdiff_t low = 0, high = (ptrdiff_t)n - 1, at = (ptrdiff_t)k;

	while (low < high) {
		double first = v[low], mid = v[low + (high - low) / 2];
		double pivot = fmax(fmin(first, mid),
				    fmin(fmax(first, mid), v[high]));
		ptrdiff_t i = low, j = high;

		while (i <= j) {
			while (v[i] < pivot) {
				i++;
			}
			while (v[j] > pivot) {
				j--;
			}
			if (i <= j) {
				double *a = &v[i++];
				double *b = &v[j--];
				double t = *a;

				*a = *b;
				*b = t;
			}
		}
		/* up to j at most the pivot, from i at least, between: equal */
		if (at <= j) {
			high = j;
		} else if (at >= i) {
			low = i;
		} else {
			break;
		}
	}
	return v[k];
}

double stats_middle(double *v, size_t n)
{
	double high, low;

	if (n == 0) {
		return NAN;
	}
	high = stats_select(v, n, n / 2);
	if (n % 2) {
		return high;
	}
	low = v[0];		/* the largest of the lower half */
	for (size_t i = 1; i < n / 2; i++) {
		low = v[i] > low ? v[i] : low;
	}
	return low / 2 + high / 2;
}

double stats_mad(double *v, size_t n, double *median)
{
	double middle = stats_middle(v, n);

	if (median) {
		*median = middle;
	}
	for (size_t i = 0; i < n; i++) {
		v[i] = fabs(v[i] - middle);
	}
	return stats_middle(v, n);
}

double stats_deviation(double *v, size_t n)
{
	return n ? stats_mad(v, n, NULL) * STATS_MAD_SIGMAS : 0;
}

double stats_log_tail(double k, double n, double rate)
{
	double first = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) +
		       k * log(rate) + (n - k) * log1p(-rate);
	double sum = 1, one = 1;

	if (k <= n * rate) {
		return 0;	/* as good as certain */
	}
	for (double i = k; i < n && one > sum * 1e-9; i++) {
		one *= (n - i) / (i + 1) * rate / (1 - rate);
		sum += one;
	}
	return first + log(sum);
}
