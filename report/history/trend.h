/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_HISTORY_TREND_H
#define REPORT_HISTORY_TREND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A level at a time. */
struct trend_point {
	int64_t at_s;		/* since 1970 */
	double level;		/* above 0 */
};

/** Fewer runs, or less time between the first and the last, tell no trend. */
#define TREND_RUNS 6
#define TREND_DAYS 7
/** Of more runs so many are taken, evenly. */
#define TREND_MOST 200
#define TREND_MONTH_DAYS 30

/** What a level does in a month of 30 days. */
struct trend {
	size_t runs;		/* it rests on; 0: there is none to tell */
	double days;		/* from the first of them to the last */
	double percent;		/* a month */
	double low, high;	/* 95 % of what it may be */
	bool sure;		/* these are on one side of 0 */
};

/**
 * By Theil and Sen: the median of the slopes between any two runs, so that a
 * quarter of them may be outliers, with the interval of Kendall's tau.
 * @p is sorted by time.  0, or -1 without memory.
 */
int trend_of(const struct trend_point *p, size_t n, struct trend *t);

#endif
