/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "lib/data/switches.h"
#include "lib/spec/spec.h"
#include "probes/host/inventory.h"

/* ---- leaves -------------------------------------------------------------- */

/** A rank with NICs on two leaves is on a third: who is on the same two shares
 *  it.  -1 without memory. */
static int join(struct leaves *v, int rank, const char *name)
{
	int *at = &v->layout->own[rank].leaf, leaf = v->n;
	char (*names)[64], both[64];

	if (*at > 0 && strcmp(v->names[*at - 1], name) != 0) {
		snprintf(both, sizeof(both), "%.30s+%.30s",
			 v->names[*at - 1], name);
		name = both;
	}
	while (leaf > 0 && strcmp(v->names[leaf - 1], name) != 0) {
		leaf--;
	}
	if (leaf == 0) {
		names = realloc(v->names, ((size_t)v->n + 1) * sizeof(*names));
		if (!names) {
			*at = 0;
			return -1;
		}
		v->names = names;
		STR_COPY(v->names[v->n], name);
		leaf = ++v->n;
	}
	*at = leaf;
	return 0;
}

/** The ranks of @node with a NIC among @nics, "": all of them. */
static int place(struct leaves *v, int node, const char *nics,
		 const char *name)
{
	const struct cluster_node *of = &v->layout->nodes[node];
	int rc = 0;

	for (int r = of->first_rank; r < of->first_rank + of->gpus; r++) {
		if (!nics[0] || str_names_meet(v->nics[r], nics)) {
			rc = rc < 0 ? rc : join(v, r, name);
		}
	}
	return rc;
}

int leaves_hear(struct leaves *v, int node, const json_t *facts)
{
	const json_t *f;
	size_t i;
	int rc = 0;

	json_array_foreach(facts, i, f) {
		const struct fact one = fact_of(f);

		if (strcmp(one.fact, "switch") == 0 && one.scope[0]) {
			rc = rc < 0 ? rc :
				      place(v, node, one.scope, one.value);
		}
	}
	return rc;
}

int leaves_read(struct leaves *v, const char *text, size_t len)
{
	const struct layout *l = v->layout;
	struct switch_link *links;
	const long n = switches_parse(text, len, &links);
	int rc = n < 0 ? -1 : 0;

	for (long k = 0; k < n && rc == 0; k++) {
		/* lists have nodes in order: mostly it is the next one */
		for (int i = 0; links[k].node[0] && i < l->n_nodes; i++) {
			int node = (v->node + i) % l->n_nodes;

			if (strcmp(l->nodes[node].name, links[k].node) == 0) {
				v->node = node;
				rc = place(v, node, links[k].nic,
					   links[k].name);
				break;
			}
		}
	}
	free(links);
	return rc;
}

void leaves_release(struct leaves *v)
{
	free(v->names);
	v->names = NULL;
	v->n = 0;
}

/* ---- layout json --------------------------------------------------------- */

/* The NICs of a layout as members of the nodes of run.json. */

void layout_put_nics(const struct layout *l, int node, json_t *out)
{
	const struct cluster_node *n = &l->nodes[node];
	json_t *of, *used, *names;

	if (l->nic_names == NULL) {
		return;
	}
	of = json_array();
	used = json_array();
	names = json_array();
	for (int i = n->first_rank; i < n->first_rank + n->gpus; i++) {
		json_array_append_new(of, json_integer(l->own[i].planned));
		json_array_append_new(used, json_integer(l->ranks[i].nic));
	}
	for (int i = 0; i < n->nics; i++) {
		const char *name = l->nic_names[layout_nic_at(l, node, i)];

		json_array_append_new(names, json_text(name));
	}
	json_object_set_new(out, "nic_of", of);
	if (!json_equal(of, used)) {
		json_object_set(out, "nic_used", used);
	}
	json_decref(used);
	json_object_set_new(out, "nic_names", names);
}

/** The numbers of @node in @json; false: it has none, or damaged ones. */
static bool take_numbers(const struct cluster_node *node, const json_t *json,
			 int *n_nics, int *nic)
{
	const struct run_entry f = run_entry_of(json);
	const json_t *of = f.nic_of, *v;
	size_t i, n = json_array_size(f.nic_names);

	if (n == 0 || n > SPEC_MAX_GPUS ||
	    json_array_size(of) != (size_t)node->gpus) {
		return false;
	}
	json_array_foreach(of, i, v) {
		json_int_t number = json_integer_value(v);

		if (!json_is_integer(v) || number < 0 ||
		    number >= (json_int_t)n) {
			return false;
		}
		nic[node->first_rank + (int)i] = (int)number;
	}
	*n_nics = (int)n;
	return true;
}

int layout_read_nics(struct layout *l, const json_t *nodes)
{
	int *n_nics = calloc((size_t)l->n_nodes + 1, sizeof(*n_nics));
	int *nic = calloc((size_t)l->n_ranks + 1, sizeof(*nic));
	int known = n_nics != NULL && nic != NULL ? 0 : -1;
	const json_t *names, *name;
	size_t k;

	for (int i = 0; known >= 0 && i < l->n_nodes; i++) {
		known += take_numbers(&l->nodes[i],
				      json_array_get(nodes, (size_t)i),
				      &n_nics[i], nic);
	}
	if (known > 0 && known == l->n_nodes &&
	    layout_name_nics(l, n_nics, nic) < 0) {
		known = -1;
	}
	for (int i = 0; known == l->n_nodes && i < l->n_nodes; i++) {
		names = run_entry(nodes, (size_t)i).nic_names;
		json_array_foreach(names, k, name) {
			const char *text = json_string_value(name);

			STR_COPY(l->nic_names[layout_nic_at(l, i, (int)k)],
				 text != NULL ? text : "");
		}
	}
	free(n_nics);
	free(nic);
	return known;
}

/* ---- layout -------------------------------------------------------------- */

/* A pair of ranks on other rails may say otherwise: NCCL_CROSS_NIC=0. */
#define VOTES_MIN 2

int layout_init(struct layout *l, int n_nodes)
{
	*l = (struct layout){ .n_nodes = n_nodes };
	/* one more than needed: calloc(0) may be NULL with memory left */
	l->nodes = calloc((size_t)n_nodes + 1, sizeof(*l->nodes));
	return l->nodes != NULL ? 0 : -1;
}

int layout_number(struct layout *l)
{
	for (int i = 0; i < l->n_nodes; i++) {
		struct cluster_node *node = &l->nodes[i];

		node->nics = node->nics ? node->nics : node->gpus;
		node->first_rank = l->n_ranks;
		node->first_nic = l->n_nics;
		l->n_ranks += node->gpus;
		l->n_nics += node->nics;
	}
	l->ranks = calloc((size_t)l->n_ranks + 1, sizeof(*l->ranks));
	l->own = calloc((size_t)l->n_ranks + 1, sizeof(*l->own));
	if (l->ranks == NULL || l->own == NULL) {
		layout_release(l);
		return -1;
	}
	for (int i = 0; i < l->n_nodes; i++) {
		const struct cluster_node *node = &l->nodes[i];

		/* a rank per GPU */
		for (int gpu = 0; gpu < node->gpus; gpu++) {
			int rank = node->first_rank + gpu;
			int nic = (int)((int64_t)gpu * node->nics / node->gpus);

			l->ranks[rank] = (struct cluster_rank){
				.node = i, .gpu = gpu, .nic = nic,
			};
			l->own[rank].planned = nic;
			l->own[rank].twin = rank;
		}
	}
	return 0;
}

int layout_name_nics(struct layout *l, const int *n_nics, const int *nic)
{
	int n = 0;

	for (int i = 0; i < l->n_nodes; i++) {
		n += n_nics[i];
	}
	l->nic_names = calloc((size_t)n + 1, sizeof(*l->nic_names));
	if (l->nic_names == NULL) {
		return -1;
	}
	l->n_nics = 0;
	for (int i = 0; i < l->n_nodes; i++) {
		l->nodes[i].nics = n_nics[i];
		l->nodes[i].first_nic = l->n_nics;
		l->n_nics += n_nics[i];
	}
	for (int r = 0; r < l->n_ranks; r++) {
		l->ranks[r].nic = l->own[r].planned = nic[r];
	}
	return 0;
}

const char *layout_nic(const struct layout *l, int rank, char buf[LAYOUT_NIC])
{
	const struct cluster_rank *r = &l->ranks[rank];
	int at = layout_nic_at(l, r->node, r->nic);

	if (l->nic_names != NULL && l->nic_names[at][0] != '\0') {
		memcpy(buf, l->nic_names[at], LAYOUT_NIC);
	} else {
		snprintf(buf, LAYOUT_NIC, "nic%d", r->nic);
	}
	return buf;
}

void layout_hear_nic(struct layout *l, int rank, const char *name)
{
	const struct cluster_rank *r = &l->ranks[rank];
	int nic = 0, n = l->nic_names != NULL ? l->nodes[r->node].nics : 0;
	char first[LAYOUT_NIC];

	snprintf(first, sizeof(first), "%.*s", (int)strcspn(name, "+"), name);
	while (nic < n &&
	       !str_names_meet(first, l->nic_names[layout_nic_at(
					      l, r->node, nic)])) {
		nic++;
	}
	if (nic == n) {
		return;
	}
	/* the one that is left over when each other one has cancelled one */
	if (l->own[rank].votes == 0) {
		l->own[rank].heard = nic;
	}
	l->own[rank].votes += l->own[rank].heard == nic ? 1 : -1;
}

bool layout_use_heard(struct layout *l, int rank)
{
	int *nic = &l->ranks[rank].nic, heard = l->own[rank].heard;

	if (l->own[rank].votes < VOTES_MIN || heard == *nic) {
		return false;
	}
	*nic = heard;
	return true;
}

void layout_share_gpu(struct layout *l, int a, int b)
{
	int after_a = l->own[a].twin;

	l->own[a].twin = l->own[b].twin;
	l->own[b].twin = after_a;
}

void layout_release(struct layout *l)
{
	if (l) {
		free(l->nodes);
		free(l->ranks);
		free(l->own);
		free(l->nic_names);
		*l = (struct layout){ 0 };
	}
}
