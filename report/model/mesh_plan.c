/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/mesh_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"

/** Paths: where each address asks each other one, those of 4,096. */
#define CELLS_MAX ((size_t)4096 * 4096)

static bool is_v6(const struct mesh_end *end)
{
	return strchr(end->ip, ':') != NULL;
}

struct mesh_plan mesh_plan_read(const struct run *run)
{
	const json_t *planned = json_object_get(run->json, "planned");
	int64_t groups = 1, seed = 0;

	json_opt_int(planned, "groups", 1, run->n_nodes, &groups, NULL);
	json_opt_int(planned, "seed", 0, INT64_MAX, &seed, NULL);
	return (struct mesh_plan){
		.list = { .nodes = run->n_nodes, .groups = (int)groups,
			  .seed = seed },
		.cross = json_is_true(json_object_get(planned, "cross")),
		.by_rail = json_is_true(json_object_get(planned, "by_rail")),
	};
}

bool mesh_plan_has(const struct mesh_plan *plan, const struct run *run, int s,
		   int d)
{
	const struct mesh_end *a = mesh_end(run, s), *b = mesh_end(run, d);

	if (run->ranks[s].node == run->ranks[d].node ||
	    !pinglist_has(&plan->list, run->ranks[s].node,
			  run->ranks[d].node)) {
		return false;
	}
	if (!a->ip[0] || !b->ip[0]) {
		return true;	/* a node that never came: what it has is
				 * not known */
	}
	return is_v6(a) == is_v6(b) &&
	       (plan->cross || strcmp(a->segment, b->segment) == 0 ||
		(plan->by_rail && run->ranks[s].nic == run->ranks[d].nic));
}

/** The paths from node @a to node @b behind the @n of @pairs, or where that is
 *  NULL their number alone; how many there are now. */
static size_t list_paths(const struct run *run, const struct mesh_plan *plan,
			 int a, int b, struct grid_pair *pairs, size_t n)
{
	const struct run_node *x = &run->nodes[a], *y = &run->nodes[b];

	for (int s = x->first_rank; s < x->first_rank + x->gpus; s++) {
		for (int d = y->first_rank; d < y->first_rank + y->gpus; d++) {
			if (!mesh_plan_has(plan, run, s, d)) {
				continue;
			}
			if (pairs) {
				pairs[n] = (struct grid_pair){ s, d };
			}
			n++;
		}
	}
	return n;
}

static size_t list_pairs(const struct run *run, const struct mesh_plan *plan,
			 struct grid_pair *pairs)
{
	size_t n = 0;

	for (int a = 0; a < run->n_nodes; a++) {
		for (int b = 0; b < run->n_nodes; b++) {
			if (a != b && pinglist_has(&plan->list, a, b)) {
				n = list_paths(run, plan, a, b, pairs, n);
			}
		}
	}
	return n;
}

static int too_many(const struct run *run, struct err *e)
{
	err_set(e, E2BIG, "the paths between %d addresses are more than can be "
		"judged", run->n_ranks);
	return err_hint(e, "--subnet or --ifname: a rail at a time; "
			"results.csv has all rows");
}

int mesh_plan_grid(const struct mesh_plan *plan, struct run *run,
		   struct err *e)
{
	const size_t ranks = (size_t)run->n_ranks;
	struct grid_pair *pairs;
	size_t n;
	int rc;

	if (plan->list.groups < 2) {
		run->grid = grid_square(run->n_ranks);
		return ranks * ranks > CELLS_MAX ? too_many(run, e) : 0;
	}
	n = list_pairs(run, plan, NULL);
	if (n > CELLS_MAX) {
		return too_many(run, e);
	}
	pairs = calloc(n + 1, sizeof(*pairs));
	rc = pairs ? 0 : -1;
	if (pairs) {
		list_pairs(run, plan, pairs);
		rc = grid_of(&run->grid, run->n_ranks, pairs, n);
	}
	free(pairs);
	return rc < 0 ? err_set(e, ENOMEM, "cannot hold %zu paths", n) : 0;
}
