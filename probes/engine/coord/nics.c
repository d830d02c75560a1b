/* SPDX-License-Identifier: BSD-3-Clause */
/* Which NIC each rank uses. */
#include "probes/engine/coord/ranks.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/data/rundir.h"
#include "lib/data/switches.h"
#include "probes/engine/coord/work.h"
#include "probes/plan/layout.h"

/* Asks the inventories of the nodes, each of which has one agent, or one per
 * rank. */
static int find_by_nodes(struct ranks *r)
{
	struct affinity *of =
		calloc((size_t)r->layout.n_nodes + 1, sizeof(*of));
	int slots[SPEC_MAX_GPUS], rc = of != NULL ? 0 : -1;

	for (int i = 0; rc == 0 && i < r->layout.n_nodes; i++) {
		const struct rank *all = &r->all[r->layout.nodes[i].first_rank];
		const struct coord_agent *last = NULL;

		rc = affinity_init(&of[i], r->layout.nodes[i].gpus);
		for (int g = 0; rc == 0 && g < of[i].n_gpus; g++) {
			const struct coord_agent *agent = all[g].agent;

			if (agent == NULL || agent == last) {
				continue;
			}
			last = agent;
			for (int k = 0; k < of[i].n_gpus; k++) {
				slots[k] = all[k].agent == agent ? all[k].slot
								 : -1;
			}
			affinity_add_inventory(&of[i], agent->inventory, slots,
					       NULL);
		}
	}
	rc = rc == 0 ? affinity_apply(&r->layout, of) : -1;
	for (int i = 0; of != NULL && i < r->layout.n_nodes; i++) {
		affinity_release(&of[i]);
	}
	free(of);
	return rc;
}

int ranks_find_nics(struct ranks *r, struct err *e)
{
	/* a port has its own number, sockets are near to no GPU, and pretend
	 * nodes would share NICs, unless they are machines of their own */
	bool real = !r->c->probe->ports && !xport_is(r->ops, XPORT_SOCKETS) &&
		    (!ranks_pretend(r) || r->c->spec.sysroot[0] != '\0');
	bool again = json_array_size(run_file(r->c->before).nodes) > 0;
	json_t *nodes = json_array();
	int known, rc;

	/* as they were when the run began, because its plan follows from it */
	for (int i = 0; again && i < r->layout.n_nodes; i++) {
		const json_t *node = before_node(r->c->before,
						 r->layout.nodes[i].name);

		json_array_append_new(nodes, node == NULL ? json_null() :
				      json_incref((json_t *)(uintptr_t)node));
	}
	known = again ? layout_read_nics(&r->layout, nodes) : 0;
	rc = known < 0 ? -1 : 0;
	json_decref(nodes);
	/* an earlier version knew of no NIC; of one of ours nodes may be new */
	if (rc == 0 && known < r->layout.n_nodes && (known > 0 || !again) &&
	    real && r->c->spec.nics == 0) {
		rc = find_by_nodes(r);
	}
	return rc < 0 ? err_set(e, ENOMEM, "no memory for the NICs") : 0;
}

/* ---- between them -------------------------------------------------------- */

/* The NIC or port of @rank; @buf may have it. */
static const char *nic_name(const struct ranks *r, int rank,
			    char buf[LAYOUT_NIC])
{
	return r->c->probe->ports ? r->all[rank].part :
				    layout_nic(&r->layout, rank, buf);
}

bool ranks_unrouted(const struct ranks *r, int *apart)
{
	const struct layout *l = &r->layout;
	struct rail_nic nics[SPEC_MAX_GPUS];
	char names[SPEC_MAX_GPUS][LAYOUT_NIC];
	int sum = 0, said;

	*apart = 0;
	for (int i = 0; i < l->n_nodes; i++) {
		const int first = l->nodes[i].first_rank;
		const int n = l->nodes[i].gpus < SPEC_MAX_GPUS ?
				      l->nodes[i].gpus : SPEC_MAX_GPUS;
		const struct coord_agent *last = NULL;

		for (int k = 0; k < n; k++) {
			nics[k] = (struct rail_nic){
				.name = nic_name(r, first + k, names[k]),
				.rail = l->ranks[first + k].nic,
				.group = l->ranks[first + k].group,
			};
		}
		for (int k = 0; k < n; k++) {
			const struct coord_agent *a = r->all[first + k].agent;

			if (a != NULL && a != last) {
				said = rails_hear(
					inventory_seen(a->inventory).facts,
					nics, n);
				*apart += said < 0;
				sum += said;
				last = a;
			}
		}
	}
	return sum < 0;
}

/* ---- the switches above them --------------------------------------------- */

int ranks_find_leaves(struct ranks *r, struct err *e)
{
	size_t n = (size_t)r->layout.n_ranks + 1, len = 0;
	char (*names)[LAYOUT_NIC] = calloc(n, sizeof(*names));
	const char **nics = calloc(n, sizeof(*nics));
	struct leaves v = { .layout = &r->layout, .nics = nics };
	const struct coord_agent *last = NULL;
	int rc = names != NULL && nics != NULL ? 0 : -1;
	struct err why = { 0 };
	char *text = NULL;

	for (int i = 0; rc == 0 && i < r->layout.n_ranks; i++) {
		nics[i] = nic_name(r, i, names[i]);
	}
	for (int i = 0; rc == 0 && i < r->layout.n_ranks; i++) {
		const struct coord_agent *a = r->all[i].agent;

		if (a != NULL && a != last) {
			rc = leaves_hear(&v, r->layout.ranks[i].node,
					 inventory_seen(a->inventory).facts);
			last = a;
		}
	}
	if (rc == 0) {
		text = rundir_read_text(r->c->log->dir, RUN_SWITCHES,
					SWITCHES_MAX_BYTES, &len, &why);
	}
	if (text != NULL) {
		rc = leaves_read(&v, text, len);
	}
	free(text);
	leaves_release(&v);
	free(nics);
	free(names);
	return rc < 0 ? err_set(e, ENOMEM, "no memory for the switches") : 0;
}
