/* SPDX-License-Identifier: BSD-3-Clause */
/* Which NIC each rank uses. */
#include "probes/engine/coord/ranks.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/str.h"
#include "lib/data/json.h"
#include "probes/engine/coord/before.h"
#include "probes/plan/affinity.h"

/* A rank that is a port uses that one. */
static void add_ports(const struct ranks *r, int node, struct affinity *a)
{
	for (int g = 0; g < a->n_gpus; g++) {
		const struct rank *k =
			&r->all[r->layout.nodes[node].first_rank + g];
		int nic = k->part[0] != '\0' ? affinity_add(a, k->part) : -1;

		if (nic >= 0) {
			a->ways[g][nic] = WAY_PIX;
		}
	}
}

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
		affinity_add_inventory(a, agent->inventory, slots);
	}
}

static int ask_nodes(struct ranks *r, struct affinity *of)
{
	int rc = 0;

	for (int i = 0; i < r->layout.n_nodes && rc == 0; i++) {
		rc = affinity_init(&of[i], r->layout.nodes[i].gpus);
		if (rc == 0 && r->c->probe->ports) {
			add_ports(r, i, &of[i]);
		} else if (rc == 0) {
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

/* ---- in run.json -------------------------------------------------------- */

void ranks_put_nics(const struct ranks *r, int node, json_t *out)
{
	const struct layout *l = &r->layout;
	const struct layout_node *n = &l->nodes[node];
	json_t *of = json_array(), *names = json_array();

	for (int i = n->first_rank; i < n->first_rank + n->gpus; i++) {
		json_array_append_new(of, json_integer(l->ranks[i].nic));
	}
	for (int i = 0; l->nic_names != NULL && i < n->nics; i++) {
		const char *name = l->nic_names[layout_nic_at(l, node, i)];

		json_array_append_new(names, json_text(name));
	}
	if (l->nic_names != NULL) {
		json_object_set(out, "nic_of", of);
		json_object_set(out, "nic_names", names);
	}
	json_decref(of);
	json_decref(names);
}

/* The numbers of @node in @json; false: it has none, or damaged ones. */
static bool take_numbers(const struct layout_node *node, const json_t *json,
			 int *n_nics, int *nic)
{
	const json_t *of = json_object_get(json, "nic_of"), *v;
	size_t i;

	*n_nics = (int)json_array_size(json_object_get(json, "nic_names"));
	if (*n_nics > SPEC_MAX_GPUS ||
	    json_array_size(of) != (size_t)node->gpus) {
		return false;
	}
	json_array_foreach(of, i, v) {
		json_int_t number = json_integer_value(v);

		if (!json_is_integer(v) || number < 0 || number >= *n_nics) {
			return false;
		}
		nic[node->first_rank + (int)i] = (int)number;
	}
	return true;
}

static void take_names(struct layout *l, int node, const json_t *names)
{
	const json_t *name;
	size_t i;

	json_array_foreach(names, i, name) {
		const char *text = json_string_value(name);

		STR_COPY(l->nic_names[layout_nic_at(l, node, (int)i)],
			 text != NULL ? text : "");
	}
}

/* As they were when the run began, for its plan follows from that: the number
 * of nodes that are known so, of all if it took them; -1 without memory. */
static int find_before(struct ranks *r)
{
	struct layout *l = &r->layout;
	int *n_nics = calloc((size_t)l->n_nodes + 1, sizeof(*n_nics));
	int *nic = calloc((size_t)l->n_ranks + 1, sizeof(*nic));
	int known = n_nics != NULL && nic != NULL ? 0 : -1;

	for (int i = 0; known >= 0 && i < l->n_nodes; i++) {
		known += take_numbers(&l->nodes[i],
				      before_node(r->c->before,
						  l->nodes[i].name),
				      &n_nics[i], nic);
	}
	if (known == l->n_nodes) {
		known = layout_name_nics(l, n_nics, nic) < 0 ? -1 : known;
	}
	for (int i = 0; l->nic_names != NULL && i < l->n_nodes; i++) {
		take_names(l, i, json_object_get(
					 before_node(r->c->before,
						     l->nodes[i].name),
					 "nic_names"));
	}
	free(n_nics);
	free(nic);
	return known;
}

int ranks_find_nics(struct ranks *r, struct err *e)
{
	/* what stands for a NIC elsewhere has none that is near; pretend nodes
	 * would share them */
	bool real = r->c->probe->ports || (xport_is(r->ops, XPORT_GPU) &&
					   !ranks_pretend(r));
	bool again = before_n_nodes(r->c->before) > 0;
	int known = again ? find_before(r) : 0, rc = known < 0 ? -1 : 0;

	/* an earlier version knew of no NIC; of one of ours nodes may be new */
	if (rc == 0 && known < r->layout.n_nodes && (known > 0 || !again) &&
	    real && r->c->spec.nics == 0) {
		rc = find_by_nodes(r);
	}
	return rc < 0 ? err_set(e, ENOMEM, "no memory for the NICs") : 0;
}
