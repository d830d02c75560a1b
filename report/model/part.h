/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_PART_H
#define REPORT_MODEL_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/model/run.h"

/* ---- part ---------------------------------------------------------------- */

/**
 * The kinds of part that can be faulty, in the order in which one is preferred
 * when several explain the same cells.
 */
enum part_kind {
	PART_INTER_NODE,	/* all traffic between nodes */
	PART_CROSS_RAIL,	/* between nodes, NICs of different index */
	PART_FABRIC_PATH,	/* of the paths between two leaf switches those
				 * that go over one link */
	PART_RAIL,		/* the NICs of one index on all nodes */
	PART_SWITCH,		/* the leaf switch of some nodes */
	PART_LEAF_PAIR,		/* all paths between two of these */
	PART_RAIL_LEAF,		/* the NICs of one index on the nodes of one */
	PART_NVLINK_DOMAIN,	/* NVLink between the nodes of one domain */
	PART_NODE,
	PART_NODE_NETWORK,	/* of one node, to all others */
	PART_INTRA_NODE,	/* inside all nodes, or inside one */
	PART_NODE_PAIR,
	PART_SOCKET,		/* GPUs and NICs behind one, to other nodes */
	PART_CABLE_SWAP,	/* two NICs of a node, each on the rail of the
				 * other */
	PART_NIC,
	PART_GPU,
	PART_GPU_NVLINK,	/* of one GPU, to the others of its node */
	PART_PAIR,		/* two GPUs */
	PART_PROCESS,		/* of a job, index = its rank, peer_index its
				 * process number */
	PART_LIMIT,		/* of locked memory */
	PART_CONFIG,		/* how a GPU, a node or the cluster is set up */
	PART_KINDS
};

enum part_direction { PART_BOTH, PART_TX, PART_RX };

/** Of a switch: what leads away from it, and not what it joins. */
#define PART_UPLINKS 0

/** A part of the cluster; -1 where a field does not apply. */
struct part {
	enum part_kind kind;
	int node;		/* index in run.nodes */
	int index;		/* local GPU, NIC, socket, number of the rail,
				 * of a switch in run.leaves */
	int peer_node;		/* node < peer_node in a node pair */
	int peer_index;		/* of a switch: PART_UPLINKS, or -1 = all; the
				 * other switch, -1 = any; that of a rail; the
				 * other NIC */
	enum part_direction direction;	/* tx: node sends to peer, or to all */
	int name;		/* 1 + index in run.names; 0 = its index
				 * tells */
};

/** Which cells a part touches, and what it is called. */

#define PART_NAME_SIZE 224

const char *part_kind_name(enum part_kind k);	/* as in verdict.json */
const char *part_direction_name(enum part_direction d);

/** A part of @kind with nothing else said. */
struct part part_of_kind(enum part_kind kind);
/** All pairs of a class: inside nodes, between them. */
struct part part_of_path(enum path_class path);
/** Number @index of @kind on @node; -1 where one does not apply. */
struct part part_at(enum part_kind kind, int node, int index);

/** Does the ordered cell @src -> @dst go through @p? */
bool part_touches(const struct run *run, const struct part *p, int src,
		  int dst);

/** The same of the cell at @at. */
static inline bool part_touches_at(const struct run *run, const struct part *p,
				   size_t at)
{
	return part_touches(run, p, run_src(run, at), run_dst(run, at));
}

/** How many of its cells came to a measurement. */
size_t part_measured(const struct run *run, const struct part *p);

/**
 * What to call @p: where ranks are HCA ports what would be a GPU is a NIC,
 * though one that traffic inside its node goes through as well.
 */
struct part part_shown(const struct run *run, const struct part *p);

/** For a mask of kinds: KIND(NODE) | KIND(NIC). */
#define KIND(name) (1U << PART_##name)

/** The leaf switch of @p, and the other one, as index in run.leaves; -1 of what
 *  has none. */
int part_leaf(const struct part *p);
int part_peer_leaf(const struct part *p);

/** Is @p of one of @kinds? */
static inline bool part_is(const struct part *p, unsigned kinds)
{
	return (kinds >> p->kind & 1) != 0;
}

/** Preference when two explain the same: kind first, then place. */
int part_compare(const void *a, const void *b);
/** The same thing, whatever the direction? */
bool part_same_place(const struct part *a, const struct part *b);

/** "GPU 4 of n1", "NIC 2 of n1 (mlx5_2)", "rail 1", ...; returns @buf. */
const char *part_name(const struct run *run, const struct part *p, char *buf,
		      size_t size);

/** Append "n[0-3]", or how many when that gets long. */
void part_add_names(const char (*names)[64], size_t n, struct str *out);

/** The name that the rows give to NIC @p, mlx5_2 or eth2; "" when none does. */
const char *part_nic_name(const struct run *run, const struct part *p);

/** The rank of @node whose NIC is called @name; -1: none. */
int part_nic_rank(const struct run *run, int node, const char *name);

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
