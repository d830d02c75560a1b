/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_DRAW_VIEW_H
#define REPORT_DRAW_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "report/judge/verdict.h"
#include "report/model/part.h"

/* ---- accused ------------------------------------------------------------- */

/** Where in the matrix the parts are that a verdict names.  Pure. */

/** Neighbouring ranks that a found part is, or serves. */
struct accused {
	int first, end;			/* ranks, less @end itself */
	const struct finding *finding;	/* of the verdict */
	int node;			/* of the first one */
};

/** No more findings than this are marked. */
#define ACCUSED_MAX 24
/** Places of one that sits in no node, such as a rail. */
#define ACCUSED_SPREAD 128

/** All of @v (NULL: none) that sit in nodes, between two, on a rail or at a
 *  switch, with bad cells to show for it, most telling first; of one part there
 *  may be several.  *@n of them, the caller frees; NULL without memory. */
struct accused *accused_list(const struct run *run, const struct verdict *v,
			     size_t *n);

/** The nodes of which a part of their own, and not the whole, is accused: a
 *  flag each, the caller frees, as long as they have no more than @max ranks
 *  together; NULL without memory. */
bool *accused_nodes(const struct run *run, const struct verdict *v, int max);

/* ---- view ---------------------------------------------------------------- */

/**
 * Content of a picture: the matrix of cells.  If the matrix does not fit, and
 * always for addresses, a point is the worst cell of a block of ranks (one node
 * to another, or k nodes to k), with the number of good cells in the block.
 * Nodes shown in detail stay expanded, with a row per rank.  For addresses, the
 * paths between segments have a picture of their own, in which segments take
 * the place of nodes.  Pure; all pictures of a run, on paper and on screen, are
 * drawn from it.
 */
enum view_metric {
	VIEW_BANDWIDTH, VIEW_LATENCY,
	VIEW_LINE,	/* percent of what the line carries */
	VIEW_RTT,	/* of ping: a round trip */
	VIEW_CONTRAST	/* what the other pass has of the bandwidth */
};

/** Unit and format of a metric's values. */
struct view_unit {
	const char *word;	/* of the metric */
	const char *unit;	/* behind a value */
	const char *more;	/* ... and on a terminal behind that */
	const char *scale;	/* over the colours of a picture, ... */
	const char *notes[3];	/* ... and under that; NULL at the end */
	bool less_is_good;
	double least, full;	/* ends of the scale, whatever was measured;
				 * 0: it is anchored on the median */
	bool log;
};

extern const struct view_unit view_units[];

/** The classes that have a mark, in the order of legends. */
#define VIEW_MARKS 6
extern const enum cell_class view_marks[VIEW_MARKS];

struct view_cell {
	uint8_t class;	/* enum cell_class, the worst of the block */
	uint8_t path;	/* enum path_class of @well */
	uint8_t value_path;	/* that of @value */
	float value;	/* its value; of several the worst; NAN = none */
	float well;	/* the worst value of those that pass; NAN = none */
	uint32_t planned, passed;	/* cells of the block */
	uint32_t flaky;		/* of those that passed: not at once */
	int src, dst;	/* the ranks of the worst cell */
};

struct view {
	const struct run *run;
	enum view_metric metric;
	int n;			/* rows and columns */
	int *first;		/* n + 1: ranks of row i are first[i] up to
				 * first[i + 1] */
	int nodes_per;		/* 0: a row is a rank; else so many nodes, or
				 * a rank of a node that is open */
	bool *open;		/* nodes of the run that are */
	int ranks_per;		/* of one segment in a row, else 0 */
	struct view_cell *cells;	/* n x n, src major */
	size_t present[CELL_CLASSES];	/* squares of each class in the view, */
	size_t mixed[CELL_CLASSES];	/* those where other cells pass */
	size_t flaky, bare;	/* squares that pass with a flaky cell, and
				 * those that pass without a value */
	size_t diagonal, blank;	/* squares not planned, on it and off it */
	bool any_value;
};

/** Return true if a cell of @run has a value of @metric; otherwise no view has
 *  one. */
bool view_any_value(const struct run *run, enum view_metric metric);
/** At most @max rows, but for what @open adds: a flag for each node of @run, or
 *  NULL.  0, or -1 when memory runs out. */
int view_make(const struct run *run, int max, enum view_metric metric,
	      const bool *open, struct view *v);
void view_release(struct view *v);

static inline const struct view_cell *view_cell(const struct view *v, int row,
						int column)
{
	return &v->cells[(size_t)row * (size_t)v->n + (size_t)column];
}

/** Return true if a square stands for several cells. */
static inline bool view_folds(const struct view *v)
{
	return v->n < v->run->n_ranks;
}

/** Returns true if only some cells of the square are bad. */
static inline bool view_mixed(const struct view_cell *c)
{
	return c->class != CELL_PASS && c->passed > 0;
}

/** The rank that row @row begins with. */
const struct cluster_rank *view_row_rank(const struct view *v, int row);
/** The node that it ends with. */
int view_row_last_node(const struct view *v, int row);
/** Return true if row @row is a single rank, whose number tells it from its
 *  neighbours. */
bool view_is_rank(const struct view *v, int row);
/** Return true if row @row begins a node, or several, after the first row. */
bool view_new_node(const struct view *v, int row);
/** The row behind the last one of the node of @row. */
int view_node_end(const struct view *v, int row);
/** "bandwidth", "latency", "round trip", "parallel / serial"; returns @buf. */
const char *view_metric_text(const struct view *v, char *buf, size_t size);
/** "each square: the worst test from a node to a node", or "" where each is one
 *  cell; returns @buf. */
const char *view_block_text(const struct view *v, char *buf, size_t size);
/** Return why squares off the diagonal are blank: "not in the sample". */
const char *view_blank_text(const struct view *v);

/**
 * Colours from bad (0) to good (1), of the cells of one path class: what is
 * fast between nodes is slow inside one.  The median of good cells is at
 * SCALE_MEDIAN, so a few fast cells darken nothing; the dark end is
 * SCALE_LEAST_RANGE of the median away, or more if the values scatter.
 */
struct scale {
	double low, high;	/* of the metric; high 0 = nothing measured */
	double median;		/* 0: the scale is not anchored on it */
	bool log;
	bool less_is_good;	/* latency */
	bool diverging;		/* 0.5 is as before, 1 is better */
};

#define SCALE_MEDIAN 0.94
#define SCALE_LEAST_RANGE 0.3
/** Robust standard deviations from the median to the dark end. */
#define SCALE_DEVIATIONS 6
/** Maximum number of ticks of a scale. */
#define SCALE_TICKS 6

/** Those of a class that nothing was measured of are of none. */
struct scale scale_make(const struct view *v, enum path_class path);
/** How many of the scales of @metric, one a path class, are to be told apart: 0
 *  where nothing was measured, 1 where one end is the same for all. */
int scales_shown(enum view_metric metric, const struct scale s[PATH_CLASSES]);
/** 0 ... 1, 1 is good. */
double scale_place(const struct scale *s, double value);
/** The same of those cells of a square that pass; 1 without such. */
double scale_cell(const struct scale s[PATH_CLASSES],
		  const struct view_cell *c);
/** The value at a place, the inverse of scale_place(). */
double scale_value(const struct scale *s, double place);
/** Round values from one end of @s to the other into @ticks; returns how
 *  many. */
int scale_ticks(const struct scale *s, double ticks[SCALE_TICKS]);
/** Fraction of the median of its path class that a slow square lacks, 0 ... 1;
 *  0 if it is not known. */
double scale_loss(const struct view *v, const struct view_cell *c);
/** 0xRRGGBB of the cells of a square that pass. */
uint32_t scale_color(const struct scale s[PATH_CLASSES],
		     const struct view_cell *c);
/** 0xRRGGBB of a place on @s. */
uint32_t scale_color_at(const struct scale *s, double place);

/* ---- labels -------------------------------------------------------------- */

/** Names of nodes where there is little room: cut so that they still differ. */

#define LABEL_SIZE 64
/** With less room than this nothing marks where a name was cut. */
#define LABEL_MARK_MIN 8

/**
 * Cuts the @n @names to @max letters each, in place: first the common domain,
 * then, if there is no room, the common prefix, then the common suffix, then
 * the middle of each name.  ".." marks what is left out, except the domain.
 * Names that would become equal get their numbers ("gpu#7") if these fit.
 * Returns true if all names that differed still do.  Pure.
 */
bool labels_cut(char (*names)[LABEL_SIZE], size_t n, size_t max);

/** The names of all nodes of @run for @max letters each; the caller frees.
 *  NULL when memory runs out. */
char (*labels_make(const struct run *run, size_t max))[LABEL_SIZE];

/** Write the label of row @row of @v where nodes are called @labels: a node, or
 *  the first and the last of several. Returns @buf. */
const char *labels_row(const struct view *v, char (*labels)[LABEL_SIZE],
		       int row, char *buf, size_t size);

/** Letters of the longest one; 0 of none. */
size_t labels_longest(char (*names)[LABEL_SIZE], size_t n);

#endif
