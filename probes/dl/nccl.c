/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/dl/nccl.h"

#define SYM(type, fn, args) DL_SYM(struct nccl, fn),
#define OPT(type, fn, args) DL_OPT(struct nccl, fn),

static const struct dl_sym nccl_syms[] = {
	NCCL_FUNCTIONS(SYM, OPT) { 0 }
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
