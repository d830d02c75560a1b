/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_DIFF_CURVE_DIFF_H
#define REPORT_DIFF_CURVE_DIFF_H

#include "report/model/sweep.h"

/**
 * Two curves point by point.  Times vary from run to run, those of small
 * messages more: a point counts when it is off by more than a band, and when
 * the size before or after it is off in the same direction.  Pure.
 */

enum point_change {
	POINT_SAME,
	POINT_WORSE,
	POINT_BETTER,
	POINT_NOISY,	/* off by more than the band, alone */
	POINT_LOST,	/* measured then, and failed now */
	POINT_CHANGES
};

struct point_diff {
	int64_t size_B;
	int64_t inplace;
	double ratio;		/* speed now over then; NAN = lost */
	const struct collective_row *now, *then;
	enum point_change change;
};

struct curve_diff {
	const struct curve *now, *then;
	struct point_diff *points;	/* out of place first, by size */
	size_t n;
	size_t count[POINT_CHANGES];
	size_t missing;		/* measured then, and not now: no points */
	size_t failing;		/* failed then, and now: no points */
};

/** "same", "worse", "better", "noisy", "lost". */
const char *point_change_name(enum point_change c);

/** The curve of @among that @c is best compared with: nothing that both state
 *  differs but the table's name, and that does not either where there is one
 *  such; NULL when there is none. */
const struct curve *curve_partner(const struct curve *c,
				  const struct sweep *among);
/** 0, or -1 without memory.  curve_diff_release() frees. */
int curve_compare(const struct curve *now, const struct curve *then,
		  struct curve_diff *d);
void curve_diff_release(struct curve_diff *d);

/** "64 KiB to 1 MiB at 71 %, 4 MiB at 80 %" of the points that are @change. */
void curve_diff_sizes(const struct curve_diff *d, enum point_change change,
		      struct str *out);

#endif
