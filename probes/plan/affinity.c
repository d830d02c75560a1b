/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/hosts.h"
#include "probes/host/inventory.h"
#include "probes/host/nccl_conf.h"
#include "probes/plan/layout.h"

/* ---- affinity read ------------------------------------------------------- */

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

/** "gpu3-mlx5_0" is "PIX": of all ports of that HCA, "mlx5_0" or "mlx5_0:2". */
static void add_link(struct affinity *a, const int *slots, const char *scope,
		     const char *value)
{
	int slot, len = 0;
	size_t n;

	if (sscanf(scope, "gpu%3d-%n", &slot, &len) != 1 || len == 0) {
		return;
	}
	n = strlen(scope + len);
	for (int i = 0; i < a->n_nics; i++) {
		const char *port = a->nics[i].name;
		bool is = strcspn(port, ":") == n &&
			  memcmp(port, scope + len, n) == 0;

		for (int g = 0; is && g < a->n_gpus; g++) {
			if (slots[g] == slot) {
				a->ways[g][i] = (uint8_t)way_of(value);
			}
		}
	}
}

/** The part of the PCI address of @port that identifies its NIC, whatever its
 *  driver; an EFA has its own way.  NCCL merges ports that differ only in the
 *  function ("0000:18:00" of "0000:18:00.1").  Since the functions of SR-IOV
 *  continue after the eighth, it also merges ports of one bus ("0000:18"),
 *  unless NCCL_IB_MERGE_VFS is 0. */
static void take_device(struct affinity_nic *nic,
			const struct inventory_part *port, const json_t *nccl)
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
			a->n_nics--;
			memmove(&a->nics[k], &a->nics[k + 1],
				(size_t)(a->n_nics - k) * sizeof(*a->nics));
			for (int g = 0; g < a->n_gpus; g++) {
				memmove(&a->ways[g][k], &a->ways[g][k + 1],
					(size_t)(a->n_nics - k));
				a->ways[g][a->n_nics] = WAY_UNKNOWN;
			}
			ports++;
		}
	}
}

void affinity_add_inventory(struct affinity *a, const json_t *inventory,
			    const int *slots, const char *hca)
{
	const struct inventory_seen seen = inventory_seen(inventory);
	const json_t *nccl = seen.nccl, *f;
	const char *level = nccl_conf_get(nccl, "NCCL_NET_MERGE_LEVEL", NULL);
	const char *nics = nccl_conf_get(nccl, "NCCL_IB_MERGE_NICS", NULL);
	size_t i;
	int at;

	if (hca == NULL) {
		hca = nccl_conf_get(nccl, "NCCL_IB_HCA", NULL);
	}
	for (i = 0; i < json_array_size(seen.ports); i++) {
		const struct inventory_part p =
			inventory_part(json_array_get(seen.ports, i));

		at = p.up && port_matches(hca != NULL ? hca : "", p.name) ?
			     affinity_add(a, p.name) : -1;
		if (at >= 0) {
			take_device(&a->nics[at], &p, nccl);
		}
	}
	json_array_foreach(seen.facts, i, f) {
		const struct fact one = fact_of(f);

		if (strcmp(one.fact, "link") == 0) {
			add_link(a, slots, one.scope, one.value);
		}
		for (int k = 0; strcmp(one.fact, "rate") == 0 && k < a->n_nics;
		     k++) {
			if (strcmp(a->nics[k].name, one.scope) == 0) {
				units_parse_real(one.value, 0, 1e6,
						 &a->nics[k].rate_Gb_s, NULL);
			}
		}
	}
	if ((level == NULL || strcasecmp(level, "LOC") != 0) &&
	    (nics == NULL || strcmp(nics, "0") != 0)) {
		merge_ports(a);
	}
}

/* ---- affinity ------------------------------------------------------------ */

/* NCCL takes a way between sockets for 6 to 40 GB/s, by the processor. */
#define SYS_Gb_s 160

int affinity_init(struct affinity *a, int n_gpus)
{
	*a = (struct affinity){ .n_gpus = n_gpus };
	a->nics = calloc(AFFINITY_NICS, sizeof(*a->nics));
	a->ways = calloc((size_t)n_gpus + 1, sizeof(*a->ways));
	if (a->nics == NULL || a->ways == NULL) {
		affinity_release(a);
		return -1;
	}
	memset(a->ways, WAY_UNKNOWN, (size_t)n_gpus * sizeof(*a->ways));
	return 0;
}

void affinity_release(struct affinity *a)
{
	free(a->nics);
	free(a->ways);
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

/* ---- one node -------------------------------------------------------------
 * Sets of its NICs are bits of a word. */

static int count(uint64_t set)
{
	return __builtin_popcountll(set);
}

/** Those of @allowed that rank @gpu would use, all alike; *@way: how far. */
static uint64_t nearest(const struct affinity *a, int gpu, uint64_t allowed,
			enum affinity_way *way)
{
	double best = -1;
	uint64_t set = 0;

	*way = WAY_UNKNOWN;
	for (int i = 0; i < a->n_nics; i++) {
		enum affinity_way w = a->ways[gpu][i];
		double rate = a->nics[i].rate_Gb_s;

		if ((allowed >> i & 1) == 0 || w == WAY_UNKNOWN) {
			continue;
		}
		rate = w == WAY_SYS && rate > SYS_Gb_s ? SYS_Gb_s : rate;
		if (rate > best || (rate == best && w < *way)) {
			best = rate;
			*way = w;
			set = 0;
		}
		set |= (uint64_t)(rate == best && w == *way) << i;
	}
	return set;
}

/** The part of rank @gpu in @set, @each NICs of it. */
static uint64_t share(uint64_t set, int gpu, int each)
{
	int n = count(set), first = gpu;
	uint64_t mine = 0;

	if ((n & (n - 1)) == 0) {
		/* the lowest bits of @gpu turned round: far apart are the first
		 * of them that come */
		first = 0;
		for (int bit = 1; bit < n; bit <<= 1) {
			first = first << 1 | ((gpu & bit) != 0);
		}
	}
	for (int k = 0; k < each; k++) {
		uint64_t left = set;

		for (int skip = (first + k) % n; skip > 0; skip--) {
			left &= left - 1;
		}
		mine |= left & -left;
	}
	return mine;
}

/* ---- all nodes ----------------------------------------------------------- */

/** NICs that a rank uses. */
struct pick {
	uint64_t near, mine;	/* NICs that are nearest, and those of them
				 * that it takes */
	enum affinity_way way;
	enum affinity_way best;	/* on the nodes whose first() this is */
	bool lost;		/* that its kind has nearer on other nodes */
};

/** A NIC, or several joined to one, as a scheme of names has it. */
struct entry {
	int scheme;
	char name[LAYOUT_NIC];
};

struct affinity_work {
	struct layout *l;
	const struct affinity *of;
	struct pick *picks;	/* of each rank */
	struct entry *entries;	/* sorted by scheme, then name */
	int n_entries;
	int *scheme;		/* of each node; -1: it knows nothing */
	int *n_nics, *nic;	/* of each node, of each rank */
	char (*names)[LAYOUT_NIC];	/* of each rank's NIC */
};

static struct pick *picks_of(const struct affinity_work *w, int node)
{
	return &w->picks[w->l->nodes[node].first_rank];
}

static void pick_nearest(struct affinity_work *w, int node, uint64_t allowed,
			 bool lost_ones)
{
	struct pick *p = picks_of(w, node);

	for (int g = 0; g < w->of[node].n_gpus; g++) {
		if (p[g].lost == lost_ones) {
			p[g].near = nearest(&w->of[node], g, allowed,
					    &p[g].way);
		}
	}
}

static void pick_shares(struct affinity_work *w, int node)
{
	struct pick *p = picks_of(w, node);
	int n = w->of[node].n_gpus;

	for (int g = 0; g < n; g++) {
		int alike = 0, others = 0;

		for (int k = 0; k < n; k++) {
			alike += p[k].near == p[g].near;
			others += p[k].near != p[g].near &&
				  (p[k].near & p[g].near) != 0;
		}
		/* what is also another's is taken one by one: it stays one */
		p[g].mine = p[g].near == 0 ? 0 :
			    share(p[g].near, g, others > 0 ? 1 :
				  (count(p[g].near) + alike - 1) / alike);
	}
}

/** The first node of as many ranks as @node. */
static int first_like(const struct affinity_work *w, int node)
{
	int i = 0;

	while (w->of[i].n_gpus != w->of[node].n_gpus) {
		i++;
	}
	return i;
}

/**
 * A GPU whose NIC is missing has others left, and those for storage may be as
 * near as those of its neighbours: that is seen by the same GPU of other nodes,
 * which has a nearer one, unless it is so with all of this node.
 */
static void find_lost(struct affinity_work *w, int node)
{
	struct pick *p = picks_of(w, node);
	const struct pick *like = picks_of(w, first_like(w, node));
	int n = w->of[node].n_gpus, lost = 0;

	for (int g = 0; g < n; g++) {
		p[g].lost = p[g].near != 0 && like[g].best < p[g].way;
		lost += p[g].lost || p[g].near == 0;
	}
	for (int g = 0; g < n && lost == n; g++) {
		p[g].lost = false;
	}
}

static void find_best(struct affinity_work *w, int node)
{
	const struct pick *p = picks_of(w, node);
	int first = first_like(w, node);
	struct pick *like = picks_of(w, first);

	for (int g = 0; g < w->of[node].n_gpus; g++) {
		if (node == first || p[g].way < like[g].best) {
			like[g].best = p[g].way;
		}
	}
}

/** Join the names of the NICs of @set in their order. */
static void join_names(const struct affinity *a, uint64_t set,
		       char out[LAYOUT_NIC])
{
	struct str text = STR_INIT;
	const char *last = "";

	for (int k = count(set); k > 0; k--) {
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

/** The names of @node, but those of its lost GPUs, become entries. */
static void take_names(struct affinity_work *w, int node, int *n_schemes)
{
	const struct cluster_node *n = &w->l->nodes[node];
	int scheme = -1;

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		const struct entry *e;

		if (w->picks[r].mine == 0 || w->picks[r].lost) {
			continue;
		}
		join_names(&w->of[node], w->picks[r].mine, w->names[r]);
		e = find_entry(w, -1, w->names[r]);
		scheme = scheme < 0 && e != NULL ? e->scheme : scheme;
	}
	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		if (w->names[r][0] == '\0') {
			continue;
		}
		scheme = scheme < 0 ? (*n_schemes)++ : scheme;
		if (find_entry(w, scheme, w->names[r]) == NULL) {
			struct entry *e = &w->entries[w->n_entries++];

			e->scheme = scheme;
			STR_COPY(e->name, w->names[r]);
		}
	}
	w->scheme[node] = scheme;
}

/** Lost GPUs of @node take what the others have. */
static void take_left(struct affinity_work *w, int node)
{
	const struct affinity *a = &w->of[node];
	struct pick *p = picks_of(w, node);
	uint64_t known = 0;

	for (int i = 0; i < a->n_nics; i++) {
		known |= (uint64_t)(find_entry(w, w->scheme[node],
					       a->nics[i].name) != NULL) << i;
	}
	pick_nearest(w, node, known, true);
	pick_shares(w, node);
	for (int g = 0; g < a->n_gpus; g++) {
		if (p[g].lost && p[g].mine != 0) {
			join_names(a, p[g].mine,
				   w->names[w->l->nodes[node].first_rank + g]);
		}
	}
}

static int entry_order(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->scheme != y->scheme ? (x->scheme < y->scheme ? -1 : 1) :
					strverscmp(x->name, y->name);
}

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

static int choose(struct affinity_work *w)
{
	struct layout *l = w->l;
	int n_schemes = 0;

	for (int i = 0; i < w->l->n_nodes; i++) {
		pick_nearest(w, i, UINT64_MAX, false);
		find_best(w, i);
	}
	for (int i = 0; i < w->l->n_nodes; i++) {
		find_lost(w, i);
	}
	for (int i = 0; i < w->l->n_nodes; i++) {
		pick_shares(w, i);
		take_names(w, i, &n_schemes);
	}
	if (n_schemes == 0) {
		return 0;
	}
	qsort(w->entries, (size_t)w->n_entries, sizeof(*w->entries),
	      entry_order);
	for (int i = 0; i < w->l->n_nodes; i++) {
		if (w->scheme[i] >= 0) {
			take_left(w, i);
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
	for (int r = 0; r < l->n_ranks; r++) {
		int at = layout_nic_at(l, l->ranks[r].node, l->ranks[r].nic);

		if (w->names[r][0] != '\0') {
			memcpy(l->nic_names[at], w->names[r], LAYOUT_NIC);
		}
	}
	return 0;
}

int affinity_apply(struct layout *l, const struct affinity *of)
{
	size_t ranks = (size_t)l->n_ranks + 1, nodes = (size_t)l->n_nodes + 1;
	struct affinity_work w = {
		.l = l, .of = of,
		.picks = calloc(ranks, sizeof(*w.picks)),
		.entries = calloc(ranks, sizeof(*w.entries)),
		.scheme = calloc(nodes, sizeof(*w.scheme)),
		.n_nics = calloc(nodes, sizeof(*w.n_nics)),
		.nic = calloc(ranks, sizeof(*w.nic)),
		.names = calloc(ranks, sizeof(*w.names)),
	};
	int rc = w.picks && w.entries && w.scheme && w.n_nics && w.nic &&
				 w.names ? choose(&w) : -1;

	free(w.picks);
	free(w.entries);
	free(w.scheme);
	free(w.n_nics);
	free(w.nic);
	free(w.names);
	return rc;
}
