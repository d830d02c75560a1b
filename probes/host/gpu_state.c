/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/gpu_state.h"

#include <stdio.h>
#include <string.h>

#include "lib/data/record.h"
#include "lib/base/str.h"
#include "probes/dl/nvml.h"
#include "probes/host/facts.h"
#include "probes/host/gpu_links.h"

/* ---- one GPU ---------------------------------------------------------- */

struct look {
	const struct nvml *nvml;
	nvmlDevice_t dev;	/* NULL: not to be had */
	char scope[16];
	json_t *facts;
	/* where its NVLinks lead; each call takes the driver's lock */
	unsigned int switched;
	char peers[NVML_LINKS_MAX][32];	/* buses of GPUs */
	int n_peers;
};

static void add_count(const struct look *k, const char *fact, const char *unit,
		      unsigned long long value)
{
	facts_addf(k->facts, k->scope, fact, unit, "nvml", "%llu", value);
}

static void add_switch(const struct look *k, const char *fact, unsigned int on)
{
	facts_add(k->facts, k->scope, fact, on != 0 ? "on" : "off", "", "nvml");
}

static void add_modes(const struct look *k)
{
	const struct nvml *n = k->nvml;
	unsigned int now, pending;
	char vbios[NVML_VBIOS_SIZE];

	if (n->nvmlDeviceGetVbiosVersion != NULL &&
	    n->nvmlDeviceGetVbiosVersion(k->dev, vbios, sizeof(vbios)) ==
		    NVML_SUCCESS) {
		facts_add(k->facts, k->scope, "vbios", vbios, "", "nvml");
	}
	if (n->nvmlDeviceGetEccMode != NULL &&
	    n->nvmlDeviceGetEccMode(k->dev, &now, &pending) == NVML_SUCCESS) {
		add_switch(k, "ecc", now);
	}
	if (n->nvmlDeviceGetMigMode != NULL &&
	    n->nvmlDeviceGetMigMode(k->dev, &now, &pending) == NVML_SUCCESS) {
		add_switch(k, "mig", now);
	}
	if (n->nvmlDeviceGetPersistenceMode != NULL &&
	    n->nvmlDeviceGetPersistenceMode(k->dev, &now) == NVML_SUCCESS) {
		add_switch(k, "persistence", now);
	}
}

static void add_memory(const struct look *k)
{
	static const char *const facts[] = {
		[NVML_ECC_CORRECTED] = "ecc_corrected",
		[NVML_ECC_UNCORRECTED] = "ecc_uncorrected",
	};
	const struct nvml *n = k->nvml;
	unsigned int corrected, uncorrected, pending, failed;
	unsigned long long count;

	for (int e = NVML_ECC_CORRECTED; e <= NVML_ECC_UNCORRECTED; e++) {
		if (n->nvmlDeviceGetTotalEccErrors != NULL &&
		    n->nvmlDeviceGetTotalEccErrors(
			    k->dev, e, NVML_ECC_VOLATILE, &count) ==
			    NVML_SUCCESS) {
			add_count(k, facts[e], "", count);
		}
	}
	if (n->nvmlDeviceGetRemappedRows != NULL &&
	    n->nvmlDeviceGetRemappedRows(k->dev, &corrected, &uncorrected,
					 &pending, &failed) == NVML_SUCCESS) {
		add_count(k, "rows_remapped", "", corrected + uncorrected);
		add_switch(k, "row_remap_pending", pending);
		add_switch(k, "row_remap_failed", failed);
	}
}

/* Those that a GPU in order does not show; the others come with the load. */
static const struct {
	unsigned long long bit;
	const char *word;
} throttles[] = {
	{ 0x08, "hw_slowdown" },
	{ 0x20, "sw_thermal" },
	{ 0x40, "hw_thermal" },
	{ 0x80, "hw_power_brake" },
};

static void add_clocks(const struct look *k)
{
	const struct nvml *n = k->nvml;
	struct nvml_violation v;
	struct str words = STR_INIT;
	unsigned long long now;

	if (n->nvmlDeviceGetViolationStatus != NULL &&
	    n->nvmlDeviceGetViolationStatus(k->dev, NVML_POLICY_THERMAL, &v) ==
		    NVML_SUCCESS) {
		add_count(k, "thermal_throttle", "ns", v.violation_ns);
	}
	if (n->nvmlDeviceGetCurrentClocksThrottleReasons == NULL ||
	    n->nvmlDeviceGetCurrentClocksThrottleReasons(k->dev, &now) !=
		    NVML_SUCCESS) {
		return;
	}
	for (size_t i = 0; i < sizeof(throttles) / sizeof(throttles[0]); i++) {
		if ((now & throttles[i].bit) != 0) {
			str_addf(&words, "%s%s", words.len > 0 ? "+" : "",
				 throttles[i].word);
		}
	}
	facts_add(k->facts, k->scope, "throttled",
		  words.len > 0 ? str_text(&words) : "no", "", "nvml");
	str_release(&words);
}

/* ---- NVLink ------------------------------------------------------------- */

static bool link_is_up(const struct look *k, unsigned int link)
{
	unsigned int active = 0;

	return k->nvml->nvmlDeviceGetNvLinkState != NULL &&
	       k->nvml->nvmlDeviceGetNvLinkState(k->dev, link, &active) ==
		       NVML_SUCCESS &&
	       active != 0;
}

/* To a switch, or to the GPU at the other end. */
static void follow_link(struct look *k, unsigned int link)
{
	const struct nvml *n = k->nvml;
	struct nvml_pci_info pci;
	unsigned int type;

	if (n->nvmlDeviceGetNvLinkRemoteDeviceType == NULL ||
	    n->nvmlDeviceGetNvLinkRemoteDeviceType(k->dev, link, &type) !=
		    NVML_SUCCESS) {
		return;
	}
	k->switched += type == NVML_LINK_TO_SWITCH;
	if (type == NVML_LINK_TO_GPU &&
	    n->nvmlDeviceGetNvLinkRemotePciInfo_v2 != NULL &&
	    n->nvmlDeviceGetNvLinkRemotePciInfo_v2(k->dev, link, &pci) ==
		    NVML_SUCCESS) {
		gpu_list_plain_bus(pci.bus_id, k->peers[k->n_peers++]);
	}
}

/* As in gpu_link_facts. */
static const struct {
	int counter;
	unsigned int field;
} link_errors[GPU_LINK_COUNTS] = {
	{ NVML_LINK_REPLAY, NVML_FI_LINK_REPLAY },
	{ NVML_LINK_RECOVERY, NVML_FI_LINK_RECOVERY },
	{ NVML_LINK_CRC_FLIT, NVML_FI_LINK_CRC },
};

/*
 * Counters of @n @links: asked for all at once, 18 links take an H200 11 ms,
 * one by one 49.
 */
static void ask_fields(const struct look *k, const unsigned int *links,
		       size_t n, struct nvml_field *fields)
{
	int (*ask)(nvmlDevice_t, int, struct nvml_field *) =
		k->nvml->nvmlDeviceGetFieldValues;
	size_t i;

	for (i = 0; i < n * GPU_LINK_COUNTS; i++) {
		fields[i] = (struct nvml_field){
			.id = link_errors[i % GPU_LINK_COUNTS].field,
			.scope = links[i / GPU_LINK_COUNTS],
			.code = -1,
		};
	}
	if (ask == NULL || n == 0 ||
	    ask(k->dev, (int)i, fields) != NVML_SUCCESS) {
		for (i = 0; i < n * GPU_LINK_COUNTS; i++) {
			fields[i].code = -1;
		}
	}
}

/* The answer in @f; a driver or GPU that has no such field is asked again. */
static bool read_error(const struct look *k, const struct nvml_field *f,
		       size_t error, unsigned long long *count)
{
	*count = f->value;
	return f->code == NVML_SUCCESS ||
	       (k->nvml->nvmlDeviceGetNvLinkErrorCounter != NULL &&
		k->nvml->nvmlDeviceGetNvLinkErrorCounter(
			k->dev, f->scope, link_errors[error].counter, count) ==
			NVML_SUCCESS);
}

/* Of the @n links @up of @l; where one does not say, the others are not asked. */
static void count_errors(const struct look *k, const unsigned int *up,
			 size_t n, struct gpu_links *l)
{
	struct nvml_field fields[NVML_LINKS_MAX * GPU_LINK_COUNTS];

	ask_fields(k, up, n, fields);
	for (size_t e = 0; e < GPU_LINK_COUNTS; e++) {
		unsigned long long sum = 0, count;
		bool known = true;

		for (size_t i = 0; i < n; i++) {
			known = known &&
				read_error(k, &fields[i * GPU_LINK_COUNTS + e],
					   e, &count);
			l->counts[up[i]][e] = known ? count : GPU_LINK_UNKNOWN;
			sum += known ? count : 0;
		}
		if (n > 0 && known) {
			add_count(k, gpu_link_facts[e], "", sum);
		}
	}
}

static void add_links(struct look *k)
{
	struct gpu_links links = { 0 };
	unsigned int up[NVML_LINKS_MAX];
	char text[sizeof(((struct fact_row *)0)->value)];
	size_t n = 0;

	for (unsigned int l = 0; l < NVML_LINKS_MAX; l++) {
		if (link_is_up(k, l)) {
			links.up |= UINT32_C(1) << l;
			up[n++] = l;
			follow_link(k, l);
		}
	}
	add_count(k, "nvlinks", "", n);
	count_errors(k, up, n, &links);
	facts_add(k->facts, k->scope, GPU_LINKS_FACT,
		  gpu_links_text(&links, text, sizeof(text)), "", "nvml");
}

/* Links from @a to @b, the GPU at @bus: their own and those by switches. */
static unsigned int links_between(const struct look *a, const struct look *b,
				  const char *bus)
{
	unsigned int links = a->switched < b->switched ? a->switched :
							 b->switched;

	for (int i = 0; i < a->n_peers; i++) {
		links += strcmp(a->peers[i], bus) == 0;
	}
	return links;
}

static const struct {
	unsigned int level;	/* nvmlGpuTopologyLevel_t */
	const char *word;
} levels[] = {
	{ 10, "PIX" }, { 20, "PXB" }, { 30, "PHB" }, { 40, "NODE" },
	{ 50, "SYS" },
};

static const char *pcie_class(const struct look *a, const struct look *b)
{
	const struct nvml *n = a->nvml;
	unsigned int level = 0;

	if (n->nvmlDeviceGetTopologyCommonAncestor == NULL ||
	    n->nvmlDeviceGetTopologyCommonAncestor(a->dev, b->dev, &level) !=
		    NVML_SUCCESS) {
		return "";
	}
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		if (level <= levels[i].level) {
			return levels[i].word;
		}
	}
	return "SYS";
}

/* "NV18" or "PHB", as nvidia-smi topo -m has it. */
static void add_pair(const struct look *a, const struct look *b,
		     const char *bus_b)
{
	unsigned int links = links_between(a, b, bus_b);
	const char *class = links > 0 ? "" : pcie_class(a, b);
	char scope[40];

	snprintf(scope, sizeof(scope), "%s-%s", a->scope, b->scope);
	if (links > 0) {
		facts_addf(a->facts, scope, "link", "", "nvml", "NV%u", links);
	} else if (class[0] != '\0') {
		facts_add(a->facts, scope, "link", class, "", "nvml");
	}
}

/* ---- all GPUs ----------------------------------------------------------- */

/* All about GPU @i of @l alone. */
static void look_at(struct look *k, const struct gpu_list *l, size_t i)
{
	snprintf(k->scope, sizeof(k->scope), "gpu%d", (int)i);
	if (k->nvml->nvmlDeviceGetHandleByUUID == NULL ||
	    k->nvml->nvmlDeviceGetHandleByUUID(l->gpus[i].uuid, &k->dev) !=
		    NVML_SUCCESS) {
		k->dev = NULL;
		return;
	}
	add_modes(k);
	add_memory(k);
	add_clocks(k);
	add_links(k);
}

/* The newest CUDA that the driver can run. */
static void add_cuda(const struct nvml *nvml, json_t *facts)
{
	int version;

	if (nvml->nvmlSystemGetCudaDriverVersion_v2 != NULL &&
	    nvml->nvmlSystemGetCudaDriverVersion_v2(&version) ==
		    NVML_SUCCESS) {
		facts_addf(facts, "node", "cuda", "", "nvml", "%d.%d",
			   version / 1000, version % 1000 / 10);
	}
}

void gpu_state_facts(const struct gpu_list *l, json_t *facts)
{
	const struct nvml *nvml = dl_nvml(NULL);
	struct look looks[GPU_LIST_MAX] = { 0 };
	size_t n = gpu_list_visible(l);

	if (nvml == NULL || nvml->nvmlInit_v2() != NVML_SUCCESS) {
		return;
	}
	add_cuda(nvml, facts);
	for (size_t i = 0; i < n; i++) {
		looks[i].nvml = nvml;
		looks[i].facts = facts;
		look_at(&looks[i], l, i);
	}
	for (size_t i = 0; i < n; i++) {
		for (size_t k = i + 1; k < n; k++) {
			if (looks[i].dev != NULL && looks[k].dev != NULL) {
				add_pair(&looks[i], &looks[k],
					 l->gpus[k].bus);
			}
		}
	}
	nvml->nvmlShutdown();
}
