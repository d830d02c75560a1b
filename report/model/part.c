/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/hosts.h"
#include "report/model/run.h"

/* ---- part name ----------------------------------------------------------- */

/* How a part of a cluster is called. */

int part_rank_of_name(const struct run *run, int node, const char *name)
{
	const struct cluster_node *n = &run->nodes[node];

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		if (strcmp(run->ranks[r].nic_name, name) == 0) {
			return r;
		}
	}
	return -1;
}

int part_rank_of_nic(const struct run *run, int node, int nic)
{
	const struct cluster_node *n = &run->nodes[node];

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		if (run->ranks[r].nic == nic) {
			return r;
		}
	}
	return -1;
}

/** The subnet behind rail @rail, "" when ranks are no addresses. */
static const char *rail_segment(const struct run *run, int rail)
{
	for (int r = 0; run->mesh && r < run->n_ranks; r++) {
		if (run->ranks[r].nic == rail) {
			return mesh_end(run, r)->segment;
		}
	}
	return "";
}

const char *part_nic_name(const struct run *run, const struct part *p)
{
	const struct cluster_node *n =
		p->node >= 0 ? &run->nodes[p->node] : NULL;

	if (p->name > 0) {
		return run->names[p->name - 1];
	}
	for (int r = n ? n->first_rank : 0;
	     n && run->ranks && r < n->first_rank + n->gpus; r++) {
		if (run->ranks[r].nic == p->index &&
		    run->ranks[r].nic_name[0]) {
			return run->ranks[r].nic_name;
		}
	}
	return "";
}

static const char *const one_way[] = {
	[PART_BOTH] = "",
	[PART_TX]   = " when it sends",
	[PART_RX]   = " when it receives",
};

static const char *nic_text(const struct run *run, const struct part *p,
			    char *buf, size_t size)
{
	const char *name = part_nic_name(run, p);
	int rank = run->mesh ? part_rank_of_nic(run, p->node, p->index) : -1;

	if (rank >= 0 && mesh_end(run, rank)->ip[0]) {
		snprintf(buf, size, "interface %s of %s (%s)%s", name,
			 run->nodes[p->node].name, mesh_end(run, rank)->ip,
			 one_way[p->direction]);
		return buf;
	}
	snprintf(buf, size, "NIC %d of %s%s%s%s%s", p->index,
		 run->nodes[p->node].name, name[0] ? " (" : "", name,
		 name[0] ? ")" : "", one_way[p->direction]);
	return buf;
}

/** "n1", or "n1:4" when a GPU is meant. */
static const char *end_text(const struct run *run, int node, int gpu,
			    char *buf, size_t size)
{
	const char *name = run->nodes[node].name;

	if (gpu < 0) {
		snprintf(buf, size, "%s", name);
	} else if (run->mesh && gpu < run->nodes[node].gpus) {
		snprintf(buf, size, "%s:%.20s", name,
			 run->ranks[run->nodes[node].first_rank + gpu]
				 .nic_name);
	} else {
		snprintf(buf, size, "%s", CLUSTER_GPU(name, gpu));
	}
	return buf;
}

static const char *path_text(const struct run *run, const struct part *p,
			     char *buf, size_t size)
{
	char a[80], b[80];

	end_text(run, p->node, p->index, a, sizeof(a));
	end_text(run, p->peer_node, p->peer_index, b, sizeof(b));
	snprintf(buf, size, "the path %s %s %s",
		 p->direction == PART_RX ? b : a,
		 p->direction == PART_BOTH ? "-" : "->",
		 p->direction == PART_RX ? a : b);
	return buf;
}

void part_add_names(const char (*names)[64], size_t n, struct str *out)
{
	struct str list = STR_INIT;

	if (n > 0) {
		hostlist_add(&list, names[0], sizeof(*names), n);
	}
	if (list.len == 0 || list.len > 80) {
		str_addf(out, "%zu nodes", n);
	} else {
		str_add(out, str_text(&list));
	}
	str_release(&list);
}

/** "leaf switch s1 (n[0-3])" */
static void add_leaf(const struct run *run, int leaf, struct str *out)
{
	char (*names)[64] = calloc((size_t)run->n_nodes, sizeof(*names));
	size_t n = 0;

	for (int i = 0; names && i < run->n_nodes; i++) {
		if (run->nodes[i].leaf == leaf + 1) {
			STR_COPY(names[n++], run->nodes[i].name);
		}
	}
	str_addf(out, "leaf switch %s (", run->leaves[leaf].name);
	part_add_names((const char (*)[64])names, n, out);
	str_addch(out, ')');
	free(names);
}

static const char *switch_text(const struct run *run, const struct part *p,
			       char *buf, size_t size)
{
	int leaf = part_leaf(p), peer = part_peer_leaf(p);
	struct str out = STR_INIT;

	if (p->kind == PART_RAIL_LEAF) {
		str_addf(&out, "rail %d on ", p->index);
	} else if (p->kind != PART_SWITCH) {
		str_addf(&out, "%s between %s",
			 p->kind == PART_LEAF_PAIR ? "the paths" :
			 run->n_leaves == 0	   ? "one path" : "one link",
			 leaf >= 0		? "" :
			 run->n_leaves == 0	? "nodes" : "leaf switches");
	} else if (p->peer_index == PART_UPLINKS) {
		str_add(&out, "the uplinks of ");
	}
	if (leaf >= 0) {
		add_leaf(run, leaf, &out);
	}
	if (peer >= 0) {
		str_add(&out, " and ");
		add_leaf(run, peer, &out);
	} else if (leaf >= 0 && p->kind == PART_FABRIC_PATH) {
		str_add(&out, " and others");
	}
	snprintf(buf, size, "%s", str_text(&out));
	str_release(&out);
	return buf;
}

/**
 * Names of kinds that need no more than their numbers: @n is the node, @i and
 * @p the index and the one of the peer, @d the direction.
 */
static const char *const names[PART_KINDS] = {
	[PART_INTER_NODE] = "the network between the nodes",
	[PART_RAIL] = "rail @i (NIC @i of every node)",
	[PART_NODE_NETWORK] = "the network of @n@d",
	[PART_GPU_NVLINK] = "NVLink of GPU @i of @n@d",
	[PART_SOCKET] = "socket @i of @n (its GPUs and NICs)",
	[PART_CABLE_SWAP] = "the cables of NICs @i and @p of @n",
	[PART_NODE] = "node @n@d",
	[PART_GPU] = "GPU @i of @n@d",
	[PART_PROCESS] = "rank @i on @n",
};

static const char *plain_text(const struct run *run, const struct part *p,
			      char *buf, size_t size)
{
	struct str out = STR_INIT;

	for (const char *c = p->kind < PART_KINDS ? names[p->kind] : NULL;
	     c && *c; c++) {
		if (*c != '@') {
			str_addch(&out, *c);
			continue;
		}
		c++;
		if (*c == 'n') {
			str_add(&out, p->node >= 0 ? run->nodes[p->node].name :
						     "");
		} else if (*c == 'd') {
			str_add(&out, one_way[p->direction]);
		} else {
			str_addf(&out, "%d", *c == 'i' ? p->index :
							 p->peer_index);
		}
	}
	str_copy(buf, size, str_text(&out));
	str_release(&out);
	return buf;
}

const char *part_name(const struct run *run, const struct part *p, char *buf,
		      size_t size)
{
	const char *node = p->node >= 0 ? run->nodes[p->node].name :
					  "the nodes";

	switch (p->kind) {
	case PART_CROSS_RAIL:
		snprintf(buf, size, "traffic from one %s to another",
			 run->mesh ? "segment" : "rail");
		return buf;
	case PART_RAIL:
		if (!rail_segment(run, p->index)[0]) {
			break;
		}
		snprintf(buf, size, "segment %s (rail %d)",
			 rail_segment(run, p->index), p->index);
		return buf;
	case PART_SWITCH:
	case PART_LEAF_PAIR:
	case PART_FABRIC_PATH:
	case PART_RAIL_LEAF:
		return switch_text(run, p, buf, size);
	case PART_NVLINK_DOMAIN:
		snprintf(buf, size, "NVLink domain %d, between its nodes",
			 p->index < 0 ? 1 : p->index + 1);
		return buf;
	case PART_INTRA_NODE:
		snprintf(buf, size, "%s traffic inside %s",
			 run->ports ? "port to port" : "GPU to GPU", node);
		return buf;
	case PART_GPU:
		return run->ports ? nic_text(run, p, buf, size) :
				    plain_text(run, p, buf, size);
	case PART_NIC:
		return nic_text(run, p, buf, size);
	case PART_NODE_PAIR:
	case PART_PAIR:
		return path_text(run, p, buf, size);
	case PART_CONFIG:
		snprintf(buf, size, "the set-up of %s", node);
		if (p->node >= 0 && p->index >= 0) {
			snprintf(buf, size, "the set-up of %s for %s %d", node,
				 run->ports ? "NIC" : "GPU", p->index);
		}
		return buf;
	case PART_LIMIT:
		snprintf(buf, size, "limit of %s", node);
		return buf;
	default:
		break;
	}
	return plain_text(run, p, buf, size);
}

const char *part_rank_name(const struct run *run, int rank, char *buf,
			   size_t size)
{
	const struct cluster_rank *r = &run->ranks[rank];

	/* not by its place on the node: a segment has some of the ranks */
	if (run->mesh) {
		snprintf(buf, size, "%s:%.20s", run->nodes[r->node].name,
			 r->nic_name);
		return buf;
	}
	return end_text(run, r->node, r->gpu, buf, size);
}

const char *part_cell_name(const struct run *run, size_t at,
			   char buf[PART_NAME_SIZE])
{
	char a[96], b[96];

	if (run->mesh) {	/* a node has several addresses */
		const int src = run_src(run, at), dst = run_dst(run, at);

		snprintf(buf, PART_NAME_SIZE, "%.40s %s -> %.40s %s",
			 run->nodes[run->ranks[src].node].name,
			 mesh_end(run, src)->ip,
			 run->nodes[run->ranks[dst].node].name,
			 mesh_end(run, dst)->ip);
		return buf;
	}
	snprintf(buf, PART_NAME_SIZE, "%s -> %s",
		 part_rank_name(run, run_src(run, at), a, sizeof(a)),
		 part_rank_name(run, run_dst(run, at), b, sizeof(b)));
	return buf;
}

/* ---- part ---------------------------------------------------------------- */

struct part part_of_path(enum path_class path)
{
	static const enum part_kind kinds[PATH_CLASSES] = {
		[PATH_INTRA] = PART_INTRA_NODE,
		[PATH_INTER] = PART_INTER_NODE,
		[PATH_NVLINK] = PART_NVLINK_DOMAIN,
	};

	return part_of_kind(kinds[path]);
}

size_t part_next(const struct run *run, const struct part *p, size_t at)
{
	const unsigned of_node = 1U << PART_ON_NODE | 1U << PART_ON_NIC |
				 1U << PART_ON_GPU | 1U << PART_ON_SOCKET |
				 1U << PART_ON_CABLES | 1U << PART_WITHIN;
	const bool one_node = p->node >= 0 && !run->grid.first &&
			      of_node >> part_scopes[p->kind].place & 1;
	const struct cluster_node *n = one_node ? &run->nodes[p->node] : NULL;
	const size_t ranks = (size_t)run->grid.ranks;
	const size_t first = n ? (size_t)n->first_rank : 0;
	const size_t end = n ? first + (size_t)n->gpus : ranks;

	for (; at < run_n_cells(run); at++) {
		size_t src = n ? (size_t)run_src(run, at) : first;
		size_t dst = n ? (size_t)run_dst(run, at) : 0;

		/* if all pairs have a place, the next one with an end on the
		 * node */
		if ((src < first || src >= end) &&
		    (dst < first || dst >= end)) {
			src += dst >= end;
			at = src * ranks + (src == first ? 0 : first);
		}
		if (at < run_n_cells(run) && part_touches_at(run, p, at)) {
			return at;
		}
	}
	return run_n_cells(run);
}

size_t part_tests(const struct run *run, const struct part *p,
		  size_t of[CELL_CLASSES])
{
	size_t n = 0;

	part_foreach_cell(run, p, at) {
		unsigned class = run->cells[at].class;

		n += class < CELL_CLASSES;
		if (of && class < CELL_CLASSES) {
			of[class]++;
		}
	}
	return n;
}

size_t part_measured(const struct run *run, const struct part *p)
{
	size_t of[CELL_CLASSES] = { 0 };

	return part_tests(run, p, of) - of[CELL_SKIPPED] - of[CELL_NOT_RUN];
}

struct part part_shown(const struct run *run, const struct part *p)
{
	struct part shown = *p;

	if (run->ports && p->kind == PART_GPU) {
		shown.kind = PART_NIC;
	}
	return shown;
}
