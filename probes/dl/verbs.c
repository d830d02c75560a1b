/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/dl/verbs.h"

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
