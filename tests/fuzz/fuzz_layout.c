/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "probes/plan/layout.h"

#define NODES_MAX 8
#define GPUS_MAX  16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Every rank has a NIC that its node has. */
static void check(const struct layout *l)
{
	for (int r = 0; r < l->n_ranks; r++) {
		const struct cluster_rank *k = &l->ranks[r];

		if (k->nic < 0 || k->nic >= l->nodes[k->node].nics ||
		    layout_nic_at(l, k->node, k->nic) >= l->n_nics) {
			abort();
		}
	}
}

/** Any JSON as an array of nodes: as inventories with "gpus", and as the nodes
 *  of run.json. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *nodes = json_loadb((const char *)data, size, 0, NULL);
	struct affinity of[NODES_MAX] = { 0 };
	static const struct rail_nic nics[] = {
		{ "mlx5_0", 0, 0 }, { "mlx5_1+mlx5_2", 1, 0 }, { "", 2, 0 },
	};
	struct layout planned, read;
	int n = (int)json_array_size(nodes), slots[GPUS_MAX];

	n = n < NODES_MAX ? n : NODES_MAX;
	if (layout_init(&planned, n) < 0 || layout_init(&read, n) < 0) {
		abort();
	}
	for (int g = 0; g < GPUS_MAX; g++) {
		slots[g] = g;
	}
	for (int i = 0; i < n; i++) {
		const json_t *node = json_array_get(nodes, (size_t)i);
		json_int_t gpus = json_integer_value(
			json_object_get(node, "gpus"));

		gpus = gpus < 0 ? 0 : gpus > GPUS_MAX ? GPUS_MAX : gpus;
		planned.nodes[i].gpus = read.nodes[i].gpus = (int)gpus;
		if (affinity_init(&of[i], (int)gpus) < 0) {
			abort();
		}
		affinity_add_inventory(&of[i], node, slots, NULL);
		rails_hear(json_object_get(node, "facts"), nics, 3);
	}
	if (layout_number(&planned) < 0 || layout_number(&read) < 0 ||
	    affinity_apply(&planned, of) < 0 ||
	    layout_read_nics(&read, nodes) < 0) {
		abort();
	}
	check(&planned);
	check(&read);
	for (int i = 0; i < n; i++) {
		affinity_release(&of[i]);
	}
	layout_release(&planned);
	layout_release(&read);
	json_decref(nodes);
	return 0;
}
