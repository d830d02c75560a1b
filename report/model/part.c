/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/ping_run.h"
#include "report/model/part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>


static const char *const kind_names[PART_KINDS] = {
	[PART_INTER_NODE] = "inter_node",
	[PART_CROSS_RAIL] = "cross_rail",
	[PART_RAIL]	  = "rail",
	[PART_SWITCH]	  = "switch",
	[PART_FABRIC_PATH] = "fabric_path",
	[PART_LEAF_PAIR]  = "leaf_pair",
	[PART_RAIL_LEAF]  = "rail_leaf",
	[PART_NVLINK_DOMAIN] = "nvlink_domain",
	[PART_NODE]	  = "node",
	[PART_NODE_NETWORK] = "node_network",
	[PART_SOCKET]	  = "socket",
	[PART_CABLE_SWAP] = "cable_swap",
	[PART_GPU_NVLINK] = "gpu_nvlink",
	[PART_INTRA_NODE] = "intra_node",
	[PART_NODE_PAIR]  = "node_pair",
	[PART_NIC]	  = "nic",
	[PART_GPU]	  = "gpu",
	[PART_PAIR]	  = "pair",
	[PART_PROCESS]	  = "process",
	[PART_LIMIT]	  = "limit",
	[PART_CONFIG]	  = "config",
};

static const char *const direction_names[] = {
	[PART_BOTH] = "both",
	[PART_TX]   = "tx",
	[PART_RX]   = "rx",
};

const char *part_kind_name(enum part_kind k)
{
	return kind_names[k];
}

const char *part_direction_name(enum part_direction d)
{
	return direction_names[d];
}

struct part part_at(enum part_kind kind, int node, int index)
{
	return (struct part){
		.kind = kind,
		.node = node,
		.index = index,
		.peer_node = -1,
		.peer_index = -1,
		.direction = PART_BOTH,
	};
}

struct part part_of_kind(enum part_kind kind)
{
	return part_at(kind, -1, -1);
}

struct part part_of_path(enum path_class path)
{
	static const enum part_kind kinds[PATH_CLASSES] = {
		[PATH_INTRA] = PART_INTRA_NODE,
		[PATH_INTER] = PART_INTER_NODE,
		[PATH_NVLINK] = PART_NVLINK_DOMAIN,
	};

	return part_of_kind(kinds[path]);
}

/** Does one that sends (@tx) or receives (@rx) count for direction @d? */
static bool counts(enum part_direction d, bool tx, bool rx)
{
	return (tx && d != PART_RX) || (rx && d != PART_TX);
}

static bool touches_pair(const struct part *p, const struct run_rank *s,
			 const struct run_rank *d)
{
	bool tx = s->node == p->node && s->gpu == p->index &&
		  d->node == p->peer_node && d->gpu == p->peer_index;
	bool rx = d->node == p->node && d->gpu == p->index &&
		  s->node == p->peer_node && s->gpu == p->peer_index;

	return counts(p->direction, tx, rx);
}

/** What it joins goes through all of it, the rest by its uplinks. */
static bool touches_switch(const struct run *run, const struct part *p,
			   const struct run_rank *s, const struct run_rank *d)
{
	bool from = run->nodes[s->node].leaf == p->index + 1;
	bool to = run->nodes[d->node].leaf == p->index + 1;

	return p->peer_index == PART_UPLINKS ? from != to : from || to;
}

/** From one leaf to the other, or to any; @p has the lower number first. */
static bool touches_leaves(const struct run *run, const struct part *p,
			   const struct run_rank *s, const struct run_rank *d)
{
	int from = run->nodes[s->node].leaf - 1;
	int to = run->nodes[d->node].leaf - 1;
	int low = from < to ? from : to, high = from < to ? to : from;

	if (from == to || low < 0) {
		return false;
	}
	return p->index < 0	 ? true :
	       p->peer_index < 0 ? low == p->index || high == p->index :
				   low == p->index && high == p->peer_index;
}

static bool on_rail_leaf(const struct run *run, const struct part *p,
			 const struct run_rank *r)
{
	return r->nic == p->index &&
	       run->nodes[r->node].leaf == p->peer_index + 1;
}

static bool is_swapped(const struct part *p, const struct run_rank *r)
{
	return r->node == p->node &&
	       (r->nic == p->index || r->nic == p->peer_index);
}

/** Of a GPU, of all those of a node, of all. */
static bool touches_config(const struct part *p, const struct run_rank *r)
{
	return p->node < 0 || (p->node == r->node &&
			       (p->index < 0 || p->index == r->gpu));
}

bool part_touches(const struct run *run, const struct part *p, int src,
		  int dst)
{
	const struct run_rank *s = &run->ranks[src];
	const struct run_rank *d = &run->ranks[dst];
	bool inter = s->node != d->node;
	bool nvlink = inter && run->n_domains > 0 &&
		      run_path_of(run, src, dst) == PATH_NVLINK;
	bool net = inter && !nvlink;	/* by NICs */

	switch (p->kind) {
	case PART_INTER_NODE:
		return net;
	case PART_CROSS_RAIL:
		return net && s->nic != d->nic;
	case PART_RAIL:
		return net && (s->nic == p->index || d->nic == p->index);
	case PART_SWITCH:
		return net && touches_switch(run, p, s, d);
	case PART_NVLINK_DOMAIN:
		return nvlink && (p->index < 0 || s->domain == p->index + 1);
	case PART_NODE:
		return counts(p->direction, s->node == p->node,
			      d->node == p->node);
	case PART_FABRIC_PATH:
	case PART_LEAF_PAIR:
		return net && touches_leaves(run, p, s, d);
	case PART_RAIL_LEAF:
		return net && (on_rail_leaf(run, p, s) ||
			       on_rail_leaf(run, p, d));
	case PART_NODE_NETWORK:
		return net && counts(p->direction, s->node == p->node,
				     d->node == p->node);
	case PART_SOCKET:
		return net && ((s->node == p->node &&
				run_socket(run, src) == p->index) ||
			       (d->node == p->node &&
				run_socket(run, dst) == p->index));
	case PART_CABLE_SWAP:
		return net && s->nic == d->nic &&
		       (is_swapped(p, s) || is_swapped(p, d));
	case PART_GPU_NVLINK:
		return !inter &&
		       counts(p->direction,
			      s->node == p->node && s->gpu == p->index,
			      d->node == p->node && d->gpu == p->index);
	case PART_INTRA_NODE:
		return !inter && (p->node < 0 || p->node == s->node);
	case PART_NODE_PAIR:
		return counts(p->direction,
			      s->node == p->node && d->node == p->peer_node,
			      d->node == p->node && s->node == p->peer_node);
	case PART_NIC:
		return net &&
		       counts(p->direction,
			      s->node == p->node && s->nic == p->index,
			      d->node == p->node && d->nic == p->index);
	case PART_GPU:
		return counts(p->direction,
			      s->node == p->node && s->gpu == p->index,
			      d->node == p->node && d->gpu == p->index);
	case PART_PAIR:
		return touches_pair(p, s, d);
	case PART_CONFIG:
		return touches_config(p, s) || touches_config(p, d);
	case PART_PROCESS:
	case PART_LIMIT:
	case PART_KINDS:
		break;
	}
	return false;
}

int part_leaf(const struct part *p)
{
	return part_is(p, KIND(SWITCH) | KIND(LEAF_PAIR) | KIND(FABRIC_PATH)) ?
		       p->index :
	       p->kind == PART_RAIL_LEAF ? p->peer_index : -1;
}

int part_peer_leaf(const struct part *p)
{
	return part_is(p, KIND(LEAF_PAIR) | KIND(FABRIC_PATH)) ?
		       p->peer_index : -1;
}

size_t part_measured(const struct run *run, const struct part *p)
{
	size_t n = 0;

	for (size_t at = 0; at < run_n_cells(run); at++) {
		n += run_measured(run->cells[at].class) &&
		     part_touches_at(run, p, at);
	}
	return n;
}

struct part part_shown(const struct run *run, const struct part *p)
{
	struct part shown = *p;

	if (run->ports && p->kind == PART_GPU) {
		shown.kind = PART_NIC;
	}
	return shown;
}

int part_compare(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	const int keys[][2] = {
		{ (int)x->kind, (int)y->kind },
		{ x->node, y->node },
		{ x->index, y->index },
		{ x->peer_node, y->peer_node },
		{ x->peer_index, y->peer_index },
		{ (int)x->direction, (int)y->direction },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (keys[i][0] != keys[i][1]) {
			return keys[i][0] < keys[i][1] ? -1 : 1;
		}
	}
	return 0;
}

bool part_same_place(const struct part *a, const struct part *b)
{
	struct part x = *a, y = *b;

	x.direction = y.direction = PART_BOTH;
	return part_compare(&x, &y) == 0;
}
