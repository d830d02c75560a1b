/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_GRID_H
#define LIB_DATA_GRID_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "lib/base/err.h"

/**
 * Which ordered pairs of @ranks have a cell, and where each stands in arrays of
 * cells: all of a square, the diagonal too, or the few of a sample.  In both
 * the order is by source, then by destination.  Arrays of cells have one more
 * than these, for the pairs that have none.
 */
struct grid {
	int ranks;
	size_t n;
	size_t *first;	/* of each source, and n; NULL: it is a square, and the
			 * two below are NULL as well */
	int *src, *dst;
};

struct grid_pair {
	int src, dst;
};

/** All of @ranks; nothing to free. */
struct grid grid_square(int ranks);
/** Those of the @n @pairs alone, which are sorted here; one twice is one.  0,
 *  or -1 without memory; grid_release() frees. */
int grid_of(struct grid *g, int ranks, struct grid_pair *pairs, size_t n);
void grid_release(struct grid *g);	/* safe on a zeroed one */
/** What run.json lists, @planned, of @ranks: a malloc'ed list of the @n pairs,
 *  each both ways.  NULL with @e where one is none, or without memory. */
struct grid_pair *grid_listed(const json_t *planned, int ranks, size_t *n,
			      struct err *e);
/** The list of "planned" of a run.json; NULL: it was all of a kind. */
const json_t *grid_list(const json_t *planned);

/** Where src -> dst is among those of a sample; g->n: nowhere. */
size_t grid_find(const struct grid *g, int src, int dst);

/** Where the cell of src -> dst stands; g->n: it has none. */
static inline size_t grid_at(const struct grid *g, int src, int dst)
{
	return g->first ? grid_find(g, src, dst) :
			  (size_t)src * (size_t)g->ranks + (size_t)dst;
}

/** The first cell of @src, or of who comes after; @src may be g->ranks. */
static inline size_t grid_first(const struct grid *g, int src)
{
	return g->first ? g->first[src] : (size_t)src * (size_t)g->ranks;
}

/** Whose cell @at is, which is below g->n. */
static inline int grid_src(const struct grid *g, size_t at)
{
	return g->first ? g->src[at] : (int)(at / (size_t)g->ranks);
}

static inline int grid_dst(const struct grid *g, size_t at)
{
	return g->first ? g->dst[at] : (int)(at % (size_t)g->ranks);
}

#endif
