/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/dl/nccl.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"

#define LIBRARY	 "GPUCHECK_NCCL_LIB"
/* Python and its folders may be on a slow file system. */
#define TORCH_NS (30 * NS_PER_S)

#define SYM(type, fn, args) DL_SYM(struct nccl, fn),
#define OPT(type, fn, args) DL_OPT(struct nccl, fn),

static const struct dl_sym nccl_syms[] = {
	NCCL_FUNCTIONS(SYM, OPT) { 0 }
};

const struct nccl *dl_nccl(struct err *e)
{
	static struct nccl table;
	static char path[PATH_MAX];
	static void *handle;
	const char *names[] = { "libnccl.so.2", NULL, NULL };
	const char *wanted = getenv(LIBRARY);
	struct nccl_torch_look look;

	if (handle != NULL) {
		return &table;
	}
	/* "torch" stands for the library that PyTorch loads: find its path */
	if (wanted != NULL && strcmp(wanted, "torch") == 0 &&
	    (nccl_torch_begin(&look, e) < 0 ||
	     nccl_torch_end(&look, clock_now_ns() + TORCH_NS, e) < 0 ||
	     setenv(LIBRARY, look.path, 1) < 0)) {
		return NULL;
	}
	handle = dl_load(LIBRARY, names, nccl_syms, &table, e);
	if (handle == NULL && (wanted == NULL || wanted[0] == '\0') &&
	    nccl_find("", path) > 0) {
		names[1] = path;
		handle = dl_load(NULL, names, nccl_syms, &table, e);
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
