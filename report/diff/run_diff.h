/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_DIFF_RUN_DIFF_H
#define REPORT_DIFF_RUN_DIFF_H

#include "report/diff/diff.h"
#include "report/judge/pairs.h"
#include "report/judge/verdict.h"

/**
 * Two runs of pairs, cell by cell.  A cell is worse when its bandwidth is below
 * the older one by more than a tenth and by more than runs differ here anyway:
 * 5 MADs of all ratios of its path class.  Pure.
 */
#define DIFF_BAND 0.10
#define DIFF_MADS 5.0

enum cell_change {
	CHANGE_NONE,	/* one of the two did not measure it */
	CHANGE_SAME,
	CHANGE_STILL_BAD,
	CHANGE_STILL_SLOW,
	CHANGE_WORSE,	/* from here on: changed */
	CHANGE_BETTER,
	CHANGE_BROKE,	/* was good, and is bad now */
	CHANGE_MENDED,
	CHANGES
};

/** "worse", "broke", ... as in JSON and CSV. */
const char *cell_change_name(enum cell_change c);

struct run_diff {
	const struct run *then, *now;
	bool by_index;		/* no node of the one is in the other */
	int *rank_now;		/* [rank then]: the same GPU now, or -1 */
	uint8_t *change;	/* [cell then]: enum cell_change */
	float *ratio;		/* [cell then]: bandwidth now over then, NAN */
	size_t count[CHANGES];
	size_t missing, added;	/* cells that only the one, or the other,
				 * measured */
	double band[PATH_CLASSES];	/* what is noise, as a share */
	double median[PATH_CLASSES];	/* of the ratios; NAN: none */
};

/** 0, or -1 without memory.  Both runs must outlive @d; run_diff_release()
 *  frees. */
int run_diff_make(const struct run *then, const struct run *now,
		  struct run_diff *d);
void run_diff_release(struct run_diff *d);

/**
 * Give the cells of @then, the older run, the class that their change stands
 * for, and the ratio in place of the bandwidth, so that verdict_compute() names
 * the parts that got worse; their bandwidths are back with run_diff_judged().
 */
void run_diff_as_verdict(struct run_diff *d, struct run *then);
void run_diff_judged(struct run_diff *d, struct run *then);
/**
 * After that, make of @then a picture of the ratios: its contrast is what
 * @d->now measured.  0, or -1 without memory.
 */
int run_diff_as_contrast(const struct run_diff *d, struct run *then);

enum diff_status run_diff_status(const struct run_diff *d);

/** Counts, noise, parts and worst pairs in words, for @width columns; @v is
 *  the verdict of run_diff_as_verdict(). */
void run_diff_words(const struct run_diff *d, const struct verdict *v,
		    int width, bool color, struct str *out);
/** The same as JSON, with each pair that changed; NULL without memory. */
json_t *run_diff_json(const struct run_diff *d, const struct verdict *v);

/** src_node,src_gpu,dst_node,dst_gpu,change,old_GB_s,new_GB_s,ratio of what
 *  changed, with a header. */
void run_diff_csv(const struct run_diff *d, struct str *out);

#endif
