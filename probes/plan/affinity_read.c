/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/affinity.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/json.h"
#include "lib/data/port_filter.h"
#include "probes/host/nccl_conf.h"

static const char *const way_names[] = {
	[WAY_PIX] = "PIX", [WAY_PXB] = "PXB", [WAY_PHB] = "PHB",
	[WAY_NODE] = "NODE", [WAY_SYS] = "SYS",
};

static enum affinity_way way_of(const char *name)
{
	int way = 0;

	while (way < WAY_UNKNOWN && strcmp(way_names[way], name) != 0) {
		way++;
	}
	return (enum affinity_way)way;
}

/** Is @port one of @hca, "mlx5_0" or "mlx5_0:2"? */
static bool is_of(const char *port, const char *hca)
{
	size_t n = strcspn(port, ":");

	return strlen(hca) == n && memcmp(port, hca, n) == 0;
}

/** "gpu3-mlx5_0" is "PIX". */
static void add_link(struct affinity *a, const int *slots, const char *scope,
		     const char *value)
{
	int slot, len = 0;

	if (sscanf(scope, "gpu%3d-%n", &slot, &len) != 1 || len == 0) {
		return;
	}
	for (int i = 0; i < a->n_nics; i++) {
		for (int g = 0; is_of(a->nics[i].name, scope + len) &&
				g < a->n_gpus; g++) {
			if (slots[g] == slot) {
				a->ways[g][i] = (uint8_t)way_of(value);
			}
		}
	}
}

static void add_rate(struct affinity *a, const char *name, const char *value)
{
	for (int i = 0; i < a->n_nics; i++) {
		if (strcmp(a->nics[i].name, name) == 0) {
			units_parse_real(value, 0, 1e6, &a->nics[i].rate_Gb_s,
					 NULL);
		}
	}
}

void affinity_add_inventory(struct affinity *a, const json_t *inventory,
			    const int *slots, const char *hca)
{
	const json_t *p, *f;
	size_t i;

	if (hca == NULL) {
		hca = nccl_conf_get(json_object_get(inventory, "nccl"),
				    "NCCL_IB_HCA", NULL);
	}
	json_array_foreach(json_object_get(inventory, "ports"), i, p) {
		const char *name = json_member(p, "name");

		if (strcmp(json_member(p, "state"), "ACTIVE") == 0 &&
		    port_matches(hca != NULL ? hca : "", name)) {
			affinity_add(a, name);
		}
	}
	json_array_foreach(json_object_get(inventory, "facts"), i, f) {
		const char *fact = json_member(f, "fact");
		const char *value = json_member(f, "value");

		if (strcmp(fact, "link") == 0) {
			add_link(a, slots, json_member(f, "scope"), value);
		} else if (strcmp(fact, "rate") == 0) {
			add_rate(a, json_member(f, "scope"), value);
		}
	}
}
