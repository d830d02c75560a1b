/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which optional libraries this machine has.  They are opened but not
 * initialised: a sick driver must not hang "gpucheck version".
 */
#include "probes/probes.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/dl.h"
#include "lib/base/str.h"
#include "lib/data/json.h"
#include "lib/data/record_info.h"
#include "probes/dl/cuda.h"
#include "probes/dl/nccl.h"
#include "probes/dl/nccl_torch.h"
#include "probes/dl/nvml.h"
#include "probes/dl/pmi2.h"
#include "probes/dl/verbs.h"
#include "probes/host/facts.h"

/* Each returns an address inside the library (for its path), or NULL with @e;
 * @version stays "" when the library has no function that tells. */
typedef void *library_open_fn(char version[32], struct err *e);

static void *open_nccl(char version[32], struct err *e)
{
	const struct nccl *nccl = dl_nccl(e);
	int code = 0;

	if (nccl == NULL) {
		return NULL;
	}
	nccl->ncclGetVersion(&code);
	dl_nccl_version_text(code, version);
	return (void *)nccl->ncclGetVersion;
}

static void *open_cuda(char version[32], struct err *e)
{
	const struct cuda *cu = dl_cuda(e);
	int code = 0;

	if (cu == NULL) {
		return NULL;
	}
	if (cu->driver_version(&code) == CUDA_SUCCESS) {
		snprintf(version, 32, "%d.%d", code / 1000, code % 1000 / 10);
	}
	return (void *)cu->driver_version;
}

static void *open_nvml(char version[32], struct err *e)
{
	const struct nvml *nvml = dl_nvml(e);

	(void)version;
	return nvml != NULL ? (void *)nvml->nvmlInit_v2 : NULL;
}

static void *open_pmi2(char version[32], struct err *e)
{
	const struct pmi2 *pmi2 = dl_pmi2(e);

	(void)version;
	return pmi2 != NULL ? (void *)pmi2->PMI2_Init : NULL;
}

static void *open_verbs(char version[32], struct err *e)
{
	const struct verbs *verbs = dl_verbs(e);

	(void)version;
	return verbs != NULL ? (void *)verbs->get_device_list : NULL;
}

static const struct {
	const char *name, *why_name;
	library_open_fn *open;
} libraries[] = {
	{ "nccl", "nccl_why", open_nccl },
	{ "cuda", "cuda_why", open_cuda },
	{ "nvml", "nvml_why", open_nvml },
	{ "pmi2", "pmi2_why", open_pmi2 },
	{ "verbs", "verbs_why", open_verbs },
};

/* "1.14.44.0" of ".../libibverbs.so.1.14.44.0". */
static void version_of_path(const char *path, char version[32])
{
	const char *so = strstr(path, ".so.");

	if (so != NULL) {
		str_copy(version, 32, so + strlen(".so."));
	}
}

static json_t *describe(void *inside, char version[32])
{
	char path[PATH_MAX];

	dl_path(inside, path);
	if (version[0] == '\0') {
		version_of_path(path, version);
	}
	return json_pack("{s:s,s:s}", "version", version, "path", path);
}

json_t *probes_libraries(void)
{
	json_t *out = json_object();

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		char version[32] = "";
		struct err e = { 0 };
		void *inside = libraries[i].open(version, &e);

		json_object_set_new(out, libraries[i].name,
				    inside != NULL ?
					    describe(inside, version) :
					    json_null());
		if (inside == NULL) {
			json_object_set_new(out, libraries[i].why_name,
					    json_text(e.text));
		}
	}
	return out;
}

void torch_facts(struct nccl_torch_look *l, int64_t deadline_ns, json_t *facts)
{
	static const char source[] = "python3";
	struct nccl_torch t;
	struct err why = { 0 };

	if (nccl_torch_end(l, deadline_ns, &t, &why) < 0) {
		facts_add(facts, "node", "torch_nccl", INFO_NONE, "", source);
		facts_add(facts, "node", "torch_nccl_note", why.text, "",
			  source);
		return;
	}
	facts_add(facts, "node", "torch_nccl", t.path, "", source);
	if (t.version[0] != '\0') {
		facts_add(facts, "node", "torch_nccl_version", t.version, "",
			  source);
	}
}

void libraries_facts(json_t *facts)
{
	char path[PATH_MAX], version[32] = "";
	void *inside = open_verbs(version, NULL);

	if (inside != NULL) {
		version_of_path(dl_path(inside, path), version);
	}
	if (version[0] != '\0') {
		facts_add(facts, "node", "libibverbs", version, "", path);
	}
}
