/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/layout.h"

#include <stdlib.h>

int layout_init(struct layout *l, int n_nodes)
{
	*l = (struct layout){ .n_nodes = n_nodes };
	/* one more than needed: calloc(0) may be NULL with memory left */
	l->nodes = calloc((size_t)n_nodes + 1, sizeof(*l->nodes));
	return l->nodes != NULL ? 0 : -1;
}

/** The ranks of node number @i, one a GPU. */
static void fill_ranks(struct layout *l, int i)
{
	const struct layout_node *node = &l->nodes[i];

	for (int gpu = 0; gpu < node->gpus; gpu++) {
		l->ranks[node->first_rank + gpu] = (struct layout_rank){
			.node = i,
			.gpu = gpu,
			.nic = (int)((int64_t)gpu * node->nics / node->gpus),
			.twin = node->first_rank + gpu,
		};
	}
}

int layout_number(struct layout *l)
{
	for (int i = 0; i < l->n_nodes; i++) {
		struct layout_node *node = &l->nodes[i];

		node->nics = node->nics ? node->nics : node->gpus;
		node->first_rank = l->n_ranks;
		node->first_nic = l->n_nics;
		l->n_ranks += node->gpus;
		l->n_nics += node->nics;
	}
	l->ranks = calloc((size_t)l->n_ranks + 1, sizeof(*l->ranks));
	if (l->ranks == NULL) {
		layout_release(l);
		return -1;
	}
	for (int i = 0; i < l->n_nodes; i++) {
		fill_ranks(l, i);
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
