/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/layout.h"

#include <stdlib.h>

#include "lib/base/str.h"

/** The ranks of @node, one a GPU, from @first_rank on. */
static void fill_ranks(struct layout_rank *ranks, int node, int first_rank,
		       int gpus, int nics)
{
	for (int gpu = 0; gpu < gpus; gpu++) {
		ranks[first_rank + gpu] = (struct layout_rank){
			.node = node,
			.gpu = gpu,
			.nic = (int)((int64_t)gpu * nics / gpus),
			.twin = first_rank + gpu,
		};
	}
}

int layout_init(struct layout *l, int n_nodes, const char *const names[],
		const int gpus[], const int nics[])
{
	int n_ranks = 0;

	for (int i = 0; i < n_nodes; i++) {
		n_ranks += gpus[i];
	}
	*l = (struct layout){ .n_nodes = n_nodes, .n_ranks = n_ranks };
	/* one more than needed: calloc(0) may be NULL with memory left */
	l->nodes = calloc((size_t)n_nodes + 1, sizeof(*l->nodes));
	l->ranks = calloc((size_t)n_ranks + 1, sizeof(*l->ranks));
	if (!l->nodes || !l->ranks) {
		layout_release(l);
		return -1;
	}
	n_ranks = 0;
	for (int i = 0; i < n_nodes; i++) {
		struct layout_node *node = &l->nodes[i];

		STR_COPY(node->name, names[i]);
		node->first_rank = n_ranks;
		node->gpus = gpus[i];
		node->nics = nics[i] ? nics[i] : gpus[i];
		fill_ranks(l->ranks, i, n_ranks, gpus[i], node->nics);
		n_ranks += gpus[i];
	}
	return 0;
}

void layout_share_gpu(struct layout *l, int a, int b)
{
	int after_a = l->ranks[a].twin;

	l->ranks[a].twin = l->ranks[b].twin;
	l->ranks[b].twin = after_a;
}

void layout_release(struct layout *l)
{
	if (l) {
		free(l->nodes);
		free(l->ranks);
		*l = (struct layout){ 0 };
	}
}
