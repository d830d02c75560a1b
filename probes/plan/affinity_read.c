/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/affinity.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/json.h"
#include "lib/data/port_filter.h"
#include "probes/host/nccl_conf.h"

#define MERGED_MAX 4	/* what NCCL makes one NIC of, at most */

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

/** What of a place makes a NIC: NCCL merges what differs in the function alone,
 *  "0000:18:00" of "0000:18:00.1"; and, as the functions of SR-IOV go on behind
 *  the eighth, what is on one bus, "0000:18", unless it is told not to. */
static int same_place(const char *bus, const json_t *nccl)
{
	const char *vfs = nccl_conf_get(nccl, "NCCL_IB_MERGE_VFS", NULL);
	const char *end = strrchr(bus, vfs != NULL && strcmp(vfs, "0") == 0 ?
					       '.' : ':');

	return end != NULL ? (int)(end - bus) : 0;
}

/** Whatever its driver; an EFA has its own way. */
static void take_device(struct affinity_nic *nic, const json_t *port,
			const json_t *nccl)
{
	const char *bus = json_member(port, "bus");
	const char *layer = json_member(port, "link_layer");
	int n = same_place(bus, nccl);

	if (n > 0 && (strcmp(layer, "InfiniBand") == 0 ||
		      strcmp(layer, "Ethernet") == 0)) {
		snprintf(nic->device, sizeof(nic->device), "%.*s %c", n, bus,
			 layer[0]);
	}
}

static bool may_merge(const json_t *nccl)
{
	const char *level = nccl_conf_get(nccl, "NCCL_NET_MERGE_LEVEL", NULL);
	const char *nics = nccl_conf_get(nccl, "NCCL_IB_MERGE_NICS", NULL);

	return (level == NULL || strcasecmp(level, "LOC") != 0) &&
	       (nics == NULL || strcmp(nics, "0") != 0);
}

static void remove_nic(struct affinity *a, int at)
{
	a->n_nics--;
	memmove(&a->nics[at], &a->nics[at + 1],
		(size_t)(a->n_nics - at) * sizeof(*a->nics));
	for (int g = 0; g < a->n_gpus; g++) {
		memmove(&a->ways[g][at], &a->ways[g][at + 1],
			(size_t)(a->n_nics - at));
		a->ways[g][a->n_nics] = WAY_UNKNOWN;
	}
}

static void merge_ports(struct affinity *a)
{
	for (int i = 0; i < a->n_nics; i++) {
		struct affinity_nic *nic = &a->nics[i];
		int ports = 1;

		for (int k = i + 1; nic->device[0] != '\0' && k < a->n_nics &&
				    ports < MERGED_MAX;) {
			size_t n = strlen(nic->name);

			if (strcmp(nic->device, a->nics[k].device) != 0 ||
			    nic->rate_Gb_s != a->nics[k].rate_Gb_s ||
			    n + 1 + strlen(a->nics[k].name) >= LAYOUT_NIC) {
				k++;
				continue;
			}
			snprintf(nic->name + n, LAYOUT_NIC - n, "+%.60s",
				 a->nics[k].name);
			remove_nic(a, k);
			ports++;
		}
	}
}

void affinity_add_inventory(struct affinity *a, const json_t *inventory,
			    const int *slots, const char *hca)
{
	const json_t *nccl = json_object_get(inventory, "nccl"), *p, *f;
	size_t i;
	int at;

	if (hca == NULL) {
		hca = nccl_conf_get(nccl, "NCCL_IB_HCA", NULL);
	}
	json_array_foreach(json_object_get(inventory, "ports"), i, p) {
		const char *name = json_member(p, "name");

		if (strcmp(json_member(p, "state"), "ACTIVE") == 0 &&
		    port_matches(hca != NULL ? hca : "", name)) {
			at = affinity_add(a, name);
			if (at >= 0) {
				take_device(&a->nics[at], p, nccl);
			}
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
	if (may_merge(nccl)) {
		merge_ports(a);
	}
}
