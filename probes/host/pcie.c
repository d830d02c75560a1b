/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/pcie.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/json.h"
#include "probes/host/facts.h"
#include "probes/host/sysfile.h"
#include "probes/host/topo_file.h"

#define HCAS_MAX 64

/** Where symbolic link ROOT/sys/NAME points, "" when it is none. */
static void read_link(const char *root, const char *name, char text[PATH_MAX])
{
	char path[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "%.2000s/sys/%.200s", root, name);
	n = readlink(path, text, PATH_MAX - 1);
	text[n > 0 ? n : 0] = '\0';
}

void pcie_find(const char *root, const char *bus, struct pcie_place *place)
{
	char name[64], link[PATH_MAX], text[16];
	const char *devices;
	int64_t numa = -1;

	snprintf(name, sizeof(name), "bus/pci/devices/%.32s", bus);
	read_link(root, name, link);
	devices = strstr(link, "devices/pci");
	STR_COPY(place->path, devices ? devices + strlen("devices/") : "");
	sysfile_read(text, sizeof(text),
		     "%s/sys/bus/pci/devices/%s/numa_node", root, bus);
	units_parse_int(text, -1, 4095, &numa, NULL);
	place->numa = (int)numa;
}

int pcie_common(const char *a, const char *b)
{
	int n = 0;

	for (; *a != '\0' && *a == *b; a++, b++) {
		n += *a == '/';
	}
	return n + ((*a == '\0' || *a == '/') && (*b == '\0' || *b == '/'));
}

const char *pcie_class(const struct pcie_place *a, const struct pcie_place *b)
{
	int common = pcie_common(a->path, b->path);
	int below_a = pcie_common(a->path, a->path) - common;
	int below_b = pcie_common(b->path, b->path) - common;

	if (a->path[0] == '\0' || b->path[0] == '\0') {
		return "";
	}
	if (common == 0) {
		return a->numa == b->numa ? "NODE" : "SYS";
	}
	if (common == 1) {
		return "PHB";
	}
	/* a switch has a bridge for each of its ports: device, port, the port
	 * that both share */
	return below_a <= 2 && below_b <= 2 ? "PIX" : "PXB";
}

void pcie_find_hca(const char *root, const char *hca, struct pcie_place *place)
{
	char name[96], link[PATH_MAX];
	const char *last;

	snprintf(name, sizeof(name), "class/infiniband/%.64s/device", hca);
	read_link(root, name, link);
	last = strrchr(link, '/');
	pcie_find(root, last != NULL ? last + 1 : link, place);
}

/** By the kernel, but for what the topology @file (NULL: none) has. */
static void find_gpu(const char *root, const char *file, const char *bus,
		     struct pcie_place *place)
{
	pcie_find(root, bus, place);
	if (file != NULL) {
		topo_file_find(file, bus, place);
	}
}

static void find_hca(const char *root, const char *file, const char *name,
		     struct pcie_place *place)
{
	const char *last;

	pcie_find_hca(root, name, place);
	last = strrchr(place->path, '/');
	if (file != NULL && last != NULL) {
		topo_file_find(file, last + 1, place);
	}
}

void pcie_facts(const char *root, const json_t *gpus, json_t *facts)
{
	char hcas[HCAS_MAX][64], scope[96], *file = topo_file_read(root);
	struct pcie_place gpu, hca;
	const json_t *g;
	size_t i, n = sysfile_list(hcas, HCAS_MAX, "%s/sys/class/infiniband",
				   root);

	json_array_foreach(gpus, i, g) {
		find_gpu(root, file, json_member(g, "bus"), &gpu);
		for (size_t h = 0; h < n; h++) {
			const char *class;

			find_hca(root, file, hcas[h], &hca);
			class = pcie_class(&gpu, &hca);
			if (class[0] != '\0') {
				snprintf(scope, sizeof(scope), "gpu%zu-%s", i,
					 hcas[h]);
				facts_add(facts, scope, "link", class, "",
					  "/sys/bus/pci");
			}
		}
	}
	free(file);
}

const char *pcie_link(const json_t *facts, const char *a, const char *b)
{
	char one[160], other[160];
	const json_t *f;
	size_t i;

	snprintf(one, sizeof(one), "%.64s-%.64s", a, b);
	snprintf(other, sizeof(other), "%.64s-%.64s", b, a);
	json_array_foreach(facts, i, f) {
		const char *scope = json_member(f, "scope");

		if (strcmp(json_member(f, "fact"), "link") == 0 &&
		    (strcmp(scope, one) == 0 || strcmp(scope, other) == 0)) {
			return json_string_value(json_object_get(f, "value"));
		}
	}
	return NULL;
}
