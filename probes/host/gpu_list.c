/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/gpu_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "probes/dl/nvml.h"
#include "probes/host/gpu.h"
#include "probes/host/sysfile.h"

#define PROC_GPUS "/proc/driver/nvidia/gpus"

/* ---- who to ask ------------------------------------------------------- */

static void ask_one(const struct nvml *nvml, nvmlDevice_t dev,
		    struct gpu_id *gpu)
{
	struct nvml_pci_info pci = { 0 };
	unsigned int now = 0, pending;
	char text[NVML_UUID_SIZE];

	if (nvml->nvmlDeviceGetUUID(dev, text, sizeof(text)) == NVML_SUCCESS) {
		STR_COPY(gpu->uuid, text);
	}
	if (nvml->nvmlDeviceGetName(dev, text, sizeof(text)) == NVML_SUCCESS) {
		STR_COPY(gpu->name, text);
	}
	if (nvml->nvmlDeviceGetPciInfo_v3(dev, &pci) == NVML_SUCCESS) {
		gpu_list_plain_bus(pci.bus_id, gpu->bus);
	}
	gpu->divided = nvml->nvmlDeviceGetMigMode != NULL &&
		       nvml->nvmlDeviceGetMigMode(dev, &now, &pending) ==
			       NVML_SUCCESS &&
		       now != 0;
}

static int ask_nvml(struct gpu_list *l, struct err *e)
{
	const struct nvml *nvml = dl_nvml(e);
	unsigned int count = 0;
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
		/* one that a cgroup keeps from us is none to CUDA either */
		rc = nvml->nvmlDeviceGetHandleByIndex_v2(i, &dev);
		if (rc == NVML_SUCCESS) {
			ask_one(nvml, dev, &l->gpus[l->n++]);
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

static int ask_cuda(struct gpu_list *l, struct err *e)
{
	const char *code;
	int count = gpu_count(&code, e);

	if (count < 0) {
		return -1;
	}
	for (int i = 0; i < count && l->n < GPU_LIST_MAX; i++) {
		l->n += gpu_identify(i, &l->gpus[l->n]) == 0;
	}
	STR_COPY(l->source, "cuda");
	return 0;
}

void gpu_list_ask_driver(struct gpu_list *l)
{
	struct err e = { 0 };

	memset(l, 0, sizeof(*l));
	if (ask_nvml(l, &e) == 0) {
		gpu_list_apply_visible(l, getenv(CUDA_VISIBLE));
		return;
	}
	STR_COPY(l->why, e.text);
	if (ask_cuda(l, NULL) < 0) {	/* shows the visible ones only */
		STR_COPY(l->source, "none");
	}
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
			gpu->uuid[0] = '\0';	/* not started: ? for each */
		}
		l->n++;
	}
	STR_COPY(l->source, n > 0 ? "proc" : "none");
}

/* ---- CUDA_VISIBLE_DEVICES --------------------------------------------- */

/* The GPU of the first @n that @word names, or -1. */
static int find_word(const struct gpu_list *l, size_t n, const char *word)
{
	int64_t index;
	int found = -1;

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

/* The GPU that the next word of *@text names; -1 where it names none. */
static int next_visible(const struct gpu_list *l, size_t n, const char **text)
{
	char word[64];
	size_t len;

	*text += strspn(*text, " \t");
	len = strcspn(*text, ",");
	snprintf(word, sizeof(word), "%.*s", (int)len, *text);
	word[strcspn(word, " \t")] = '\0';
	*text += len + ((*text)[len] == ',');
	return find_word(l, n, word);
}

/* Divided GPUs to the end, hidden; returns how many stand before them. */
static size_t set_divided_apart(struct gpu_list *l)
{
	struct gpu_list old = *l;
	size_t n = 0, last;

	for (size_t i = 0; i < old.n; i++) {
		if (!old.gpus[i].divided) {
			l->gpus[n++] = old.gpus[i];
		}
	}
	last = n;
	for (size_t i = 0; i < old.n; i++) {
		if (old.gpus[i].divided) {
			l->gpus[last] = old.gpus[i];
			l->gpus[last++].hidden = true;
		}
	}
	return n;
}

void gpu_list_apply_visible(struct gpu_list *l, const char *text)
{
	size_t whole = set_divided_apart(l), n = 0, i;
	struct gpu_list old = *l;
	int gpu;

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

json_t *gpu_list_json(const struct gpu_list *l)
{
	json_t *gpus = json_array();

	for (size_t i = 0; i < l->n; i++) {
		const struct gpu_id *gpu = &l->gpus[i];

		json_array_append_new(
			gpus, json_pack("{s:s,s:s,s:s,s:b,s:b}", "uuid",
					gpu->uuid, "bus", gpu->bus, "name",
					gpu->name, "divided",
					(int)gpu->divided, "hidden",
					(int)gpu->hidden));
	}
	return json_pack("{s:s,s:s,s:o}", "source", l->source, "why", l->why,
			 "gpus", gpus);
}

static bool parse_fails(const json_t *json, struct gpu_id *gpu, struct err *e)
{
	return json_get_text(json, "uuid", gpu->uuid, sizeof(gpu->uuid), e) ||
	       json_get_text(json, "bus", gpu->bus, sizeof(gpu->bus), e) ||
	       json_get_text(json, "name", gpu->name, sizeof(gpu->name), e) ||
	       /* machines were recorded before it was asked */
	       json_opt_bool(json, "divided", &gpu->divided, e) ||
	       json_get_bool(json, "hidden", &gpu->hidden, e);
}

int gpu_list_parse(const json_t *json, struct gpu_list *l, struct err *e)
{
	json_t *gpus = json_get_array(json, "gpus", GPU_LIST_MAX, e);
	struct gpu_list out = { .n = 0 };

	if (gpus == NULL ||
	    json_get_text(json, "source", out.source, sizeof(out.source), e) <
		    0 ||
	    json_get_text(json, "why", out.why, sizeof(out.why), e) < 0) {
		return -1;
	}
	for (; out.n < json_array_size(gpus); out.n++) {
		if (parse_fails(json_array_get(gpus, out.n),
				&out.gpus[out.n], e)) {
			return -1;
		}
	}
	*l = out;
	return 0;
}
