/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_CELLS_H
#define LIB_DATA_CELLS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/data/record.h"

/* ---- sampled ------------------------------------------------------------- */

/**
 * The faults that a run on a sample of the pairs can and cannot detect:
 * docs/sampling.md derives it. Member "sample" of "planned" in run.json,
 * written by the plan and read by a report. Pure.
 */
struct sampled {
	int rail, inside, cross;	/* rounds: each rank has a partner on
					 * another node and its rail, on its
					 * node, on another node and rail */
	bool nodes;			/* and one pair of any two nodes */
	int n_nodes, n_ranks, rails;	/* rails of a node */
	double share;			/* of all ordered pairs */
};

/** Flows that leave a leaf switch per round, and its uplinks, as
 *  sampled_uplink() assumes. */
#define SAMPLED_FLOWS	30
#define SAMPLED_UPLINKS	32

int sampled_rounds(const struct sampled *s);

/** NULL without memory, or where @s has no rounds: a run of all pairs. */
json_t *sampled_json(const struct sampled *s);
/** That of run.json, to @s; false: all pairs are planned, or it is damaged. */
bool sampled_read(const json_t *sample, struct sampled *s);

/** Probability, 0 to 1, of detecting a GPU (@nic: a NIC) that fails in a share
 *  @rate of its tests; */
double sampled_part(const struct sampled *s, bool nic, double rate);
/** a dead uplink of a leaf switch, to which flows are assigned at random; */
double sampled_uplink(const struct sampled *s);
/** and a fault between two nodes only, for all of their GPUs. */
double sampled_node_pair(const struct sampled *s);

/** "99.9 %", never more than is so, nor "100 %"; returns @buf. */
const char *sampled_percent(double p, char *buf, size_t size);
/** "12 rounds (8 on rails, 1 inside nodes, 3 across rails)"; */
void sampled_rounds_text(const struct sampled *s, struct str *out);
/** the faults that it always detects; */
void sampled_sure_text(const struct sampled *s, struct str *out);
/** and the others, with their probabilities. */
void sampled_chance_text(const struct sampled *s, struct str *out);

/* ---- grid ---------------------------------------------------------------- */

/**
 * The ordered pairs of @ranks that have a cell, and the index of each in arrays
 * of cells: all of a square, including the diagonal, or those of a sample.
 * Both are in the order of source, then destination.  Arrays of cells have one
 * more entry, for the pairs without a cell.
 */
struct grid {
	int ranks;
	size_t n;
	size_t *first;	/* of each source, and n; NULL: it is a square, and the
			 * two below are NULL as well */
	int *src, *dst;
	uint64_t inverse;	/* of a square: 2^GRID_BITS / ranks, rounded up;
				 * sources are asked for too often to divide */
};

/** Exact for squares of less than 2^16 ranks: the number of a cell, below 2^32,
 *  times the error of the inverse, below 2^16, stays below 2^48. */
#define GRID_BITS 48

struct grid_pair {
	int src, dst;
};

/** All of @ranks; nothing to free. */
struct grid grid_square(int ranks);
/** Make a grid of the @n @pairs, which are sorted here, without duplicates.
 *  Returns 0, or -1 without memory; grid_release() frees. */
int grid_of(struct grid *g, int ranks, struct grid_pair *pairs, size_t n);
void grid_release(struct grid *g);	/* safe on a zeroed one */
/** Read the list @pairs of run.json for @ranks ranks: a malloc'ed list of the
 *  @n pairs, each in both directions. NULL with @e if an entry is not a pair,
 *  or without memory. */
struct grid_pair *grid_listed(const json_t *pairs, int ranks, size_t *n,
			      struct err *e);

/** Index of src -> dst in a sample; g->n: not in it. */
size_t grid_find(const struct grid *g, int src, int dst);

/** Index of the cell of src -> dst; g->n: it has none. */
static inline size_t grid_at(const struct grid *g, int src, int dst)
{
	return g->first ? grid_find(g, src, dst) :
			  (size_t)src * (size_t)g->ranks + (size_t)dst;
}

/** First cell of @src or, if it has none, of the next rank that has; @src may
 *  be g->ranks. */
static inline size_t grid_first(const struct grid *g, int src)
{
	return g->first ? g->first[src] : (size_t)src * (size_t)g->ranks;
}

/** Source and destination of cell @at, below g->n. */
static inline int grid_src(const struct grid *g, size_t at)
{
	return g->first ? g->src[at] : (int)((at * g->inverse) >> GRID_BITS);
}

static inline int grid_dst(const struct grid *g, size_t at)
{
	return g->first ? g->dst[at] :
	       (int)(at - (size_t)grid_src(g, at) * (size_t)g->ranks);
}

/* ---- cells --------------------------------------------------------------- */

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

/** Return true if a test of this class ran and failed. */
static inline bool cells_failed(unsigned class)
{
	return class == CELL_FAIL || class == CELL_TIMEOUT ||
	       class == CELL_CORRUPT;
}

/** The class of an outcome on its own (ok becomes CELL_PASS). */
enum cell_class cells_class_of(enum outcome o);

/** Returns true for a test that was made, and failed. */
static inline bool cells_outcome_failed(enum outcome o)
{
	return cells_failed(cells_class_of(o));
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
 * length.  A transfer that takes less than this many latencies measures the
 * start of transfers and its noise; the latency is the better measure there.
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
	bool of_fast;		/* of the fast cells: report/judge/levels.c */
};

/** The bandwidth of @c scaled to the usual line rate of @l, for comparisons. */
double cells_beside(const struct cell *c, const struct slow_limit *l);

/** Limit in GB/s below which a cell is slow, given median and MAD of others. */
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

/** Return true if @c is slower than its line rate allows; false if the line
 *  rate is unknown. */
bool cells_below_line(const struct cell *c);

/** The row that decides a cell so far: attempt 0 and OUTCOME_NOT_RUN before the
 *  first row. */
struct cell_say {
	int64_t attempt;
	enum outcome outcome;
	int go;		/* of a run that was resumed; any number */
};

/**
 * Return true if @row replaces @before as the row that decides its cell. The
 * last attempt that measured decides, unless it failed where an earlier attempt
 * of the same run passed. Among sizes the worst outcome decides: wrong data,
 * then any other failure, then a pass, which counts only for the largest size
 * (@at_size). Among equal failures the one @at_size decides.
 */
bool cells_decides(struct cell_say row, bool at_size, struct cell_say before);

/**
 * As calloc(), for arrays that have an entry for each cell of a run and are
 * filled in any order: in large pages where the kernel gives them when asked,
 * as looking for a page of 4 KiB takes longer than what is done there.  free()
 * frees.
 */
void *cells_calloc(size_t n, size_t size);

#endif
