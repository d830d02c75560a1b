/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/str.h"
#include "lib/data/record.h"
#include "lib/data/schema.h"
#include "probes/host/gpu_state.h"
#include "probes/host/interface.h"
#include "probes/host/inventory.h"
#include "probes/host/sysfile.h"

/* ---- facts --------------------------------------------------------------- */

#define FACT(member) FIELD(fact, member, #member, LINK, 0, 0, "")

static const struct field fact_fields[] = {
	FACT(scope), FACT(fact), FACT(value), FACT(unit), FACT(source), { 0 }
};

struct fact fact_of(const json_t *entry)
{
	struct fact f = { .scope = "" };

	schema_look(fact_fields, &f, entry);
	return f;
}

struct fact facts_find(const json_t *facts, const char *scope,
		       const char *fact)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(facts, i, entry) {
		const struct fact one = fact_of(entry);

		if (strcmp(one.scope, scope) == 0 &&
		    strcmp(one.fact, fact) == 0) {
			return one;
		}
	}
	return fact_of(NULL);
}

#define SEEN(member, type, to) \
	FIELD(inventory_seen, member, #member, type, 0, to, "")
#define PART(member, type, to, absence) \
	FIELD(inventory_part, member, #member, type, 0, to, "", \
	      .optional = FIELD_##absence)

const struct field inventory_part_fields[] = {
	PART(name, LINK, 0, REQUIRED), PART(state, LINK, 0, REQUIRED),
	PART(software, BOOL, 0, REQUIRED), PART(link_layer, LINK, 0, REQUIRED),
	PART(subnet, LINK, 0, REQUIRED), PART(pkeys, ARRAY, 0, REQUIRED),
	PART(line_GB_s, REAL, 1e6, OMITTED),
	PART(rate_Gb_s, REAL, 1e6, OMITTED), PART(bus, LINK, 0, OMITTED),
	PART(uuid, LINK, 0, OMITTED), { 0 }
};

struct inventory_seen inventory_seen(const json_t *inventory)
{
	static const struct field fields[] = {
		SEEN(gpus, ARRAY, 0), SEEN(ports, ARRAY, 0),
		SEEN(facts, ARRAY, 0), SEEN(interfaces, ARRAY, 0),
		SEEN(nccl, OBJECT, 0), SEEN(tree, OBJECT, 0),
		SEEN(env, OBJECT, 0), SEEN(host, LINK, 0),
		SEEN(boot_id, LINK, 0), SEEN(driver, LINK, 0),
		SEEN(gpus_shown, LINK, 0), SEEN(gpu_note, LINK, 0),
		SEEN(gpus_hidden, INT, GPU_LIST_MAX),
		SEEN(gpus_divided, INT, GPU_LIST_MAX), { 0 }
	};
	struct inventory_seen s = { .gpus = NULL };

	schema_look(fields, &s, inventory);
	return s;
}

struct inventory_part inventory_part(const json_t *part)
{
	struct inventory_part p = { .rate_Gb_s = 0 };

	schema_look(inventory_part_fields, &p, part);
	p.up = strcmp(p.state, "ACTIVE") == 0;
	return p;
}

void facts_add(json_t *facts, const char *scope, const char *fact,
	       const char *value, const char *unit, const char *source)
{
	char text[sizeof(((struct fact_row *)0)->value)];

	STR_COPY(text, value);	/* no control characters in JSON or CSV */
	json_array_append_new(facts, schema_json(fact_fields, &(struct fact){
		.scope = scope, .fact = fact, .value = text, .unit = unit,
		.source = source }));
}

void facts_addf(json_t *facts, const char *scope, const char *fact,
		const char *unit, const char *source, const char *fmt, ...)
{
	char value[sizeof(((struct fact_row *)0)->value)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	facts_add(facts, scope, fact, value, unit, source);
}

void inventory_driver_version(const char *text, char *buf, size_t size)
{
	const char *at = text;

	/* the first word like 580.159.04; "x86_64" is none */
	while (*at != '\0') {
		size_t len = strcspn(at, " \t\n");

		if (strspn(at, "0123456789.") == len &&
		    isdigit((unsigned char)*at) &&
		    memchr(at, '.', len) != NULL) {
			snprintf(buf, size, "%.*s", (int)len, at);
			return;
		}
		at += len;
		at += strspn(at, " \t\n");
	}
	buf[0] = '\0';
}

/* ---- node facts ---------------------------------------------------------- */

#define MODULES	   "/sys/module"
#define CPUFREQ	   "/sys/devices/system/cpu/cpu0/cpufreq/"
#define SWITCH_MAX 64	/* of a name */
#define IMEX_MAX   16	/* channels; a node mostly has one */

/** Modules that have the version of their package. */
static const struct {
	const char *module, *fact;
} modules[] = {
	{ "mlx5_core", "mlx5_driver" },	/* MLNX_OFED: 24.10-0.7.0 */
	{ "gdrdrv", "gdrcopy" },
};

bool node_leaf_switch(const char *addr, const char *pattern, char *leaf,
		      size_t size)
{
	static const char level[] = "switch.";
	const size_t n = strlen(level);
	size_t len;

	/* down to the last switch of both */
	while (str_starts(pattern, level) && str_starts(pattern + n, level)) {
		pattern += n;
		addr += strcspn(addr, ".");
		addr += *addr == '.';
	}
	len = strcspn(addr, ".");
	/* one more dot is part of a name, but it is not known of which */
	if (strcmp(pattern, "switch.node") != 0 || len == 0 || len >= size ||
	    addr[len] != '.' || strchr(addr + len + 1, '.') != NULL) {
		return false;
	}
	snprintf(leaf, size, "%.*s", (int)len, addr);
	return true;
}

bool node_is_last(const char *addr, const char *host)
{
	const char *dot = strrchr(addr, '.');
	const char *last = dot != NULL ? dot + 1 : addr;
	size_t len = strcspn(host, ".");

	return len > 0 && strlen(last) == len && strncmp(last, host, len) == 0;
}

/* Add the services that decide which GPUs, and which of them beyond the node, a
 * process can use. */
static void add_services(const char *root, json_t *facts)
{
	static const char imex[] = "/dev/nvidia-caps-imex-channels";
	const char *pipes = getenv("CUDA_MPS_PIPE_DIRECTORY");
	char names[IMEX_MAX][64];
	struct str channels = STR_INIT;
	size_t n = sysfile_list(names, IMEX_MAX, "%s%s", root, imex);

	/* a container does not see its processes, but may see its pipe */
	facts_add(facts, "node", "mps",
		  process_find(root, "nvidia-cuda-mps") > 0 ||
				  sysfile_there("%s%s/control", root,
						pipes != NULL && pipes[0] ?
							pipes :
							"/tmp/nvidia-mps") ?
			  "on" :
			  "off",
		  "", "/proc");
	for (size_t i = 0; i < n; i++) {
		str_addf(&channels, "%s%s", i > 0 ? " " : "", names[i]);
	}
	if (n > 0) {
		facts_add(facts, "node", "imex_channels", str_text(&channels),
			  "", imex);
	}
	if (n > 0 || sysfile_there("%s/etc/nvidia-imex", root)) {
		facts_add(facts, "node", "imex",
			  process_find(root, "nvidia-imex") > 0 ?
				  "running" :
				  "not running",
			  "", "/proc");
	}
	str_release(&channels);
}

static const struct {
	const char *file, *fact;
} cpufreq[] = {
	{ .file = CPUFREQ "scaling_governor", .fact = "governor" },
	{ .file = CPUFREQ "scaling_driver", .fact = "cpufreq_driver" },
};

void node_facts(const char *root, json_t *facts)
{
	static const char driver[] = "/proc/driver/nvidia/version";
	const char *addr = getenv("SLURM_TOPOLOGY_ADDR");
	const char *pattern = getenv("SLURM_TOPOLOGY_ADDR_PATTERN");
	char leaf[SWITCH_MAX], host[HOST_NAME_MAX + 1] = "", text[512];
	bool gpus = sysfile_there("%s" MODULES "/nvidia", root);

	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
		if (sysfile_read(text, 64, "%s" MODULES "/%s/version", root,
				 modules[i].module) > 0) {
			facts_add(facts, "node", modules[i].fact, text, "",
				  MODULES);
		}
	}
	if (gpus) {
		facts_add(facts, "node", "nvidia_peermem",
			  sysfile_there("%s" MODULES "/nvidia_peermem", root) ?
			  "yes" : "no", "", MODULES);
		/* the open module has dma-buf; the other one needs
		 * nvidia-peermem for GPUDirect RDMA */
		if (sysfile_read(text, sizeof(text), "%s%s", root, driver) >
		    0) {
			facts_add(facts, "node", "kernel_module",
				  strstr(text, "Open Kernel Module") ?
				  "open, with dma-buf" : "proprietary", "",
				  driver);
		}
		add_services(root, facts);
	}
	if (gpus || sysfile_there("%s/sys/class/infiniband", root)) {
		int count[ACS_STATES];

		acs_count(root, count);
		if (count[ACS_REDIRECTS_ON] > 0) {
			facts_add(facts, "node", "acs", "on", "", ACS_SOURCE);
		} else if (count[ACS_OFF] > 0 && count[ACS_UNKNOWN] == 0) {
			facts_add(facts, "node", "acs", "off", "", ACS_SOURCE);
		}
		facts_add(facts, "node", "iommu", iommu_does(root), "",
			  IOMMU_SOURCE);
	}
	for (size_t i = 0; i < sizeof(cpufreq) / sizeof(cpufreq[0]); i++) {
		if (sysfile_read(text, 64, "%s%s", root, cpufreq[i].file) > 0) {
			facts_add(facts, "node", cpufreq[i].fact, text, "",
				  cpufreq[i].file);
		}
	}
	/* a simulated node is on no switch, and an environment from another
	 * machine describes that one */
	if (addr != NULL && pattern != NULL &&
	    getenv("GPUCHECK_BOOT_NODE") == NULL &&
	    gethostname(host, sizeof(host) - 1) == 0 &&
	    node_is_last(addr, host) &&
	    node_leaf_switch(addr, pattern, leaf, sizeof(leaf))) {
		facts_add(facts, "node", "leaf_switch", leaf, "",
			  "SLURM_TOPOLOGY_ADDR");
	}
	if (getenv("SLURM_JOB_ID") != NULL) {
		facts_add(facts, "node", "slurm_job", getenv("SLURM_JOB_ID"),
			  "", "SLURM_JOB_ID");
	}
}
