/* SPDX-License-Identifier: BSD-3-Clause */
/* Which HCA ports of the agents are ranks.  A port that is up on no node at all
 * is there for something else, or for nothing; one that is up elsewhere is
 * missed here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/data/hosts.h"
#include "lib/data/json.h"
#include "probes/engine/coord/ranks.h"
#include "probes/host/nccl_conf.h"
#include "probes/plan/layout.h"

/* ---- port use ------------------------------------------------------------ */

static const char *ports_filter(const struct coord *c,
				const struct coord_agent *a, const char **from);

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

/* For each port that ports_filter() lets through, votes whether ranks of its
 * node use it.  A node that knows the name of no NIC has no vote. */
static void count_votes(const struct layout *l, const struct affinity *of,
			json_t *uses)
{
	for (int i = 0; l->nic_names != NULL && i < l->n_nodes; i++) {
		bool any = false;

		for (int x = 0; x < l->nodes[i].nics; x++) {
			any |= l->nic_names[layout_nic_at(l, i, x)][0] != '\0';
		}
		for (int k = 0; any && k < of[i].n_nics; k++) {
			const char *name = of[i].nics[k].name;
			bool used = false;

			for (int x = 0; x < l->nodes[i].nics; x++) {
				used |= str_names_meet(
					name,
					l->nic_names[layout_nic_at(l, i, x)]);
			}
			vote(uses, name, used ? 1 : -1);
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
		const struct inventory_seen seen = inventory_seen(a->inventory);
		size_t n = json_array_size(seen.gpus);

		/* if some GPUs are held back, as by MIG, nobody knows whose the
		 * NICs are that look idle */
		if (seen.gpus_hidden != 0 || seen.gpus_divided != 0 ||
		    n > SPEC_MAX_GPUS) {
			n = 0;
		}
		rc = affinity_init(&of[i], (int)n);
		if (rc == 0) {
			l->nodes[i].gpus = of[i].n_gpus;
			affinity_add_inventory(&of[i], a->inventory, slots,
					       ports_filter(c, a, NULL));
		}
	}
	return rc == 0 && layout_number(l) == 0 ? affinity_apply(l, of) : -1;
}

/* Returns the use of the nodes' ports by the place of their GPUs, as in the
 * layout of p2p.  A port name is used by GPUs if most nodes say so; a single
 * node that has lost a NIC or GPU cannot change the result.  A node whose GPUs
 * are not all visible has no vote.  Free it with
 * json_decref(); NULL without memory. */
static json_t *port_uses(const struct coord *c)
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

/* ---- ports --------------------------------------------------------------- */

/* An EFA: it has verbs, but no reliable connection, which ib measures. */
static bool is_efa(const json_t *port)
{
	const char *layer = inventory_part(port).link_layer;

	return layer[0] != '\0' && strcmp(layer, "InfiniBand") != 0 &&
	       strcmp(layer, "Ethernet") != 0;
}

size_t ports_count(const struct coord *c, bool efa)
{
	const struct coord_agent *a = NULL;
	size_t n = 0, i;

	while ((a = agents_next(c->agents, a)) != NULL) {
		const json_t *port;

		json_array_foreach(inventory_seen(a->inventory).ports, i, port)
		{
			n += is_efa(port) == efa;
		}
	}
	return n;
}

/* Returns --hca, or, if that is not given, NCCL_IB_HCA of agent @a and in @from
 * (may be NULL) where it is set; "" if neither is. */
static const char *ports_filter(const struct coord *c,
				const struct coord_agent *a, const char **from)
{
	const char *set = c->spec.hca[0] != '\0' ? NULL :
		nccl_conf_get(inventory_seen(a->inventory).nccl,
			      "NCCL_IB_HCA", from);

	return set != NULL ? set : c->spec.hca;
}

bool ports_filter_text(const struct coord *c, char buf[PORTS_FILTER_TEXT])
{
	const struct coord_agent *a = NULL;
	const char *first = "", *first_from = NULL;
	size_t n = 0, alike = 0;
	char on[64] = "";

	while ((a = agents_next(c->agents, a)) != NULL) {
		const char *from = NULL, *set = ports_filter(c, a, &from);

		if (first_from == NULL && from != NULL) {
			first = set;
			first_from = from;
		}
		alike += from != NULL && strcmp(set, first) == 0;
		n++;
	}
	if (alike < n) {
		snprintf(on, sizeof(on), " on %zu of %zu nodes", alike, n);
	}
	snprintf(buf, PORTS_FILTER_TEXT, "NCCL_IB_HCA=%s (%s)%s", first,
		 first_from != NULL ? first_from : "", on);
	buf[0] = first_from != NULL ? buf[0] : '\0';
	return buf[0] != '\0';
}

/* Number @i of the ports of @a whose names are among @names; NULL. */
static const json_t *port_at(const struct coord_agent *a, const json_t *names,
			     int i)
{
	const json_t *port;
	size_t at;

	json_array_foreach(inventory_seen(a->inventory).ports, at, port)
	{
		if (json_object_get(names, inventory_part(port).name) != NULL &&
		    i-- == 0) {
			return port;
		}
	}
	return NULL;
}

/* The ports of @a that take part into @ports, of PORT_MAX. */
static int see_ports(const struct coord *c, const struct coord_agent *a,
		     const json_t *names, const json_t *uses,
		     struct port_seen *ports)
{
	int64_t index = c->spec.pkey_index;
	const char *source;
	const json_t *port;
	int n = 0;

	/* the partition that queue pairs use: by the option, else by what
	 * NCCL's jobs have */
	if (index < 0 &&
	    !nccl_conf_int(inventory_seen(a->inventory).nccl,
			   "NCCL_IB_PKEY", 0, PORT_PKEYS, &index, &source)) {
		index = 0;
	}
	while (n < PORT_MAX && (port = port_at(a, names, n)) != NULL) {
		const struct inventory_part seen = inventory_part(port);
		struct port_seen *p = &ports[n++];
		const json_t *pkey = json_array_get(seen.pkeys, (size_t)index);
		const json_t *sum = json_object_get(uses, seen.name);

		STR_COPY(p->name, seen.name);
		p->up = seen.up;
		STR_COPY(p->class.link_layer, seen.link_layer);
		STR_COPY(p->class.subnet, seen.subnet);
		/* without the bit that tells full from limited members */
		p->class.pkey = (int)(json_integer_value(pkey) & 0x7fff);
		p->class.rate_Gb_s = (int)seen.rate_Gb_s;
		p->class.use = sum == NULL ? USE_UNKNOWN :
			       json_integer_value(sum) > 0 ? USE_GPUS :
							     USE_OTHER;
	}
	return n;
}

int ports_make(struct ranks *r)
{
	struct coord *c = r->c;
	struct coord_agent *a = NULL;
	size_t n = 0, i;
	struct port_set *sets;
	struct port_seen *ports;
	json_t *uses = port_uses(c), *port;

	/* the names of ports that are up on some node */
	r->port_names = json_object();
	for (; (a = agents_next(c->agents, a)) != NULL; n++) {
		const char *filter = ports_filter(c, a, NULL);

		json_array_foreach(inventory_seen(a->inventory).ports, i, port)
		{
			const struct inventory_part seen = inventory_part(port);

			if (seen.up && !is_efa(port) &&
			    port_matches(filter, seen.name)) {
				json_object_set_new(r->port_names, seen.name,
						    json_true());
			}
		}
	}
	sets = calloc(n + 1, sizeof(*sets));
	ports = calloc((n + 1) * PORT_MAX, sizeof(*ports));
	if (sets == NULL || ports == NULL || uses == NULL) {
		free(sets);
		free(ports);
		json_decref(uses);
		return -1;
	}
	for (i = 0; (a = agents_next(c->agents, a)) != NULL; i++) {
		sets[i].ports = ports + i * PORT_MAX;
		sets[i].n = see_ports(c, a, r->port_names, uses,
				      ports + i * PORT_MAX);
		a->gpus_found = sets[i].n;
	}
	port_slots_make(&r->ports, sets, (int)n);
	for (i = 0; (a = agents_next(c->agents, a)) != NULL; i++) {
		port_slots_match(&r->ports, &sets[i], a->port_at);
	}
	json_decref(uses);
	free(ports);
	free(sets);
	return 0;
}

int ports_group(const struct ranks *r, int slot)
{
	return slot < r->ports.n ? r->ports.slot[slot].group : 0;
}

bool ports_take(const struct ranks *r, struct rank *k)
{
	int at = k->slot < r->ports.n ? k->agent->port_at[k->slot] : -1;
	const json_t *port = port_at(k->agent, r->port_names, at);

	if (port != NULL) {
		json_opt_text(port, "name", k->part, sizeof(k->part), NULL);
		json_opt_real(port, "line_GB_s", 0, 1e6, &k->line_GB_s, NULL);
		json_opt_bool(port, "software", &k->software, NULL);
	}
	return port != NULL;
}
