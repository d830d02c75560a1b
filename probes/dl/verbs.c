/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/dl/verbs.h"

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
