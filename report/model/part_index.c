/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/part_index.h"

#include <stdlib.h>

/** Each part that can be bad one way only has three numbers in a row. */
#define DIRECTIONS 3

/** How many numbers in a row a part of each kind has.  A leaf switch: all of
 *  it, its uplinks. */
static const size_t ways[PART_KINDS] = {
	[PART_INTER_NODE] = 1,
	[PART_CROSS_RAIL] = 1,
	[PART_RAIL]	  = 1,
	[PART_SWITCH]	  = 2,
	[PART_NVLINK_DOMAIN] = 1,
	[PART_NODE]	  = DIRECTIONS,
	[PART_INTRA_NODE] = 1,
	[PART_NODE_PAIR]  = DIRECTIONS,
	[PART_NIC]	  = DIRECTIONS,
	[PART_GPU]	  = DIRECTIONS,
};

int part_index_init(struct part_index *x, const struct run *run)
{
	size_t nodes = (size_t)run->n_nodes, nics = 0;
	size_t count[PART_KINDS] = {
		[PART_INTER_NODE] = 1, [PART_CROSS_RAIL] = 1,
		[PART_SWITCH] = (size_t)run->n_leaves, [PART_NODE] = nodes,
		[PART_NVLINK_DOMAIN] = (size_t)run->n_domains,
		[PART_INTRA_NODE] = 1 + nodes,	/* the first: all of them */
		[PART_NODE_PAIR] = nodes * (nodes - 1) / 2,
		[PART_GPU] = (size_t)run->n_ranks,
	};

	*x = (struct part_index){ .run = run };
	x->first_nic = calloc(nodes + 1, sizeof(*x->first_nic));
	if (!x->first_nic) {
		return -1;
	}
	for (size_t i = 0; i < nodes; i++) {
		size_t here = (size_t)run->nodes[i].nics;

		x->first_nic[i] = nics;
		x->inner_nodes += run->nodes[i].gpus > 1;
		nics += here;
		count[PART_RAIL] = here > count[PART_RAIL] ? here :
							     count[PART_RAIL];
	}
	x->first_nic[nodes] = nics;
	count[PART_NIC] = nics;
	for (int k = 0; k < PART_KINDS; k++) {
		x->at[k + 1] = x->at[k] + count[k] * ways[k];
	}
	x->n = x->at[PART_KINDS];
	return 0;
}

void part_index_release(struct part_index *x)
{
	free(x->first_nic);
	*x = (struct part_index){ 0 };
}

/** Row @b of a triangle: a < b are numbered b(b-1)/2 + a. */
static size_t node_pair_number(int a, int b)
{
	size_t low = (size_t)(a < b ? a : b), high = (size_t)(a < b ? b : a);

	return high * (high - 1) / 2 + low;
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

static void add_leaves(struct ids *out, const struct run_rank *s,
		       const struct run_rank *d)
{
	const struct run *run = out->x->run;
	int from = run->nodes[s->node].leaf - 1;
	int to = run->nodes[d->node].leaf - 1;

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
}

static void add_network(struct ids *out, const struct run_rank *s,
			const struct run_rank *d)
{
	add_id(out, PART_INTER_NODE, 0, 0);
	add_id(out, PART_RAIL, (size_t)s->nic, 0);
	if (s->nic != d->nic) {
		add_id(out, PART_CROSS_RAIL, 0, 0);
		add_id(out, PART_RAIL, (size_t)d->nic, 0);
	}
	add_leaves(out, s, d);
	add_ends(out, PART_NIC, out->x->first_nic[s->node] + (size_t)s->nic,
		 out->x->first_nic[d->node] + (size_t)d->nic);
}

static void add_inter(struct ids *out, int src, int dst)
{
	const struct run *run = out->x->run;
	const struct run_rank *s = &run->ranks[src], *d = &run->ranks[dst];
	size_t pair = node_pair_number(s->node, d->node);

	if (run->n_domains > 0 &&
	    run_cell(run, src, dst)->path == PATH_NVLINK) {
		add_id(out, PART_NVLINK_DOMAIN, (size_t)s->domain - 1, 0);
	} else {
		add_network(out, s, d);
	}
	add_id(out, PART_NODE_PAIR, pair, PART_BOTH);
	add_id(out, PART_NODE_PAIR, pair,
	       s->node < d->node ? PART_TX : PART_RX);
}

int part_index_cell(const struct part_index *x, int src, int dst,
		    size_t ids[PART_INDEX_CELL_MAX])
{
	const struct run_rank *s = &x->run->ranks[src];
	const struct run_rank *d = &x->run->ranks[dst];
	struct ids out = { .x = x, .id = ids };

	if (s->node != d->node) {
		add_inter(&out, src, dst);
	} else {
		/* Of one node alone, "all nodes" says no more. */
		if (x->inner_nodes > 1) {
			add_id(&out, PART_INTRA_NODE, 0, 0);
		}
		add_id(&out, PART_INTRA_NODE, 1 + (size_t)s->node, 0);
	}
	add_ends(&out, PART_NODE, (size_t)s->node, (size_t)d->node);
	add_ends(&out, PART_GPU, (size_t)src, (size_t)dst);
	return out.n;
}

/** The node and the place in it of NIC @nic of all. */
static void set_nic(const struct part_index *x, size_t nic, struct part *p)
{
	p->node = 0;
	while (x->first_nic[p->node + 1] <= nic) {
		p->node++;
	}
	p->index = (int)(nic - x->first_nic[p->node]);
}

static void set_node_pair(size_t pair, struct part *p)
{
	p->peer_node = 1;
	while (node_pair_number(0, p->peer_node + 1) <= pair) {
		p->peer_node++;
	}
	p->node = (int)(pair - node_pair_number(0, p->peer_node));
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
	if (kind == PART_NODE || kind == PART_INTRA_NODE) {
		p.node = (int)number - (kind == PART_INTRA_NODE);
	} else if (kind == PART_RAIL || kind == PART_SWITCH ||
		   kind == PART_NVLINK_DOMAIN) {
		p.index = (int)number;
		p.peer_index = way ? PART_UPLINKS : -1;
	} else if (kind == PART_NIC) {
		set_nic(x, number, &p);
	} else if (kind == PART_NODE_PAIR) {
		set_node_pair(number, &p);
	} else if (kind == PART_GPU) {
		p.node = x->run->ranks[number].node;
		p.index = x->run->ranks[number].gpu;
	}
	return p;
}
