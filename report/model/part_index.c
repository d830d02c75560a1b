/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/part_index.h"

#include <stdlib.h>

/** Each part that can be bad one way only has three numbers in a row. */
#define DIRECTIONS 3

/** A leaf switch: all of it, its uplinks. */
#define LEAF_PARTS 2

enum { ID_INTER_NODE, ID_CROSS_RAIL, ID_INTRA_NODE, ID_FIRST_RAIL };

int part_index_init(struct part_index *x, const struct run *run)
{
	size_t nodes = (size_t)run->n_nodes, ranks = (size_t)run->n_ranks;
	size_t nics = 0;

	*x = (struct part_index){ .run = run };
	x->first_nic = calloc(nodes + 1, sizeof(*x->first_nic));
	if (!x->first_nic) {
		return -1;
	}
	for (size_t i = 0; i < nodes; i++) {
		x->first_nic[i] = nics;
		x->inner_nodes += run->nodes[i].gpus > 1;
		nics += (size_t)run->nodes[i].nics;
		if (run->nodes[i].nics > x->rails) {
			x->rails = run->nodes[i].nics;
		}
	}
	x->first_nic[nodes] = nics;
	x->at_rail = ID_FIRST_RAIL;
	x->at_switch = x->at_rail + (size_t)x->rails;
	x->at_intra = x->at_switch + (size_t)run->n_leaves * LEAF_PARTS;
	x->at_node = x->at_intra + nodes;
	x->at_nic = x->at_node + nodes * DIRECTIONS;
	x->at_gpu = x->at_nic + nics * DIRECTIONS;
	x->at_node_pair = x->at_gpu + ranks * DIRECTIONS;
	x->n = x->at_node_pair + nodes * (nodes - 1) / 2 * DIRECTIONS;
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
	size_t *id;
	int n;
};

static void add_id(struct ids *out, size_t id)
{
	out->id[out->n++] = id;
}

/** The sending part @tx and the receiving part @rx, of one kind. */
static void add_ends(struct ids *out, size_t at, size_t tx, size_t rx)
{
	add_id(out, at + tx * DIRECTIONS + PART_BOTH);
	if (rx != tx) {
		add_id(out, at + rx * DIRECTIONS + PART_BOTH);
	}
	add_id(out, at + tx * DIRECTIONS + PART_TX);
	add_id(out, at + rx * DIRECTIONS + PART_RX);
}

static void add_leaves(const struct part_index *x, struct ids *out,
		       const struct run_rank *s, const struct run_rank *d)
{
	int from = x->run->leaf_of[s->node], to = x->run->leaf_of[d->node];

	for (int i = 0; i < (from == to ? 1 : 2); i++) {
		int leaf = i ? to : from;
		size_t at = x->at_switch + (size_t)leaf * LEAF_PARTS;

		if (leaf >= 0) {
			add_id(out, at);
			/* to one other node: that node says it better */
			if (from != to && x->run->leaves[leaf].n_nodes + 1 <
						  x->run->n_nodes) {
				add_id(out, at + 1);
			}
		}
	}
}

static void add_inter(const struct part_index *x, struct ids *out,
		      const struct run_rank *s, const struct run_rank *d)
{
	size_t pair = x->at_node_pair +
		      node_pair_number(s->node, d->node) * DIRECTIONS;

	add_id(out, ID_INTER_NODE);
	add_id(out, x->at_rail + (size_t)s->nic);
	if (s->nic != d->nic) {
		add_id(out, ID_CROSS_RAIL);
		add_id(out, x->at_rail + (size_t)d->nic);
	}
	if (x->run->n_leaves > 0) {
		add_leaves(x, out, s, d);
	}
	add_ends(out, x->at_nic, x->first_nic[s->node] + (size_t)s->nic,
		 x->first_nic[d->node] + (size_t)d->nic);
	add_id(out, pair + PART_BOTH);
	add_id(out, pair + (s->node < d->node ? PART_TX : PART_RX));
}

int part_index_cell(const struct part_index *x, int src, int dst,
		    size_t ids[PART_INDEX_CELL_MAX])
{
	const struct run_rank *s = &x->run->ranks[src];
	const struct run_rank *d = &x->run->ranks[dst];
	struct ids out = { .id = ids };

	if (s->node != d->node) {
		add_inter(x, &out, s, d);
	} else {
		/* Of one node alone, "all nodes" says no more. */
		if (x->inner_nodes > 1) {
			add_id(&out, ID_INTRA_NODE);
		}
		add_id(&out, x->at_intra + (size_t)s->node);
	}
	add_ends(&out, x->at_node, (size_t)s->node, (size_t)d->node);
	add_ends(&out, x->at_gpu, (size_t)src, (size_t)dst);
	return out.n;
}

static struct part nic_part(const struct part_index *x, size_t nic)
{
	struct part p = part_of_kind(PART_NIC);

	p.node = 0;
	while (x->first_nic[p.node + 1] <= nic) {
		p.node++;
	}
	p.index = (int)(nic - x->first_nic[p.node]);
	return p;
}

static struct part node_pair_part(size_t pair)
{
	struct part p = part_of_kind(PART_NODE_PAIR);

	p.peer_node = 1;
	while (node_pair_number(0, p.peer_node + 1) <= pair) {
		p.peer_node++;
	}
	p.node = (int)(pair - node_pair_number(0, p.peer_node));
	return p;
}

static struct part whole_part(const struct part_index *x, size_t id)
{
	static const enum part_kind kinds[] = {
		[ID_INTER_NODE] = PART_INTER_NODE,
		[ID_CROSS_RAIL] = PART_CROSS_RAIL,
		[ID_INTRA_NODE] = PART_INTRA_NODE,
	};
	struct part p;

	if (id < x->at_rail) {
		return part_of_kind(kinds[id]);
	}
	if (id < x->at_switch) {
		p = part_of_kind(PART_RAIL);
		p.index = (int)(id - x->at_rail);
		return p;
	}
	if (id < x->at_intra) {
		p = part_of_kind(PART_SWITCH);
		p.index = (int)((id - x->at_switch) / LEAF_PARTS);
		p.peer_index = (id - x->at_switch) % LEAF_PARTS ? PART_UPLINKS :
								  -1;
		return p;
	}
	p = part_of_kind(PART_INTRA_NODE);
	p.node = (int)(id - x->at_intra);
	return p;
}

struct part part_index_part(const struct part_index *x, size_t id)
{
	size_t from = id - x->at_node;
	struct part p;

	if (id < x->at_node) {
		return whole_part(x, id);
	}
	if (id < x->at_nic) {
		p = part_of_kind(PART_NODE);
		p.node = (int)(from / DIRECTIONS);
	} else if (id < x->at_gpu) {
		from = id - x->at_nic;
		p = nic_part(x, from / DIRECTIONS);
	} else if (id < x->at_node_pair) {
		from = id - x->at_gpu;
		p = part_of_kind(PART_GPU);
		p.node = x->run->ranks[from / DIRECTIONS].node;
		p.index = x->run->ranks[from / DIRECTIONS].gpu;
	} else {
		from = id - x->at_node_pair;
		p = node_pair_part(from / DIRECTIONS);
	}
	p.direction = (enum part_direction)(from % DIRECTIONS);
	return p;
}
