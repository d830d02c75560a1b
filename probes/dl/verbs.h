/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_DL_VERBS_H
#define PROBES_DL_VERBS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/dl.h"
#include "lib/base/err.h"

struct ibv_device;
struct ibv_context;
struct ibv_device_attr;
struct _compat_ibv_port_attr;
struct ibv_pd;
struct ibv_mr;
struct ibv_cq;
struct ibv_comp_channel;
struct ibv_qp;
struct ibv_qp_attr;
struct ibv_qp_init_attr;
union ibv_gid;

/**
 * libibverbs, opened at run time: $GPUCHECK_VERBS_LIB, else libibverbs.so.1.
 * Fields have names of their own because verbs.h has macros of the real ones.
 * Posting and polling are inline in verbs.h and need no entry.
 */
#define VERBS_FUNCTIONS(F, OPT) \
	F(struct ibv_device **, get_device_list, (int *count)) \
	F(void, free_device_list, (struct ibv_device **list)) \
	F(const char *, get_device_name, (struct ibv_device *dev)) \
	F(struct ibv_context *, open_device, (struct ibv_device *dev)) \
	F(int, close_device, (struct ibv_context *ctx)) \
	F(int, query_device, (struct ibv_context *ctx, \
		struct ibv_device_attr *attr)) \
	F(int, query_port, (struct ibv_context *ctx, uint8_t port, \
		struct _compat_ibv_port_attr *attr)) \
	F(int, query_gid, (struct ibv_context *ctx, uint8_t port, int index, \
		union ibv_gid *gid)) \
	F(int, query_pkey, (struct ibv_context *ctx, uint8_t port, int index, \
		uint16_t *pkey)) \
	F(struct ibv_pd *, alloc_pd, (struct ibv_context *ctx)) \
	F(int, dealloc_pd, (struct ibv_pd *pd)) \
	F(struct ibv_mr *, reg_mr, (struct ibv_pd *pd, void *addr, \
		size_t length, int access)) \
	OPT("IBVERBS_1.8", struct ibv_mr *, reg_mr_iova2, \
		(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, \
		unsigned int access)) \
	OPT("IBVERBS_1.12", struct ibv_mr *, reg_dmabuf_mr, \
		(struct ibv_pd *pd, uint64_t offset, size_t length, \
		 uint64_t iova, int fd, \
		int access)) \
	F(int, dereg_mr, (struct ibv_mr *mr)) \
	F(struct ibv_cq *, create_cq, (struct ibv_context *ctx, int entries, \
		void *arg, struct ibv_comp_channel *channel, int vector)) \
	F(int, destroy_cq, (struct ibv_cq *cq)) \
	F(struct ibv_qp *, create_qp, (struct ibv_pd *pd, \
		struct ibv_qp_init_attr *attr)) \
	F(int, modify_qp, (struct ibv_qp *qp, struct ibv_qp_attr *attr, \
		int mask)) \
	F(int, destroy_qp, (struct ibv_qp *qp))

#define VERBS_POINTER(version, type, name, args) DL_POINTER(type, name, args)

struct verbs {
	VERBS_FUNCTIONS(DL_POINTER, VERBS_POINTER)
};

/** The table, loaded once; NULL with @e when there is no libibverbs. */
const struct verbs *dl_verbs(struct err *e);

#endif
