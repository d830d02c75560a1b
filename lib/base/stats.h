/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_BASE_STATS_H
#define LIB_BASE_STATS_H

#include <stddef.h>

/** The order of two doubles, for qsort(). */
int stats_order(const void *a, const void *b);

/** The functions sort @v in place; NaN entries must not be in it. */

/** Median; NaN when n is 0. */
double stats_median(double *v, size_t n);
/** Nearest-rank percentile, @p in (0, 100]; NaN when n is 0. */
double stats_percentile(double *v, size_t n, double p);
/** The @k-th smallest, from 0, of @n > @k, in linear time; @v is not sorted:
 *  what is before it is no larger then, what is behind it no smaller. */
double stats_select(double *v, size_t n, size_t k);
/** As stats_median(), in linear time; @v is not sorted. */
double stats_middle(double *v, size_t n);
/** Median absolute deviation from the median; NaN when n is 0.  Linear, and @v
 *  is garbage after. */
double stats_mad(double *v, size_t n, double *median);
/** Standard deviations per median absolute deviation of a normal sample. */
#define STATS_MAD_SIGMAS 1.4826
/** The deviation of most of @v by that, were they normal; 0 when n is 0. */
double stats_deviation(double *v, size_t n);
/** Logarithm of the chance of @k or more of @n, each at @rate in (0, 1). */
double stats_log_tail(double k, double n, double rate);
/** Return the most common value of @v, the largest one if several are equally
 *  common, NaN if @v has no values. NaN entries are ignored; @v is not
 *  modified. */
double stats_mode(const double *v, size_t n);

#endif
