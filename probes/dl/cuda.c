/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/dl/cuda.h"

#include <ctype.h>

#include "lib/base/dl.h"
#include "lib/base/str.h"

#define CU(field, symbol) \
	{ .name = symbol, .offset = offsetof(struct cuda, field) }
#define CU_OPT(field, symbol) \
	{ .name = symbol, .offset = offsetof(struct cuda, field), \
	  .optional = true }

static const struct dl_sym cuda_syms[] = {
	CU(init, "cuInit"),
	CU(driver_version, "cuDriverGetVersion"),
	CU(error_name, "cuGetErrorName"),
	CU(error_string, "cuGetErrorString"),
	CU(device_count, "cuDeviceGetCount"),
	CU(device_get, "cuDeviceGet"),
	CU(device_name, "cuDeviceGetName"),
	CU(device_bus, "cuDeviceGetPCIBusId"),
	CU_OPT(device_uuid, "cuDeviceGetUuid"),		/* since 9.2 */
	CU(can_access, "cuDeviceCanAccessPeer"),
	CU_OPT(peer_attribute, "cuDeviceGetP2PAttribute"), /* since 8.0 */
	CU(ctx_retain, "cuDevicePrimaryCtxRetain"),
	CU(ctx_set, "cuCtxSetCurrent"),
	CU(stream_create, "cuStreamCreate"),
	CU(stream_query, "cuStreamQuery"),
	CU(event_create, "cuEventCreate"),
	CU(event_record, "cuEventRecord"),
	CU(event_query, "cuEventQuery"),
	CU(event_elapsed, "cuEventElapsedTime"),
	CU(mem_alloc, "cuMemAlloc_v2"),
	CU(mem_free, "cuMemFree_v2"),
	CU(mem_alloc_host, "cuMemAllocHost_v2"),
	CU(copy_to_host, "cuMemcpyDtoHAsync_v2"),
	CU(copy_to_gpu, "cuMemcpyHtoDAsync_v2"),
	CU(copy, "cuMemcpyAsync"),
	CU(ipc_export, "cuIpcGetMemHandle"),
	CU_OPT(ipc_open, "cuIpcOpenMemHandle_v2"),	/* since 11.0 */
	CU(ipc_close, "cuIpcCloseMemHandle"),
	/* since 11.7 */
	CU_OPT(mem_handle, "cuMemGetHandleForAddressRange"),
	CU(module_load, "cuModuleLoadData"),
	CU(module_function, "cuModuleGetFunction"),
	CU(launch, "cuLaunchKernel"),
	{ 0 }
};

static const char *const cuda_names[] = { "libcuda.so.1", NULL };

const struct cuda *dl_cuda(struct err *e)
{
	static struct cuda table;
	static void *handle;

	if (handle == NULL) {
		handle = dl_load("GPUCHECK_CUDA_LIB", cuda_names, cuda_syms,
				 &table, e);
	}
	return handle != NULL ? &table : NULL;
}

const char *dl_cuda_code(const struct cuda *cu, CUresult code,
			 char buf[DL_CUDA_CODE])
{
	static const char prefix[] = "CUDA_ERROR_";
	const char *name = NULL;
	struct str text = STR_INIT;

	if (cu->error_name(code, &name) != CUDA_SUCCESS || name == NULL) {
		name = "unknown";
	}
	if (str_starts(name, prefix)) {
		name += sizeof(prefix) - 1;
	}
	str_add(&text, "cuda_");
	for (; *name != '\0'; name++) {
		str_addch(&text, (char)tolower((unsigned char)*name));
	}
	str_copy(buf, DL_CUDA_CODE, str_text(&text));
	str_release(&text);
	return buf;
}

const char *dl_cuda_text(const struct cuda *cu, CUresult code)
{
	const char *text = NULL;

	if (cu->error_string(code, &text) != CUDA_SUCCESS || text == NULL) {
		text = "unknown CUDA error";
	}
	return text;
}
