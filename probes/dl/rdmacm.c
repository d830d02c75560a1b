/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/dl/rdmacm.h"

#define SYM(type, fn, args) \
	{ .name = "rdma_" #fn, .offset = offsetof(struct rdmacm, fn), \
	  .version = "RDMACM_1.0" },
#define NEW(since, type, fn, args) \
	{ .name = "rdma_" #fn, .offset = offsetof(struct rdmacm, fn), \
	  .version = since },

static const struct dl_sym rdmacm_syms[] = {
	RDMACM_FUNCTIONS(SYM, NEW) { 0 }
};

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
