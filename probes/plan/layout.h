/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PLAN_LAYOUT_H
#define PROBES_PLAN_LAYOUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/cluster/cluster.h"
#include "probes/host/port.h"

/* ---- layout -------------------------------------------------------------- */

#define LAYOUT_NIC 64

/**
 * The cluster of a run, nodes in boot order, as the coordinator (or a test)
 * fills it in once and plan, drill, dispatch and the sim transport read it.
 */
struct layout {
	union {
		struct cluster cluster;
		struct { CLUSTER_MEMBERS; };
	};
	struct {
		int planned;	/* its NIC before any test */
		int heard, votes; /* the NIC that tests report, and how much
				   * more often than others */
		int leaf;	/* switch of its NIC, from 1; 0: not known */
		int twin;	/* next rank on the same GPU, in a ring; mostly
				 * itself */
	} *own;			/* of each rank */
	int n_nics;
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

/** Write the name of the NIC of @rank: "mlx5_2", several joined by '+', or
 *  "nic2" if the name is unknown; returns @buf. */
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

static inline bool layout_same_node(const struct layout *l, int a, int b)
{
	return l->ranks[a].node == l->ranks[b].node;
}

/** Return true if data between the ranks leave a node and, if known, its
 *  leaf. */
static inline bool layout_cross_leaves(const struct layout *l, int a, int b)
{
	return !layout_same_node(l, a, b) &&
	       (l->own[a].leaf == 0 || l->own[a].leaf != l->own[b].leaf);
}

/* ---- leaves -------------------------------------------------------------- */

/**
 * Which ranks are on one leaf: filled in for the ranks of a layout by what the
 * nodes and the user say of switches.  Pure.  Each function returns 0, or -1
 * without memory; leaves_release() frees.
 */
struct leaves {
	struct layout *layout;
	const char *const *nics;	/* a rank's, several joined by '+' */
	char (*names)[64];		/* of leaf 1 and up */
	int n;
	int node;			/* of the link read last */
};

/** By @facts of node @node: what its ports hear by LLDP. */
int leaves_hear(struct leaves *v, int node, const json_t *facts);
/** By @text, as switches_parse() takes it: of those that said nothing. */
int leaves_read(struct leaves *v, const char *text, size_t len);
void leaves_release(struct leaves *v);

/* ---- rails --------------------------------------------------------------- */

/** Decide by the routes of the nodes whether rails are connected. Pure. */

/** A NIC or port of a node. */
struct rail_nic {
	const char *name;	/* several joined by '+' are one */
	int rail;
	int group;		/* others are not reached by design */
};

/** Returns the opinion of a node by @facts, its facts of its @n @nics: -1 if
 *  none of its rails has a route to another, 1 if one has, 0 if no two of them
 *  have addresses.  Rails are apart by design if the sum over all nodes is
 *  below 0, so that one node with wrong addresses does not decide. */
int rails_hear(const json_t *facts, const struct rail_nic *nics, int n);

/* ---- affinity ------------------------------------------------------------ */

/**
 * Which NICs a GPU uses, as NCCL chooses them (src/graph/topo.cc,
 * ncclTopoGetLocalNetType).  Pure.
 *
 * The path with the most GB/s, then the nearest.  NICs that are alike are
 * shared by the GPUs to which they are local: a GPU starts at the one that its
 * number modulo the number of these GPUs points to.  A NIC that is nearest to
 * no GPU (storage, management) is not part of the layout.
 */
#define AFFINITY_NICS 64	/* of a node; more are not looked at */

/** As NCCL orders paths, the nearest first; WAY_P2C: by NVLink-C2C. */
enum affinity_way {
	WAY_PIX, WAY_PXB, WAY_P2C, WAY_PHB, WAY_SYS, WAY_UNKNOWN
};

/** NCCL's words by enum affinity_way: "PIX"; "" for WAY_UNKNOWN. */
extern const char *const affinity_way_names[];

/** Affinity as a node reports it. */
struct affinity {
	int n_gpus, n_nics;
	struct {
		char name[LAYOUT_NIC];
		double rate_Gb_s;	/* 0: not known */
	} *nics;		/* which NCCL may use (up, and not excluded),
				 * in the order of NCCL's tree */
	struct affinity_path {
		uint8_t way;		/* enum affinity_way */
		double GB_s;
	} (*paths)[AFFINITY_NICS];	/* of each GPU to each NIC */
	int *dev;		/* of each GPU its number for NVML */
};

/** One of @n_gpus ranks that knows of no NIC; 0, or -1 without memory.
 *  affinity_release() frees, and is safe on a zeroed one. */
int affinity_init(struct affinity *a, int n_gpus);
void affinity_release(struct affinity *a);

/** The number of NIC @name, which is added where it is new, of no known rate
 *  and with no known way; -1: there is no room. */
int affinity_add(struct affinity *a, const char *name);

/**
 * Adds what an inventory (probes/host/inventory.h) knows; the GPU of rank i has
 * number @slots[i] in it, -1: it belongs to another inventory.  NICs are the
 * ports that are ACTIVE and that @hca, a list for port_matches(), selects;
 * NULL: NCCL_IB_HCA as jobs on the node have it.  Ports of one PCI bus (with
 * NCCL_IB_MERGE_VFS=0: of one device) are one NIC, four at most, their names
 * joined by '+', since NCCL merges them unless NCCL_NET_MERGE_LEVEL is LOC or
 * NCCL_IB_MERGE_NICS is 0.  Merges at higher levels are not known here.
 */
void affinity_add_inventory(struct affinity *a, const json_t *inventory,
			    const int *slots, const char *hca);

/** NICs that a GPU uses, as indices in nics. */
struct affinity_pick {
	int near[AFFINITY_NICS], n_near;	/* the nearest, all alike */
	int mine[AFFINITY_NICS], n_mine;	/* of these its share, in the
						 * order of channels */
	int sharers;		/* GPUs to which near[0] is local */
	struct affinity_path path;	/* to each of near */
};

/** Find the NICs of @gpu; with @alone as in a communicator that has no other
 *  GPU of the node, which is that of a pair. */
void affinity_pick(const struct affinity *a, int gpu, bool alone,
		   struct affinity_pick *p);

/**
 * Give each rank of @l its NIC by what the nodes say, @of[i] node i, and the
 * NICs their names.  Of shares that overlap each GPU has the NIC that it starts
 * at and those that no other GPU has.  A NIC has one number, that of its rail,
 * on all nodes where it has that name: in the order of all names that there
 * are, those that only few nodes have last, so that one that is missing on a
 * node leaves a hole there.  Nodes that have no name in common with others
 * count their own.  Where no node knows anything @l stays as it is.
 * 0, or -1 without memory, @l as it was.
 */
int affinity_apply(struct layout *l, const struct affinity *of);

/* ---- port slots ---------------------------------------------------------- */

/**
 * Which HCA ports of several nodes belong together.  A slot is a port as most
 * nodes have it, by its name; a rank is one slot of one node.  Slots that can
 * communicate by design are a group.  Pure.
 */

/** Purpose of a port: used by GPUs of its node or, if far from all of them, for
 *  storage or management in a network of its own. */
enum port_use { USE_UNKNOWN, USE_GPUS, USE_OTHER };

/** Properties that two ports of one fabric share. */
struct port_class {
	char link_layer[16];	/* InfiniBand, Ethernet; "" not known */
	char subnet[PORT_SUBNET];	/* "" on Ethernet */
	int pkey;		/* without membership; 0 = not known */
	int rate_Gb_s;		/* 0: not known */
	enum port_use use;
};

/** A port as its node tells of it; or a slot, as most nodes have it. */
struct port_seen {
	char name[PORT_NAME];
	bool up;		/* else only the name and link layer count */
	struct port_class class;
	int group;		/* of a slot, from 0 */
};

/** The ports of a node that take part, in its order. */
struct port_set {
	const struct port_seen *ports;
	int n;			/* at most PORT_MAX */
};

struct port_slots {
	struct port_seen slot[PORT_MAX];
	int n, n_groups;
};

#define PORT_GROUP_TEXT 112

/** The slots of @n @nodes: the list of names that the most have, of these the
 *  longest, of these the first. */
void port_slots_make(struct port_slots *s, const struct port_set *nodes,
		     int n);

/**
 * Which port of @node is in which slot: its index, or -1.  By name and class
 * where it has both; else by class, as nodes may count in another order; else
 * by name, as a port that is set up differently is missed where it belongs;
 * else in order, names being as different as machines.
 */
void port_slots_match(const struct port_slots *s, const struct port_set *node,
		      int at[PORT_MAX]);

/** "InfiniBand, 400 Gb/s, subnet fe80:..., P_Key 0x7fff": @group in words. */
const char *port_group_text(const struct port_slots *s, int group,
			    char buf[PORT_GROUP_TEXT]);

#endif
