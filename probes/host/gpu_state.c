/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/gpu_state.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/json.h"
#include "lib/data/record.h"
#include "probes/dl/nvml.h"
#include "probes/host/inventory.h"

/* ---- gpu links ----------------------------------------------------------- */

/* Names of the facts about all links together, in the order of counts. */
static const char *const gpu_link_facts[GPU_LINK_COUNTS] = {
	"nvlink_replays", "nvlink_recoveries", "nvlink_crc_errors",
};

static bool is_up(const struct gpu_links *l, unsigned int k)
{
	return k < NVML_LINKS_MAX && (l->up >> k & 1) != 0;
}

static void add_runs(const struct gpu_links *l, bool counts, struct str *out)
{
	unsigned int k, end;

	str_reset(out);
	for (k = 0; k < NVML_LINKS_MAX; k = end) {
		end = k + 1;
		if (is_up(l, k)) {
			/* a run ends before a link that is not up or, with
			 * @counts, has counted something else */
			while (is_up(l, end) &&
			       (!counts || memcmp(l->counts[end], l->counts[k],
						  sizeof(l->counts[k])) == 0)) {
				end++;
			}
			str_addf(out, "%s%u", out->len > 0 ? " " : "", k);
			if (end > k + 1) {
				str_addf(out, "-%u", end - 1);
			}
			for (int c = 0; c < GPU_LINK_COUNTS; c++) {
				str_add(out, c == 0 ? ":" : "/");
				if (counts &&
				    l->counts[k][c] != GPU_LINK_UNKNOWN) {
					str_addf(out, "%" PRIu64,
						 l->counts[k][c]);
				} else {
					str_add(out, "-");
				}
			}
		}
	}
}

const char *gpu_links_text(const struct gpu_links *l, char *buf, size_t size)
{
	struct str out = STR_INIT;

	add_runs(l, true, &out);
	if (out.len >= size) {
		add_runs(l, false, &out);	/* half a list would be wrong */
	}
	str_copy(buf, size, out.len > 0 ? str_text(&out) : "none");
	str_release(&out);
	return buf;
}

/* "7:500/0/0" or "0-6:-/-/-" */
static int read_run(char *run, struct gpu_links *l)
{
	char *last = strsep(&run, ":"), *first = strsep(&last, "-");
	uint64_t counts[GPU_LINK_COUNTS];
	int64_t from, to, n;

	if (units_parse_int(first, 0, NVML_LINKS_MAX - 1, &from, NULL) < 0 ||
	    units_parse_int(last != NULL ? last : first, 0, NVML_LINKS_MAX - 1,
			    &to, NULL) < 0) {
		return -1;
	}
	for (int c = 0; c < GPU_LINK_COUNTS; c++) {
		const char *word = strsep(&run, "/");

		n = -1;
		if (word == NULL ||
		    (strcmp(word, "-") != 0 &&
		     units_parse_int(word, 0, INT64_MAX, &n, NULL) < 0)) {
			return -1;
		}
		counts[c] = n < 0 ? GPU_LINK_UNKNOWN : (uint64_t)n;
	}
	for (int64_t k = from; k <= to; k++) {
		l->up |= UINT32_C(1) << k;
		memcpy(l->counts[k], counts, sizeof(counts));
	}
	return run == NULL ? 0 : -1;
}

int gpu_links_parse(const char *text, struct gpu_links *l)
{
	char *copy = strdup(text), *at = copy, *run;
	int rc = copy != NULL ? 0 : -1;

	l->up = 0;
	while (rc == 0 && strcmp(text, "none") != 0 &&
	       (run = strsep(&at, " ")) != NULL) {
		rc = read_run(run, l);
	}
	free(copy);
	return rc;
}

/* ---- gpu growth ---------------------------------------------------------- */

/*
 * Counters that do not grow on a healthy GPU.  Corrected ECC errors are not
 * among them: memory is designed for them.
 */
static const char *const counters[] = {
	"xids", "ecc_uncorrected", "rows_remapped", "thermal_throttle",
	"effective_errors", NULL
};

/* @fact, one of what @after is about, has grown, by the word of @source. */
static void add_growth(const struct fact *after, const char *fact,
		       const char *source, int64_t growth, json_t *out)
{
	char name[64];

	if (growth > 0) {
		snprintf(name, sizeof(name), "%.40s_growth", fact);
		facts_addf(out, after->scope, name, after->unit, source,
			   "%" PRId64, growth);
	}
}

/* ---- NVLinks ------------------------------------------------------------ */

static void add_link_growth(const struct fact *before, const struct fact *after,
			    json_t *out)
{
	struct gpu_links then, now;
	struct str source = STR_INIT;
	int lost = 0;

	if (gpu_links_parse(before->value, &then) < 0 ||
	    gpu_links_parse(after->value, &now) < 0) {
		return;
	}
	/* links that are no longer up, with their numbers: "nvml: link 3, 7" */
	for (int k = 0; k < NVML_LINKS_MAX; k++) {
		if (((then.up & ~now.up) >> k & 1) != 0) {
			str_addf(&source, "%s%d", lost++ ? ", " : "nvml: link ",
				 k);
		}
	}
	add_growth(after, "nvlinks_lost", str_text(&source), lost, out);
	str_release(&source);
	for (int c = 0; c < GPU_LINK_COUNTS; c++) {
		uint64_t sum = 0;

		/* a link that came up meanwhile has older counts */
		for (int k = 0; k < NVML_LINKS_MAX; k++) {
			uint64_t a = then.counts[k][c], b = now.counts[k][c];

			if ((then.up & now.up) >> k & 1 &&
			    a != GPU_LINK_UNKNOWN && b != GPU_LINK_UNKNOWN &&
			    b > a) {
				sum += b - a;
			}
		}
		add_growth(after, gpu_link_facts[c], after->source,
			   (int64_t)sum, out);
	}
}

/* ---- users of a GPU ------------------------------------------------------ */

/* Add the users of a GPU that had none @before.  A process that is not visible
 * here may be one of this run. */
static void add_joined(const json_t *before, const struct fact *after,
		       json_t *out)
{
	if (facts_find(before, after->scope, GPU_BUSY).fact[0] == '\0' &&
	    facts_find(before, after->scope, GPU_IN_USE).fact[0] == '\0' &&
	    strstr(after->value, GPU_UNSEEN) == NULL &&
	    strstr(after->value, "(gpucheck,") == NULL) {
		facts_add(out, after->scope, GPU_JOINED, after->value, "",
			  after->source);
	}
}

void gpu_growth_facts(const json_t *before, const json_t *after, json_t *out)
{
	int64_t a, b;
	size_t i;
	json_t *f;

	json_array_foreach((json_t *)(uintptr_t)after, i, f) {
		const struct fact now = fact_of(f);
		const struct fact then = facts_find(before, now.scope,
						    now.fact);

		if (str_index(counters, now.fact) >= 0) {
			if (units_parse_int(then.value, 0, INT64_MAX, &a,
					    NULL) == 0 &&
			    units_parse_int(now.value, 0, INT64_MAX, &b,
					    NULL) == 0) {
				add_growth(&now, now.fact, now.source, b - a,
					   out);
			}
		} else if (strcmp(now.fact, GPU_LINKS_FACT) == 0) {
			add_link_growth(&then, &now, out);
		} else if (strcmp(now.fact, GPU_BUSY) == 0 ||
			   strcmp(now.fact, GPU_IN_USE) == 0) {
			add_joined(before, &now, out);
		}
	}
}

/* ---- one GPU ---------------------------------------------------------- */

struct gpu_look {
	const struct nvml *nvml;
	nvmlDevice_t dev;	/* NULL: not to be had */
	const char *scope;
	json_t *facts;
	/* where its NVLinks lead; each call takes the driver's lock */
	unsigned int switched;
	char peers[NVML_LINKS_MAX][32];	/* buses of GPUs */
	int n_peers;
};

#define GPU_SAYS(k, call, ...) NVML_SAYS((k)->nvml, call, (k)->dev, __VA_ARGS__)

static void add_text(const struct gpu_look *k, const char *fact,
		     const char *text)
{
	facts_add(k->facts, k->scope, fact, text, "", "nvml");
}

static void add_count(const struct gpu_look *k, const char *fact,
		      const char *unit, unsigned long long value)
{
	facts_addf(k->facts, k->scope, fact, unit, "nvml", "%llu", value);
}

static void add_switch(const struct gpu_look *k, const char *fact,
		       unsigned int on)
{
	add_text(k, fact, on != 0 ? "on" : "off");
}

static void add_modes(const struct gpu_look *k)
{
	unsigned int now, pending;
	char vbios[NVML_VBIOS_SIZE];
	int mode, major, minor;

	if (GPU_SAYS(k, nvmlDeviceGetVbiosVersion, vbios, sizeof(vbios))) {
		add_text(k, "vbios", vbios);
	}
	if (GPU_SAYS(k, nvmlDeviceGetCudaComputeCapability, &major, &minor)) {
		facts_addf(k->facts, k->scope, "compute_capability", "", "nvml",
			   "%d.%d", major, minor);
	}
	if (GPU_SAYS(k, nvmlDeviceGetComputeMode, &mode)) {
		add_text(k, "compute_mode", gpu_mode_word(mode));
	}
	if (GPU_SAYS(k, nvmlDeviceGetEccMode, &now, &pending)) {
		add_switch(k, "ecc", now);
	}
	if (GPU_SAYS(k, nvmlDeviceGetMigMode, &now, &pending)) {
		add_switch(k, "mig", now);
	}
	if (GPU_SAYS(k, nvmlDeviceGetPersistenceMode, &now)) {
		add_switch(k, "persistence", now);
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

void gpu_throttle_words(unsigned long long reasons, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < sizeof(throttles) / sizeof(throttles[0]); i++) {
		if ((reasons & throttles[i].bit) != 0 && len < size) {
			len += (size_t)snprintf(buf + len, size - len, "%s%s",
						len > 0 ? "+" : "",
						throttles[i].word);
		}
	}
}

static void add_clocks(const struct gpu_look *k)
{
	struct nvml_violation v;
	unsigned long long now;
	int offset, memory;
	char words[64];

	if (GPU_SAYS(k, nvmlDeviceGetGpcClkVfOffset, &offset) &&
	    GPU_SAYS(k, nvmlDeviceGetMemClkVfOffset, &memory)) {
		facts_addf(k->facts, k->scope, "clock_offsets", "MHz", "nvml",
			   "%+d, memory %+d", offset, memory);
	}
	if (GPU_SAYS(k, nvmlDeviceGetViolationStatus, NVML_POLICY_THERMAL,
		     &v)) {
		add_count(k, "thermal_throttle", "ns", v.violation_ns);
	}
	if (!GPU_SAYS(k, nvmlDeviceGetCurrentClocksThrottleReasons, &now)) {
		return;
	}
	gpu_throttle_words(now, words, sizeof(words));
	add_text(k, "throttled", words[0] ? words : "no");
}

static const char *const recoveries[NVML_RECOVERIES] = {
	[NVML_RECOVERY_NONE] = "none",
	[NVML_RECOVERY_RESET] = "reset",
	[NVML_RECOVERY_REBOOT] = "reboot",
	[NVML_RECOVERY_DRAIN_P2P] = "drain",
	[NVML_RECOVERY_DRAIN_RESET] = "drain",
};

void gpu_health_facts(const struct nvml *nvml, nvmlDevice_t dev,
		      const char *scope, json_t *facts)
{
	static const char *const errors[] = {
		[NVML_ECC_CORRECTED] = "ecc_corrected",
		[NVML_ECC_UNCORRECTED] = "ecc_uncorrected",
	};
	unsigned int corrected, uncorrected, pending, failed;
	unsigned long long count;
	bool known;
	struct nvml_field f = { .id = NVML_FI_RECOVERY, .code = -1 };
	const struct gpu_look *k = &(struct gpu_look){
		.nvml = nvml, .dev = dev, .scope = scope, .facts = facts
	};

	for (int e = NVML_ECC_CORRECTED; e <= NVML_ECC_UNCORRECTED; e++) {
		if (GPU_SAYS(k, nvmlDeviceGetTotalEccErrors, e,
			     NVML_ECC_VOLATILE, &count)) {
			add_count(k, errors[e], "", count);
		}
	}
	if (GPU_SAYS(k, nvmlDeviceGetRemappedRows, &corrected, &uncorrected,
		     &pending, &failed)) {
		add_count(k, "rows_remapped", "", corrected + uncorrected);
		add_switch(k, "row_remap_pending", pending);
		add_switch(k, "row_remap_failed", failed);
	}
	/* the repair that the driver asks for: after some Xids the GPU cannot
	 * be used before it; an older driver has no such field */
	known = GPU_SAYS(k, nvmlDeviceGetFieldValues, 1, &f) &&
		f.code == NVML_SUCCESS;
	if (known && f.value < NVML_RECOVERIES) {
		add_text(k, "recovery", recoveries[f.value]);
	}
	add_clocks(k);
}

/* ---- NVLink ------------------------------------------------------------- */

/* As in gpu_link_facts. */
static const struct {
	int counter;
	unsigned int field;
} link_errors[GPU_LINK_COUNTS] = {
	{ NVML_LINK_REPLAY, NVML_FI_LINK_REPLAY },
	{ NVML_LINK_RECOVERY, NVML_FI_LINK_RECOVERY },
	{ NVML_LINK_CRC_FLIT, NVML_FI_LINK_CRC },
};

/* Count the errors of the @n links @up of @l; stop at the first that does not
 * report. */
static void count_errors(const struct gpu_look *k, const unsigned int *up,
			 size_t n, struct gpu_links *l)
{
	struct nvml_field fields[NVML_LINKS_MAX * GPU_LINK_COUNTS], *f;
	size_t i;

	/* in one call: 18 links take an H200 11 ms, one by one 49 ms */
	for (i = 0; i < n * GPU_LINK_COUNTS; i++) {
		fields[i] = (struct nvml_field){
			.id = link_errors[i % GPU_LINK_COUNTS].field,
			.scope = up[i / GPU_LINK_COUNTS],
			.code = -1,
		};
	}
	if (n == 0 ||
	    !GPU_SAYS(k, nvmlDeviceGetFieldValues, (int)i, fields)) {
		while (i-- > 0) {
			fields[i].code = -1;
		}
	}
	for (size_t e = 0; e < GPU_LINK_COUNTS; e++) {
		unsigned long long sum = 0, count;
		bool known = true;

		for (i = 0; i < n; i++) {
			/* ask again for a field that the driver or the GPU
			 * does not have */
			f = &fields[i * GPU_LINK_COUNTS + e];
			count = f->value;
			known = known &&
				(f->code == NVML_SUCCESS ||
				 GPU_SAYS(k, nvmlDeviceGetNvLinkErrorCounter,
					  f->scope, link_errors[e].counter,
					  &count));
			l->counts[up[i]][e] = known ? count : GPU_LINK_UNKNOWN;
			sum += known ? count : 0;
		}
		if (n > 0 && known) {
			add_count(k, gpu_link_facts[e], "", sum);
		}
	}
}

static void add_links(struct gpu_look *k)
{
	struct gpu_links links = { 0 };
	struct nvml_pci_info pci;
	unsigned int up[NVML_LINKS_MAX], active, type;
	char text[sizeof(((struct fact_row *)0)->value)];
	size_t n = 0;

	for (unsigned int l = 0; l < NVML_LINKS_MAX; l++) {
		if (GPU_SAYS(k, nvmlDeviceGetNvLinkState, l, &active) &&
		    active != 0) {
			links.up |= UINT32_C(1) << l;
			up[n++] = l;
			if (!GPU_SAYS(k, nvmlDeviceGetNvLinkRemoteDeviceType, l,
				      &type)) {
				continue;
			}
			/* it leads to a switch, or to another GPU */
			k->switched += type == NVML_LINK_TO_SWITCH;
			if (type == NVML_LINK_TO_GPU &&
			    GPU_SAYS(k, nvmlDeviceGetNvLinkRemotePciInfo_v2, l,
				     &pci)) {
				gpu_list_plain_bus(pci.bus_id,
						   k->peers[k->n_peers++]);
			}
		}
	}
	add_count(k, "nvlinks", "", n);
	count_errors(k, up, n, &links);
	add_text(k, GPU_LINKS_FACT, gpu_links_text(&links, text, sizeof(text)));
}

/* Add the link from @a to @b, the GPU at @bus_b, as nvidia-smi topo -m has it:
 * "NV18" or "PHB". */
static void add_pair(const struct gpu_look *a, const struct gpu_look *b,
		     const char *bus_b)
{
	/* by nvmlGpuTopologyLevel_t: 10, 20 ... */
	static const char *const words[] = { "PIX", "PXB", "PHB", "NODE" };
	unsigned int level,
		links = a->switched < b->switched ? a->switched : b->switched;
	char scope[40], nv[16];
	const char *class = nv;

	for (int i = 0; i < a->n_peers; i++) {
		links += strcmp(a->peers[i], bus_b) == 0;
	}
	snprintf(scope, sizeof(scope), "%s-%s", a->scope, b->scope);
	snprintf(nv, sizeof(nv), "NV%u", links);
	if (links == 0) {
		if (!GPU_SAYS(a, nvmlDeviceGetTopologyCommonAncestor, b->dev,
			      &level)) {
			return;
		}
		level = level > 0 ? (level - 1) / 10 : 0;
		class = level < sizeof(words) / sizeof(words[0]) ?
				words[level] :
				"SYS";
	}
	facts_add(a->facts, scope, "link", class, "", "nvml");
}

/* ---- all GPUs ----------------------------------------------------------- */

void gpu_state_facts(const struct gpu_list *l, json_t *facts)
{
	const struct nvml *nvml = dl_nvml(NULL);
	struct gpu_look looks[GPU_LIST_MAX];
	char scopes[GPU_LIST_MAX][16];
	size_t n = gpu_list_visible(l);
	struct gpu_holders by;
	int version;

	if (nvml == NULL || nvml->nvmlInit_v2() != NVML_SUCCESS) {
		return;
	}
	/* the newest CUDA that the driver can run */
	if (NVML_SAYS(nvml, nvmlSystemGetCudaDriverVersion_v2, &version)) {
		facts_addf(facts, "node", "cuda", "", "nvml", "%d.%d",
			   version / 1000, version % 1000 / 10);
	}
	for (size_t i = 0; i < n; i++) {
		snprintf(scopes[i], sizeof(scopes[i]), "gpu%d", (int)i);
		looks[i] = (struct gpu_look){ .nvml = nvml,
					      .facts = facts,
					      .scope = scopes[i] };
		if (!NVML_SAYS(nvml, nvmlDeviceGetHandleByUUID,
			       l->gpus[i].uuid, &looks[i].dev)) {
			looks[i].dev = NULL;
			continue;
		}
		/* everything about it that concerns no other GPU */
		add_modes(&looks[i]);
		gpu_fabric_facts(nvml, looks[i].dev, scopes[i], facts);
		gpu_health_facts(nvml, looks[i].dev, scopes[i], facts);
		add_links(&looks[i]);
		/* users of the GPU before this run, as a fact named after the
		 * code */
		gpu_holders(l->gpus[i].uuid, false, &by);
		if (by.n > 0) {
			add_text(&looks[i], by.code, by.words);
		}
	}
	for (size_t i = 0; i < n; i++) {
		for (size_t k = i + 1; k < n; k++) {
			if (looks[i].dev != NULL && looks[k].dev != NULL) {
				add_pair(&looks[i], &looks[k],
					 l->gpus[k].bus);
			}
		}
	}
	node_fabric_facts(nvml, facts);
	nvml->nvmlShutdown();
}
