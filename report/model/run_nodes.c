/* SPDX-License-Identifier: BSD-3-Clause */
/* The nodes of a run, and the leaves that they are on. */
#include "report/model/run_read.h"

#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "report/base/grow.h"

int run_find_node(const struct run *run, const char *name, int last)
{
	if (last >= 0 && strcmp(run->nodes[last].name, name) == 0) {
		return last;
	}
	for (int i = 0; i < run->n_nodes; i++) {
		if (strcmp(run->nodes[i].name, name) == 0) {
			return i;
		}
	}
	return -1;
}

int run_add_node(struct run *run, const char *name)
{
	int at = run_find_node(run, name, run->n_nodes - 1);
	struct run_node *nodes;

	if (at >= 0 || !name[0] || run->n_nodes >= SPEC_MAX_NODES) {
		return at;
	}
	nodes = realloc(run->nodes,
			((size_t)run->n_nodes + 1) * sizeof(*nodes));
	if (!nodes) {
		return -1;
	}
	run->nodes = nodes;
	nodes[run->n_nodes] = (struct run_node){ .first_rank = run->n_ranks };
	STR_COPY(nodes[run->n_nodes].name, name);
	return run->n_nodes++;
}

int run_note_node(struct run *run, const char *name)
{
	return name[0] && run->n_nodes < SPEC_MAX_NODES &&
			       run_add_node(run, name) < 0 ? -1 : 0;
}

int run_list_nodes(struct run *run, const json_t *json)
{
	json_t *list = json_object_get(json, "nodes"), *node;
	size_t i;

	json_array_foreach(list, i, node) {
		if (run_note_node(run, json_member(node, "name")) < 0) {
			return -1;
		}
	}
	return 0;
}

int run_join_leaf(struct run *run, int node, const char *name)
{
	struct run_leaf leaf = { .n_nodes = 0 };
	size_t n = (size_t)run->n_leaves;
	int i = 0;

	while (i < run->n_leaves && strcmp(run->leaves[i].name, name) != 0) {
		i++;
	}
	if (i == run->n_leaves) {
		STR_COPY(leaf.name, name);
		if (!grow_add(&run->leaves, &n, &leaf, sizeof(leaf))) {
			return -1;
		}
		run->n_leaves++;
	}
	if (!run->nodes[node].leaf) {
		run->nodes[node].leaf = i + 1;
		run->leaves[i].n_nodes++;
	}
	return i;
}

/** Leaves of one node are no more than that node: they go. */
static void drop_lone(struct run *run)
{
	int kept = 0;

	for (int i = 0; i < run->n_leaves; i++) {
		bool keep = run->leaves[i].n_nodes > 1;

		for (int n = 0; n < run->n_nodes; n++) {
			if (run->nodes[n].leaf == i + 1) {
				run->nodes[n].leaf = keep ? kept + 1 : 0;
			}
		}
		if (keep) {
			run->leaves[kept++] = run->leaves[i];
		}
	}
	run->n_leaves = kept;
}

int run_find_leaves(struct run *run)
{
	int node = -1;

	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];

		if (strcmp(f->fact, "leaf_switch") != 0 || !f->value[0]) {
			continue;
		}
		node = run_find_node(run, f->node, node);
		if (node >= 0 && !run->nodes[node].leaf &&
		    run->nodes[node].gpus > 0 &&
		    run_join_leaf(run, node, f->value) < 0) {
			return -1;
		}
	}
	drop_lone(run);
	return 0;
}
