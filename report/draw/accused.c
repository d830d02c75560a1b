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

/** Is @rank on the rail, or at a switch, that @p is of? */
static bool is_of(const struct run *run, const struct part *p, int rank)
{
	const unsigned rails = KIND(RAIL) | KIND(RAIL_LEAF);
	int at = run->nodes[run->ranks[rank].node].leaf - 1;
	int leaf = part_leaf(p), peer = part_peer_leaf(p);

	return (part_is(p, rails) || leaf >= 0) &&
	       (leaf < 0 || at == leaf || (peer >= 0 && at == peer)) &&
	       (!part_is(p, rails) || run->ranks[rank].nic == p->index);
}

/** The ranks of a part that sits in no node. */
static bool add_spread(const struct run *run, const struct finding *f,
		       struct accused **list, size_t *n)
{
	size_t before = *n;

	for (int r = 0; r < run->n_ranks && *n < before + ACCUSED_SPREAD; r++) {
		if (!is_of(run, &f->part, r)) {
			continue;
		}
		if (*n > before && (*list)[*n - 1].end == r) {
			(*list)[*n - 1].end = r + 1;
		} else if (!grow_add(list, n, &(struct accused){
				.first = r, .end = r + 1, .finding = f,
				.node = run->ranks[r].node }, sizeof(**list))) {
			return false;
		}
	}
	return true;
}

static bool add(const struct run *run, const struct finding *f,
		struct accused **list, size_t *n)
{
	return f->part.node < 0 ?
		       add_spread(run, f, list, n) :
		       add_ranks(run, f, f->part.node, list, n) &&
			       (f->part.peer_node < 0 ||
				add_ranks(run, f, f->part.peer_node, list, n));
}

struct accused *accused_list(const struct run *run, const struct verdict *v,
			     size_t *n)
{
	struct accused *list = calloc(1, sizeof(*list));
	size_t shown = 0;
	bool whole = list != NULL;

	*n = 0;
	for (size_t i = 0; v && whole && i < v->n && shown < ACCUSED_MAX; i++) {
		size_t before = *n;

		/* what is a little slow has tests, none of them bad */
		whole = v->findings[i].cells == 0 ||
			add(run, &v->findings[i], &list, n);
		shown += *n > before;
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
		bool part = list[i].finding->part.node >= 0 &&
			    list[i].end - list[i].first < gpus;

		if (part && !open[list[i].node] && gpus <= max) {
			open[list[i].node] = true;
			max -= gpus;
		}
	}
	free(list);
	return open;
}
