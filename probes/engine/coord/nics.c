/* SPDX-License-Identifier: BSD-3-Clause */
/* Which NIC each rank uses. */
#include "probes/engine/coord/ranks.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/data/rundir.h"
#include "lib/data/switches.h"
#include "probes/engine/coord/work.h"
#include "probes/plan/layout.h"

/* A node has one agent, or one a rank. */
static void add_agents(const struct ranks *r, int node, struct affinity *a)
{
	const struct rank *all = &r->all[r->layout.nodes[node].first_rank];
	const struct coord_agent *last = NULL;
	int slots[SPEC_MAX_GPUS];

	for (int g = 0; g < a->n_gpus; g++) {
		const struct coord_agent *agent = all[g].agent;

		if (agent == NULL || agent == last) {
			continue;
		}
		last = agent;
		for (int k = 0; k < a->n_gpus; k++) {
			slots[k] = all[k].agent == agent ? all[k].slot : -1;
		}
		affinity_add_inventory(a, agent->inventory, slots, NULL);
	}
}

static int ask_nodes(struct ranks *r, struct affinity *of)
{
	int rc = 0;

	for (int i = 0; i < r->layout.n_nodes && rc == 0; i++) {
		rc = affinity_init(&of[i], r->layout.nodes[i].gpus);
		if (rc == 0) {
			add_agents(r, i, &of[i]);
		}
	}
	return rc < 0 ? -1 : affinity_apply(&r->layout, of);
}

static int find_by_nodes(struct ranks *r)
{
	struct affinity *of =
		calloc((size_t)r->layout.n_nodes + 1, sizeof(*of));
	int rc = of != NULL ? ask_nodes(r, of) : -1;

	for (int i = 0; of != NULL && i < r->layout.n_nodes; i++) {
		affinity_release(&of[i]);
	}
	free(of);
	return rc;
}

/* As they were when the run began, for its plan follows from that; returns as
 * layout_read_nics() does. */
static int find_before(struct ranks *r)
{
	json_t *nodes = json_array();
	int known;

	for (int i = 0; i < r->layout.n_nodes; i++) {
		const char *name = r->layout.nodes[i].name;
		json_t *node = (json_t *)before_node(r->c->before, name);

		json_array_append_new(nodes, node != NULL ? json_incref(node) :
							    json_null());
	}
	known = layout_read_nics(&r->layout, nodes);
	json_decref(nodes);
	return known;
}

int ranks_find_nics(struct ranks *r, struct err *e)
{
	/* a port has its own number, sockets are near to no GPU, and pretend
	 * nodes would share NICs, unless they are machines of their own */
	bool real = !r->c->probe->ports && !xport_is(r->ops, XPORT_SOCKETS) &&
		    (!ranks_pretend(r) || r->c->spec.sysroot[0] != '\0');
	bool again = json_array_size(run_file(r->c->before).nodes) > 0;
	int known = again ? find_before(r) : 0, rc = known < 0 ? -1 : 0;

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

static void hear_node(const struct ranks *r, int node, struct rails_said *s)
{
	const struct layout *l = &r->layout;
	const struct cluster_node *of = &l->nodes[node];
	const struct coord_agent *last = NULL;
	struct rail_nic nics[SPEC_MAX_GPUS];
	char names[SPEC_MAX_GPUS][LAYOUT_NIC];
	int n = of->gpus < SPEC_MAX_GPUS ? of->gpus : SPEC_MAX_GPUS;

	for (int i = 0; i < n; i++) {
		int rank = of->first_rank + i;

		nics[i] = (struct rail_nic){
			.name = nic_name(r, rank, names[i]),
			.rail = l->ranks[rank].nic,
			.group = l->ranks[rank].group,
		};
	}
	for (int i = 0; i < n; i++) {
		const struct coord_agent *agent =
			r->all[of->first_rank + i].agent;

		if (agent != NULL && agent != last) {
			rails_hear(s, inventory_seen(agent->inventory).facts,
				   nics, n);
			last = agent;
		}
	}
}

bool ranks_unrouted(const struct ranks *r, struct rails_said *s)
{
	*s = (struct rails_said){ 0 };
	for (int i = 0; i < r->layout.n_nodes; i++) {
		hear_node(r, i, s);
	}
	return rails_are_apart(s);
}

/* ---- the switches above them --------------------------------------------- */

static int find_leaves(const struct ranks *r, struct leaves *v)
{
	const struct coord_agent *last = NULL;
	struct err why = { 0 };
	size_t len = 0;
	char *text;
	int rc = 0;

	for (int i = 0; rc == 0 && i < r->layout.n_ranks; i++) {
		const struct coord_agent *a = r->all[i].agent;

		if (a != NULL && a != last) {
			rc = leaves_hear(v, r->layout.ranks[i].node,
					 inventory_seen(a->inventory).facts);
			last = a;
		}
	}
	text = rundir_read_text(r->c->log->dir, RUN_SWITCHES,
				SWITCHES_MAX_BYTES, &len, &why);
	if (rc == 0 && text != NULL) {
		rc = leaves_read(v, text, len);
	}
	free(text);
	return rc;
}

int ranks_find_leaves(struct ranks *r, struct err *e)
{
	size_t n = (size_t)r->layout.n_ranks + 1;
	char (*names)[LAYOUT_NIC] = calloc(n, sizeof(*names));
	const char **nics = calloc(n, sizeof(*nics));
	struct leaves v = { .layout = &r->layout, .nics = nics };
	int rc = -1;

	for (int i = 0; names != NULL && nics != NULL && i < r->layout.n_ranks;
	     i++) {
		nics[i] = nic_name(r, i, names[i]);
	}
	if (names != NULL && nics != NULL) {
		rc = find_leaves(r, &v);
	}
	leaves_release(&v);
	free(nics);
	free(names);
	return rc < 0 ? err_set(e, ENOMEM, "no memory for the switches") : 0;
}
