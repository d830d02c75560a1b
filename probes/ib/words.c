/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/ib/words.h"

#include <errno.h>

/* By number: the names are rdma-core's, the order is the wire's. */
static const struct verbs_words wc_words[] = {
	[1] = { .code = "wc_loc_len",
		.says = "local length error: a message did not fit; do "
			"both ends have the same MTU?" },
	[2] = { .code = "wc_loc_qp_op", .says = "local QP operation error" },
	[3] = { .code = "wc_loc_eec_op", .says = "local EE context error" },
	[4] = { .code = "wc_loc_prot",
		.says = "local protection error: the HCA may not access "
			"the buffer; ACS or IOMMU on its PCIe path?" },
	[5] = { .code = "wc_flush",
		.says = "flushed: the queue pair had failed before" },
	[6] = { .code = "wc_mw_bind", .says = "memory window bind error" },
	[7] = { .code = "wc_bad_resp",
		.says = "bad response from the other HCA" },
	[8] = { .code = "wc_loc_access",
		.says = "local access error: the buffer does not allow "
			"this operation" },
	[9] = { .code = "wc_rem_inv_req",
		.says = "remote invalid request: the other end cannot "
			"accept the message; MTU mismatch?" },
	[10] = { .code = "wc_rem_access",
		.says = "remote access error: the other end refuses access "
			"to its memory with this key" },
	[11] = { .code = "wc_rem_op",
		.says = "remote operation error: the other HCA could not "
			"complete the operation" },
	[12] = { .code = "wc_retry_exc",
		.says = "transport retry counter exceeded: no response "
			"from the other port; route, GID, VLAN, MTU, P_Key "
			"or a link that went down" },
	[13] = { .code = "wc_rnr_retry_exc",
		.says = "receiver not ready, retries exceeded" },
	[14] = { .code = "wc_loc_rdd", .says = "local RDD violation" },
	[15] = { .code = "wc_rem_inv_rd_req",
		.says = "remote invalid RD request" },
	[16] = { .code = "wc_rem_abort", .says = "the other end aborted" },
	[17] = { .code = "wc_inv_eecn", .says = "invalid EE context" },
	[18] = { .code = "wc_inv_eec_state",
		.says = "EE context in a wrong state" },
	[19] = { .code = "wc_fatal", .says = "fatal error of the HCA" },
	[20] = { .code = "wc_resp_timeout", .says = "response timeout" },
	[21] = { .code = "wc_general", .says = "general error" },
};

const struct verbs_words *verbs_wc_words(int status)
{
	static const struct verbs_words unknown = {
		.code = "wc_unknown",
		.says = "a status that libibverbs does not define",
	};
	int n = (int)(sizeof(wc_words) / sizeof(wc_words[0]));

	return status > 0 && status < n ? &wc_words[status] : &unknown;
}

static const char *const call_names[VERBS_CALLS] = {
	[VERBS_OPEN] = "ibv_open_device",
	[VERBS_PD] = "ibv_alloc_pd",
	[VERBS_REG_MR] = "ibv_reg_mr",
	[VERBS_REG_GPU] = "registration of GPU memory",
	[VERBS_CREATE_CQ] = "ibv_create_cq",
	[VERBS_CREATE_QP] = "ibv_create_qp",
	[VERBS_TO_INIT] = "ibv_modify_qp RESET to INIT",
	[VERBS_TO_RTR] = "ibv_modify_qp INIT to RTR",
	[VERBS_TO_RTS] = "ibv_modify_qp RTR to RTS",
	[VERBS_POST] = "ibv_post_send",
	[VERBS_POLL] = "ibv_poll_cq",
};

const char *verbs_call_name(enum verbs_call call)
{
	return call_names[call];
}

#define ANY_CALL VERBS_CALLS

/* The first row that fits. */
static const struct call_words {
	enum verbs_call call;
	int err;		/* 0: any */
	bool limited;		/* only where locked memory is limited */
	struct verbs_words words;
} call_words[] = {
	{ .call = VERBS_OPEN, .err = EACCES,
	  .words = { .code = "device_permission",
		     .says = "no permission to open the HCA; "
			     "/dev/infiniband/uverbs* must be readable and "
			     "writable, also in the job's cgroup or "
			     "container" } },
	{ .call = VERBS_OPEN, .err = EPERM,
	  .words = { .code = "device_permission",
		     .says = "not permitted by the job's device cgroup or container" } },
	{ .call = VERBS_OPEN, .err = ENOENT,
	  .words = { .code = "device_missing",
		     .says = "there is no such HCA, or no /dev/infiniband here" } },
	{ .call = VERBS_OPEN, .err = ENODEV,
	  .words = { .code = "device_missing",
		     .says = "the HCA has been removed" } },
	{ .call = VERBS_REG_GPU, .err = EFAULT,
	  .words = { .code = "gpu_memory",
		     .says = "GPU memory cannot be registered; load nvidia-peermem, or use "
			     "a driver with dma-buf" } },
	{ .call = VERBS_REG_GPU,
	  .words = { .code = "gpu_memory",
		     .says = "neither dma-buf nor nvidia-peermem supports this "
			     "GPU" } },
	{ .call = VERBS_TO_RTR, .err = ETIMEDOUT,
	  .words = { .code = "rtr_timeout",
		     .says = "the ports cannot resolve each other; rails that are not "
			     "connected, or no route between them" } },
	{ .call = VERBS_TO_RTR, .err = EHOSTUNREACH,
	  .words = { .code = "rtr_no_route",
		     .says = "no route between the two GIDs" } },
	{ .call = VERBS_TO_RTR, .err = ENETUNREACH,
	  .words = { .code = "rtr_no_route",
		     .says = "no route between the subnets of the two GIDs" } },
	{ .call = VERBS_TO_RTR, .err = EINVAL,
	  .words = { .code = "rtr_invalid",
		     .says = "the driver refuses GID index, MTU or P_Key" } },
	{ .call = VERBS_TO_RTR, .err = ENODEV,
	  .words = { .code = "rtr_no_device",
		     .says = "the GID's network interface is missing or "
			     "down" } },
	{ .call = VERBS_TO_INIT, .err = EINVAL,
	  .words = { .code = "init_invalid",
		     .says = "the driver refuses the port or the P_Key index" } },
	{ .call = ANY_CALL, .err = ENOMEM, .limited = true,
	  .words = { .code = "memlock",
		     .says = "cannot lock memory; run 'gpucheck memlock'" } },
	{ .call = ANY_CALL, .err = ENOMEM,
	  .words = { .code = "no_memory",
		     .says = "the HCA is out of queue pairs or memory; the "
			     "limit of locked memory is not the cause" } },
	{ .call = ANY_CALL, .err = ENODEV,
	  .words = { .code = "device_missing",
		     .says = "the HCA has been removed" } },
	{ .call = ANY_CALL, .err = EIO,
	  .words = { .code = "device_error",
		     .says = "the HCA reports an error" } },
	{ .call = ANY_CALL,
	  .words = { .code = "verbs_error",
		     .says = "the driver refuses" } },
};

static bool fits(const struct call_words *w, enum verbs_call call, int err,
		 bool limited)
{
	return (w->call == ANY_CALL || w->call == call) &&
	       (w->err == 0 || w->err == err) && (limited || !w->limited);
}

const struct verbs_words *verbs_call_words(enum verbs_call call, int err,
					   bool limited)
{
	const struct call_words *w = call_words;

	while (!fits(w, call, err, limited)) {
		w++;	/* the last one fits all */
	}
	return &w->words;
}
