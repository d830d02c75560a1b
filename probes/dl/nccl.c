/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/dl/nccl.h"

#include "lib/base/dl.h"

static const struct dl_sym nccl_syms[] = {
	DL_SYM(struct nccl, ncclGetVersion),
	DL_SYM(struct nccl, ncclGetUniqueId),
	DL_SYM(struct nccl, ncclCommInitRank),
	DL_OPT(struct nccl, ncclCommInitRankConfig),
	DL_SYM(struct nccl, ncclCommGetAsyncError),
	DL_OPT(struct nccl, ncclCommFinalize),
	DL_SYM(struct nccl, ncclCommDestroy),
	DL_OPT(struct nccl, ncclCommAbort),
	DL_SYM(struct nccl, ncclGroupStart),
	DL_SYM(struct nccl, ncclGroupEnd),
	DL_SYM(struct nccl, ncclSend),
	DL_SYM(struct nccl, ncclRecv),
	/* a library for some of them only is of use for these */
	DL_OPT(struct nccl, ncclAllReduce),
	DL_OPT(struct nccl, ncclReduce),
	DL_OPT(struct nccl, ncclReduceScatter),
	DL_OPT(struct nccl, ncclAllGather),
	DL_OPT(struct nccl, ncclBroadcast),
	DL_SYM(struct nccl, ncclGetErrorString),
	DL_OPT(struct nccl, ncclGetLastError),
	{ 0 }
};

static const char *const nccl_names[] = { "libnccl.so.2", NULL };

const struct nccl *dl_nccl(struct err *e)
{
	static struct nccl table;
	static void *handle;

	if (handle == NULL) {
		handle = dl_load("GPUCHECK_NCCL_LIB", nccl_names, nccl_syms,
				 &table, e);
	}
	return handle != NULL ? &table : NULL;
}

const char *dl_nccl_code(ncclResult_t result)
{
	static const char *const codes[] = {
		[ncclSuccess] = "nccl_success",
		[ncclUnhandledCudaError] = "nccl_unhandled_cuda_error",
		[ncclSystemError] = "nccl_system_error",
		[ncclInternalError] = "nccl_internal_error",
		[ncclInvalidArgument] = "nccl_invalid_argument",
		[ncclInvalidUsage] = "nccl_invalid_usage",
		[ncclRemoteError] = "nccl_remote_error",
		[ncclInProgress] = "nccl_in_progress",
	};
	size_t i = (size_t)result;

	return i < sizeof(codes) / sizeof(codes[0]) ? codes[i] : "nccl_error";
}

const char *dl_nccl_version_text(int code, char buf[DL_NCCL_VERSION])
{
	int major_unit = code < 10000 ? 1000 : 10000;	/* 2804, then 20900 */

	snprintf(buf, DL_NCCL_VERSION, "%d.%d.%d", code / major_unit,
		 code % major_unit / 100, code % 100);
	return buf;
}
