/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_DL_VERBS_H
#define PROBES_DL_VERBS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "lib/base/dl.h"
#include "lib/base/err.h"

/* ---- rdmacm -------------------------------------------------------------- */

struct ibv_context;
struct ibv_qp_attr;

/**
 * librdmacm, opened at run time: $GPUCHECK_RDMACM_LIB, else librdmacm.so.1.
 * What is used of its structs and numbers, under names of our own: its header
 * is rarely installed.
 */
struct rdma_event_channel;

struct rdmacm_channel {
	int fd;
};

struct rdma_cm_id;

/** The first members of an id. */
struct rdmacm_id {
	struct ibv_context *verbs;	/* NULL: of no device yet */
};

enum rdmacm_event_type {
	RDMACM_ADDR_RESOLVED, RDMACM_ADDR_ERROR,
	RDMACM_ROUTE_RESOLVED, RDMACM_ROUTE_ERROR,
	RDMACM_CONNECT_REQUEST, RDMACM_CONNECT_RESPONSE,
	RDMACM_CONNECT_ERROR, RDMACM_UNREACHABLE, RDMACM_REJECTED,
	RDMACM_ESTABLISHED, RDMACM_DISCONNECTED,
};

struct rdmacm_param {
	const void *private_data;
	uint8_t private_data_len, responder_resources, initiator_depth,
		flow_control, retry_count, rnr_retry_count, srq;
	uint32_t qp_num;
};

struct rdmacm_event {
	struct rdma_cm_id *id, *listen_id;
	int type;		/* enum rdmacm_event_type */
	int status;		/* an errno, negative, or CM's own reason */
	struct rdmacm_param param;	/* the peer's, of a connection; goes
					 * with the event */
};

#define RDMACM_PS_TCP 0x0106

#define RDMACM_FUNCTIONS(F, NEW) \
	F(struct rdma_event_channel *, create_event_channel, (void)) \
	F(void, destroy_event_channel, (struct rdma_event_channel *channel)) \
	F(int, create_id, (struct rdma_event_channel *channel, \
		struct rdma_cm_id **id, void *context, int space)) \
	F(int, destroy_id, (struct rdma_cm_id *id)) \
	F(int, bind_addr, (struct rdma_cm_id *id, struct sockaddr *addr)) \
	F(int, listen, (struct rdma_cm_id *id, int backlog)) \
	F(uint16_t, get_src_port, (struct rdma_cm_id *id)) \
	F(int, resolve_addr, (struct rdma_cm_id *id, struct sockaddr *src, \
		struct sockaddr *dst, int timeout_ms)) \
	F(int, resolve_route, (struct rdma_cm_id *id, int timeout_ms)) \
	F(int, connect, (struct rdma_cm_id *id, struct rdmacm_param *param)) \
	F(int, accept, (struct rdma_cm_id *id, struct rdmacm_param *param)) \
	F(int, get_cm_event, (struct rdma_event_channel *channel, \
		struct rdmacm_event **event)) \
	F(int, ack_cm_event, (struct rdmacm_event *event)) \
	NEW("RDMACM_1.2", int, establish, (struct rdma_cm_id *id)) \
	NEW("RDMACM_1.2", int, init_qp_attr, (struct rdma_cm_id *id, \
		struct ibv_qp_attr *attr, int *mask))

#define RDMACM_POINTER(version, type, name, args) DL_POINTER(type, name, args)

struct rdmacm {
	RDMACM_FUNCTIONS(DL_POINTER, RDMACM_POINTER)
};

/** The table, loaded once; NULL with @e when there is no librdmacm, or one of
 *  before 2018, which cannot connect queue pairs that are not its own. */
const struct rdmacm *dl_rdmacm(struct err *e);

/* ---- verbs --------------------------------------------------------------- */

struct ibv_device;
struct ibv_device_attr;
struct _compat_ibv_port_attr;
struct ibv_pd;
struct ibv_mr;
struct ibv_cq;
struct ibv_comp_channel;
struct ibv_qp;
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
