/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_CELLS_H
#define LIB_DATA_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/data/record.h"

/**
 * A cell is one planned ordered pair src -> dst: the last attempt at the
 * largest size in the main schedule, unless that attempt was bad at a smaller
 * one.  The classes partition the cells.  Shared by the coordinator (what to
 * try again) and the report (what to say).
 */
enum cell_class {
	CELL_NOT_RUN,	/* planned, no row, or outcome not_run */
	CELL_PASS,
	CELL_SLOW,
	CELL_FAIL,	/* error or crashed */
	CELL_TIMEOUT,
	CELL_CORRUPT,
	CELL_SKIPPED,
	CELL_CLASSES,
	CELL_UNPLANNED = CELL_CLASSES	/* diagonal, or left out by --pairs */
};

/** Did a test of this class run, and fail? */
static inline bool cells_failed(unsigned class)
{
	return class == CELL_FAIL || class == CELL_TIMEOUT ||
	       class == CELL_CORRUPT;
}

const char *cell_class_name(enum cell_class c);	/* as in verdict.json */

/** The path class of a cell for "slow": cells are compared inside one only. */
enum path_class {
	PATH_INTRA, PATH_INTER,
	PATH_NVLINK,		/* between nodes, inside an NVLink domain */
	PATH_CLASSES
};

/** Slow: below this share of the median of its path class and size ... */
#define CELLS_SLOW_RATIO 0.8
/** ... and further than this many MADs below it. */
#define CELLS_SLOW_MADS 5.0
/** ... unless it is below this share, however much the others differ. */
#define CELLS_SLOW_SURE 0.05
/** Slow, too: below this share of what the line carries. */
#define CELLS_LINE_RATIO 0.9
/**
 * None of that where messages are too short to show it: a transfer of S bytes
 * takes the latency and S / rate, both alike at Hockney's half-performance
 * length.  Below that, so where it takes less than so many latencies, the
 * figure is that of starting transfers, and its noise; the latency tells more.
 */
#define CELLS_START_TIMES 2.0
/** Peers that a class needs before "slow" means anything. */
#define CELLS_SLOW_PEERS 6

struct cell {
	float bw_GB_s;		/* NAN when not measured */
	float lat_us;
	float expected_GB_s;	/* what the line carries; NAN: not known */
	int32_t attempt;
	uint8_t class;		/* enum cell_class */
	uint8_t outcome;	/* enum outcome of the deciding row */
	uint8_t path;		/* enum path_class */
	uint8_t flaky;		/* some attempt failed, the last one did not */
};

/** Bandwidth limits of one path class; NAN where it has too few peers.  Where
 *  lines carry different rates, all are as if they were of the usual one. */
struct slow_limit {
	double line_GB_s;	/* that; 0: no rate is known */
	double median_GB_s;
	double mad_GB_s;
	double limit_GB_s;	/* slow when below */
	size_t peers;
	bool bound_by_latency;	/* the median transfer takes less than
				 * CELLS_START_TIMES of the shortest latency:
				 * none is slow */
	bool of_fast;		/* of a fast minority: report/judge/levels.h */
};

/** The bandwidth of @c as it would be if its line were the usual one of @l:
 *  what is compared with that. */
double cells_beside(const struct cell *c, const struct slow_limit *l);

/** Below what a cell is slow beside others of that median and MAD, in GB/s. */
double cells_slow_below(double median_GB_s, double mad_GB_s);

/**
 * Decide pass or slow for every ok cell of @cells (n of them, any order, class
 * already CELL_PASS or CELL_SLOW where ok; others are left alone), against the
 * median and MAD of its path class.  @size_B is that of their messages, 0 where
 * it is not known.  Fills @limits.  Returns 0, or -1 when memory runs out
 * (nothing changed).
 */
int cells_mark_slow(struct cell *cells, size_t n, int64_t size_B,
		    struct slow_limit limits[PATH_CLASSES]);

/** Below what its line carries?  Not when nobody knows what that is. */
bool cells_below_line(const struct cell *c);

/** What a row says of its cell, or what decides it so far: attempt 0 and
 *  OUTCOME_NOT_RUN as long as nothing does. */
struct cell_say {
	int64_t attempt;
	enum outcome outcome;
	int go;		/* of a run that was resumed; any number */
};

/**
 * Does @row decide its cell after @before?  The last attempt that measured
 * decides, unless it only failed where an earlier one of the same go had
 * passed.  Of all its sizes it is the worst: wrong data above any other
 * failure, that above a pass, which counts @at_size only, the largest one.  Of
 * failures alike the one @at_size does.
 */
bool cells_decides(struct cell_say row, bool at_size, struct cell_say before);

/** The class of an outcome on its own (ok becomes CELL_PASS). */
enum cell_class cells_class_of(enum outcome o);

#endif
