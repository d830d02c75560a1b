/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "lib/base/str.h"
#include "lib/base/units.h"
#include "probes/host/inventory.h"
#include "probes/host/nccl_conf.h"
#include "probes/host/port.h"
#include "probes/host/sysfile.h"

/* ---- topo file ----------------------------------------------------------- */

#define DEPTH_MAX 16

void topo_file_attribute(const char *at, const char *end, const char *key,
			 char *buf, size_t size)
{
	size_t n = strlen(key);

	buf[0] = '\0';
	for (; at + n + 2 < end; at++) {
		if (at[0] == ' ' && strncmp(at + 1, key, n) == 0 &&
		    at[1 + n] == '=' && at[2 + n] == '"') {
			const char *value = at + 3 + n;
			const char *quote = memchr(value, '"',
						   (size_t)(end - value));

			if (quote != NULL) {
				snprintf(buf, size, "%.*s",
					 (int)(quote - value), value);
			}
			return;
		}
	}
}

bool topo_file_next(const char **at, const char **end)
{
	while ((*at = strchr(*at, '<')) != NULL) {
		++*at;
		*end = str_starts(*at, "!--") ? strstr(*at, "-->") :
						strchr(*at, '>');
		if (*end == NULL || (**at != '!' && **at != '?')) {
			return *end != NULL;
		}
		*at = *end;
	}
	return false;
}

bool topo_file_find(const char *text, const char *bus,
		    struct pcie_place *place)
{
	/* open elements; of a <cpu> or <pci> its name, else "" */
	char names[DEPTH_MAX][32], id[16];
	const char *at = text, *end;
	int64_t numa = -1;
	size_t len = 0;
	int depth = 0;
	bool found;

	while ((found = topo_file_next(&at, &end))) {
		char *name = names[depth];

		if (*at == '/') {
			depth -= depth > 0;
			continue;
		}
		if (++depth > DEPTH_MAX) {
			return false;
		}
		name[0] = '\0';
		if (str_starts(at, "cpu ")) {
			numa = -1;
			topo_file_attribute(at, end, "numaid", id, sizeof(id));
			units_parse_int(id, -1, 4095, &numa, NULL);
			snprintf(name, sizeof(names[0]), "cpu%d", (int)numa);
		} else if (str_starts(at, "pci ")) {
			topo_file_attribute(at, end, "busid", name,
					    sizeof(names[0]));
		}
		if (bus[0] != '\0' && strcasecmp(name, bus) == 0) {
			break;
		}
		depth -= end[-1] == '/';
	}
	if (!found) {
		return false;
	}
	/* the path of the open elements, as one below /sys/devices */
	for (int i = 0; i < depth; i++) {
		if (names[i][0] != '\0') {
			len += (size_t)snprintf(
				place->path + len, sizeof(place->path) - len,
				"%s%s", len > 0 ? "/" : "", names[i]);
		}
	}
	place->numa = (int)numa;
	return true;
}

void topo_file_plain(const char *text, struct str *out)
{
	static const char *const plain[] = {
		"version", "numaid", "affinity", "arch", "vendor", "familyid",
		"modelid", "busid", "class", "link_speed", "link_width", "dev",
		"sm", "gdr", "name", "speed", "port", "latency", "maxconn",
		"target", "tclass", "count", "bw", NULL
	};
	const char *at = text, *end;
	char value[128];

	for (; topo_file_next(&at, &end); at = end) {
		size_t skip = *at == '/';

		str_addf(out, "<%.*s",
			 (int)(skip + strcspn(at + skip, " \t\r\n/>")), at);
		for (int i = 0; plain[i] != NULL; i++) {
			topo_file_attribute(at, end, plain[i], value,
					    sizeof(value));
			if (value[0] != '\0') {
				str_addf(out, " %s=\"%s\"", plain[i], value);
			}
		}
		str_add(out, end[-1] == '/' ? "/>\n" : ">\n");
	}
}

char *topo_file_read(const char *root)
{
	json_t *conf = nccl_conf_read(root, 0);
	const char *named = nccl_conf_get(conf, "NCCL_TOPO_FILE", NULL);
	struct str text = STR_INIT;
	char path[PATH_MAX], *all = NULL;

	snprintf(path, sizeof(path), "%.1500s%.2000s", root,
		 named != NULL ? named : TOPO_FILE_USUAL);
	json_decref(conf);
	if (str_add_file(&text, open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK),
			 TOPO_FILE_MAX) == 0 && text.len > 0) {
		all = strdup(str_text(&text));
	}
	str_release(&text);
	return all;
}

/* ---- pin ----------------------------------------------------------------- */

#define LIST_MAX 4096
#define PCI_DEVICE "/sys/bus/pci/devices/%.32s"

/* A CPU's number at *@at, which moves behind it; -1 when there is none. */
static long cpu_at(const char **at)
{
	char *end;
	long n;

	if (!isdigit((unsigned char)**at)) {
		return -1;
	}
	n = strtol(*at, &end, 10);
	*at = end;
	return n < CPU_SETSIZE ? n : -1;
}

int pin_parse(const char *text, cpu_set_t *set)
{
	const char *at = text;

	CPU_ZERO(set);
	while (*at != '\0') {
		long first = cpu_at(&at), last = first;

		if (*at == '-') {
			at++;
			last = cpu_at(&at);
		}
		if (first < 0 || last < first ||
		    (*at != ',' && *at != '\0') ||
		    (*at == ',' && at[1] == '\0')) {
			CPU_ZERO(set);
			return -1;
		}
		for (long c = first; c <= last; c++) {
			CPU_SET((size_t)c, set);
		}
		at += *at == ',';
	}
	return CPU_COUNT(set);
}

/* Set @near to the CPUs in the file @device/local_cpulist that this process may
 * use. Returns how many there are; -1 if they are not known. */
static int find_near(const char *device, cpu_set_t *near)
{
	cpu_set_t allowed;
	char list[LIST_MAX];

	sysfile_read(list, sizeof(list), "%s/local_cpulist", device);
	if (pin_parse(list, near) <= 0 ||
	    sched_getaffinity(0, sizeof(allowed), &allowed) < 0) {
		return -1;
	}
	CPU_AND(near, near, &allowed);
	return CPU_COUNT(near);
}

void pin_to_device(const char *bus)
{
	char path[128];
	cpu_set_t near;

	snprintf(path, sizeof(path), PCI_DEVICE, bus);
	if (find_near(path, &near) > 0) {
		sched_setaffinity(0, sizeof(near), &near);
	}
}

bool pin_is_allowed(const char *bus)
{
	char path[128];

	snprintf(path, sizeof(path), PCI_DEVICE, bus);
	return find_near(path, &(cpu_set_t){ 0 }) != 0;
}

void pin_to_hca(const char *hca)
{
	char path[128];
	cpu_set_t near;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%.64s/device", hca);
	if (find_near(path, &near) > 0) {
		sched_setaffinity(0, sizeof(near), &near);
	}
}

bool pin_far_from(const char *bus)
{
	char list[LIST_MAX];
	cpu_set_t near, far;

	if (sysfile_read(list, sizeof(list), PCI_DEVICE "/local_cpulist",
			 bus) <= 0 ||
	    pin_parse(list, &near) <= 0) {
		return false;
	}
	CPU_ZERO(&far);
	for (size_t c = 0; c < CPU_SETSIZE; c++) {
		if (!CPU_ISSET(c, &near)) {
			CPU_SET(c, &far);
		}
	}
	return sched_setaffinity(0, sizeof(far), &far) == 0;
}

/* ---- pcie ---------------------------------------------------------------- */

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

const char *pcie_bus(const struct pcie_place *place)
{
	const char *last = strrchr(place->path, '/');

	return last != NULL ? last + 1 : NULL;
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

void pcie_facts(const char *root, const json_t *gpus, json_t *facts)
{
	char hcas[HCAS_MAX][64], scope[96], *file = topo_file_read(root);
	struct pcie_place gpu, hca;
	const json_t *g;
	size_t i, n = sysfile_list(hcas, HCAS_MAX, "%s/sys/class/infiniband",
				   root);

	json_array_foreach(gpus, i, g) {
		/* by the kernel, but for what the topology file (NULL: none)
		 * has */
		const char *bus = inventory_part(g).bus;

		pcie_find(root, bus, &gpu);
		if (file != NULL) {
			topo_file_find(file, bus, &gpu);
		}
		for (size_t h = 0; h < n; h++) {
			const char *class;

			pcie_find_hca(root, hcas[h], &hca);
			bus = pcie_bus(&hca);
			if (file != NULL && bus != NULL) {
				topo_file_find(file, bus, &hca);
			}
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
	char scope[160];
	struct fact link;

	snprintf(scope, sizeof(scope), "%.64s-%.64s", a, b);
	link = facts_find(facts, scope, "link");
	if (link.fact[0] == '\0') {
		snprintf(scope, sizeof(scope), "%.64s-%.64s", b, a);
		link = facts_find(facts, scope, "link");
	}
	return link.fact[0] != '\0' ? link.value : NULL;
}
