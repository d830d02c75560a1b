/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree of PCI devices from which NCCL chooses NICs. */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/order.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/json.h"
#include "probes/host/inventory.h"
#include "probes/host/nccl_conf.h"
#include "probes/host/port.h"
#include "probes/host/sysfile.h"

#define NODES_MAX 1024
#define HCAS_MAX  64
#define LOCAL_GB_s 5000	/* what is no link */

/** A CPU or a PCI device; children keep the order of NCCL's tree. */
struct tree_node {
	char bus[16];		/* "" = a CPU */
	int cpu;		/* its NUMA node */
	int parent, first, next;	/* -1 = none */
	double GB_s;		/* of the link to the parent */
	uint64_t device;	/* vendor, device and those of the subsystem */
};

struct tree {
	const char *root;
	struct tree_node *at;
	int n, first_cpu;
};

/* ---- one node ------------------------------------------------------------ */

static int find_node(const struct tree *t, const char *bus, int cpu)
{
	int i = 0;

	while (i < t->n && (strcasecmp(t->at[i].bus, bus) != 0 ||
			    (bus[0] == '\0' && t->at[i].cpu != cpu))) {
		i++;
	}
	return i < t->n ? i : -1;
}

static int add_node(struct tree *t, const char *bus, int cpu)
{
	struct tree_node *n = &t->at[t->n];

	if (t->n == NODES_MAX) {
		return -1;
	}
	*n = (struct tree_node){ .cpu = cpu, .parent = -1, .first = -1,
				 .next = -1 };
	STR_COPY(n->bus, bus);
	return t->n++;
}

/** Put @node below @parent (-1: a CPU): last if @file_order, else before the
 *  first one with a greater address, as NCCL does. */
static void place_node(struct tree *t, int node, int parent, bool file_order)
{
	int *link = parent < 0 ? &t->first_cpu : &t->at[parent].first;

	t->at[node].parent = parent;
	while (*link >= 0 &&
	       (file_order || parent < 0 ||
		strcmp(t->at[node].bus, t->at[*link].bus) >= 0)) {
		link = &t->at[*link].next;
	}
	t->at[node].next = *link;
	*link = node;
}

static int find_cpu(struct tree *t, int cpu)
{
	int at = find_node(t, "", cpu);

	if (at < 0 && (at = add_node(t, "", cpu)) >= 0) {
		place_node(t, at, -1, true);
	}
	return at;
}

/* ---- links --------------------------------------------------------------- */

/** GB/s of a link of @width lanes, as NCCL counts it; 8 GT/s where the speed is
 *  not known, 16 lanes where their number is not. */
static double link_GB_s(double GT_s, int width)
{
	static const struct { double GT_s; int rate; } rates[] = {
		{ 2.5, 15 }, { 5, 30 }, { 8, 60 }, { 16, 120 }, { 32, 240 },
		{ 64, 480 },
	};
	int rate = 60;

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		rate = GT_s == rates[i].GT_s ? rates[i].rate : rate;
	}
	return (width > 0 ? width : 16) * rate / 80.0;
}

/** The number in file @name of the device at @path or, if less, of its port;
 *  0 if neither has one or, with @both, if one has none. */
static double least(const char *root, const char *path, const char *name,
		    bool both)
{
	double own, port;
	char text[64];

	sysfile_read(text, sizeof(text), "%s/sys/devices/%s/%s", root, path,
		     name);
	own = strtod(text, NULL);
	sysfile_read(text, sizeof(text), "%s/sys/devices/%s/../%s", root, path,
		     name);
	port = strtod(text, NULL);
	if (own <= 0 || port <= 0) {
		return both ? 0 : own > 0 ? own : port > 0 ? port : 0;
	}
	return own < port ? own : port;
}

static uint64_t device_of(const char *root, const char *path)
{
	static const char *const names[] = {
		"vendor", "device", "subsystem_vendor", "subsystem_device"
	};
	uint64_t device = 0;
	char text[32];

	for (int i = 0; i < 4; i++) {
		sysfile_read(text, sizeof(text), "%s/sys/devices/%s/%s", root,
			     path, names[i]);
		device = device << 16 | (strtoul(text, NULL, 0) & 0xffff);
	}
	return device;
}

/* ---- /sys ---------------------------------------------------------------- */

/** Cut the last component off @path; false if what is left is no PCI device. */
static bool cut(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash == NULL) {
		return false;
	}
	*slash = '\0';
	slash = strrchr(path, '/');
	return slash != NULL && strlen(slash + 1) == strlen("0000:00:00.0");
}

/**
 * The node of the device @bus, with its switches and CPU; -1: no room, or no
 * address.  @gpu: its link is as wide as its own end and its port say.
 */
static int find_device(struct tree *t, const char *bus, bool gpu)
{
	struct pcie_place place;
	char path[PATH_MAX], own[PATH_MAX], text[16];
	int first = -1, child = -1, node;

	pcie_find(t->root, bus, &place);
	STR_COPY(path, place.path);
	for (int depth = 0; depth < 2 * NCCL_TREE_DEPTH; depth++) {
		const char *last = strrchr(path, '/');
		const char *name = last != NULL ? last + 1 : bus;

		node = name[0] != '\0' ? find_node(t, name, 0) : -1;
		if (node < 0) {
			node = name[0] != '\0' ? add_node(t, name, 0) : -1;
			if (node < 0) {
				return -1;
			}
			t->at[node].GB_s = link_GB_s(
				least(t->root, path, "max_link_speed", false),
				(int)least(t->root, path, "max_link_width",
					   !gpu || first >= 0));
			t->at[node].device = device_of(t->root, path);
		}
		if (first < 0) {
			first = node;
		} else if (t->at[child].parent < 0) {
			place_node(t, child, node, false);
		}
		if (t->at[node].parent >= 0) {
			return first;
		}
		child = node;
		STR_COPY(own, path);
		/* a device is below a port, and that below a switch or CPU */
		if (!cut(path) || !cut(path)) {
			break;
		}
	}
	/* the kernel does not say it of each bridge: then that of the device */
	if (place.path[0] != '\0' &&
	    sysfile_read(text, sizeof(text), "%s/sys/devices/%s/numa_node",
			 t->root, own) > 0) {
		place.numa = (int)strtol(text, NULL, 10);
	}
	node = find_cpu(t, place.path[0] != '\0' ? place.numa : -1);
	if (node < 0) {
		return -1;
	}
	place_node(t, child, node, false);
	return first;
}

/* ---- topology file ------------------------------------------------------- */

static int add_element(struct tree *t, const char *at, const char *end,
		       int parent)
{
	static const char *const names[] = {
		"vendor", "device", "subsystem_vendor", "subsystem_device"
	};
	char bus[16], path[PATH_MAX], text[64];
	double GT_s, width;
	struct pcie_place place;
	int64_t cpu = -1;
	int node;

	if (str_starts(at, "cpu ")) {
		topo_file_attribute(at, end, "numaid", text, sizeof(text));
		units_parse_int(text, -1, 4095, &cpu, NULL);
		return find_cpu(t, (int)cpu);
	}
	topo_file_attribute(at, end, "busid", bus, sizeof(bus));
	if (!str_starts(at, "pci ") || bus[0] == '\0' || parent < 0 ||
	    find_node(t, bus, 0) >= 0 || (node = add_node(t, bus, 0)) < 0) {
		return -1;
	}
	pcie_find(t->root, bus, &place);
	STR_COPY(path, place.path);
	topo_file_attribute(at, end, "link_speed", text, sizeof(text));
	GT_s = text[0] != '\0' ? strtod(text, NULL) :
				 least(t->root, path, "max_link_speed", false);
	topo_file_attribute(at, end, "link_width", text, sizeof(text));
	width = text[0] != '\0' ? strtod(text, NULL) :
				  least(t->root, path, "max_link_width", true);
	width = width >= 0 && width < 64 ? width : 0;
	t->at[node].GB_s = link_GB_s(GT_s, (int)width);
	t->at[node].device = device_of(t->root, path);
	for (int i = 0; i < 4; i++) {
		topo_file_attribute(at, end, names[i], text, sizeof(text));
		if (text[0] != '\0') {
			int shift = 48 - 16 * i;

			t->at[node].device &= ~((uint64_t)0xffff << shift);
			t->at[node].device |= (strtoull(text, NULL, 0) &
					       0xffff) << shift;
		}
	}
	place_node(t, node, parent, true);
	return node;
}

static void read_file(struct tree *t, const char *text)
{
	int open[2 * NCCL_TREE_DEPTH], depth = 0, node;
	const char *at = text, *end;

	while (topo_file_next(&at, &end)) {
		if (*at == '/') {
			depth -= depth > 0;
			continue;
		}
		node = add_element(t, at, end,
				   depth > 0 ? open[depth - 1] : -1);
		if (end[-1] != '/') {
			if (depth == 2 * NCCL_TREE_DEPTH) {
				return;
			}
			/* what is no device leaves its parent's place */
			open[depth] = node >= 0 || depth == 0 ?
					      node : open[depth - 1];
			depth++;
		}
	}
}

/* ---- between CPUs -------------------------------------------------------- */

/** As src/graph/topo.h has it. */
static double sys_GB_s(const char *vendor, long family, long model)
{
	if (strcmp(vendor, "GenuineIntel") == 0) {
		return family != 6 ? 6 : model >= 0xCF ? 40 :
		       model >= 0x8F ? 22 : model >= 0x55 ? 10 : 6;
	}
	if (strcmp(vendor, "AuthenticAMD") == 0) {
		return 16;
	}
	if (strcmp(vendor, "POWER") == 0) {
		return 32;
	}
	return 6;	/* ARM, and Zhaoxin */
}

/** The words of /proc/cpuinfo, "vendor_id : GenuineIntel". */
static void cpuinfo(const char *text, const char *key, char *buf, size_t size)
{
	const char *at = strstr(text, key);

	at = at != NULL ? strchr(at, ':') : NULL;
	at = at != NULL ? at + 1 + strspn(at + 1, " \t") : "";
	snprintf(buf, size, "%.*s", (int)strcspn(at, "\n"), at);
}

static bool find_sys_GB_s(const char *root, const char *file, double *GB_s)
{
	char vendor[32] = "", family[16] = "", model[16] = "";
	const char *at = file != NULL ? strstr(file, "<cpu ") : NULL;
	const char *end = NULL;
	char text[2048];

	if (at != NULL && topo_file_next(&at, &end)) {
		topo_file_attribute(at, end, "arch", vendor, sizeof(vendor));
	}
	if (strcmp(vendor, "x86_64") == 0) {
		topo_file_attribute(at, end, "vendor", vendor, sizeof(vendor));
		topo_file_attribute(at, end, "familyid", family,
				    sizeof(family));
		topo_file_attribute(at, end, "modelid", model, sizeof(model));
	} else if (vendor[0] == '\0') {
		if (sysfile_read(text, sizeof(text), "%s/proc/cpuinfo", root) <=
		    0) {
			return false;
		}
		cpuinfo(text, "vendor_id", vendor, sizeof(vendor));
		cpuinfo(text, "cpu family", family, sizeof(family));
		cpuinfo(text, "model\t", model, sizeof(model));
		if (strstr(text, "POWER") != NULL) {
			STR_COPY(vendor, "POWER");
		}
	}
	*GB_s = sys_GB_s(vendor, strtol(family, NULL, 0),
			 strtol(model, NULL, 0));
	return true;
}

/* ---- places -------------------------------------------------------------- */

/** A Broadcom switch of two levels that is one switch (4: PCIe 4.0, 5). */
static int flat_switch(uint64_t device, uint64_t level)
{
	device &= ~(uint64_t)0xfff;
	return device == 0x1000c0101000a000 ? 4 :
	       device == (0x1000c03010000000 | level << 12) ? 5 : 0;
}

static json_t *place_of(const struct tree *t, int node)
{
	int up[NCCL_TREE_DEPTH], n = 0, at = t->at[node].parent;
	struct str text = STR_INIT;
	json_t *j;

	for (; at >= 0 && t->at[at].parent >= 0 && n < NCCL_TREE_DEPTH;
	     at = t->at[at].parent) {
		int gen = flat_switch(t->at[t->at[at].parent].device, 0);

		if (gen == 0 || gen != flat_switch(t->at[at].device, 1)) {
			up[n++] = at;
		}
	}
	while (at >= 0 && t->at[at].parent >= 0) {
		at = t->at[at].parent;
	}
	str_addf(&text, "%d", at >= 0 ? t->at[at].cpu : -1);
	while (n-- > 0) {
		str_addf(&text, "/%s=%.6g", t->at[up[n]].bus,
			 t->at[up[n]].GB_s);
	}
	str_addf(&text, "/%.6g", t->at[node].GB_s);
	j = json_text(str_text(&text));
	str_release(&text);
	return j;
}

int nccl_place_parse(const char *text, struct nccl_place *p)
{
	int len = 0;

	*p = (struct nccl_place){ .n = 0 };
	if (sscanf(text, "%5d/%n", &p->cpu, &len) != 1 || len == 0) {
		return -1;
	}
	text += len;
	for (len = 0; p->n < NCCL_TREE_DEPTH &&
		      sscanf(text, "%15[0-9a-fA-F:.]=%15lf/%n",
			     p->at[p->n].bus, &p->at[p->n].GB_s, &len) == 2 &&
		      len > 0; len = 0) {
		text += len;
		p->n++;
	}
	return sscanf(text, "%15lf%n", &p->GB_s, &len) == 1 &&
		       text[len] == '\0' ? 0 : -1;
}

/* ---- NICs ---------------------------------------------------------------- */

struct tree_hca {
	char name[64], bus[16];
	uint64_t order;		/* of its PCI address */
	int node;
};

static const struct order_key by_order[] = {
	ORDER_UP(struct tree_hca, order),
	ORDER_AS(struct tree_hca, name, ORDER_NAME),
	ORDER_END
};

/** The HCAs below the root in the order of their addresses; how many. */
static size_t read_hcas(const char *root, const json_t *facts,
			struct tree_hca list[HCAS_MAX])
{
	char names[HCAS_MAX][64], layer[32];
	size_t n = sysfile_list(names, HCAS_MAX, "%s/sys/class/infiniband",
				root), kept = 0;
	json_t *conf = nccl_conf_read(root, 0);
	const char *vfs = nccl_conf_get(conf, "NCCL_IB_MERGE_VFS", NULL);
	const char *direct = nccl_conf_get(conf, "NCCL_IB_DATA_DIRECT", NULL);

	for (size_t i = 0; i < n; i++) {
		struct tree_hca *h = &list[kept];
		/* its Data Direct function, if it has one */
		const char *function = strrchr(
			facts_find(facts, names[i], "data_direct").value, '/');
		struct pcie_place place;

		pcie_find_hca(root, names[i], &place);
		if (pcie_bus(&place) == NULL) {
			continue;
		}
		*h = (struct tree_hca){ .order = 0 };
		STR_COPY(h->name, names[i]);
		STR_COPY(h->bus, pcie_bus(&place));
		/* the digits of the address as one number */
		for (const char *c = h->bus; *c != '\0'; c++) {
			const char digit[2] = { *c, '\0' };

			if (*c != ':' && *c != '.') {
				h->order = h->order << 4 |
					   strtoul(digit, NULL, 16);
			}
		}
		sysfile_read(layer, sizeof(layer), "%s/sys/class/infiniband/%s/"
			     "ports/1/link_layer", root, names[i]);
		if (function != NULL &&
		    (direct == NULL || strcmp(direct, "0") != 0)) {
			STR_COPY(h->bus, function + 1);
		} else if (strcmp(layer, "Unspecified") != 0 &&
			   strlen(h->bus) >= strlen("00:00.0")) {
			/* NCCL takes all functions of a NIC for its first one,
			 * and those of SR-IOV, which have numbers of their
			 * own, too */
			char *end = h->bus + strlen(h->bus);

			end[-1] = '0';
			if (vfs == NULL || strcmp(vfs, "0") != 0) {
				end[-3] = end[-4] = '0';
			}
		}
		kept++;
	}
	json_decref(conf);
	order_sort(list, kept, sizeof(*list), by_order);
	return kept;
}

/** The node of the NIC whose first function is @bus; NCCL takes one that is not
 *  there, as in a guest that has other functions only, for one of a CPU. */
static int find_nic(struct tree *t, const char *bus)
{
	struct pcie_place place;
	int node;

	pcie_find(t->root, bus, &place);
	if (place.path[0] != '\0' || find_node(t, bus, 0) >= 0 ||
	    t->first_cpu < 0) {
		return find_device(t, bus, false);
	}
	node = add_node(t, bus, 0);
	if (node >= 0) {
		t->at[node].GB_s = LOCAL_GB_s;
		place_node(t, node, t->first_cpu, true);
	}
	return node;
}

/** Append the NICs below @node, @list by @n, in the order of the tree. */
static void list_nics(const struct tree *t, int node,
		      const struct tree_hca *list, size_t n, json_t *out)
{
	for (; node >= 0; node = t->at[node].next) {
		for (size_t i = 0; i < n; i++) {
			if (list[i].node == node) {
				json_array_append_new(out, json_pack(
					"{s:s,s:o}", "name", list[i].name,
					"place", place_of(t, node)));
			}
		}
		list_nics(t, t->at[node].first, list, n, out);
	}
}

/* ---- the tree ------------------------------------------------------------ */

/** GB/s of NVLink-C2C as NVML has it of GH200 and GB200; 0: there is none. */
static double c2c_GB_s(const json_t *gpus)
{
	static const char *const names[] = { "GH200", "GB200", "GB300" };
	const char *name = inventory_part(json_array_get(gpus, 0)).name;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strstr(name, names[i]) != NULL) {
			return 447.12;
		}
	}
	return 0;
}

json_t *nccl_tree(const char *root, const json_t *gpus, const json_t *facts)
{
	struct tree t = { .root = root, .first_cpu = -1,
			  .at = calloc(NODES_MAX, sizeof(*t.at)) };
	struct tree_hca *list = calloc(HCAS_MAX, sizeof(*list));
	json_t *out = json_object(), *places = json_array(), *nics;
	char *file = topo_file_read(root), driver[512];
	const json_t *g;
	double GB_s;
	size_t i, n;
	int node;

	nics = json_array();
	if (t.at != NULL && list != NULL) {
		if (file != NULL) {
			read_file(&t, file);
		}
		n = read_hcas(root, facts, list);
		/* NCCL looks at its own GPU, then at all NICs, and joins what
		 * its ranks have seen */
		if (json_array_size(gpus) > 0) {
			find_device(&t, inventory_part(json_array_get(
				gpus, 0)).bus, true);
		}
		for (i = 0; i < n; i++) {
			list[i].node = find_nic(&t, list[i].bus);
		}
		json_array_foreach(gpus, i, g) {
			node = find_device(&t, inventory_part(g).bus, true);
			json_array_append_new(places, node >= 0 ?
				place_of(&t, node) : json_string(""));
		}
		list_nics(&t, t.first_cpu, list, n, nics);
		if (find_sys_GB_s(root, file, &GB_s)) {
			json_object_set_new(out, "sys_GB_s", json_real(GB_s));
		}
		if ((GB_s = c2c_GB_s(gpus)) > 0) {
			json_object_set_new(out, "c2c_GB_s", json_real(GB_s));
		}
		/* GPUDirect RDMA needs nvidia-peermem or the open module */
		if (sysfile_read(driver, sizeof(driver), "%s/proc/driver/nvidia"
				 "/version", root) > 0 &&
		    strstr(driver, "Open Kernel Module") == NULL &&
		    !sysfile_there("%s/sys/module/nvidia_peermem", root)) {
			json_object_set_new(out, "gdr", json_false());
		}
	}
	json_object_set_new(out, "gpus", places);
	json_object_set_new(out, "nics", nics);
	free(file);
	free(list);
	free(t.at);
	return out;
}
