/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/gpu_pci.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/str.h"
#include "lib/data/json.h"
#include "probes/host/facts.h"
#include "probes/host/pcie.h"
#include "probes/host/sysfile.h"

#define DEVICES		   "/sys/bus/pci/devices"
#define PROC_GPUS	   "/proc/driver/nvidia/gpus"
#define CONFIG_MAX	   256
#define FIRST_CAPABILITY   0x34	/* its offset is there */
#define CAPABILITY_EXPRESS 0x10
#define DEVICE_CONTROL	   8	/* from the capability on */
#define RELAXED_ORDERING   0x10

int gpu_pci_relaxed(const void *config, size_t len)
{
	const unsigned char *b = config;
	size_t at = len > FIRST_CAPABILITY ? b[FIRST_CAPABILITY] : 0;

	/* a capability is 4 bytes at least */
	for (size_t i = 0; i < len / 4 && at > FIRST_CAPABILITY &&
			   at + DEVICE_CONTROL < len; i++) {
		if (b[at] == CAPABILITY_EXPRESS) {
			return (b[at + DEVICE_CONTROL] & RELAXED_ORDERING) != 0;
		}
		at = b[at + 1];
	}
	return -1;
}

struct place {
	const char *root, *bus;
	char scope[16];
	json_t *facts;
};

static void add_files(const struct place *p)
{
	static const struct {
		const char *file, *fact;
	} files[] = {
		{ "numa_node", "numa_node" },
		{ "max_link_speed", "pcie_speed_max" },
		{ "max_link_width", "pcie_width_max" },
		{ "current_link_width", "pcie_width" },
	};
	char text[32];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (sysfile_read(text, sizeof(text), "%s" DEVICES "/%s/%s",
				 p->root, p->bus, files[i].file) > 0) {
			facts_add(p->facts, p->scope, files[i].fact, text, "",
				  DEVICES);
		}
	}
}

/** The bridge below the host's own: what shares it shares its link. */
static void add_root_port(const struct place *p)
{
	struct pcie_place place;
	const char *port, *rest;

	pcie_find(p->root, p->bus, &place);
	port = strchr(place.path, '/');
	rest = port ? strchr(port + 1, '/') : NULL;
	if (rest) {
		facts_addf(p->facts, p->scope, "root_port", "", DEVICES, "%.*s",
			   (int)(rest - port - 1), port + 1);
	}
}

static void add_ordering(const struct place *p)
{
	char path[PATH_MAX], config[CONFIG_MAX];
	ssize_t n;
	int fd, on;

	snprintf(path, sizeof(path), "%.2000s" DEVICES "/%.32s/config",
		 p->root, p->bus);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, config, sizeof(config));
	if (fd >= 0) {
		close(fd);
	}
	on = n < 0 ? -1 : gpu_pci_relaxed(config, (size_t)n);
	if (on >= 0) {
		facts_add(p->facts, p->scope, "relaxed_ordering",
			  on ? "on" : "off", "", DEVICES);
	}
}

static void add_firmware(const struct place *p)
{
	char text[2048], version[64];

	if (sysfile_read(text, sizeof(text), "%s" PROC_GPUS "/%s/information",
			 p->root, p->bus) > 0) {
		sysfile_value(text, "GPU Firmware", version, sizeof(version));
		if (version[0] != '\0') {
			facts_add(p->facts, p->scope, "gsp_firmware", version,
				  "", PROC_GPUS);
		}
	}
}

void gpu_pci_facts(const char *root, const json_t *gpus, json_t *facts)
{
	const json_t *g;
	size_t i;

	json_array_foreach(gpus, i, g) {
		struct place p = { .root = root, .facts = facts,
				   .bus = json_member(g, "bus") };

		snprintf(p.scope, sizeof(p.scope), "gpu%d", (int)i);
		if (p.bus[0] != '\0' && strchr(p.bus, '/') == NULL) {
			add_files(&p);
			add_root_port(&p);
			add_ordering(&p);
			add_firmware(&p);
		}
	}
}
