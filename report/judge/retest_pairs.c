/* SPDX-License-Identifier: BSD-3-Clause */
/* The pairs of a retest: what is tested with whom, and beside it. */
#include "report/judge/retest_pairs.h"

static void add_end(const struct planner *w, int node, int gpu)
{
	str_addf(&w->p->pairs, "%s:", w->run->nodes[node].name);
	if (gpu < 0) {
		str_addch(&w->p->pairs, '*');
	} else {
		str_addf(&w->p->pairs, "%d", gpu);
	}
}

void planner_pair(const struct planner *w, int a, int ga, int b, int gb)
{
	str_add(&w->p->pairs, w->p->pairs.len ? "," : "");
	add_end(w, a, ga);
	str_addch(&w->p->pairs, '-');
	add_end(w, b, gb);
	if (w->ends) {
		json_array_append_new(w->ends, json_pack(
			"[s,i,s,i]", w->run->nodes[a].name, ga,
			w->run->nodes[b].name, gb));
	}
}

/** The GPU of @node on the rail of @rank, of the same number where it can
 *  be. */
static int gpu_like(const struct run *run, int rank, int node)
{
	const struct run_node *n = &run->nodes[node];
	int same = run->ranks[rank].gpu;

	for (int g = 0; g < n->gpus; g++) {
		int like = (same + g) % n->gpus;

		if (run->ranks[n->first_rank + like].nic ==
		    run->ranks[rank].nic) {
			return like;
		}
	}
	return same % n->gpus;
}

/** Partner @k of what is on @node: each node begins with another one. */
static int partner(const struct planner *w, int node, size_t k)
{
	size_t well = w->n_well ? w->n_well : w->n_controls;

	return k < well ? w->controls[((size_t)node + k) % well] :
			  w->controls[k];
}

static size_t n_partners(const struct planner *w)
{
	return w->n_controls < RETEST_PARTNERS ? w->n_controls :
						 RETEST_PARTNERS;
}

void planner_inside(const struct planner *w, int rank)
{
	const struct run_rank *r = &w->run->ranks[rank];
	int gpus = w->run->nodes[r->node].gpus;

	for (int k = 1; w->intra && k < gpus && k <= RETEST_PARTNERS; k++) {
		planner_pair(w, r->node, r->gpu, r->node, (r->gpu + k) % gpus);
	}
}

void planner_outside(const struct planner *w, int rank)
{
	const struct run_rank *r = &w->run->ranks[rank];

	for (size_t k = 0; w->inter && k < n_partners(w); k++) {
		int c = partner(w, r->node, k);

		if (c != r->node) {
			planner_pair(w, r->node, r->gpu, c,
				     gpu_like(w->run, rank, c));
		}
	}
}

void planner_controls(struct planner *w, int rank)
{
	const int node = w->run->ranks[rank].node;
	json_t *ends = w->ends;

	w->ends = NULL;
	for (size_t k = 0; k < n_partners(w); k++) {
		int c = partner(w, node, k);
		int like = w->run->nodes[c].first_rank +
			   gpu_like(w->run, rank, c);

		planner_inside(w, like);
		for (size_t i = k + 1; w->inter && i < n_partners(w); i++) {
			int d = partner(w, node, i);

			planner_pair(w, c, w->run->ranks[like].gpu, d,
				     gpu_like(w->run, rank, d));
		}
	}
	w->ends = ends;
}

void planner_node(struct planner *w, int node, bool inside, bool outside)
{
	json_t *ends = w->ends;

	if (inside && w->intra) {
		planner_pair(w, node, -1, node, -1);
	}
	for (size_t k = 0; k < n_partners(w); k++) {
		int c = partner(w, node, k);

		if (outside && w->inter && c != node) {
			planner_pair(w, node, -1, c, -1);
		}
		w->ends = NULL;
		if (inside && w->intra) {
			planner_pair(w, c, -1, c, -1);
		}
		for (size_t i = k + 1; outside && w->inter &&
				       i < n_partners(w); i++) {
			planner_pair(w, c, -1, partner(w, node, i), -1);
		}
		w->ends = ends;
	}
}
