/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/schema.h"
#include "probes/dl/nvml.h"
#include "probes/host/gpu.h"
#include "probes/host/gpu_state.h"
#include "probes/host/inventory.h"
#include "probes/host/port.h"
#include "probes/host/sysfile.h"

/* ---- gpu xid ------------------------------------------------------------- */

/*
 * Xids: what the GPU driver reports to the kernel's log when a GPU or what it
 * runs goes wrong, "NVRM: Xid (PCI:0000:1b:00): 79, ...".
 */

bool gpu_xid_parse(const char *line, char bus[32], int *xid)
{
	const char *at = strstr(line, "NVRM: Xid (PCI:");
	char domain_bus[24], after;

	if (at == NULL ||
	    sscanf(at, "NVRM: Xid (PCI:%23[0-9a-fA-F:]): %5d%c", domain_bus,
		   xid, &after) != 3 ||
	    after != ',') {
		return false;
	}
	gpu_list_plain_bus(domain_bus, bus);
	return true;
}

void gpu_xid_facts(const struct gpu_list *l, json_t *facts)
{
	unsigned count[GPU_LIST_MAX] = { 0 };
	int xid, last[GPU_LIST_MAX] = { 0 };
	struct str lines = STR_INIT;
	char scope[16], bus[32];
	const char *text;
	char *next;
	int64_t us;

	if (l->n == 0) {
		return;
	}
	if (kernel_log_read("", 0, &lines) == NULL) {
		facts_add(facts, "node", "kernel_log", strerror(errno), "",
			  KERNEL_LOG);
		return;
	}
	next = lines.data;
	while ((text = kernel_log_next(&next, &us)) != NULL) {
		bool is_xid = gpu_xid_parse(text, bus, &xid);

		for (size_t i = 0; is_xid && i < l->n; i++) {
			if (str_starts(l->gpus[i].bus, bus)) {
				count[i]++;
				last[i] = xid;
			}
		}
	}
	str_release(&lines);
	for (size_t i = 0; i < l->n; i++) {
		snprintf(scope, sizeof(scope), "gpu%d", (int)i);
		facts_addf(facts, scope, "xids", "", KERNEL_LOG, "%u",
			   count[i]);
		if (count[i] > 0) {
			facts_addf(facts, scope, "xid_last", "", KERNEL_LOG,
				   "%d", last[i]);
		}
	}
}

/* ---- gpu pci ------------------------------------------------------------- */

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

/* Files of a PCI device, each a fact of its own. */
static const struct {
	const char *file, *fact;
} device_files[] = {
	{ "numa_node", "numa_node" },
	{ "max_link_speed", "pcie_speed_max" },
	{ "max_link_width", "pcie_width_max" },
	{ "current_link_width", "pcie_width" },
};

void gpu_pci_facts(const char *root, const json_t *gpus, json_t *facts)
{
	char path[PATH_MAX], config[CONFIG_MAX], text[2048], scope[16];
	const json_t *g;
	size_t i;

	json_array_foreach(gpus, i, g) {
		const char *bus = inventory_part(g).bus, *port, *rest;
		char version[64] = "";
		struct pcie_place place;
		ssize_t n;
		int fd, on;

		if (bus[0] == '\0' || strchr(bus, '/') != NULL) {
			continue;
		}
		snprintf(scope, sizeof(scope), "gpu%d", (int)i);
		for (size_t k = 0;
		     k < sizeof(device_files) / sizeof(*device_files); k++) {
			if (sysfile_read(text, 32, "%s" DEVICES "/%s/%s", root,
					 bus, device_files[k].file) > 0) {
				facts_add(facts, scope, device_files[k].fact,
					  text, "", DEVICES);
			}
		}
		/* another machine's files say nothing of this process */
		if (!root[0] && !pin_is_allowed(bus)) {
			facts_add(facts, scope, "cpus", "far", "", DEVICES);
		}
		/* the bridge below the host's own: devices behind it share its
		 * link */
		pcie_find(root, bus, &place);
		port = strchr(place.path, '/');
		rest = port ? strchr(port + 1, '/') : NULL;
		if (rest) {
			facts_addf(facts, scope, "root_port", "", DEVICES,
				   "%.*s", (int)(rest - port - 1), port + 1);
		}
		snprintf(path, sizeof(path), "%.2000s" DEVICES "/%.32s/config",
			 root, bus);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? -1 : read(fd, config, sizeof(config));
		if (fd >= 0) {
			close(fd);
		}
		on = n < 0 ? -1 : gpu_pci_relaxed(config, (size_t)n);
		if (on >= 0) {
			facts_add(facts, scope, "relaxed_ordering",
				  on ? "on" : "off", "", DEVICES);
		}
		if (sysfile_read(text, sizeof(text), "%s" PROC_GPUS
				 "/%s/information", root, bus) > 0) {
			sysfile_value(text, "GPU Firmware", version,
				      sizeof(version));
		}
		if (version[0] != '\0') {
			facts_add(facts, scope, "gsp_firmware", version, "",
				  PROC_GPUS);
		}
	}
}

/* ---- gpu list ------------------------------------------------------------ */

/* ---- sources ---------------------------------------------------------- */

int gpu_id_read(const struct nvml *nvml, nvmlDevice_t dev, struct gpu_id *gpu)
{
	struct nvml_pci_info pci = { 0 };
	char text[NVML_UUID_SIZE];
	int rc = nvml->nvmlDeviceGetUUID(dev, text, sizeof(text));

	if (rc == NVML_SUCCESS) {
		STR_COPY(gpu->uuid, text);
	}
	if (nvml->nvmlDeviceGetName(dev, text, sizeof(text)) == NVML_SUCCESS) {
		STR_COPY(gpu->name, text);
	}
	if (nvml->nvmlDeviceGetPciInfo_v3(dev, &pci) == NVML_SUCCESS) {
		gpu_list_plain_bus(pci.bus_id, gpu->bus);
	}
	return rc;
}

static int ask_nvml(struct gpu_list *l, struct err *e)
{
	const struct nvml *nvml = dl_nvml(e);
	unsigned int count = 0, mig, pending;
	nvmlDevice_t dev;
	int rc;

	if (nvml == NULL) {
		return -1;
	}
	if ((rc = nvml->nvmlInit_v2()) != NVML_SUCCESS ||
	    (rc = nvml->nvmlDeviceGetCount_v2(&count)) != NVML_SUCCESS) {
		return err_set(e, 0, "NVML failed: %s",
			       nvml->nvmlErrorString(rc));
	}
	for (unsigned int i = 0; i < count && l->n < GPU_LIST_MAX; i++) {
		/* CUDA does not see a GPU that a cgroup hides either */
		rc = nvml->nvmlDeviceGetHandleByIndex_v2(i, &dev);
		if (rc == NVML_SUCCESS) {
			gpu_id_read(nvml, dev, &l->gpus[l->n]);
			l->gpus[l->n++].divided =
				NVML_SAYS(nvml, nvmlDeviceGetMigMode, dev,
					  &mig, &pending) && mig != 0;
		} else {
			snprintf(l->why, sizeof(l->why),
				 "GPU %u of %u cannot be used: %s", i, count,
				 nvml->nvmlErrorString(rc));
		}
	}
	nvml->nvmlShutdown();
	STR_COPY(l->source, "nvml");
	return 0;
}

void gpu_list_ask_driver(struct gpu_list *l)
{
	struct err e = { 0 };
	const char *code;
	int count;

	memset(l, 0, sizeof(*l));
	if (ask_nvml(l, &e) == 0) {
		gpu_list_apply_visible(l, getenv(CUDA_VISIBLE));
		return;
	}
	STR_COPY(l->why, e.text);
	count = gpu_count(&code, NULL); /* CUDA shows the visible GPUs only */
	for (int i = 0; i < count && l->n < GPU_LIST_MAX; i++) {
		l->n += gpu_identify(i, &l->gpus[l->n]) == 0;
	}
	STR_COPY(l->source, count < 0 ? "none" : "cuda");
}

void gpu_list_read_proc(struct gpu_list *l, const char *root)
{
	char names[GPU_LIST_MAX][64], text[2048];
	size_t n = sysfile_list(names, GPU_LIST_MAX, "%s" PROC_GPUS, root);

	memset(l, 0, sizeof(*l));
	for (size_t i = 0; i < n; i++) {
		struct gpu_id *gpu = &l->gpus[l->n];

		if (sysfile_read(text, sizeof(text),
				 "%s" PROC_GPUS "/%s/information", root,
				 names[i]) < 0) {
			continue;
		}
		gpu_list_plain_bus(names[i], gpu->bus);
		sysfile_value(text, "Model", gpu->name, sizeof(gpu->name));
		sysfile_value(text, "GPU UUID", gpu->uuid, sizeof(gpu->uuid));
		if (strchr(gpu->uuid, '?') != NULL) {
			gpu->uuid[0] = '\0';	/* not started: question
						 * marks */
		}
		l->n++;
	}
	STR_COPY(l->source, n > 0 ? "proc" : "none");
}

/* ---- CUDA_VISIBLE_DEVICES --------------------------------------------- */

/* The GPU that the next word of *@text names; -1 where it names none. */
static int next_visible(const struct gpu_list *l, size_t n, const char **text)
{
	char word[64];
	int found = -1;
	int64_t index;
	size_t len;

	*text += strspn(*text, " \t");
	len = strcspn(*text, ",");
	snprintf(word, sizeof(word), "%.*s", (int)len, *text);
	word[strcspn(word, " \t")] = '\0';
	*text += len + ((*text)[len] == ',');
	if (units_parse_int(word, 0, (int64_t)n - 1, &index, NULL) == 0) {
		return (int)index;
	}
	if (!str_starts(word, "GPU-") || word[4] == '\0') {
		return -1;
	}
	for (size_t i = 0; i < n; i++) {
		if (str_starts(l->gpus[i].uuid, word)) {
			if (found >= 0) {
				return -1;	/* ambiguous */
			}
			found = (int)i;
		}
	}
	return found;
}

void gpu_list_apply_visible(struct gpu_list *l, const char *text)
{
	struct gpu_list old = *l;
	size_t whole = 0, n = 0, i, last;
	int gpu;

	/* divided GPUs to the end, hidden */
	for (i = 0; i < old.n; i++) {
		if (!old.gpus[i].divided) {
			l->gpus[whole++] = old.gpus[i];
		}
	}
	last = whole;
	for (i = 0; i < old.n; i++) {
		if (old.gpus[i].divided) {
			l->gpus[last] = old.gpus[i];
			l->gpus[last++].hidden = true;
		}
	}
	old = *l;
	if (text == NULL) {
		return;
	}
	for (i = 0; i < whole; i++) {
		old.gpus[i].hidden = true;
	}
	while ((gpu = next_visible(&old, whole, &text)) >= 0 &&
	       old.gpus[gpu].hidden) {
		old.gpus[gpu].hidden = false;
		l->gpus[n++] = old.gpus[gpu];
	}
	n = gpu >= 0 ? 0 : n;		/* named twice */
	for (i = 0; i < whole; i++) {
		if (gpu >= 0 || old.gpus[i].hidden) {
			l->gpus[n] = old.gpus[i];
			l->gpus[n++].hidden = true;
		}
	}
}

size_t gpu_list_visible(const struct gpu_list *l)
{
	size_t n = 0;

	while (n < l->n && !l->gpus[n].hidden) {
		n++;	/* hidden ones stand last */
	}
	return n;
}

/* ---- JSON ------------------------------------------------------------- */

#define GPU(member, ...) FIELD(gpu_id, member, #member, __VA_ARGS__)

static const struct field gpu_fields[] = {
	GPU(uuid, TEXT, 0, 0, "of the driver"),
	GPU(bus, TEXT, 0, 0, "PCI address"),
	GPU(name, TEXT, 0, 0, "model"),
	/* machines were recorded before it was asked */
	GPU(divided, BOOL, 0, 0, "MIG is on", .optional = FIELD_KEPT),
	GPU(hidden, BOOL, 0, 0, "from this process"),
	{ 0 }
};

const struct field gpu_list_fields[] = {
	FIELD(gpu_list, source, "source", TEXT, 0, 0, "where it was read"),
	FIELD(gpu_list, why, "why", TEXT, 0, 0, "the list is not complete"),
	FIELD_ROWS(gpu_list, gpus, n, "gpus", gpu_fields, 0, "as listed"),
	{ 0 }
};

int gpu_list_parse(const json_t *json, struct gpu_list *l, struct err *e)
{
	struct gpu_list out = { .n = 0 };

	if (schema_read(gpu_list_fields, &out, json, e) < 0) {
		return -1;
	}
	*l = out;
	return 0;
}
