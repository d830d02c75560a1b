/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_SWEEP_H
#define REPORT_MODEL_SWEEP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/data/cells.h"
#include "lib/data/record_rows.h"
#include "lib/spec/spec.h"
#include "report/model/part.h"

/* ---- ceiling ------------------------------------------------------------- */

/**
 * The bus bandwidth that a collective can reach at most, by the links of its
 * machine.  docs/ceilings.md derives each bound.  Pure.
 */

/** Links of one node, one direction, GB/s; NAN: not known. */
struct machine {
	double rails_GB_s;	/* all NICs of its GPUs together */
	double nic_GB_s;	/* NICs of one GPU */
	double nvlink_GB_s;	/* NVLinks of one GPU */
	int rails;		/* NICs; 0: not known */
	int64_t gpus;		/* of the whole node; 0: not known */
	bool whole;		/* the rails are those of all its GPUs, and a
				 * run may use fewer: --machine */
	bool one_domain;	/* NVLink joins all nodes */
};

struct ceiling {
	double GB_s;		/* busbw; NAN: not known */
	enum ceiling_path path;
	const char *algo;	/* the algorithm; "": any */
	int rails;		/* that it is of; 0: NVLink, or not known */
};

/** Set @m to unknown links. */
void machine_init(struct machine *m);
/** Set the rails of @m, of a node with @gpus GPUs (0: not known). */
void machine_set_rails(struct machine *m, int rails, double GB_s, int64_t gpus);

/** Number of nodes of @row: its own, else by the GPUs of a node of @m; 0 if
 *  neither is known. */
int64_t machine_nodes(const struct machine *m,
		      const struct collective_row *row);

/**
 * Sets *@most to the ceiling of @row by the algorithm that it names, and
 * *@least to the same.  If it names none, or one that is not known, they are
 * the largest and the smallest ceiling of any algorithm.
 */
void ceiling_of_row(const struct machine *m, const struct collective_row *row,
		    struct ceiling *most, struct ceiling *least);

/** Smaller messages say more of the latency than of the links. */
#define CEILING_LARGE_B (INT64_C(128) << 20)

/** Fill @m in by --machine or --rails of @run (an import), else by its facts:
 *  the NICs of its GPUs, at their rate, of the node that has least; the NVLinks
 *  of its GPUs, by expected.ini.  Unknown if the run did not use them: by TCP,
 *  simulated, several nodes on one machine. */
void machine_of_run(const struct run *run, struct machine *m);

/** Append "83 % of what 4 rails carry by Ring", for a busbw of @GB_s. */
void ceiling_words(const struct ceiling *c, double GB_s, struct str *out);

/* ---- sweep --------------------------------------------------------------- */

/**
 * A sweep of collectives over sizes: a run of allreduce and its kin, or tables
 * that were imported.
 */
/** Further curves are taken for more of the last one. */
#define SWEEP_CURVES_MAX 1000

/** The rows of one setting: what one table of nccl-tests holds. */
struct curve {
	char name[160];		/* what tells it from the others; may be "" */
	const struct collective_row *first;
	const struct collective_row **rows; /* by size, out of place first */
	size_t n;
	bool reference;		/* somebody else's measurement */
};

struct sweep {
	const struct run *run;	/* what else is known of it; NULL: nothing */
	struct collective_row *rows;
	size_t n;
	struct curve *curves;	/* in the order of their first rows */
	size_t n_curves;
	struct machine machine;	/* its links, as far as known */
};

/** Read the run in DIR, its rows into @s and what else is there into @run,
 *  which @s refers to; -1 with @e.  The caller releases both, in any case. */
int sweep_read(const char *dir, struct run *run, struct sweep *s,
	       struct err *e);
/**
 * Make a sweep of a run of pairs that measured several sizes: a curve per class
 * of paths, of each size the median bandwidth of the good tests, the times of
 * the slowest and fastest one, and in "count" their number.  Without curves if
 * there is one size.  Returns 0, or -1 with @e; sweep_release() frees in any
 * case.
 */
int sweep_of_pairs(const struct run *run, struct sweep *s, struct err *e);
/** Append a row; -1 without memory.  sweep_group() is the caller's to call. */
int sweep_add(struct sweep *s, const struct collective_row *row);
/** Sort the rows into curves and name them; 0, or -1 without memory. */
int sweep_group(struct sweep *s);
void sweep_release(struct sweep *s);

/** The row of @size_B with that inplace (any for -1); NULL: none. */
const struct collective_row *curve_at(const struct curve *c, int64_t size_B,
				      int64_t inplace);
/** Its name, or what it measures. */
static inline const char *curve_words(const struct curve *c)
{
	return c->name[0] ? c->name : c->first->op[0] ? c->first->op :
							"the collective";
}

/** The row with the highest bus bandwidth among those of @least_B and more that
 *  went well; NULL: none. */
const struct collective_row *curve_peak(const struct curve *c,
					int64_t least_B);
/** The curve with the highest peak; the first if none has one. */
const struct curve *sweep_peak(const struct sweep *s);
/** "187.7 GB/s at 8 GiB, 94 % of what 8 rails carry by Ring, 50 % by Tree" for
 *  the peak of @c; appends nothing if no ceiling is known. */
void curve_share_words(const struct sweep *s, const struct curve *c,
		       struct str *out);
/** Bus bandwidth, where the table has none, algorithm bandwidth; NAN. */
double row_bandwidth(const struct collective_row *row);

static inline bool row_numbers_agree(int64_t a, int64_t b)
{
	return a == RECORD_NONE || b == RECORD_NONE || a == b;
}

/** How far two runs of one setting may be off at @size_B, as a share. */
static inline double curve_band(int64_t size_B)
{
	return size_B >= 1024 * 1024 ? 0.05 : 0.20;
}

/**
 * The bandwidth of @size_B (NAN: none) and its place in *@inplace (0, 1;
 * RECORD_NONE: both, or not known) by the rows that went well: STAT_BEST the
 * better mean of in place and out of place, STAT_AVG the average of both;
 * STAT_MIN and STAT_MAX by the longest and the shortest operation of both, or
 * by their means if these are not known.
 */
double curve_cell_at(const struct curve *c, int64_t size_B,
		     enum spec_stat stat, int64_t *inplace);
/** Return true if both have the same number of ranks and the same collective;
 *  an unknown one may be any. */
bool curve_same_op(const struct curve *a, const struct curve *b);
/** The next size above @size_B of any curve that can be compared with @of; -1
 *  after the last one.  -1 as @size_B gives the first. */
int64_t sweep_next_size(const struct sweep *s, const struct curve *of,
			int64_t size_B);
/** The curve that is fastest at @size_B among those that can be compared with
 *  @of; NULL unless two have that size. */
const struct curve *sweep_fastest(const struct sweep *s,
				  const struct curve *of, int64_t size_B);
/** Return true if @c cannot be told from the curve @fastest at @size_B, or is
 *  that curve. */
bool curve_keeps_up(const struct curve *c, const struct curve *fastest,
		    int64_t size_B);
/** How many are not, itself among them. */
size_t sweep_keep_up(const struct sweep *s, const struct curve *fastest,
		     int64_t size_B);
/** Return true if the sweep has rows of the model cluster. */
bool sweep_is_model(const struct sweep *s);
/** Return true if the curve @at is the first of its collective, and not the
 *  only one. */
bool sweep_leads(const struct sweep *s, size_t at);

/**
 * Add the curves of @reference (a built-in name, a CSV file, a run directory),
 * marked as references. Returns 0, or -1 with @e. sweep_release() frees.
 */
int sweep_reference(const char *reference, struct sweep *s, struct err *e);

/* ---- curve diff ---------------------------------------------------------- */

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
	/* the runs have different numbers of ranks or nodes: ratios are those
	 * of the shares of their ceilings, with large messages */
	bool shares;
	const struct machine *m_now, *m_then;	/* of shares */
	struct point_diff *points;	/* out of place first, by size */
	size_t n;
	size_t count[POINT_CHANGES];
	size_t missing;		/* measured then, and not now: no points */
	size_t failing;		/* failed then, and now: no points */
};

/**
 * Compare @now, a curve of @of, with its partner in @among; without one, with
 * the curve of the same collective that has other numbers of ranks or nodes, by
 * the shares of their ceilings.  Returns 1 with @d, whose then is that curve; 0
 * if there is none; -1 without memory.  curve_diff_release() frees.
 */
int curve_compare_with(const struct curve *now, const struct sweep *of,
		       const struct sweep *among, struct curve_diff *d);
void curve_diff_release(struct curve_diff *d);

/** "64 KiB to 1 MiB at 71 %, 4 MiB at 80 %" of the points that are @change. */
void curve_diff_sizes(const struct curve_diff *d, enum point_change change,
		      struct str *out);

#endif
