/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/leaves.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/data/json.h"
#include "lib/data/switches.h"

/** The number of the leaf called @name; -1 without memory. */
static int find_leaf(struct leaves *v, const char *name)
{
	char (*names)[64];

	for (int i = v->n; i > 0; i--) {
		if (strcmp(v->names[i - 1], name) == 0) {
			return i;
		}
	}
	names = realloc(v->names, ((size_t)v->n + 1) * sizeof(*names));
	if (!names) {
		return -1;
	}
	v->names = names;
	STR_COPY(v->names[v->n], name);
	return ++v->n;
}

/** A rank with NICs on two leaves is on a third: who is on the same two shares
 *  it. */
static int join(struct leaves *v, int rank, const char *name)
{
	struct layout_rank *r = &v->layout->ranks[rank];
	char both[64];
	int leaf;

	if (r->leaf > 0 && strcmp(v->names[r->leaf - 1], name) != 0) {
		snprintf(both, sizeof(both), "%.30s+%.30s",
			 v->names[r->leaf - 1], name);
		name = both;
	}
	leaf = find_leaf(v, name);
	r->leaf = leaf < 0 ? 0 : leaf;
	return leaf < 0 ? -1 : 0;
}

/** The ranks of @node with a NIC among @nics, "": all of them. */
static int place(struct leaves *v, int node, const char *nics,
		 const char *name)
{
	const struct layout_node *of = &v->layout->nodes[node];
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
		const char *scope = json_member(f, "scope");

		if (strcmp(json_member(f, "fact"), "switch") == 0 &&
		    scope[0]) {
			rc = rc < 0 ? rc :
				      place(v, node, scope,
					    json_member(f, "value"));
		}
	}
	return rc;
}

/** Lists have nodes in order: mostly it is the next one. */
static int find_node(const struct leaves *v, const char *name)
{
	const struct layout *l = v->layout;

	for (int i = 0; i < l->n_nodes; i++) {
		int node = (v->node + i) % l->n_nodes;

		if (strcmp(l->nodes[node].name, name) == 0) {
			return node;
		}
	}
	return -1;
}

static int take_link(void *user, const struct switch_link *link)
{
	struct leaves *v = user;
	int node = link->node[0] ? find_node(v, link->node) : -1;

	if (node < 0) {
		return 0;
	}
	v->node = node;
	return place(v, node, link->nic, link->name);
}

int leaves_read(struct leaves *v, const char *text, size_t len)
{
	return switches_parse(text, len, take_link, v) < 0 ? -1 : 0;
}

void leaves_release(struct leaves *v)
{
	free(v->names);
	v->names = NULL;
	v->n = 0;
}
