/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/order.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/hosts.h"
#include "lib/data/json.h"
#include "lib/data/schema.h"
#include "probes/host/inventory.h"
#include "probes/host/nccl_conf.h"
#include "probes/host/port.h"
#include "probes/plan/layout.h"

/* ---- paths --------------------------------------------------------------- */

const char *const affinity_way_names[] = {
	[WAY_PIX] = "PIX", [WAY_PXB] = "PXB", [WAY_P2C] = "P2C",
	[WAY_PHB] = "PHB", [WAY_SYS] = "SYS", [WAY_UNKNOWN] = "",
};

/* NCCL's defaults, used when the machine does not say. */
#define SYS_GB_s 6	/* between two CPUs */
#define NIC_GB_s 1.25	/* of a NIC without a rate */

/** NCCL's tree of a node: the places of its GPUs and NICs, and what else
 *  decides about the paths. */
struct ways {
	double sys_GB_s, c2c_GB_s;	/* c2c: 0 = there is none */
	bool gdr;
	json_t *gpus, *nics;
};

static const struct field ways_fields[] = {
	FIELD(ways, sys_GB_s, "sys_GB_s", REAL, 0, 1e6, ""),
	FIELD(ways, c2c_GB_s, "c2c_GB_s", REAL, 0, 1e6, ""),
	FIELD(ways, gdr, "gdr", BOOL, 0, 0, ""),
	FIELD(ways, gpus, "gpus", ARRAY, 0, 0, ""),
	FIELD(ways, nics, "nics", ARRAY, 0, 0, ""), { 0 }
};

/** GB/s from the device at @p up to its CPU, or to the first @n switches. */
static double up_GB_s(const struct nccl_place *p, int n)
{
	double GB_s = p->GB_s;

	for (int i = n; i < p->n; i++) {
		GB_s = fmin(GB_s, p->at[i].GB_s);
	}
	return GB_s;
}

/** GB/s from the GPU at @gpu to its CPU. */
static double cpu_GB_s(const struct ways *w, const struct nccl_place *gpu)
{
	double GB_s = up_GB_s(gpu, 0);

	return w->c2c_GB_s > GB_s ? w->c2c_GB_s : GB_s;
}

static struct affinity_path path_of(const struct ways *w,
				    const struct nccl_place *gpu,
				    const struct nccl_place *nic)
{
	struct affinity_path p = { .way = WAY_PHB };
	int common = 0;

	while (gpu->cpu == nic->cpu && common < gpu->n && common < nic->n &&
	       strcmp(gpu->at[common].bus, nic->at[common].bus) == 0) {
		common++;
	}
	if (common > 0) {
		p.way = common == gpu->n && common == nic->n ? WAY_PIX :
							       WAY_PXB;
		p.GB_s = fmin(up_GB_s(gpu, common), up_GB_s(nic, common));
		return p;
	}
	p.GB_s = fmin(cpu_GB_s(w, gpu), up_GB_s(nic, 0));
	if (gpu->cpu != nic->cpu) {
		p.way = WAY_SYS;
		p.GB_s = fmin(p.GB_s, w->sys_GB_s);
	}
	return p;
}

/* ---- one choice ---------------------------------------------------------- */

static bool better(const struct affinity_path *a, const struct affinity_path *b)
{
	return a->GB_s > b->GB_s || (a->GB_s == b->GB_s && a->way < b->way);
}

static bool alike(const struct affinity_path *a, const struct affinity_path *b)
{
	return a->GB_s == b->GB_s && a->way == b->way;
}

/** The NICs that are local to @gpu, all alike. */
static void find_near(const struct affinity *a, int gpu,
		      struct affinity_pick *p)
{
	p->n_near = 0;
	p->path = (struct affinity_path){ .way = WAY_UNKNOWN };
	for (int i = 0; i < a->n_nics; i++) {
		const struct affinity_path *one = &a->paths[gpu][i];

		if (one->way == WAY_UNKNOWN) {
			continue;
		}
		if (p->n_near == 0 || better(one, &p->path)) {
			p->path = *one;
			p->n_near = 0;
		}
		if (alike(one, &p->path)) {
			p->near[p->n_near++] = i;
		}
	}
}

/** How many GPUs are local to @nic. */
static int count_sharers(const struct affinity *a, int nic)
{
	struct affinity_path best = { .way = WAY_UNKNOWN };
	int n = 0;

	for (int g = 0; g < a->n_gpus; g++) {
		const struct affinity_path *one = &a->paths[g][nic];

		if (one->way == WAY_UNKNOWN) {
			continue;
		}
		if (n == 0 || better(one, &best)) {
			best = *one;
			n = 0;
		}
		n += alike(one, &best);
	}
	return n;
}

void affinity_pick(const struct affinity *a, int gpu, bool alone,
		   struct affinity_pick *p)
{
	int n, first, turned = 0;

	find_near(a, gpu, p);
	n = p->n_near;
	p->sharers = n == 0 ? 0 : alone ? 1 : count_sharers(a, p->near[0]);
	p->n_mine = n == 0 ? 0 : (n + p->sharers - 1) / p->sharers;
	first = n == 0 ? 0 : a->dev[gpu] % p->sharers;
	/* of a power of two, the lowest bits are mirrored: GPUs that follow one
	 * another start far apart */
	for (int bit = 1; bit < n; bit <<= 1) {
		turned = turned << 1 | ((first & bit) != 0);
	}
	first = (n & (n - 1)) == 0 ? turned : first;
	for (int k = 0; k < p->n_mine; k++) {
		p->mine[k] = p->near[(first + k) % n];
	}
}

/* ---- inventories --------------------------------------------------------- */

#define MERGED_MAX 4	/* what NCCL makes one NIC of, at most */

/** A port that NCCL may use, or several that it merges. */
struct seen_nic {
	char name[LAYOUT_NIC];
	double rate_Gb_s;
	char device[24];	/* its place on PCI, without what one NIC has
				 * several of; "" not known, or it is never
				 * merged */
	struct nccl_place place;
	bool placed;
	int ports;
};

/** The part of the PCI address of @port that identifies its NIC, whatever its
 *  driver; an EFA has its own way.  NCCL merges ports that differ only in the
 *  function ("0000:18:00" of "0000:18:00.1").  Since the functions of SR-IOV
 *  continue after the eighth, it also merges ports of one bus ("0000:18"),
 *  unless NCCL_IB_MERGE_VFS is 0. */
static void take_device(struct seen_nic *nic, const struct inventory_part *port,
			const json_t *nccl)
{
	const char *vfs = nccl_conf_get(nccl, "NCCL_IB_MERGE_VFS", NULL);
	const char *end = strrchr(port->bus, vfs && strcmp(vfs, "0") == 0 ?
						     '.' : ':');
	const char *layer = port->link_layer;
	int n = end != NULL ? (int)(end - port->bus) : 0;

	if (n > 0 && (strcmp(layer, "InfiniBand") == 0 ||
		      strcmp(layer, "Ethernet") == 0)) {
		snprintf(nic->device, sizeof(nic->device), "%.*s %c", n,
			 port->bus, layer[0]);
	}
}

static int merge_ports(struct seen_nic *list, int n)
{
	for (int i = 0; i < n; i++) {
		struct seen_nic *nic = &list[i];

		for (int k = i + 1; nic->device[0] != '\0' && k < n &&
				    nic->ports < MERGED_MAX;) {
			size_t len = strlen(nic->name);

			if (strcmp(nic->device, list[k].device) != 0 ||
			    len + 1 + strlen(list[k].name) >= LAYOUT_NIC) {
				k++;
				continue;
			}
			snprintf(nic->name + len, LAYOUT_NIC - len, "+%.60s",
				 list[k].name);
			nic->rate_Gb_s += list[k].rate_Gb_s;
			nic->ports++;
			n--;
			memmove(&list[k], &list[k + 1],
				(size_t)(n - k) * sizeof(*list));
		}
	}
	return n;
}

/** Append the ports of @seen that NCCL may use: those of HCA @nic, which
 *  NULL: of none, whose place is not known. */
static int take_ports(const struct inventory_seen *seen, const json_t *nic,
		      const char *hca, struct seen_nic *list, int n)
{
	const char *name = inventory_part(nic).name;
	const json_t *port;
	size_t i, len = strlen(name);

	json_array_foreach(seen->ports, i, port) {
		const struct inventory_part p = inventory_part(port);
		struct seen_nic *one = &list[n];
		bool known = false;

		for (int k = 0; nic == NULL && k < n; k++) {
			known |= strcmp(list[k].name, p.name) == 0;
		}
		if (!p.up || !port_matches(hca != NULL ? hca : "", p.name) ||
		    known || n == AFFINITY_NICS ||
		    (nic != NULL && (strcspn(p.name, ":") != len ||
				     memcmp(p.name, name, len) != 0))) {
			continue;
		}
		*one = (struct seen_nic){ .ports = 1 };
		STR_COPY(one->name, p.name);
		units_parse_real(facts_find(seen->facts, p.name, "rate").value,
				 0, 1e6, &one->rate_Gb_s, NULL);
		one->placed = nccl_place_parse(json_member(nic, "place"),
					       &one->place) == 0;
		take_device(one, &p, seen->nccl);
		n++;
	}
	return n;
}

/** The NICs of @seen in the order of NCCL's tree, where they are @placed. */
static int take_nics(const struct inventory_seen *seen, const json_t *placed,
		     const char *hca, struct seen_nic list[AFFINITY_NICS])
{
	const char *level = nccl_conf_get(seen->nccl, "NCCL_NET_MERGE_LEVEL",
					  NULL);
	const char *nics = nccl_conf_get(seen->nccl, "NCCL_IB_MERGE_NICS",
					 NULL);
	const json_t *nic;
	int n = 0;
	size_t i;

	if (hca == NULL) {
		hca = nccl_conf_get(seen->nccl, "NCCL_IB_HCA", NULL);
	}
	json_array_foreach(placed, i, nic) {
		n = take_ports(seen, nic, hca, list, n);
	}
	n = take_ports(seen, NULL, hca, list, n);
	return (level == NULL || strcasecmp(level, "LOC") != 0) &&
			       (nics == NULL || strcmp(nics, "0") != 0) ?
		       merge_ports(list, n) : n;
}

/** Add the paths of rank @gpu, whose GPU is @at in the tree. */
static void add_paths(struct affinity *a, const struct ways *w, int gpu,
		      const struct nccl_place *at, const struct seen_nic *list,
		      const int *number, int n)
{
	struct affinity_pick p;

	for (int i = 0; i < n; i++) {
		double GB_s = list[i].rate_Gb_s / 8;
		struct affinity_path *path;

		if (number[i] < 0 || !list[i].placed) {
			continue;
		}
		path = &a->paths[gpu][number[i]];
		*path = path_of(w, at, &list[i].place);
		path->GB_s = fmin(path->GB_s, GB_s > 0 ? GB_s : NIC_GB_s);
	}
	/* NICs that are local to @gpu over NVLink-C2C are nearer; without
	 * GPUDirect RDMA all data cross the CPU */
	find_near(a, gpu, &p);
	for (int i = 0; i < n; i++) {
		struct affinity_path *path = &a->paths[gpu][number[i]];

		if (path->way == WAY_PHB && w->c2c_GB_s > 0 &&
		    alike(path, &p.path)) {
			path->way = WAY_P2C;
		}
		if (!w->gdr && path->way < WAY_PHB) {
			path->way = w->c2c_GB_s > 0 ? WAY_P2C : WAY_PHB;
			path->GB_s = fmin(fmin(cpu_GB_s(w, at),
					       up_GB_s(&list[i].place, 0)),
					  list[i].rate_Gb_s / 8);
		}
	}
}

void affinity_add_inventory(struct affinity *a, const json_t *inventory,
			    const int *slots, const char *hca)
{
	const struct inventory_seen seen = inventory_seen(inventory);
	struct ways w = { .sys_GB_s = SYS_GB_s, .gdr = true };
	struct seen_nic *list = calloc(AFFINITY_NICS, sizeof(*list));
	int number[AFFINITY_NICS];
	struct nccl_place at;
	const char *place;
	int n;

	schema_look(ways_fields, &w, seen.tree);
	n = list != NULL ? take_nics(&seen, w.nics, hca, list) : 0;
	for (int i = 0; i < n; i++) {
		number[i] = affinity_add(a, list[i].name);
		if (number[i] >= 0) {
			a->nics[number[i]].rate_Gb_s = list[i].rate_Gb_s;
		}
	}
	for (int g = 0; g < a->n_gpus; g++) {
		size_t slot = (size_t)slots[g];

		if (slots[g] < 0) {
			continue;
		}
		a->dev[g] = (int)json_integer_value(json_object_get(
			json_array_get(seen.gpus, slot), "index"));
		place = json_string_value(json_array_get(w.gpus, slot));
		if (nccl_place_parse(place != NULL ? place : "", &at) == 0) {
			add_paths(a, &w, g, &at, list, number, n);
		}
	}
	free(list);
}

/* ---- affinity ------------------------------------------------------------ */

int affinity_init(struct affinity *a, int n_gpus)
{
	*a = (struct affinity){ .n_gpus = n_gpus };
	a->nics = calloc(AFFINITY_NICS, sizeof(*a->nics));
	a->paths = calloc((size_t)n_gpus + 1, sizeof(*a->paths));
	a->dev = calloc((size_t)n_gpus + 1, sizeof(*a->dev));
	if (a->nics == NULL || a->paths == NULL || a->dev == NULL) {
		affinity_release(a);
		return -1;
	}
	for (int g = 0; g < n_gpus; g++) {
		a->dev[g] = g;
		for (int i = 0; i < AFFINITY_NICS; i++) {
			a->paths[g][i].way = WAY_UNKNOWN;
		}
	}
	return 0;
}

void affinity_release(struct affinity *a)
{
	free(a->nics);
	free(a->paths);
	free(a->dev);
	*a = (struct affinity){ 0 };
}

int affinity_add(struct affinity *a, const char *name)
{
	int i = 0;

	while (i < a->n_nics && strcmp(a->nics[i].name, name) != 0) {
		i++;
	}
	if (i == AFFINITY_NICS) {
		return -1;
	}
	if (i == a->n_nics) {
		STR_COPY(a->nics[i].name, name);
		a->n_nics++;
	}
	return i;
}

/* ---- all nodes -----------------------------------------------------------
 * Sets of the NICs of a node are bits of a word. */

/** A NIC, or several joined to one, as a scheme of names has it. */
struct entry {
	int scheme;
	int last_node, n_nodes;	/* that have it */
	bool rare;		/* fewer than half of the scheme's nodes */
	char name[LAYOUT_NIC];
};

struct affinity_work {
	struct layout *l;
	const struct affinity *of;
	uint64_t *planned;	/* of each rank */
	uint64_t *others;	/* of each node: near to a GPU, not planned */
	struct entry *entries;	/* sorted by scheme, then name */
	int n_entries;
	int *scheme;		/* of each node; -1: it knows nothing */
	int *n_nics, *nic;	/* of each node, of each rank */
	char (*names)[LAYOUT_NIC];	/* of each rank's NIC */
};

static uint64_t set_of(const int *list, int n)
{
	uint64_t set = 0;

	for (int i = 0; i < n; i++) {
		set |= (uint64_t)1 << list[i];
	}
	return set;
}

/** The part of @mine that one of several GPUs is tested with: all of it if no
 *  other has a part of that, else the first and what no other one has.
 *  *@borrows: its first is that of another, which has it by right. */
static uint64_t own_part(const struct affinity_pick *mine,
			 const struct affinity_pick *all, int gpu, int n,
			 bool *borrows)
{
	uint64_t set = set_of(mine->mine, mine->n_mine), own = set, first;

	*borrows = false;
	if (set == 0) {
		return 0;
	}
	first = (uint64_t)1 << mine->mine[0];
	for (int k = 0; k < n; k++) {
		uint64_t other = set_of(all[k].mine, all[k].n_mine);

		if (k == gpu || other == set || (other & set) == 0) {
			continue;
		}
		own &= ~other;
		*borrows |= all[k].mine[0] == mine->mine[0];
	}
	return *borrows ? first : own | first;
}

static int plan_node(struct affinity_work *w, int node)
{
	const struct affinity *a = &w->of[node];
	uint64_t *planned = &w->planned[w->l->nodes[node].first_rank];
	struct affinity_pick *picks = calloc((size_t)a->n_gpus + 1,
					     sizeof(*picks));

	if (picks == NULL) {
		return -1;
	}
	for (int g = 0; g < a->n_gpus; g++) {
		affinity_pick(a, g, false, &picks[g]);
	}
	for (int g = 0; g < a->n_gpus; g++) {
		bool borrows;

		planned[g] = own_part(&picks[g], picks, g, a->n_gpus, &borrows);
		if (!borrows) {
			w->others[node] |= set_of(picks[g].near,
						  picks[g].n_near);
		}
	}
	for (int g = 0; g < a->n_gpus; g++) {
		w->others[node] &= ~planned[g];
	}
	free(picks);
	return 0;
}

/** Join the names of the NICs of @set in their order. */
static void join_names(const struct affinity *a, uint64_t set,
		       char out[LAYOUT_NIC])
{
	struct str text = STR_INIT;
	const char *last = "";

	for (int k = __builtin_popcountll(set); k > 0; k--) {
		const char *next = NULL;

		for (int i = 0; i < a->n_nics; i++) {
			const char *name = a->nics[i].name;

			if ((set >> i & 1) != 0 && strverscmp(name, last) > 0 &&
			    (next == NULL || strverscmp(name, next) < 0)) {
				next = name;
			}
		}
		if (next != NULL && text.len + strlen(next) + 1 < LAYOUT_NIC) {
			str_addf(&text, "%s%s", text.len > 0 ? "+" : "", next);
			last = next;
		}
	}
	str_copy(out, LAYOUT_NIC, str_text(&text));
	str_release(&text);
}

/** The entry of @scheme (-1: of any) that has @name; NULL. */
static struct entry *find_entry(const struct affinity_work *w, int scheme,
				const char *name)
{
	for (int i = 0; i < w->n_entries; i++) {
		struct entry *e = &w->entries[i];

		if ((scheme < 0 || e->scheme == scheme) &&
		    str_names_meet(name, e->name)) {
			return e;
		}
	}
	return NULL;
}

/** @name is that of a NIC of @node. */
static void take_name(struct affinity_work *w, int node, const char *name)
{
	struct entry *e = find_entry(w, w->scheme[node], name);

	if (e == NULL) {
		e = &w->entries[w->n_entries++];
		e->scheme = w->scheme[node];
		e->last_node = -1;
		STR_COPY(e->name, name);
	}
	e->n_nodes += e->last_node != node;
	e->last_node = node;
}

/** The names of @node become entries. */
static void take_names(struct affinity_work *w, int node, int *n_schemes)
{
	const struct cluster_node *n = &w->l->nodes[node];
	int scheme = -1;
	bool any = false;

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		const struct entry *e;

		if (w->planned[r] == 0) {
			continue;
		}
		any = true;
		join_names(&w->of[node], w->planned[r], w->names[r]);
		e = find_entry(w, -1, w->names[r]);
		scheme = scheme < 0 && e != NULL ? e->scheme : scheme;
	}
	w->scheme[node] = any && scheme < 0 ? (*n_schemes)++ : scheme;
	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		if (w->names[r][0] != '\0') {
			take_name(w, node, w->names[r]);
		}
	}
	for (int i = 0; any && i < w->of[node].n_nics; i++) {
		if ((w->others[node] >> i & 1) != 0) {
			take_name(w, node, w->of[node].nics[i].name);
		}
	}
}

static const struct order_key entry_order[] = {
	ORDER_UP(struct entry, scheme),
	ORDER_UP(struct entry, rare),
	ORDER_AS(struct entry, name, ORDER_NAME),
	ORDER_END
};

static void number_node(struct affinity_work *w, int node)
{
	const struct cluster_node *n = &w->l->nodes[node];
	int *nic = &w->nic[n->first_rank];
	int first = -1, size = 0;	/* of the entries of its scheme */

	for (int i = 0; i < w->n_entries; i++) {
		if (w->entries[i].scheme == w->scheme[node]) {
			first = first < 0 ? i : first;
			size++;
		}
	}
	w->n_nics[node] = size;
	for (int g = 0; g < n->gpus; g++) {
		const char *name = w->names[n->first_rank + g];
		const struct entry *e = name[0] == '\0' ? NULL :
			find_entry(w, w->scheme[node], name);

		nic[g] = e != NULL ? (int)(e - w->entries) - first : -1;
	}
	/* a rank that knows nothing has a number that no other one has */
	for (int g = 0; g < n->gpus; g++) {
		int free_nic = 0, r = 0;

		if (nic[g] >= 0) {
			continue;
		}
		while (free_nic < size && r < n->gpus) {
			for (r = 0; r < n->gpus && nic[r] != free_nic;) {
				r++;
			}
			free_nic += r < n->gpus;
		}
		nic[g] = free_nic < size ? free_nic : g * size / n->gpus;
	}
}

/** A node that knows nothing is taken for one like the first of its size. */
static void number_silent(struct affinity_work *w, int node)
{
	const struct cluster_node *n = &w->l->nodes[node], *like = n;

	w->n_nics[node] = n->nics;
	for (int i = w->l->n_nodes - 1; i >= 0; i--) {
		if (w->scheme[i] >= 0 && w->l->nodes[i].gpus == n->gpus) {
			like = &w->l->nodes[i];
			w->n_nics[node] = w->n_nics[i];
		}
	}
	for (int g = 0; g < n->gpus; g++) {
		w->nic[n->first_rank + g] =
			like == n ? w->l->ranks[n->first_rank + g].nic :
				    w->nic[like->first_rank + g];
	}
}

/** Name the NICs of @node: those of its ranks, then those of no rank. */
static void name_node(const struct affinity_work *w, int node)
{
	const struct cluster_node *n = &w->l->nodes[node];
	const struct affinity *a = &w->of[node];
	int first = 0;

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		if (w->names[r][0] != '\0') {
			memcpy(w->l->nic_names[layout_nic_at(
				       w->l, node, w->l->ranks[r].nic)],
			       w->names[r], LAYOUT_NIC);
		}
	}
	while (first < w->n_entries &&
	       w->entries[first].scheme != w->scheme[node]) {
		first++;
	}
	for (int i = 0; i < a->n_nics; i++) {
		const struct entry *e =
			(w->others[node] >> i & 1) == 0 ? NULL :
			find_entry(w, w->scheme[node], a->nics[i].name);

		if (e != NULL) {
			memcpy(w->l->nic_names[layout_nic_at(w->l, node,
				(int)(e - w->entries) - first)],
			       a->nics[i].name, LAYOUT_NIC);
		}
	}
}

static int choose(struct affinity_work *w)
{
	struct layout *l = w->l;
	int n_schemes = 0;

	for (int i = 0; i < l->n_nodes; i++) {
		if (plan_node(w, i) < 0) {
			return -1;
		}
		take_names(w, i, &n_schemes);
	}
	if (n_schemes == 0) {
		return 0;
	}
	/* the names that few nodes of their scheme have */
	for (int i = 0; i < w->n_entries; i++) {
		int nodes = 0;

		for (int k = 0; k < l->n_nodes; k++) {
			nodes += w->scheme[k] == w->entries[i].scheme;
		}
		w->entries[i].rare = 2 * w->entries[i].n_nodes < nodes;
	}
	order_sort(w->entries, (size_t)w->n_entries, sizeof(*w->entries),
		   entry_order);
	for (int i = 0; i < l->n_nodes; i++) {
		if (w->scheme[i] >= 0) {
			number_node(w, i);
		}
	}
	for (int i = 0; i < l->n_nodes; i++) {
		if (w->scheme[i] < 0) {
			number_silent(w, i);
		}
	}
	if (layout_name_nics(l, w->n_nics, w->nic) < 0) {
		return -1;
	}
	for (int i = 0; i < l->n_nodes; i++) {
		name_node(w, i);
	}
	return 0;
}

int affinity_apply(struct layout *l, const struct affinity *of)
{
	size_t ranks = (size_t)l->n_ranks + 1, nodes = (size_t)l->n_nodes + 1;
	size_t most = ranks + nodes;
	struct affinity_work w = { .l = l, .of = of };
	int rc;

	for (int i = 0; i < l->n_nodes; i++) {
		most += (size_t)of[i].n_nics;
	}
	w.planned = calloc(ranks, sizeof(*w.planned));
	w.others = calloc(nodes, sizeof(*w.others));
	w.entries = calloc(most, sizeof(*w.entries));
	w.scheme = calloc(nodes, sizeof(*w.scheme));
	w.n_nics = calloc(nodes, sizeof(*w.n_nics));
	w.nic = calloc(ranks, sizeof(*w.nic));
	w.names = calloc(ranks, sizeof(*w.names));
	rc = w.planned && w.others && w.entries && w.scheme && w.n_nics &&
			     w.nic && w.names ? choose(&w) : -1;
	free(w.planned);
	free(w.others);
	free(w.entries);
	free(w.scheme);
	free(w.n_nics);
	free(w.nic);
	free(w.names);
	return rc;
}
