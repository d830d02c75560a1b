/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/part.h"

#include <math.h>
#include <stdlib.h>

/** Each part that can be bad one way only has three numbers in a row. */
#define DIRECTIONS 3

/** How many numbers in a row a part of each kind has.  A leaf switch: all of
 *  it, its uplinks. */
static const size_t ways[PART_KINDS] = {
	[PART_INTER_NODE] = 1,
	[PART_CROSS_RAIL] = 1,
	[PART_RAIL]	  = 1,
	[PART_FABRIC_PATH] = 1,
	[PART_SWITCH]	  = 2,
	[PART_LEAF_PAIR]  = 1,
	[PART_RAIL_LEAF]  = 1,
	[PART_NVLINK_DOMAIN] = 1,
	[PART_NODE]	  = DIRECTIONS,
	[PART_NODE_NETWORK] = DIRECTIONS,
	[PART_INTRA_NODE] = 1,
	[PART_NODE_PAIR]  = DIRECTIONS,
	[PART_SOCKET]	  = 1,
	[PART_CABLE_SWAP] = 1,
	[PART_NIC]	  = DIRECTIONS,
	[PART_GPU]	  = DIRECTIONS,
	[PART_GPU_NVLINK] = DIRECTIONS,
};

/** Row @b of a triangle: a < b are numbered b(b-1)/2 + a. */
static size_t two_number(int a, int b)
{
	size_t low = (size_t)(a < b ? a : b), high = (size_t)(a < b ? b : a);

	return high * (high - 1) / 2 + low;
}

/** How many two there are of @n. */
static size_t twos(int n)
{
	return n > 1 ? two_number(0, n) : 0;
}

/** The NICs of a node of which two may be exchanged: where no pair across rails
 *  was measured, two that are dead look the same. */
static int swappable(const struct part_index *x, int node)
{
	int nics = x->run->nodes[node].nics;

	return x->run->mesh || !x->crosses[node] || nics > PART_INDEX_NICS ?
		       0 : nics;
}

/** How many there are of each kind, and so where each begins. */
static void number_kinds(struct part_index *x, size_t nics, size_t swaps,
			 size_t rails)
{
	const struct run *run = x->run;
	size_t nodes = (size_t)run->n_nodes, leaves = (size_t)run->n_leaves;
	const size_t count[PART_KINDS] = {
		[PART_INTER_NODE] = 1, [PART_CROSS_RAIL] = 1,
		/* of all, of one leaf, of two */
		[PART_FABRIC_PATH] = 1 + leaves + twos(run->n_leaves),
		[PART_RAIL] = rails, [PART_SWITCH] = leaves,
		[PART_LEAF_PAIR] = twos(run->n_leaves),
		[PART_RAIL_LEAF] = rails * leaves,
		[PART_NVLINK_DOMAIN] = (size_t)run->n_domains,
		[PART_NODE] = nodes, [PART_NODE_NETWORK] = nodes,
		[PART_INTRA_NODE] = 1 + nodes,	/* the first: all of them */
		[PART_NODE_PAIR] = twos(run->n_nodes),
		[PART_SOCKET] = CLUSTER_SOCKETS * nodes,
		[PART_CABLE_SWAP] = swaps, [PART_NIC] = nics,
		[PART_GPU] = (size_t)run->n_ranks,
		[PART_GPU_NVLINK] = (size_t)run->n_ranks,
	};

	for (int k = 0; k < PART_KINDS; k++) {
		x->at[k + 1] = x->at[k] + count[k] * ways[k];
	}
	x->n = x->at[PART_KINDS];
}

int part_index_init(struct part_index *x, const struct run *run)
{
	size_t nodes = (size_t)run->n_nodes, nics = 0, swaps = 0, rails = 0;

	*x = (struct part_index){ .run = run };
	x->first_nic = calloc(3 * (nodes + 1) + (size_t)run->n_ranks,
			      sizeof(*x->first_nic));
	if (!x->first_nic) {
		return -1;
	}
	x->first_swap = x->first_nic + nodes + 1;
	x->crosses = x->first_swap + nodes + 1;
	x->socket = x->crosses + nodes + 1;
	for (int r = 0; r < run->n_ranks; r++) {
		const int node = run->ranks[r].node;

		/* a socket whose GPUs have one NIC is no part: the NIC is it */
		x->socket[r] = run->mesh || run->ports ||
			       run->nodes[node].nics < 2 * CLUSTER_SOCKETS ||
			       run->nodes[node].gpus < 2 * CLUSTER_SOCKETS ?
				       NO_SOCKET :
				       (size_t)(node * CLUSTER_SOCKETS +
						cluster_socket(&run->cluster,
							       r));
	}
	/* which nodes have measured a pair across rails */
	run_foreach_cell(run, at) {
		const struct cluster_rank *s = &run->ranks[run_src(run, at)];
		const struct cluster_rank *d = &run->ranks[run_dst(run, at)];

		if (s->nic != d->nic && s->node != d->node &&
		    run_measured(run->cells[at].class)) {
			x->crosses[s->node] = x->crosses[d->node] = 1;
		}
	}
	x->all_paths = false;
	for (size_t i = 0; i < nodes && nodes > 2 && !run->mesh; i++) {
		x->all_paths |= run->n_leaves > 2 || run->nodes[i].leaf == 0;
	}
	for (size_t i = 0; i < nodes; i++) {
		size_t here = (size_t)run->nodes[i].nics;

		x->first_nic[i] = nics;
		x->first_swap[i] = swaps;
		x->inner_nodes += run->nodes[i].gpus > 1;
		nics += here;
		swaps += twos(swappable(x, (int)i));
		rails = here > rails ? here : rails;
	}
	x->first_nic[nodes] = nics;
	x->first_swap[nodes] = swaps;
	number_kinds(x, nics, swaps, rails);
	return 0;
}

void part_index_release(struct part_index *x)
{
	free(x->first_nic);
	*x = (struct part_index){ 0 };
}

struct ids {
	const struct part_index *x;
	size_t *id;
	int n;
};

/** The part @number of @kind, the @way that it can be bad. */
static void add_id(struct ids *out, enum part_kind kind, size_t number,
		   size_t way)
{
	out->id[out->n++] = out->x->at[kind] + number * ways[kind] + way;
}

/** The sending part @tx and the receiving part @rx, of one kind. */
static void add_ends(struct ids *out, enum part_kind kind, size_t tx, size_t rx)
{
	add_id(out, kind, tx, PART_BOTH);
	if (rx != tx) {
		add_id(out, kind, rx, PART_BOTH);
	}
	add_id(out, kind, tx, PART_TX);
	add_id(out, kind, rx, PART_RX);
}

static void add_leaves(struct ids *out, int from_node, int to_node)
{
	const struct run *run = out->x->run;
	int from = run->nodes[from_node].leaf - 1;
	int to = run->nodes[to_node].leaf - 1;

	for (int i = 0; i < (from == to ? 1 : 2); i++) {
		int leaf = i ? to : from;

		if (leaf >= 0) {
			add_id(out, PART_SWITCH, (size_t)leaf, 0);
			/* to one other node: that node says it better */
			if (from != to &&
			    run->leaves[leaf].n_nodes + 1 < run->n_nodes) {
				add_id(out, PART_SWITCH, (size_t)leaf, 1);
			}
		}
	}
	if (out->x->all_paths && (from != to || from < 0)) {
		add_id(out, PART_FABRIC_PATH, 0, 0);
	}
	for (int i = 0; out->x->all_paths && from != to && i < 2; i++) {
		int leaf = i ? to : from;

		if (leaf >= 0) {
			add_id(out, PART_FABRIC_PATH, 1 + (size_t)leaf, 0);
		}
	}
	if (from != to && from >= 0 && to >= 0) {
		size_t leaves = (size_t)run->n_leaves;

		add_id(out, PART_LEAF_PAIR, two_number(from, to), 0);
		add_id(out, PART_FABRIC_PATH, 1 + leaves + two_number(from, to),
		       0);
	}
}

int part_index_nodes(const struct part_index *x, int from, int to,
		     enum path_class path, size_t ids[PART_INDEX_NODES_MAX])
{
	struct ids out = { .x = x, .id = ids };

	add_ends(&out, PART_NODE, (size_t)from, (size_t)to);
	if (from == to) {
		/* In a run of one node, "all nodes" adds nothing. */
		if (x->inner_nodes > 1) {
			add_id(&out, PART_INTRA_NODE, 0, 0);
		}
		add_id(&out, PART_INTRA_NODE, 1 + (size_t)from, 0);
		return out.n;
	}
	if (path != PATH_NVLINK) {
		add_id(&out, PART_INTER_NODE, 0, 0);
		add_leaves(&out, from, to);
		/* a node of one NIC, or without cells inside, has no network
		 * of its own: that NIC, or the node, says it */
		for (int i = 0; i < 2 && !x->run->mesh; i++) {
			const int node = i ? to : from;
			const struct cluster_node *n = &x->run->nodes[node];

			if (n->nics > 1 && n->gpus > 1) {
				add_id(&out, PART_NODE_NETWORK, (size_t)node,
				       PART_BOTH);
				add_id(&out, PART_NODE_NETWORK, (size_t)node,
				       i ? PART_RX : PART_TX);
			}
		}
	}
	add_id(&out, PART_NODE_PAIR, two_number(from, to), PART_BOTH);
	add_id(&out, PART_NODE_PAIR, two_number(from, to),
	       from < to ? PART_TX : PART_RX);
	return out.n;
}

/** Those of the NIC of @r and another one of its node. */
static void add_swaps(struct ids *out, const struct cluster_rank *r)
{
	int nics = swappable(out->x, r->node);

	for (int nic = 0; nic < nics; nic++) {
		if (nic != r->nic) {
			add_id(out, PART_CABLE_SWAP,
			       out->x->first_swap[r->node] +
				       two_number(nic, r->nic), 0);
		}
	}
}

static void add_rail_leaf(struct ids *out, const struct cluster_rank *r)
{
	const struct run *run = out->x->run;
	int leaf = run->nodes[r->node].leaf - 1;

	if (leaf >= 0) {
		add_id(out, PART_RAIL_LEAF,
		       (size_t)(r->nic * run->n_leaves + leaf), 0);
	}
}

int part_index_ranks(const struct part_index *x, int src, int dst,
		     size_t ids[PART_INDEX_RANKS_MAX])
{
	const struct run *run = x->run;
	const struct cluster_rank *s = &run->ranks[src], *d = &run->ranks[dst];
	struct ids out = { .x = x, .id = ids };

	add_ends(&out, PART_GPU, (size_t)src, (size_t)dst);
	if (s->node == d->node) {
		/* With two GPUs the part is the node; with one node, the GPU.
		 */
		if (!run->mesh && !run->ports && run->n_nodes > 1 &&
		    run->nodes[s->node].gpus > 2) {
			add_ends(&out, PART_GPU_NVLINK, (size_t)src,
				 (size_t)dst);
		}
		return out.n;
	}
	if (run->n_domains > 0 &&
	    cluster_path(&run->cluster, src, dst) == PATH_NVLINK) {
		add_id(&out, PART_NVLINK_DOMAIN, (size_t)s->domain - 1, 0);
		return out.n;
	}
	add_id(&out, PART_RAIL, (size_t)s->nic, 0);
	add_rail_leaf(&out, s);
	if (s->nic != d->nic) {
		add_id(&out, PART_CROSS_RAIL, 0, 0);
		add_id(&out, PART_RAIL, (size_t)d->nic, 0);
		add_rail_leaf(&out, d);
	} else {
		if (run->nodes[s->node].leaf != run->nodes[d->node].leaf) {
			add_rail_leaf(&out, d);
		}
		add_swaps(&out, s);
		add_swaps(&out, d);
	}
	for (int i = 0; i < 2; i++) {
		const size_t socket = x->socket[i ? dst : src];

		if (socket != NO_SOCKET) {
			add_id(&out, PART_SOCKET, socket, 0);
		}
	}
	add_ends(&out, PART_NIC, x->first_nic[s->node] + (size_t)s->nic,
		 x->first_nic[d->node] + (size_t)d->nic);
	return out.n;
}

int part_index_cell(const struct part_index *x, int src, int dst,
		    size_t ids[PART_INDEX_CELL_MAX])
{
	int n = part_index_ranks(x, src, dst, ids);

	return n + part_index_nodes(x, x->run->ranks[src].node,
				    x->run->ranks[dst].node,
				    cluster_path(&x->run->cluster, src, dst),
				    ids + n);
}

/** Returns the node that has @number of all, of which each begins at one of
 *  @first. */
static int node_with(const size_t *first, size_t number)
{
	int node = 0;

	while (first[node + 1] <= number) {
		node++;
	}
	return node;
}

/** The two of number @two, the lower one first: of millions, a root is near
 *  enough to begin with. */
static void set_two(size_t two, int *low, int *high)
{
	*high = (int)sqrt(2 * (double)two) + 1;
	while (two_number(0, *high) > two) {
		--*high;
	}
	while (two_number(0, *high + 1) <= two) {
		++*high;
	}
	*low = (int)(two - two_number(0, *high));
}

static void set_leaves(const struct part_index *x, size_t number,
		       struct part *p)
{
	size_t leaves = (size_t)x->run->n_leaves;

	if (p->kind == PART_LEAF_PAIR || number > leaves) {
		set_two(number - (p->kind == PART_LEAF_PAIR ? 0 : 1 + leaves),
			&p->index, &p->peer_index);
	} else if (number > 0) {
		p->index = (int)number - 1;
	}
}

struct part part_index_part(const struct part_index *x, size_t id)
{
	enum part_kind kind = PART_INTER_NODE;
	size_t number, way;
	struct part p;

	while (id >= x->at[kind + 1]) {
		kind++;
	}
	p = part_of_kind(kind);
	number = (id - x->at[kind]) / ways[kind];
	way = (id - x->at[kind]) % ways[kind];
	if (ways[kind] == DIRECTIONS) {
		p.direction = (enum part_direction)way;
	}
	switch (kind) {
	case PART_NODE:
	case PART_NODE_NETWORK:
		p.node = (int)number;
		break;
	case PART_INTRA_NODE:
		p.node = (int)number - 1;
		break;
	case PART_RAIL:
	case PART_NVLINK_DOMAIN:
	case PART_SWITCH:
		p.index = (int)number;
		p.peer_index = way ? PART_UPLINKS : -1;
		break;
	case PART_FABRIC_PATH:
	case PART_LEAF_PAIR:
		set_leaves(x, number, &p);
		break;
	case PART_RAIL_LEAF:
		p.index = (int)number / x->run->n_leaves;
		p.peer_index = (int)number % x->run->n_leaves;
		break;
	case PART_SOCKET:
		p.node = (int)number / CLUSTER_SOCKETS;
		p.index = (int)number % CLUSTER_SOCKETS;
		break;
	case PART_CABLE_SWAP:
		p.node = node_with(x->first_swap, number);
		set_two(number - x->first_swap[p.node], &p.index,
			&p.peer_index);
		break;
	case PART_NIC:
		p.node = node_with(x->first_nic, number);
		p.index = (int)(number - x->first_nic[p.node]);
		break;
	case PART_NODE_PAIR:
		set_two(number, &p.node, &p.peer_node);
		break;
	case PART_GPU:
	case PART_GPU_NVLINK:
		p.node = x->run->ranks[number].node;
		p.index = x->run->ranks[number].gpu;
		break;
	default:
		break;
	}
	return p;
}
