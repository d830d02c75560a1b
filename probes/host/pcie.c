/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/pcie.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/str.h"
#include "lib/base/units.h"
#include "probes/host/facts.h"
#include "probes/host/sysfile.h"

#define HCAS_MAX 64

/** Where symbolic link @path points, "" when it is none. */
static void read_link(const char *path, char text[PATH_MAX])
{
	ssize_t n = readlink(path, text, PATH_MAX - 1);

	text[n > 0 ? n : 0] = '\0';
}

void pcie_find(const char *root, const char *bus, struct pcie_place *place)
{
	char path[PATH_MAX], text[PATH_MAX];
	const char *devices;
	int64_t numa = -1;

	snprintf(path, sizeof(path), "%.2000s/sys/bus/pci/devices/%.32s", root,
		 bus);
	read_link(path, text);
	devices = strstr(text, "devices/pci");
	snprintf(place->path, sizeof(place->path), "%s",
		 devices ? devices + strlen("devices/") : "");
	snprintf(path, sizeof(path),
		 "%.2000s/sys/bus/pci/devices/%.32s/numa_node", root, bus);
	if (sysfile_read(path, text, sizeof(text)) > 0) {
		units_parse_int(text, -1, 4095, &numa, NULL);
	}
	place->numa = (int)numa;
}

static int count_parts(const char *path)
{
	int n = *path != '\0';

	for (; *path != '\0'; path++) {
		n += *path == '/';
	}
	return n;
}

/** Parts at the beginning that two paths have in common. */
static int common_parts(const char *a, const char *b)
{
	int n = 0;

	while (*a != '\0' && *b != '\0') {
		size_t len = strcspn(a, "/");

		if (len != strcspn(b, "/") || strncmp(a, b, len) != 0) {
			break;
		}
		n++;
		a += len + (a[len] == '/');
		b += len + (b[len] == '/');
	}
	return n;
}

const char *pcie_class(const struct pcie_place *a, const struct pcie_place *b)
{
	int common = common_parts(a->path, b->path);
	int below_a = count_parts(a->path) - common;
	int below_b = count_parts(b->path) - common;

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

/** The PCI device behind HCA @name: 0000:1b:00.0, or "" (software has none). */
static void find_bus(const char *root, const char *name, char bus[32])
{
	char path[PATH_MAX], text[PATH_MAX];
	const char *last;

	snprintf(path, sizeof(path), "%.2000s/sys/class/infiniband/%.64s/device",
		 root, name);
	read_link(path, text);
	last = strrchr(text, '/');
	str_copy(bus, 32, last ? last + 1 : text);
}

void pcie_facts(const char *root, const json_t *gpus, json_t *facts)
{
	char hcas[HCAS_MAX][64], path[PATH_MAX], bus[32];
	struct pcie_place gpu, hca;
	const json_t *g;
	size_t n, i;

	snprintf(path, sizeof(path), "%.2000s/sys/class/infiniband", root);
	n = sysfile_list(path, hcas, HCAS_MAX);
	json_array_foreach(gpus, i, g) {
		const char *at = json_string_value(json_object_get(g, "bus"));

		pcie_find(root, at ? at : "", &gpu);
		for (size_t h = 0; h < n && gpu.path[0] != '\0'; h++) {
			char scope[96];

			find_bus(root, hcas[h], bus);
			pcie_find(root, bus, &hca);
			if (hca.path[0] == '\0') {
				continue;
			}
			snprintf(scope, sizeof(scope), "gpu%zu-%s", i, hcas[h]);
			facts_add(facts, scope, "link", pcie_class(&gpu, &hca),
				  "", "/sys/bus/pci");
		}
	}
}

static bool is_text(const json_t *fact, const char *key, const char *text)
{
	const char *value = json_string_value(json_object_get(fact, key));

	return value && strcmp(value, text) == 0;
}

const char *pcie_link(const json_t *facts, const char *a, const char *b)
{
	char one[160], other[160];
	const json_t *f;
	size_t i;

	snprintf(one, sizeof(one), "%.64s-%.64s", a, b);
	snprintf(other, sizeof(other), "%.64s-%.64s", b, a);
	json_array_foreach(facts, i, f) {
		if (is_text(f, "fact", "link") && (is_text(f, "scope", one) ||
						   is_text(f, "scope", other))) {
			return json_string_value(json_object_get(f, "value"));
		}
	}
	return NULL;
}
