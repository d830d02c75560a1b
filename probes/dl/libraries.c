/* SPDX-License-Identifier: BSD-3-Clause */
/* The libraries that are loaded while the program runs, but for NCCL. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/dl.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "probes/dl/cuda.h"
#include "probes/dl/nvml.h"
#include "probes/dl/pmi2.h"
#include "probes/dl/verbs.h"

/* ---- CUDA ---------------------------------------------------------------- */

#define SYM(field, symbol, args) \
	{ .name = symbol, .offset = offsetof(struct cuda, field) },
#define OPT(field, symbol, args) \
	{ .name = symbol, .offset = offsetof(struct cuda, field), \
	  .optional = true },

static const struct dl_sym cuda_syms[] = {
	CUDA_FUNCTIONS(SYM, OPT) { 0 }
};

static const char *const cuda_names[] = { "libcuda.so.1", NULL };

const struct cuda *dl_cuda(struct err *e)
{
	static struct cuda table;
	static void *handle;

	if (handle == NULL) {
		handle = dl_load("GPUCHECK_CUDA_LIB", cuda_names, cuda_syms,
				 &table, e);
	}
	return handle != NULL ? &table : NULL;
}

const char *dl_cuda_code(const struct cuda *cu, CUresult code,
			 char buf[DL_CUDA_CODE])
{
	static const char prefix[] = "CUDA_ERROR_";
	const char *name = NULL;
	struct str text = STR_INIT;

	if (cu->error_name(code, &name) != CUDA_SUCCESS || name == NULL) {
		name = "unknown";
	}
	if (str_starts(name, prefix)) {
		name += sizeof(prefix) - 1;
	}
	str_add(&text, "cuda_");
	for (; *name != '\0'; name++) {
		str_addch(&text, (char)tolower((unsigned char)*name));
	}
	str_copy(buf, DL_CUDA_CODE, str_text(&text));
	str_release(&text);
	return buf;
}

const char *dl_cuda_text(const struct cuda *cu, CUresult code)
{
	const char *text = NULL;

	if (cu->error_string(code, &text) != CUDA_SUCCESS || text == NULL) {
		text = "unknown CUDA error";
	}
	return text;
}

#undef SYM
#undef OPT

/* ---- NVML ---------------------------------------------------------------- */

#define SYM(fn, args) DL_SYM(struct nvml, fn),
#define OPT(fn, args) DL_OPT(struct nvml, fn),

static const struct dl_sym nvml_syms[] = {
	DL_SYM(struct nvml, nvmlErrorString),
	NVML_FUNCTIONS(SYM, OPT) { 0 }
};

static const char *const nvml_names[] = { "libnvidia-ml.so.1", NULL };

const struct nvml *dl_nvml(struct err *e)
{
	static struct nvml table;
	static void *handle;

	if (handle == NULL) {
		handle = dl_load("GPUCHECK_NVML_LIB", nvml_names, nvml_syms,
				 &table, e);
	}
	return handle != NULL ? &table : NULL;
}

#undef SYM
#undef OPT

/* ---- PMI-2 --------------------------------------------------------------- */

#define PMI2_SONAME "libpmi2.so.0"

static const struct dl_sym pmi2_syms[] = {
	DL_SYM(struct pmi2, PMI2_Init),
	DL_SYM(struct pmi2, PMI2_Job_GetId),
	DL_SYM(struct pmi2, PMI2_KVS_Put),
	DL_SYM(struct pmi2, PMI2_KVS_Fence),
	DL_SYM(struct pmi2, PMI2_KVS_Get),
	{ 0 }
};

/** Library folders below Slurm's prefix, which is the folder above bin/. */
static const char *const beside_srun[] = { "lib", "lib64", "lib/slurm",
					   "lib64/slurm" };
#define N_BESIDE (sizeof(beside_srun) / sizeof(beside_srun[0]))

const struct pmi2 *dl_pmi2(struct err *e)
{
	static struct pmi2 table;
	static void *handle;

	if (!handle) {
		char srun[PATH_MAX], paths[N_BESIDE][PATH_MAX + 32];
		const char *names[1 + N_BESIDE + 1] = { PMI2_SONAME };
		size_t prefix = 0; /* length of that of PREFIX/bin/srun */

		if (spawn_find("srun", srun, sizeof(srun)) &&
		    str_ends(srun, "/bin/srun")) {
			prefix = strlen(srun) - strlen("/bin/srun");
		}
		for (size_t i = 0; prefix > 0 && i < N_BESIDE; i++) {
			snprintf(paths[i], sizeof(paths[i]), "%.*s/%s/%s",
				 (int)prefix, srun, beside_srun[i],
				 PMI2_SONAME);
			names[1 + i] = paths[i];
		}
		handle = dl_load("GPUCHECK_PMI2_LIB", names, pmi2_syms, &table,
				 e);
	}
	return handle ? &table : NULL;
}

/* ---- rdmacm -------------------------------------------------------------- */

#define RDMACM_SYM(type, fn, args)                                             \
	{.name = "rdma_" #fn,                                                  \
	 .offset = offsetof(struct rdmacm, fn),                                \
	 .version = "RDMACM_1.0"},
#define NEW(since, type, fn, args) \
	{ .name = "rdma_" #fn, .offset = offsetof(struct rdmacm, fn), \
	  .version = since },

static const struct dl_sym rdmacm_syms[] = {
	RDMACM_FUNCTIONS(RDMACM_SYM, NEW){0}};

static const char *const rdmacm_names[] = { "librdmacm.so.1", NULL };

const struct rdmacm *dl_rdmacm(struct err *e)
{
	static struct rdmacm table;
	static void *handle;

	if (handle == NULL) {
		handle = dl_load("GPUCHECK_RDMACM_LIB", rdmacm_names,
				 rdmacm_syms, &table, e);
	}
	return handle != NULL ? &table : NULL;
}

/* ---- verbs --------------------------------------------------------------- */

/* rdma-core keeps old ABIs under the same names: ask for the current one. */
#define SYM(type, fn, args) \
	{ .name = "ibv_" #fn, .offset = offsetof(struct verbs, fn), \
	  .version = "IBVERBS_1.1" },
#define OPT(since, type, fn, args) \
	{ .name = "ibv_" #fn, .offset = offsetof(struct verbs, fn), \
	  .version = since, .optional = true },

static const struct dl_sym verbs_syms[] = {
	VERBS_FUNCTIONS(SYM, OPT) { 0 }
};

static const char *const verbs_names[] = { "libibverbs.so.1", NULL };

const struct verbs *dl_verbs(struct err *e)
{
	static struct verbs table;
	static void *handle;

	if (handle == NULL) {
		handle = dl_load("GPUCHECK_VERBS_LIB", verbs_names, verbs_syms,
				 &table, e);
	}
	return handle != NULL ? &table : NULL;
}
