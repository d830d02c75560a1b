/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_DIFF_SWEEP_DIFF_H
#define REPORT_DIFF_SWEEP_DIFF_H

#include "report/diff/curve_diff.h"
#include "report/diff/diff.h"

/** Two sweeps of collectives, curve by curve.  Pure. */
struct sweep_diff {
	struct curve_diff *curves;	/* those that both have */
	size_t n;
	size_t alone;		/* curves without a partner, of either */
	size_t gone;		/* those that only @then has */
	size_t missing;		/* points measured then, and not now */
	size_t failing;		/* points that failed in both */
	size_t count[POINT_CHANGES];
};

/** 0, or -1 without memory.  Both must outlive @d; sweep_diff_release()
 *  frees. */
int sweep_diff_make(const struct sweep *then, const struct sweep *now,
		    struct sweep_diff *d);
void sweep_diff_release(struct sweep_diff *d);

enum diff_status sweep_diff_status(const struct sweep_diff *d);
void sweep_diff_words(const struct sweep_diff *d, int width, bool color,
		      struct str *out);
/** curve,size_B,inplace,change,old_us,new_us,ratio of all that was compared,
 *  with a header. */
void sweep_diff_csv(const struct sweep_diff *d, struct str *out);
json_t *sweep_diff_json(const struct sweep_diff *d);

#endif
