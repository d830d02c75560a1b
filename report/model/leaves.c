/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which nodes hang on one leaf switch, as their facts say.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/grow.h"
#include "report/model/run.h"

/** The number of leaf @name, which is added when new; -1 without memory. */
static int number_of(struct run *run, const char *name)
{
	struct run_leaf *list;
	int i = 0;

	while (i < run->n_leaves && strcmp(run->leaves[i].name, name) != 0) {
		i++;
	}
	if (i < run->n_leaves) {
		return i;
	}
	list = grow(run->leaves, (size_t)run->n_leaves, sizeof(*list));
	if (!list) {
		return -1;
	}
	run->leaves = list;
	list[i] = (struct run_leaf){ 0 };
	STR_COPY(list[i].name, name);
	return run->n_leaves++;
}

/** Leaves of one node are no more than that node: they go. */
static void drop_lone(struct run *run)
{
	int kept = 0;

	for (int i = 0; i < run->n_leaves; i++) {
		bool keep = run->leaves[i].n_nodes > 1;

		for (int n = 0; n < run->n_nodes; n++) {
			if (run->leaf_of[n] == i) {
				run->leaf_of[n] = keep ? kept : -1;
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

	run->leaf_of = calloc((size_t)run->n_nodes + 1, sizeof(*run->leaf_of));
	if (!run->leaf_of) {
		return -1;
	}
	for (int i = 0; i < run->n_nodes; i++) {
		run->leaf_of[i] = -1;
	}
	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];
		int leaf;

		if (strcmp(f->fact, "leaf_switch") != 0 || !f->value[0]) {
			continue;
		}
		node = run_find_node(run, f->node, node);
		if (node < 0 || run->leaf_of[node] >= 0 ||
		    run->nodes[node].gpus == 0) {
			continue;
		}
		leaf = number_of(run, f->value);
		if (leaf < 0) {
			return -1;
		}
		run->leaf_of[node] = leaf;
		run->leaves[leaf].n_nodes++;
	}
	drop_lone(run);
	return 0;
}
