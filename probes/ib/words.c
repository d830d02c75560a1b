/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/ib/words.h"

#include <errno.h>

/* By number: the names are rdma-core's, the order is the wire's. */
static const struct verbs_words wc_words[] = {
	[1] = { "wc_loc_len",
		"local length error: a message did not fit; do both ends have "
		"the same MTU?" },
	[2] = { "wc_loc_qp_op", "local QP operation error" },
	[3] = { "wc_loc_eec_op", "local EE context error" },
	[4] = { "wc_loc_prot",
		"local protection error: the HCA may not access the buffer; "
		"ACS or IOMMU on its PCIe path?" },
	[5] = { "wc_flush", "flushed: the queue pair had failed before" },
	[6] = { "wc_mw_bind", "memory window bind error" },
	[7] = { "wc_bad_resp", "bad response from the other HCA" },
	[8] = { "wc_loc_access",
		"local access error: the buffer does not allow this "
		"operation" },
	[9] = { "wc_rem_inv_req",
		"remote invalid request: the other end cannot accept the "
		"message; MTU mismatch?" },
	[10] = { "wc_rem_access",
		"remote access error: the other end refuses access to its "
		"memory with this key" },
	[11] = { "wc_rem_op",
		"remote operation error: the other HCA could not complete the "
		"operation" },
	[12] = { "wc_retry_exc",
		"transport retry counter exceeded: no response from the other "
		"port; route, GID, VLAN, MTU, P_Key or a link that went down" },
	[13] = { "wc_rnr_retry_exc", "receiver not ready, retries exceeded" },
	[14] = { "wc_loc_rdd", "local RDD violation" },
	[15] = { "wc_rem_inv_rd_req", "remote invalid RD request" },
	[16] = { "wc_rem_abort", "the other end aborted" },
	[17] = { "wc_inv_eecn", "invalid EE context" },
	[18] = { "wc_inv_eec_state", "EE context in a wrong state" },
	[19] = { "wc_fatal", "fatal error of the HCA" },
	[20] = { "wc_resp_timeout", "response timeout" },
	[21] = { "wc_general", "general error" },
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
	  .words = { "device_permission",
		     "no permission to open the HCA; /dev/infiniband/uverbs* "
		     "must be readable and writable, also in the job's cgroup "
		     "or container" } },
	{ .call = VERBS_OPEN, .err = EPERM,
	  .words = { "device_permission",
		     "not permitted by the job's device cgroup or "
		     "container" } },
	{ .call = VERBS_OPEN, .err = ENOENT,
	  .words = { "device_missing",
		     "there is no such HCA, or no /dev/infiniband here" } },
	{ .call = VERBS_OPEN, .err = ENODEV,
	  .words = { "device_missing", "the HCA has been removed" } },
	{ .call = VERBS_REG_GPU, .err = EFAULT,
	  .words = { "gpu_memory",
		     "GPU memory cannot be registered; load nvidia-peermem, or "
		     "use a driver with dma-buf" } },
	{ .call = VERBS_REG_GPU,
	  .words = { "gpu_memory",
		     "neither dma-buf nor nvidia-peermem supports this GPU" } },
	{ .call = VERBS_TO_RTR, .err = ETIMEDOUT,
	  .words = { "rtr_timeout",
		     "the ports cannot resolve each other; rails that are not "
		     "connected, or no route between them" } },
	{ .call = VERBS_TO_RTR, .err = EHOSTUNREACH,
	  .words = { "rtr_no_route", "no route between the two GIDs" } },
	{ .call = VERBS_TO_RTR, .err = ENETUNREACH,
	  .words = { "rtr_no_route",
		     "no route between the subnets of the two GIDs" } },
	{ .call = VERBS_TO_RTR, .err = EINVAL,
	  .words = { "rtr_invalid",
		     "the driver refuses GID index, MTU or P_Key" } },
	{ .call = VERBS_TO_RTR, .err = ENODEV,
	  .words = { "rtr_no_device",
		     "the GID's network interface is missing or down" } },
	{ .call = VERBS_TO_INIT, .err = EINVAL,
	  .words = { "init_invalid",
		     "the driver refuses the port or the P_Key index" } },
	{ .call = ANY_CALL, .err = ENOMEM, .limited = true,
	  .words = { "memlock",
		     "cannot lock memory; run 'gpucheck memlock'" } },
	{ .call = ANY_CALL, .err = ENOMEM,
	  .words = { "no_memory",
		     "the HCA is out of queue pairs or memory; the limit of "
		     "locked memory is not the cause" } },
	{ .call = ANY_CALL, .err = ENODEV,
	  .words = { "device_missing", "the HCA has been removed" } },
	{ .call = ANY_CALL, .err = EIO,
	  .words = { "device_error", "the HCA reports an error" } },
	{ .call = ANY_CALL,
	  .words = { "verbs_error", "the driver refuses" } },
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
