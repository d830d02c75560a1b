/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_DIFF_RUN_DIFF_H
#define REPORT_DIFF_RUN_DIFF_H

#include "report/base/wrap.h"
#include "report/judge/verdict.h"
#include "report/model/run.h"
#include "report/model/sweep.h"

/* ---- diff ---------------------------------------------------------------- */

/** The result of comparing two runs of any kind. Pure. */

enum diff_status {
	DIFF_PASS, DIFF_WARN, DIFF_FAIL, DIFF_PARTIAL, DIFF_UNKNOWN,
	DIFF_STATUSES
};

/**
 * The result of @compared measurements that both runs have: UNKNOWN without
 * any, FAIL if some are @bad (worse now, or failing now or in both), PARTIAL if
 * some of the older run are @missing, WARN if some are @slow in both.
 */
enum diff_status diff_status(size_t compared, size_t bad, size_t slow,
			     size_t missing);
/** "pass", "warn", ... as a verdict has it, and the exit code of that. */
const char *diff_status_name(enum diff_status status);
int diff_exit(enum diff_status status);

/* ---- run diff ------------------------------------------------------------ */

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
 * @d->now measured.  The names of both runs are borrowed.  0, or -1 without
 * memory.
 */
int run_diff_as_contrast(const struct run_diff *d, struct run *then,
			 const char *then_name, const char *now_name);

enum diff_status run_diff_status(const struct run_diff *d);

/** Counts, noise, parts and worst pairs in words, for @width columns; @v is
 *  the verdict of run_diff_as_verdict(). */
void run_diff_words(const struct run_diff *d, const struct verdict *v,
		    int width, bool color, struct str *out);
/** The same as JSON, with each pair that changed; NULL without memory. */
json_t *run_diff_json(const struct run_diff *d, const struct verdict *v);

/** The parts of run_diff_words() with their pairs; table_release() frees. */
void run_diff_parts(const struct run_diff *d, const struct verdict *v,
		    struct table *t);
/** src_node,src_gpu,dst_node,dst_gpu,change,old_GB_s,new_GB_s,ratio of what
 *  changed; table_release() frees. */
void run_diff_table(const struct run_diff *d, struct table *t);

/* ---- sweep diff ---------------------------------------------------------- */

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
/** curve,size_B,inplace,change,old_us,new_us,ratio of all that was compared;
 *  table_release() frees. */
void sweep_diff_table(const struct sweep_diff *d, struct table *t);
json_t *sweep_diff_json(const struct sweep_diff *d);

#endif
