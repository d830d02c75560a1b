/* SPDX-License-Identifier: BSD-3-Clause */
/* The NICs of a layout as members of the nodes of run.json. */
#include <stdlib.h>

#include "lib/base/str.h"
#include "lib/data/json.h"
#include "lib/spec/spec.h"
#include "probes/plan/layout.h"

void layout_put_nics(const struct layout *l, int node, json_t *out)
{
	const struct layout_node *n = &l->nodes[node];
	json_t *of, *used, *names;

	if (l->nic_names == NULL) {
		return;
	}
	of = json_array();
	used = json_array();
	names = json_array();
	for (int i = n->first_rank; i < n->first_rank + n->gpus; i++) {
		json_array_append_new(of, json_integer(l->ranks[i].planned));
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
static bool take_numbers(const struct layout_node *node, const json_t *json,
			 int *n_nics, int *nic)
{
	const json_t *of = json_object_get(json, "nic_of"), *v;
	size_t i, n = json_array_size(json_object_get(json, "nic_names"));

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

static void take_names(struct layout *l, const json_t *nodes)
{
	const json_t *names, *name;
	size_t k;

	for (int i = 0; i < l->n_nodes; i++) {
		names = json_object_get(json_array_get(nodes, (size_t)i),
					"nic_names");
		json_array_foreach(names, k, name) {
			const char *text = json_string_value(name);

			STR_COPY(l->nic_names[layout_nic_at(l, i, (int)k)],
				 text != NULL ? text : "");
		}
	}
}

int layout_read_nics(struct layout *l, const json_t *nodes)
{
	int *n_nics = calloc((size_t)l->n_nodes + 1, sizeof(*n_nics));
	int *nic = calloc((size_t)l->n_ranks + 1, sizeof(*nic));
	int known = n_nics != NULL && nic != NULL ? 0 : -1;

	for (int i = 0; known >= 0 && i < l->n_nodes; i++) {
		known += take_numbers(&l->nodes[i],
				      json_array_get(nodes, (size_t)i),
				      &n_nics[i], nic);
	}
	if (known > 0 && known == l->n_nodes) {
		if (layout_name_nics(l, n_nics, nic) == 0) {
			take_names(l, nodes);
		} else {
			known = -1;
		}
	}
	free(n_nics);
	free(nic);
	return known;
}
