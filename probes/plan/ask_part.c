/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/ask_steps.h"

#include <string.h>

#include "probes/plan/plan.h"

static const struct ask_scope scopes[] = {
	[ASK_NODE] = { .name = "node", .place = ASK_ON_NODE, .intra = true,
		       .inter = true },
	[ASK_NODE_NETWORK] = { .name = "node_network", .place = ASK_ON_NODE,
			       .inter = true, .many = true },
	[ASK_INTRA_NODE] = { .name = "intra_node", .place = ASK_ON_NODE,
			     .intra = true, .many = true },
	[ASK_NIC] = { .name = "nic", .place = ASK_ON_NIC, .inter = true },
	[ASK_GPU] = { .name = "gpu", .place = ASK_ON_GPU, .intra = true,
		      .inter = true },
	[ASK_GPU_NVLINK] = { .name = "gpu_nvlink", .place = ASK_ON_GPU,
			     .intra = true, .many = true },
	[ASK_RAIL] = { .name = "rail", .place = ASK_ON_RAIL, .inter = true },
	[ASK_NODE_PAIR] = { .name = "node_pair", .place = ASK_ON_NODE,
			    .two = true, .inter = true },
	[ASK_PAIR] = { .name = "pair", .place = ASK_ON_GPU, .two = true,
		       .intra = true, .inter = true, .many = true },
	[ASK_INTER_NODE] = { .name = "inter_node", .inter = true },
	[ASK_CROSS_RAIL] = { .name = "cross_rail", .inter = true,
			     .across = true },
	[ASK_SOCKET] = { .name = "socket", .place = ASK_ON_SOCKET,
			 .inter = true, .many = true },
	[ASK_CABLE_SWAP] = { .name = "cable_swap", .place = ASK_ON_CABLES,
			     .inter = true, .along = true, .many = true },
	[ASK_SWITCH] = { .name = "switch", .place = ASK_ON_LEAF, .inter = true,
			 .many = true },
	[ASK_RAIL_LEAF] = { .name = "rail_leaf", .place = ASK_ON_RAIL_LEAF,
			    .inter = true, .many = true },
	[ASK_LEAF_PAIR] = { .name = "leaf_pair", .place = ASK_ON_LEAF,
			    .two = true, .inter = true, .many = true },
	[ASK_FABRIC_PATH] = { .name = "fabric_path", .place = ASK_ON_LEAF,
			      .two = true, .inter = true, .many = true },
	[ASK_UNKNOWN] = { .place = ASK_ON_NODE, .intra = true, .inter = true },
};

const struct ask_scope *ask_scope_of(const struct ask_part *p)
{
	return &scopes[p->kind];
}

enum ask_kind ask_kind_of(const char *name)
{
	enum ask_kind kind = 0;

	while (kind < ASK_UNKNOWN && strcmp(scopes[kind].name, name) != 0) {
		kind++;
	}
	return kind;
}

bool ask_is_shared(const struct ask_part *p)
{
	enum ask_place place = scopes[p->kind].place;

	return place == ASK_ON_LEAF || place == ASK_ON_RAIL_LEAF;
}

bool ask_is_placed(const struct ask_part *p)
{
	const struct ask_scope *s = &scopes[p->kind];
	bool index = s->place != ASK_ON_NODE && s->place != ASK_ON_LEAF;

	if (s->place == ASK_ANYWHERE || p->kind == ASK_FABRIC_PATH) {
		return true;
	}
	if (index && p->index < 0) {
		return false;
	}
	switch (s->place) {
	case ASK_ON_RAIL:
		return true;
	case ASK_ON_CABLES:
		return p->node >= 0 && p->peer_index >= 0;
	case ASK_ON_LEAF:
	case ASK_ON_RAIL_LEAF:
		return p->leaf >= 0 && (!s->two || p->peer_leaf >= 0);
	default:
		return p->node >= 0 &&
		       (!s->two || (p->peer_node >= 0 &&
				    (!index || p->peer_index >= 0)));
	}
}

static int leaf_at(const struct ask_plan *a, int rank)
{
	return a->leaf_of[a->l->ranks[rank].node];
}

/** Is @rank on leaf switch @leaf, or on any for -1? */
static bool is_on_leaf(const struct ask_plan *a, int leaf, int rank)
{
	return leaf < 0 || leaf_at(a, rank) == leaf;
}

bool ask_is_here(const struct ask_plan *a, const struct ask_part *p, int rank)
{
	const struct layout_rank *r = &a->l->ranks[rank];

	switch (scopes[p->kind].place) {
	case ASK_ON_NODE:
		return r->node == p->node;
	case ASK_ON_NIC:
		return r->node == p->node && r->nic == p->index;
	case ASK_ON_GPU:
		return r->node == p->node && r->gpu == p->index;
	case ASK_ON_RAIL:
		return r->nic == p->index;
	case ASK_ON_SOCKET:
		return r->node == p->node &&
		       layout_socket(a->l, rank) == p->index;
	case ASK_ON_CABLES:
		return r->node == p->node &&
		       (r->nic == p->index || r->nic == p->peer_index);
	case ASK_ON_LEAF:
		return is_on_leaf(a, p->leaf, rank);
	case ASK_ON_RAIL_LEAF:
		return r->nic == p->index && is_on_leaf(a, p->leaf, rank);
	case ASK_ANYWHERE:
		break;
	}
	return true;
}

/** Is @rank at the other end of @p? */
static bool is_there(const struct ask_plan *a, const struct ask_part *p,
		     int rank)
{
	struct ask_part peer = *p;

	peer.node = p->peer_node;
	peer.index = p->peer_index;
	peer.leaf = p->peer_leaf;
	return ask_is_here(a, &peer, rank);
}

/** Where @p is between leaf switches: are they on different ones? */
static bool is_apart(const struct ask_plan *a, const struct ask_part *p,
		     int src, int dst)
{
	return p->leaf < 0 || !(scopes[p->kind].two || p->uplinks) ||
	       leaf_at(a, src) != leaf_at(a, dst);
}

bool ask_touches(const struct ask_plan *a, const struct ask_part *p, int src,
		 int dst)
{
	const struct ask_scope *s = &scopes[p->kind];
	bool same = layout_same_node(a->l, src, dst), tx, rx;
	bool inside = s->intra || (a->ports && p->kind == ASK_NIC);
	bool crosses = plan_crosses(a->l, src, dst);

	if (!(same ? inside : s->inter) || (s->across && !crosses) ||
	    (s->along && crosses) || !is_apart(a, p, src, dst)) {
		return false;
	}
	tx = ask_is_here(a, p, src) && (!s->two || is_there(a, p, dst));
	rx = ask_is_here(a, p, dst) && (!s->two || is_there(a, p, src));
	return (tx && (p->dirs & TASK_AB)) || (rx && (p->dirs & TASK_BA));
}
