/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/draw/accused.h"

#include <stdlib.h>

#include "report/base/grow.h"

/** Tests of @rank with the ranks of @node that go through @p. */
static int touched(const struct run *run, const struct part *p, int rank,
		   int node)
{
	const struct run_node *n = &run->nodes[node];
	int sum = 0;

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		if (r != rank) {
			sum += part_touches(run, p, rank, r) +
			       part_touches(run, p, r, rank);
		}
	}
	return sum;
}

/** A node with ranks that is neither @a nor @b; -1: there is none. */
static int third_node(const struct run *run, int a, int b)
{
	for (int i = 0; i < run->n_nodes; i++) {
		if (i != a && i != b && run->nodes[i].gpus > 0) {
			return i;
		}
	}
	return -1;
}

/** How much @rank has to do with @p, for comparing it with its neighbours: all
 *  others of its kind are like those of three nodes. */
static int weight(const struct run *run, const struct part *p, int rank,
		  int third)
{
	int node = run->ranks[rank].node, other = p->peer_node;
	int sum = touched(run, p, rank, node);

	other = other == node ? p->node : other;
	if (other >= 0 && other != node) {
		sum += touched(run, p, rank, other);
	}
	return sum + (third >= 0 ? touched(run, p, rank, third) : 0);
}

/** The ranks of @node that have most to do with @f. */
static bool add_ranks(const struct run *run, const struct finding *f, int node,
		      struct accused **list, size_t *n)
{
	const struct run_node *at = &run->nodes[node];
	int third = third_node(run, f->part.node, f->part.peer_node);
	int end = at->first_rank + at->gpus, most = 1;
	bool last = false;

	for (int r = at->first_rank; r < end; r++) {
		int now = weight(run, &f->part, r, third);

		most = now > most ? now : most;
	}
	for (int r = at->first_rank; r < end; r++) {
		bool is = weight(run, &f->part, r, third) == most;

		if (is && last) {
			(*list)[*n - 1].end = r + 1;
		} else if (is && !grow_add(list, n, &(struct accused){
				.first = r, .end = r + 1, .finding = f,
				.node = node }, sizeof(**list))) {
			return false;
		}
		last = is;
	}
	return true;
}

static bool is_shown(const struct finding *f)
{
	return f->part.node >= 0 && f->explained > 0;
}

struct accused *accused_list(const struct run *run, const struct verdict *v,
			     size_t *n)
{
	struct accused *list = calloc(1, sizeof(*list));
	size_t shown = 0;
	bool whole = list != NULL;

	*n = 0;
	for (size_t i = 0; v && whole && i < v->n && shown < ACCUSED_MAX; i++) {
		const struct finding *f = &v->findings[i];

		if (!is_shown(f)) {
			continue;
		}
		shown++;
		whole = add_ranks(run, f, f->part.node, &list, n) &&
			(f->part.peer_node < 0 ||
			 add_ranks(run, f, f->part.peer_node, &list, n));
	}
	if (!whole) {
		free(list);
		return NULL;
	}
	return list;
}

bool *accused_nodes(const struct run *run, const struct verdict *v, int max)
{
	bool *open = calloc((size_t)run->n_nodes + 1, sizeof(*open));
	size_t n = 0;
	struct accused *list = accused_list(run, v, &n);

	if (!open || !list) {
		free(open);
		free(list);
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		int gpus = run->nodes[list[i].node].gpus;
		bool part = list[i].end - list[i].first < gpus;

		if (part && !open[list[i].node] && gpus <= max) {
			open[list[i].node] = true;
			max -= gpus;
		}
	}
	free(list);
	return open;
}
