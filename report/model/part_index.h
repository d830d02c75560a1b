/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_PART_INDEX_H
#define REPORT_MODEL_PART_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "report/model/part.h"

/**
 * Numbers for all parts of a run but its pairs, so that a million cells can be
 * tallied by part in one pass: part <-> number, and the parts of a cell.
 */
struct part_index {
	const struct run *run;
	int inner_nodes;	/* nodes with cells inside them */
	size_t *first_nic;	/* of each node, counted over all nodes */
	size_t *first_swap;	/* the same of two NICs of a node */
	size_t *crosses;	/* of each node: 1, a pair across rails was
				 * measured; 0 */
	size_t *socket;		/* the number of that of each rank, over all
				 * nodes; NO_SOCKET */
	size_t at[PART_KINDS + 1];	/* the first number of each kind, behind
					 * those of the kind before it */
	size_t n;
};

#define NO_SOCKET SIZE_MAX

/** Parts that one cell can touch, at most. */
#define PART_INDEX_RANKS_MAX (20 + 2 * PART_INDEX_NICS)
#define PART_INDEX_NODES_MAX 24
#define PART_INDEX_CELL_MAX  (PART_INDEX_RANKS_MAX + PART_INDEX_NODES_MAX)
/** Nodes with more NICs have no two of which the cables could be exchanged. */
#define PART_INDEX_NICS 16

/** 0, or -1 when memory runs out. */
int part_index_init(struct part_index *x, const struct run *run);
void part_index_release(struct part_index *x);

/** The numbers of all parts that the cell touches; returns how many. */
int part_index_cell(const struct part_index *x, int src, int dst,
		    size_t ids[PART_INDEX_CELL_MAX]);
/** Of these, those that follow from the nodes at both ends and the @path; and
 *  the others, which follow from the GPUs. */
int part_index_nodes(const struct part_index *x, int from, int to,
		     enum path_class path, size_t ids[PART_INDEX_NODES_MAX]);
int part_index_ranks(const struct part_index *x, int src, int dst,
		     size_t ids[PART_INDEX_RANKS_MAX]);
/** The other way: the part behind a number. */
struct part part_index_part(const struct part_index *x, size_t id);

#endif
