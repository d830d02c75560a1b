/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/odd.h"

#include <stdlib.h>

int odd_init(const struct run *run, struct odd *o)
{
	size_t n = (size_t)run->n_ranks + (size_t)run->n_nodes;

	*o = (struct odd){ .at_rank = calloc(n + 1, sizeof(n)) };
	o->at_node = o->at_rank ? o->at_rank + run->n_ranks : NULL;
	return o->at_rank ? 0 : -1;
}

void odd_release(struct odd *o)
{
	free(o->at_rank);
}

void odd_add(const struct run *run, struct odd *o, size_t at)
{
	int s = run_src(run, at), d = run_dst(run, at);
	int from = run->ranks[s].node, to = run->ranks[d].node;

	o->first = o->n++ == 0 ? at : o->first;
	o->at_rank[s]++;
	o->at_rank[d]++;
	o->at_node[from]++;
	o->at_node[to] += to != from;
}

/** The only one of @n counts that is @all; -1: there is none, or several. */
static int only_one(const size_t *counts, int n, size_t all)
{
	int found = -1;

	for (int i = 0; i < n; i++) {
		if (counts[i] == all && found >= 0) {
			return -1;
		}
		found = counts[i] == all ? i : found;
	}
	return found;
}

struct part odd_place(const struct run *run, const struct odd *o)
{
	int rank = only_one(o->at_rank, run->n_ranks, o->n);
	int node = only_one(o->at_node, run->n_nodes, o->n);

	return rank >= 0 ? part_at(PART_CONFIG, run->ranks[rank].node,
				   run->ranks[rank].gpu) :
			   part_at(PART_CONFIG, node, -1);
}
