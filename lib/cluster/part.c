/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/cluster/cluster.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/rundir.h"

/* ---- names --------------------------------------------------------------- */

const char *cluster_gpu_name(const char *node, int64_t gpu,
			     char buf[CLUSTER_GPU_SIZE])
{
	snprintf(buf, CLUSTER_GPU_SIZE, "%.70s:%" PRId64, node, gpu);
	return buf;
}

/* ---- domains ------------------------------------------------------------- */

void cluster_find_domains(struct cluster *c)
{
	struct cluster_rank *ranks = c->ranks;
	bool more = true;

	c->n_domains = 0;
	for (int r = 0; r < c->n_ranks; r++) {
		ranks[r].domain = 0;
	}
	while (more) {
		more = false;
		/* join the domains of two ranks, numbers of their first ranks
		 * + 1 */
		for (size_t at = 0; at < c->grid.n; at++) {
			const int s = grid_src(&c->grid, at);
			const int d = grid_dst(&c->grid, at);
			const int x = ranks[s].domain, y = ranks[d].domain;
			const int least = x == 0 || (y > 0 && y < x) ? y : x;

			if (c->cells[at].path == PATH_NVLINK &&
			    (x != y || x == 0)) {
				ranks[s].domain = ranks[d].domain =
					least > 0 ? least : (s < d ? s : d) + 1;
				more = true;
			}
		}
	}
	for (int r = 0; r < c->n_ranks; r++) {
		int first = ranks[r].domain - 1;

		if (first >= 0) {
			ranks[r].domain = first < r ? ranks[first].domain :
						      ++c->n_domains;
		}
	}
	for (size_t at = 0; c->n_domains > 0 && at < c->grid.n; at++) {
		const struct cluster_rank *s = &ranks[grid_src(&c->grid, at)];
		const struct cluster_rank *d = &ranks[grid_dst(&c->grid, at)];

		if (s->domain > 0 && s->domain == d->domain &&
		    s->node != d->node && c->cells[at].class != CELL_PASS &&
		    c->cells[at].class != CELL_SLOW) {
			c->cells[at].path = PATH_NVLINK;
		}
	}
}

/* ---- pairs --------------------------------------------------------------- */

const char *const pairs_kinds[] = {
	[PAIRS_ALL] = "all", [PAIRS_INTER] = "inter", [PAIRS_INTRA] = "intra",
	[PAIRS_RAIL] = "rail", [PAIRS_NODES] = "nodes",
	[PAIRS_DEFAULT] = "default", [PAIRS_AUTO] = "auto", NULL
};

bool pairs_have(enum pairs_kind kind, bool apart, enum stratum s)
{
	static const bool strata[][STRATA] = {
		[PAIRS_ALL] = { true, true, true, false },
		[PAIRS_NODES] = { true, true, true, true },
		[PAIRS_INTER] = { true, false, true, false },
		[PAIRS_INTRA] = { false, true, false, false },
		[PAIRS_RAIL] = { true, false, false, false },
		[PAIRS_LIST] = { false },
	};

	return strata[kind][s] && !(apart && s == STRATUM_CROSS);
}

bool pairs_want(const struct cluster *c, enum pairs_kind kind, bool apart,
		int a, int b)
{
	return a != b && c->ranks[a].group == c->ranks[b].group &&
	       pairs_have(kind, apart, cluster_stratum(c, a, b));
}

/* ---- parts --------------------------------------------------------------- */

#define INSIDE	(1U << PATH_INTRA)
#define BY_NICS (1U << PATH_INTER)
#define NVLINK	(1U << PATH_NVLINK)
#define ALL	(INSIDE | BY_NICS | NVLINK)

const struct part_scope part_scopes[PART_KINDS + 1] = {
	[PART_INTER_NODE] = { "inter_node", .paths = BY_NICS,
	  .place = PART_ANYWHERE },
	[PART_CROSS_RAIL] = { "cross_rail", .paths = BY_NICS,
	  .place = PART_ANYWHERE, .across = true },
	[PART_FABRIC_PATH] = { "fabric_path", .paths = BY_NICS,
	  .place = PART_ON_LEAF, .two = true },
	[PART_RAIL] = { "rail", .paths = BY_NICS, .place = PART_ON_RAIL },
	[PART_SWITCH] = { "switch", .paths = BY_NICS, .place = PART_ON_LEAF },
	[PART_LEAF_PAIR] = { "leaf_pair", .paths = BY_NICS,
	  .place = PART_ON_LEAF, .two = true },
	[PART_RAIL_LEAF] = { "rail_leaf", .paths = BY_NICS,
	  .place = PART_ON_RAIL_LEAF },
	[PART_NVLINK_DOMAIN] = { "nvlink_domain", .paths = NVLINK,
	  .place = PART_ON_DOMAIN },
	[PART_NODE] = { "node", .paths = ALL, .place = PART_ON_NODE },
	[PART_NODE_NETWORK] = { "node_network", .paths = BY_NICS,
	  .place = PART_ON_NODE },
	[PART_INTRA_NODE] = { "intra_node", .paths = INSIDE,
	  .place = PART_WITHIN },
	[PART_NODE_PAIR] = { "node_pair", .paths = BY_NICS | NVLINK,
	  .place = PART_ON_NODE, .two = true },
	[PART_SOCKET] = { "socket", .paths = BY_NICS, .place = PART_ON_SOCKET },
	[PART_CABLE_SWAP] = { "cable_swap", .paths = BY_NICS,
	  .place = PART_ON_CABLES, .along = true },
	[PART_NIC] = { "nic", .paths = BY_NICS, .place = PART_ON_NIC },
	[PART_GPU] = { "gpu", .paths = ALL, .place = PART_ON_GPU },
	[PART_GPU_NVLINK] = { "gpu_nvlink", .paths = INSIDE,
	  .place = PART_ON_GPU },
	[PART_PAIR] = { "pair", .paths = ALL,
	  .place = PART_ON_GPU, .two = true },
	[PART_PROCESS] = { "process", .paths = 0, .place = PART_ANYWHERE },
	[PART_LIMIT] = { "limit", .paths = 0, .place = PART_ANYWHERE },
	[PART_CONFIG] = { "config", .paths = ALL, .place = PART_WITHIN },
	[PART_KINDS] = { "", .paths = ALL, .place = PART_ON_NODE },
};

enum part_kind part_kind_of(const char *name)
{
	enum part_kind kind = 0;

	while (kind < PART_KINDS && strcmp(part_scopes[kind].name, name) != 0) {
		kind++;
	}
	return kind;
}

const char *part_direction_name(enum part_direction d)
{
	static const char *const names[] = {
		[PART_BOTH] = "both", [PART_TX] = "tx", [PART_RX] = "rx",
	};

	return names[d];
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

struct part_end part_end_of(const struct cluster *c, const struct part *p,
			    int rank)
{
	const struct cluster_rank *r = &c->ranks[rank];

	return (struct part_end){
		.node = r->node, .gpu = r->gpu, .nic = r->nic,
		.socket = p->kind == PART_SOCKET ? cluster_socket(c, rank) : -1,
		.leaf = c->nodes[r->node].leaf, .domain = r->domain,
	};
}

bool part_has_end(const struct part *p, const struct part_end *e)
{
	switch (part_scopes[p->kind].place) {
	case PART_ANYWHERE:
		return true;
	case PART_ON_NODE:
		return e->node == p->node;
	case PART_ON_NIC:
		return e->node == p->node && e->nic == p->index;
	case PART_ON_GPU:
		return e->node == p->node && e->gpu == p->index;
	case PART_ON_RAIL:
		return e->nic == p->index;
	case PART_ON_SOCKET:
		return e->node == p->node && e->socket == p->index;
	case PART_ON_CABLES:
		return e->node == p->node &&
		       (e->nic == p->index || e->nic == p->peer_index);
	case PART_ON_LEAF:
		return p->index < 0 || e->leaf == p->index + 1;
	case PART_ON_RAIL_LEAF:
		return e->nic == p->index && e->leaf == p->peer_index + 1;
	case PART_ON_DOMAIN:
		return p->index < 0 ? e->domain > 0 :
				      e->domain == p->index + 1;
	case PART_WITHIN:
		return p->node < 0 ||
		       (p->node == e->node &&
			(p->index < 0 || p->index == e->gpu));
	}
	return false;
}

/** Return true if @s is at the first end of @p and @d at its peer. */
static bool is_between(const struct part *p, const struct part_end *s,
		       const struct part_end *d)
{
	struct part peer = *p;

	peer.node = p->peer_node;
	peer.index = p->peer_index;
	return part_has_end(p, s) && part_has_end(&peer, d);
}

unsigned part_touched_ends(const struct part *p, const struct part_end *s,
			   const struct part_end *d, enum path_class path)
{
	const struct part_scope *scope = &part_scopes[p->kind];
	bool two = scope->two, tx, rx;
	/* nodes without a known leaf switch are connected by any path */
	bool far = s->leaf != d->leaf ||
		   (p->kind == PART_FABRIC_PATH && s->leaf == 0);
	unsigned ends;

	/* paths between leaf switches, and uplinks of one, join no nodes of
	 * one */
	if (!part_goes_by(p->kind, path) ||
	    (scope->across && s->nic == d->nic) ||
	    (scope->along && s->nic != d->nic) ||
	    (scope->place == PART_ON_LEAF && !far &&
	     (two || p->peer_index == PART_UPLINKS))) {
		return 0;
	}
	tx = two ? is_between(p, s, d) : part_has_end(p, s);
	rx = two ? is_between(p, d, s) : part_has_end(p, d);
	ends = (tx && p->direction != PART_RX ? PART_SRC : 0) |
	       (rx && p->direction != PART_TX ? PART_DST : 0);
	return two && ends != 0 ? PART_SRC | PART_DST : ends;
}

bool part_touches(const struct cluster *c, const struct part *p, int src,
		  int dst)
{
	const struct part_scope *scope = &part_scopes[p->kind];
	const enum path_class path = cluster_path(c, src, dst);
	struct part_end s, d;

	/* what needs no ends is asked for millions of cells */
	if (!part_goes_by(p->kind, path)) {
		return false;
	}
	if (scope->place == PART_ANYWHERE) {
		return !scope->across ||
		       c->ranks[src].nic != c->ranks[dst].nic;
	}
	s = part_end_of(c, p, src);
	d = part_end_of(c, p, dst);
	return part_touched_ends(p, &s, &d, path) != 0;
}

bool part_has(const struct cluster *c, const struct part *p, int rank)
{
	const struct part_end e = part_end_of(c, p, rank);

	return part_has_end(p, &e);
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

struct part part_read(const json_t *json,
		      int (*node)(void *ctx, const char *name),
		      int (*leaf)(void *ctx, const char *name,
				  const json_t *members), void *ctx)
{
	const struct run_entry f = run_entry_of(json);
	struct part p = part_of_kind(part_kind_of(f.kind));
	int at, peer;

	p.node = node(ctx, f.node);
	p.peer_node = node(ctx, f.peer_node);
	p.index = f.index;
	p.peer_index = f.peer_index;
	for (enum part_direction d = PART_TX; d <= PART_RX; d++) {
		if (strcmp(part_direction_name(d), f.direction) == 0) {
			p.direction = d;
		}
	}
	if (!part_is(&p, PART_OF_LEAVES)) {
		return p;
	}
	at = leaf(ctx, f.name, f.members);
	peer = leaf(ctx, f.peer_name, f.peer_members);
	if (p.kind == PART_RAIL_LEAF) {
		p.peer_index = at;
		return p;
	}
	p.index = at;
	p.peer_index = p.kind != PART_SWITCH ? peer :
		       f.uplinks ? PART_UPLINKS : -1;
	return p;
}

bool part_is_placed(const struct part *p)
{
	const struct part_scope *s = &part_scopes[p->kind];
	bool index = s->place != PART_ON_NODE && s->place != PART_WITHIN;
	bool node = p->node >= 0 && (!index || p->index >= 0);

	switch (s->place) {
	case PART_ANYWHERE:
	case PART_ON_DOMAIN:
		return s->paths != 0;
	case PART_ON_LEAF:
		return p->kind == PART_FABRIC_PATH ||
		       (p->index >= 0 && (!s->two || p->peer_index >= 0));
	case PART_ON_RAIL:
		return p->index >= 0;
	case PART_ON_RAIL_LEAF:
		return p->index >= 0 && p->peer_index >= 0;
	case PART_ON_CABLES:
		return node && p->peer_index >= 0;
	default:
		return p->kind != PART_CONFIG && node &&
		       (!s->two || (p->peer_node >= 0 &&
				    (!index || p->peer_index >= 0)));
	}
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

int cluster_most_gpus(const struct cluster *c)
{
	int most = 0;

	for (int i = 0; i < c->n_nodes; i++) {
		most = c->nodes[i].gpus > most ? c->nodes[i].gpus : most;
	}
	return most;
}
