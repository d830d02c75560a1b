/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/dl/verbs.h"

#include "lib/base/dl.h"

/* rdma-core keeps old ABIs under the same names: ask for the current one. */
#define VERBS(fn) \
	{ .name = "ibv_" #fn, .offset = offsetof(struct verbs, fn), \
	  .version = "IBVERBS_1.1" }

static const struct dl_sym verbs_syms[] = {
	VERBS(get_device_list),
	VERBS(free_device_list),
	VERBS(get_device_name),
	VERBS(open_device),
	VERBS(close_device),
	VERBS(query_device),
	VERBS(query_port),
	VERBS(query_gid),
	VERBS(query_pkey),
	VERBS(alloc_pd),
	VERBS(dealloc_pd),
	VERBS(reg_mr),
	{ .name = "ibv_reg_dmabuf_mr",
	  .offset = offsetof(struct verbs, reg_dmabuf_mr),
	  .version = "IBVERBS_1.12", .optional = true },
	VERBS(dereg_mr),
	VERBS(create_cq),
	VERBS(destroy_cq),
	VERBS(create_qp),
	VERBS(modify_qp),
	VERBS(destroy_qp),
	{ 0 }
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
