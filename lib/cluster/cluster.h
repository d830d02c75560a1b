/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_CLUSTER_CLUSTER_H
#define LIB_CLUSTER_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "lib/data/cells.h"

/* ---- cluster ------------------------------------------------------------- */

/**
 * The nodes, ranks, NICs, leaf switches and NVLink domains of a run, as those
 * that measure (probes/) and those that judge (report/) know them.  Plain data.
 */
struct cluster_node {
	char name[64];
	int first_rank, gpus;	/* its ranks, present or missing */
	int nics;
	int first_nic;		/* when those of all nodes are counted */
	int leaf;		/* 1 + index of its leaf switch; 0: not known,
				 * or no other node of the run is there */
};

struct cluster_rank {
	int node;		/* index in nodes[] */
	int gpu;		/* local index */
	int nic;		/* local index = number of the rail */
	int domain;		/* NVLink domain, from 1; 0 = of its node
				 * alone */
	int group;		/* ranks of different groups are not connected,
				 * by design; 0 = all of one */
	char nic_name[64];	/* as in run.json or the rows, "" where neither
				 * has it */
	const char *nic_planned;	/* name of the planned NIC, which NCCL
				 * may not use; borrowed from run.json; NULL:
				 * not known */
};

/** The members of struct cluster, for structs that are one and more. */
#define CLUSTER_MEMBERS                                                        \
	int n_nodes, n_ranks;                                                  \
	int n_domains;		/* that join nodes */                          \
	struct cluster_node *nodes;                                            \
	struct cluster_rank *ranks;	/* node by node */                     \
	struct grid grid;	/* which pairs have a cell: all, or those of   \
				 * a sample and of the rows */                 \
	struct cell *cells	/* NULL: paths follow from the domains */

struct cluster {
	CLUSTER_MEMBERS;
};

/** Return true if @way, as a test between nodes reports it, is NVLink. */
static inline bool cluster_is_nvlink(const char *way)
{
	return strstr(way, "P2P/MNNVL") != NULL;
}

/** The path of the bytes from @src to @dst, as far as known without a test. */
static inline enum path_class cluster_path(const struct cluster *c, int src,
					   int dst)
{
	const struct cluster_rank *s = &c->ranks[src], *d = &c->ranks[dst];
	size_t at;

	if (s->node == d->node || c->n_domains == 0) {
		return s->node == d->node ? PATH_INTRA : PATH_INTER;
	}
	at = c->cells != NULL ? grid_at(&c->grid, src, dst) : c->grid.n;
	if (at < c->grid.n) {
		return (enum path_class)c->cells[at].path;
	}
	return s->domain != 0 && s->domain == d->domain ? PATH_NVLINK :
							  PATH_INTER;
}

/** Number the domains by the cells whose path is NVLink, in the order of their
 *  first ranks.  Cells of one that have not passed are of that path, too. */
void cluster_find_domains(struct cluster *c);

/** GPUs of the node that has the most. */
int cluster_most_gpus(const struct cluster *c);

/** The socket, or the PCIe root, of @rank: the first half of the GPUs of a node
 *  is behind one, the second half behind the other. */
#define CLUSTER_SOCKETS 2
static inline int cluster_socket(const struct cluster *c, int rank)
{
	const struct cluster_node *n = &c->nodes[c->ranks[rank].node];

	return (rank - n->first_rank) * CLUSTER_SOCKETS / n->gpus;
}

/* ---- pairs --------------------------------------------------------------- */

/** Pairs of ranks by where the two are, and the rounds of a sample. */
enum stratum {
	STRATUM_RAIL,	/* on other nodes, NICs of one number */
	STRATUM_INSIDE,	/* of the same node */
	STRATUM_CROSS,	/* on other nodes, NICs of other numbers */
	STRATUM_NODES,	/* one pair of ranks for two nodes, rails by turns */
	STRATA
};

/** Which pairs are planned: --pairs, and "kind" of "planned" in run.json. */
enum pairs_kind {
	PAIRS_ALL, PAIRS_INTER, PAIRS_INTRA, PAIRS_RAIL,
	PAIRS_NODES,	/* a sample, then one between any two nodes */
	PAIRS_DEFAULT,	/* all, or a sample of many ranks */
	PAIRS_AUTO,	/* the same of rails, or on a single node all inside
			 * it */
	PAIRS_LIST
};

extern const char *const pairs_kinds[];	/* the words; NULL ends */

static inline enum stratum cluster_stratum(const struct cluster *c, int a,
					   int b)
{
	const struct cluster_rank *x = &c->ranks[a], *y = &c->ranks[b];

	return x->node == y->node ? STRATUM_INSIDE :
	       x->nic == y->nic	  ? STRATUM_RAIL : STRATUM_CROSS;
}

/** Return true if @kind has rounds or pairs of @s, with rails @apart or not. */
bool pairs_have(enum pairs_kind kind, bool apart, enum stratum s);
/** Return true if the pair of ranks @a and @b is of @kind. Pairs of different
 *  groups, or of different rails that are @apart, are unreachable by design and
 *  of no kind. */
bool pairs_want(const struct cluster *c, enum pairs_kind kind, bool apart,
		int a, int b);

/* ---- parts --------------------------------------------------------------- */

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

/** The second half of a switch: its uplinks, not its members. */
#define PART_UPLINKS 0

/** A part of the cluster; -1 where a field does not apply. */
struct part {
	enum part_kind kind;
	int node;		/* index in nodes[] */
	int index;		/* local GPU, NIC, socket, number of the rail,
				 * of a leaf switch */
	int peer_node;		/* node < peer_node in a node pair */
	int peer_index;		/* of a switch: PART_UPLINKS, or -1 = all; the
				 * other switch, -1 = any; that of a rail; the
				 * other NIC */
	enum part_direction direction;	/* tx: node sends to peer, or to all */
	int name;		/* 1 + index in run.names; 0 = its index
				 * tells */
};

/** "n1:4" into @buf: GPU @gpu of @node, as --pairs has it.  Returns @buf. */
#define CLUSTER_GPU_SIZE 96
const char *cluster_gpu_name(const char *node, int64_t gpu,
			     char buf[CLUSTER_GPU_SIZE]);
/** The same in room of the block that asks for it. */
#define CLUSTER_GPU(node, gpu)                                                 \
	cluster_gpu_name(node, gpu, (char[CLUSTER_GPU_SIZE]){0})

/** The place at which the ranks of a part are. */
enum part_place {
	PART_ANYWHERE, PART_ON_NODE, PART_ON_NIC, PART_ON_GPU, PART_ON_RAIL,
	PART_ON_SOCKET, PART_ON_CABLES, PART_ON_LEAF, PART_ON_RAIL_LEAF,
	PART_ON_DOMAIN,
	PART_WITHIN	/* on a GPU, its node if index is -1, anywhere if node
			 * is -1 */
};

/** Which cells a part of a kind touches: those of a path in @paths with an end
 *  at its place, or both. */
struct part_scope {
	const char *name;	/* as in verdict.json */
	unsigned paths;		/* a bit per enum path_class; 0: no cell */
	enum part_place place;
	bool two;		/* the peer is at the other end */
	bool across, along;	/* between rails only; on one rail only */
};

/** A row per kind, and one behind them: a part of a kind that is not known
 *  touches all cells of its node. */
extern const struct part_scope part_scopes[PART_KINDS + 1];

/** True if bytes on @path go through some part of @kind. */
static inline bool part_goes_by(enum part_kind kind, enum path_class path)
{
	return (part_scopes[kind].paths >> path & 1) != 0;
}

const char *part_direction_name(enum part_direction d);

static inline const char *part_kind_name(enum part_kind k)
{
	return part_scopes[k].name;
}

/** The kind that verdict.json calls @name; PART_KINDS: not known. */
enum part_kind part_kind_of(const char *name);

/** Number @index of @kind on @node; -1 where one does not apply. */
struct part part_at(enum part_kind kind, int node, int index);

/** A part of @kind with nothing else said. */
static inline struct part part_of_kind(enum part_kind kind)
{
	return part_at(kind, -1, -1);
}

/** An end of a cell. */
struct part_end {
	int node, gpu, nic, socket, leaf, domain;
};

/** Ends of a cell that a part touches. */
#define PART_SRC 1u
#define PART_DST 2u

/** @rank as an end, for part_touched_ends() of @p. */
struct part_end part_end_of(const struct cluster *c, const struct part *p,
			    int rank);

/** Return true if @e is at @p or, for a part between two ends, at its first
 *  end. */
bool part_has_end(const struct part *p, const struct part_end *e);

/** The ends of the ordered cell @s -> @d, on @path, that @p touches: one, both,
 *  or 0.  A part between two places touches both. */
unsigned part_touched_ends(const struct part *p, const struct part_end *s,
			   const struct part_end *d, enum path_class path);

/** Return true if the ordered cell @src -> @dst goes through @p. */
bool part_touches(const struct cluster *c, const struct part *p, int src,
		  int dst);

/** Return true if @rank is at @p or, for a part between two ends, at its first
 *  end. */
bool part_has(const struct cluster *c, const struct part *p, int rank);

/** For a mask of kinds: KIND(NODE) | KIND(NIC). */
#define KIND(name) (1U << PART_##name)

/** Return true if the kind of @p is in the mask @kinds. */
static inline bool part_is(const struct part *p, unsigned kinds)
{
	return (kinds >> p->kind & 1) != 0;
}

/** The leaf switch of @p, and the other one, as index; -1 of a part that has
 *  none. */
int part_leaf(const struct part *p);
int part_peer_leaf(const struct part *p);

/** Kinds that are leaf switches, or paths between them. */
#define PART_OF_LEAVES \
	(KIND(SWITCH) | KIND(RAIL_LEAF) | KIND(LEAF_PAIR) | KIND(FABRIC_PATH))

/**
 * Read a part as verdict.json has it.  @node numbers a node by its name ("": no
 * node), @leaf a leaf switch by its name and the nodes that it joins; both
 * return -1 where there is none.  PART_KINDS: the kind is not known.
 */
struct part part_read(const json_t *json,
		      int (*node)(void *ctx, const char *name),
		      int (*leaf)(void *ctx, const char *name,
				  const json_t *members), void *ctx);

/** True if @p says where it is, as far as part_touches() has to know. */
bool part_is_placed(const struct part *p);

/** Preference when two explain the same: kind first, then place. */
int part_compare(const void *a, const void *b);
/** Return true if @a and @b are the same part, in any direction. */
bool part_same_place(const struct part *a, const struct part *b);

#endif
