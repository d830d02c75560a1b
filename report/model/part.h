/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_PART_H
#define REPORT_MODEL_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/model/run.h"

/* ---- part ---------------------------------------------------------------- */

/** Name of a part of a run, and its cells. */

#define PART_NAME_SIZE 224

/** All pairs of a class: inside nodes, between them. */
struct part part_of_path(enum path_class path);
/** part_touches() of the cell at @at. */
static inline bool part_touches_at(const struct run *run, const struct part *p,
				   size_t at)
{
	return part_touches(&run->cluster, p, run_src(run, at),
			    run_dst(run, at));
}

/** The first place from @at on that @p touches; run_n_cells() behind the
 *  last. */
size_t part_next(const struct run *run, const struct part *p, size_t at);
/** Loop over all that @p touches. */
#define part_foreach_cell(run, p, at) \
	for (size_t at = part_next(run, p, 0); at < run_n_cells(run); \
	     at = part_next(run, p, at + 1))
/** Counts the tests that touch @p, which are its lines in results-final.csv, by
 *  class, unless @of is NULL; returns how many.  The counts of every finding
 *  are of these. */
size_t part_tests(const struct run *run, const struct part *p,
		  size_t of[CELL_CLASSES]);
/** Returns how many of them were measured. */
size_t part_measured(const struct run *run, const struct part *p);

/**
 * Return @p as it is shown: where ranks are HCA ports, a NIC in place of a GPU,
 * though traffic inside its node goes through it, too.
 */
struct part part_shown(const struct run *run, const struct part *p);

/** "GPU 4 of n1", "NIC 2 of n1 (mlx5_2)", "rail 1", ...; returns @buf. */
const char *part_name(const struct run *run, const struct part *p, char *buf,
		      size_t size);

/** The names, in room of the block that asks for them. */
#define PART_NAME(run, p)                                                      \
	part_name(run, p, (char[PART_NAME_SIZE]){0}, PART_NAME_SIZE)
#define PART_CELL_NAME(run, at)                                                \
	part_cell_name(run, at, (char[PART_NAME_SIZE]){0})

/** Append "n[0-3]", or how many when that gets long. */
void part_add_names(const char (*names)[64], size_t n, struct str *out);

/** The name that the rows give to NIC @p, mlx5_2 or eth2; "" when none does. */
const char *part_nic_name(const struct run *run, const struct part *p);

/** The first rank of @node whose NIC is called @name, or has number @nic; -1 if
 *  there is none. */
int part_rank_of_name(const struct run *run, int node, const char *name);
int part_rank_of_nic(const struct run *run, int node, int nic);

/** "n0:3", the spelling of --pairs; returns @buf. */
const char *part_rank_name(const struct run *run, int rank, char *buf,
			   size_t size);
/** "n0:3 -> n1:3" of the cell at @at; returns @buf. */
const char *part_cell_name(const struct run *run, size_t at,
			   char buf[PART_NAME_SIZE]);

/* ---- part index ---------------------------------------------------------- */

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
	bool all_paths;		/* there is a path of all nodes that are not on
				 * one leaf switch; of two switches, the path
				 * between these is the same */
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
/** Return those of the parts that follow from the nodes at both ends and the
 *  @path; the other function, those that follow from the GPUs. */
int part_index_nodes(const struct part_index *x, int from, int to,
		     enum path_class path, size_t ids[PART_INDEX_NODES_MAX]);
int part_index_ranks(const struct part_index *x, int src, int dst,
		     size_t ids[PART_INDEX_RANKS_MAX]);
/** The other way: the part behind a number. */
struct part part_index_part(const struct part_index *x, size_t id);

#endif
