/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PLAN_LAYOUT_H
#define PROBES_PLAN_LAYOUT_H

#include <stdbool.h>

#include <jansson.h>

/**
 * Who is who in a run: nodes in boot order, ranks counted node by node.  Plain
 * data, filled in once by the coordinator (or a test), read by plan, drill,
 * dispatch and the sim transport.
 */
struct layout_node {
	char name[64];
	int gpus;	/* ranks on this node, present or missing */
	int nics;
	int first_rank, first_nic;	/* when those of all nodes are
					 * counted */
};

struct layout_rank {
	int node;	/* index into nodes[] */
	int gpu;	/* local index */
	int nic;	/* local index; rail number */
	int planned;	/* the same before anybody knew better */
	int heard, votes;	/* the one that is said to be used, and how
				 * much more often than others */
	int leaf;	/* the switch of its NIC, from 1; 0: not known */
	int group;	/* who is of another one cannot be reached, by design;
			 * 0 = all of one */
	int twin;	/* next rank on the same GPU, in a ring; mostly
			 * itself */
};

#define LAYOUT_NIC 64

struct layout {
	int n_nodes, n_ranks, n_nics;
	struct layout_node *nodes;
	struct layout_rank *ranks;
	char (*nic_names)[LAYOUT_NIC];	/* of NICs counted as first_nic is, ""
					 * where one is not there; NULL: none
					 * is known */
};

/**
 * Make a layout in two steps: room for @n_nodes, of which the caller fills in
 * name, gpus and nics (0 = one a GPU); then the ranks and all numbers, the NIC
 * of a GPU being floor(gpu * nics / gpus) where nothing better is known.  Each
 * returns 0, or -1 with @l empty when memory runs out.  layout_release() frees.
 */
int layout_init(struct layout *l, int n_nodes);
int layout_number(struct layout *l);
void layout_release(struct layout *l);

/**
 * Name the NICs: @n_nics[i] of node i, @nic[r] that of rank r.  No name is set
 * yet.  0, or -1 with @l as it was when memory runs out.
 */
int layout_name_nics(struct layout *l, const int *n_nics, const int *nic);

/** The place in nic_names, or in any table of all NICs, of number @nic of node
 *  @node. */
static inline int layout_nic_at(const struct layout *l, int node, int nic)
{
	return l->nodes[node].first_nic + nic;
}

/** What to call the NIC of @rank: "mlx5_2", several joined by '+', or "nic2"
 *  where nobody knows its name; returns @buf. */
const char *layout_nic(const struct layout *l, int rank, char buf[LAYOUT_NIC]);

/**
 * @rank was seen to use the NIC called @name, of several joined by '+' the
 * first.  One that this node is not known to have counts for nothing.
 */
void layout_hear_nic(struct layout *l, int rank, const char *name);
/** Believe what was heard of @rank, if that is so most of the time: true when
 *  its NIC is another one from now on. */
bool layout_use_heard(struct layout *l, int rank);

/** The same as members "nic_of", as planned, "nic_used", if that is not the
 *  same, and "nic_names" of node @node of run.json, @out, where names are
 *  known. */
void layout_put_nics(const struct layout *l, int node, json_t *out);
/**
 * Back from @nodes, all of @l in their order, where each of them has these.
 * Returns how many have, @l being as it was unless it is all; -1 without
 * memory.
 */
int layout_read_nics(struct layout *l, const json_t *nodes);

/** Ranks @a and @b, of different rings so far, use one GPU. */
void layout_share_gpu(struct layout *l, int a, int b);

/** The socket, or the PCIe root, of @rank: of the GPUs of a node the first half
 *  is behind one, the second half behind another. */
#define LAYOUT_SOCKETS 2
static inline int layout_socket(const struct layout *l, int rank)
{
	const struct layout_rank *r = &l->ranks[rank];

	return r->gpu * LAYOUT_SOCKETS / l->nodes[r->node].gpus;
}

static inline bool layout_same_node(const struct layout *l, int a, int b)
{
	return l->ranks[a].node == l->ranks[b].node;
}

/** Do bytes between them leave a node, and its leaf where that is known? */
static inline bool layout_cross_leaves(const struct layout *l, int a, int b)
{
	return !layout_same_node(l, a, b) &&
	       (l->ranks[a].leaf == 0 ||
		l->ranks[a].leaf != l->ranks[b].leaf);
}

#endif
