/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/coord/port_use.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/data/json.h"
#include "probes/engine/coord/ports.h"
#include "probes/plan/affinity.h"

/* How many GPUs @a has; 0 where some are held back, as by MIG: who knows whose
 * the NICs are that look idle. */
static int gpus_of(const struct coord_agent *a)
{
	size_t n = json_array_size(json_object_get(a->inventory, "gpus"));
	bool whole = json_integer_value(json_object_get(
			     a->inventory, "gpus_hidden")) == 0 &&
		     json_integer_value(json_object_get(
			     a->inventory, "gpus_divided")) == 0;

	return whole && n <= SPEC_MAX_GPUS ? (int)n : 0;
}

/* Is @name, which ports_filter() leaves in, one that ranks of @node use? */
static bool is_used(const struct layout *l, int node, const char *name)
{
	bool used = false;

	for (int i = 0; i < l->nodes[node].nics; i++) {
		used |= str_names_meet(
			name, l->nic_names[layout_nic_at(l, node, i)]);
	}
	return used;
}

static bool knows_any(const struct layout *l, int node)
{
	bool any = false;

	for (int i = 0; i < l->nodes[node].nics; i++) {
		any |= l->nic_names[layout_nic_at(l, node, i)][0] != '\0';
	}
	return any;
}

/* For each of @names, joined by '+'. */
static void vote(json_t *uses, const char *names, int more)
{
	char name[LAYOUT_NIC];
	size_t n;

	for (; *names != '\0'; names += n + (names[n] == '+')) {
		json_int_t sum;

		n = strcspn(names, "+");
		snprintf(name, sizeof(name), "%.*s", (int)n, names);
		sum = json_integer_value(json_object_get(uses, name));
		json_object_set_new(uses, name, json_integer(sum + more));
	}
}

static void count_votes(const struct layout *l, const struct affinity *of,
			json_t *uses)
{
	for (int i = 0; l->nic_names != NULL && i < l->n_nodes; i++) {
		for (int k = 0; knows_any(l, i) && k < of[i].n_nics; k++) {
			vote(uses, of[i].nics[k].name,
			     is_used(l, i, of[i].nics[k].name) ? 1 : -1);
		}
	}
}

static int ask_nodes(const struct coord *c, struct layout *l,
		     struct affinity *of)
{
	const struct coord_agent *a = NULL;
	int slots[SPEC_MAX_GPUS], rc = 0;

	for (int g = 0; g < SPEC_MAX_GPUS; g++) {
		slots[g] = g;
	}
	for (int i = 0; rc == 0 && (a = agents_next(c->agents, a)) != NULL;
	     i++) {
		rc = affinity_init(&of[i], gpus_of(a));
		if (rc == 0) {
			l->nodes[i].gpus = of[i].n_gpus;
			affinity_add_inventory(&of[i], a->inventory, slots,
					       ports_filter(c, a, NULL));
		}
	}
	return rc == 0 && layout_number(l) == 0 ? affinity_apply(l, of) : -1;
}

json_t *port_uses(const struct coord *c)
{
	const struct coord_agent *a = NULL;
	struct layout l = { 0 };
	struct affinity *of;
	json_t *uses = json_object();
	int n = 0, rc = -1;

	while ((a = agents_next(c->agents, a)) != NULL) {
		n++;
	}
	of = calloc((size_t)n + 1, sizeof(*of));
	if (of != NULL && layout_init(&l, n) == 0) {
		rc = ask_nodes(c, &l, of);
		count_votes(&l, of, uses);
	}
	for (int i = 0; of != NULL && i < n; i++) {
		affinity_release(&of[i]);
	}
	free(of);
	layout_release(&l);
	if (rc < 0) {
		json_decref(uses);
	}
	return rc < 0 ? NULL : uses;
}

enum port_use port_use_of(const json_t *uses, const char *name)
{
	const json_t *sum = json_object_get(uses, name);

	return sum == NULL ? USE_UNKNOWN :
	       json_integer_value(sum) > 0 ? USE_GPUS : USE_OTHER;
}
