/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_DL_CUDA_H
#define PROBES_DL_CUDA_H

#include <stddef.h>

#include "lib/base/dl.h"
#include "lib/base/err.h"

#if HAVE_CUDA
#include <cuda.h>
#else
/* The part of cuda.h that this program uses, for machines that build without
 * it. */
typedef int CUresult, CUdevice, CUdevice_P2PAttribute;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef unsigned long long CUdeviceptr;
typedef struct CUuuid_st {
	char bytes[16];
} CUuuid;
typedef struct CUipcMemHandle_st {
	char reserved[64];
} CUipcMemHandle;

#define CUDA_SUCCESS		0
#define CUDA_ERROR_OUT_OF_MEMORY 2
#define CUDA_ERROR_NO_DEVICE	100
#define CUDA_ERROR_NOT_READY	600
#define CUDA_ERROR_UNKNOWN	999
#define CU_STREAM_NON_BLOCKING	1
#define CU_EVENT_DEFAULT	0
#define CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS 1
#define CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED 3
#endif

/* cuda.h of 11.7 and later: CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD */
#define DL_CUDA_DMABUF_FD 1

/**
 * The CUDA driver, opened at run time.  Fields have our own names because
 * cuda.h redefines its functions as macros (cuMemAlloc is cuMemAlloc_v2); the
 * list names the exact ABI, the oldest one that does.
 */
#define CUDA_POINTER(field, symbol, args) CUresult (*field) args;
#define CUDA_FUNCTIONS(F, OPT) \
	F(init, "cuInit", (unsigned int flags)) \
	F(driver_version, "cuDriverGetVersion", (int *version)) \
	F(error_name, "cuGetErrorName", (CUresult code, const char **name)) \
	F(error_string, "cuGetErrorString", (CUresult code, \
		const char **text)) \
	F(device_count, "cuDeviceGetCount", (int *count)) \
	F(device_get, "cuDeviceGet", (CUdevice *dev, int index)) \
	F(device_name, "cuDeviceGetName", (char *name, int size, \
		CUdevice dev)) \
	F(device_bus, "cuDeviceGetPCIBusId", (char *bus, int size, \
		CUdevice dev)) \
	/* since 9.2 */ \
	OPT(device_uuid, "cuDeviceGetUuid", (CUuuid *uuid, CUdevice dev)) \
	F(can_access, "cuDeviceCanAccessPeer", (int *can, CUdevice dev, \
		CUdevice peer)) \
	/* since 8.0 */ \
	OPT(peer_attribute, "cuDeviceGetP2PAttribute", (int *value, \
		CUdevice_P2PAttribute which, CUdevice dev, CUdevice peer)) \
	F(ctx_retain, "cuDevicePrimaryCtxRetain", (CUcontext *ctx, \
		CUdevice dev)) \
	F(ctx_set, "cuCtxSetCurrent", (CUcontext ctx)) \
	F(stream_create, "cuStreamCreate", (CUstream *stream, \
		unsigned int flags)) \
	F(stream_query, "cuStreamQuery", (CUstream stream)) \
	F(event_create, "cuEventCreate", (CUevent *event, \
		unsigned int flags)) \
	F(event_record, "cuEventRecord", (CUevent event, CUstream stream)) \
	F(event_query, "cuEventQuery", (CUevent event)) \
	F(event_elapsed, "cuEventElapsedTime", (float *ms, CUevent from, \
		CUevent to)) \
	F(mem_alloc, "cuMemAlloc_v2", (CUdeviceptr *mem, size_t bytes)) \
	F(mem_free, "cuMemFree_v2", (CUdeviceptr mem)) \
	F(mem_info, "cuMemGetInfo_v2", (size_t *left, size_t *total)) \
	F(mem_alloc_host, "cuMemAllocHost_v2", (void **mem, size_t bytes)) \
	F(copy_to_host, "cuMemcpyDtoHAsync_v2", (void *dst, CUdeviceptr src, \
		size_t bytes, CUstream stream)) \
	F(copy_to_gpu, "cuMemcpyHtoDAsync_v2", (CUdeviceptr dst, \
		const void *src, size_t bytes, CUstream stream)) \
	F(copy, "cuMemcpyAsync", (CUdeviceptr dst, CUdeviceptr src, \
		size_t bytes, CUstream stream)) \
	F(ipc_export, "cuIpcGetMemHandle", (CUipcMemHandle *handle, \
		CUdeviceptr mem)) \
	/* since 11.0 */ \
	OPT(ipc_open, "cuIpcOpenMemHandle_v2", (CUdeviceptr *mem, \
		CUipcMemHandle handle, unsigned int flags)) \
	F(ipc_close, "cuIpcCloseMemHandle", (CUdeviceptr mem)) \
	/* since 11.7; the type of the handle is an enum there */ \
	OPT(mem_handle, "cuMemGetHandleForAddressRange", (void *handle, \
		CUdeviceptr mem, size_t bytes, int type, \
		unsigned long long flags)) \
	F(module_load, "cuModuleLoadData", (CUmodule *module, \
		const void *image)) \
	F(module_function, "cuModuleGetFunction", (CUfunction *fn, \
		CUmodule module, const char *name)) \
	F(launch, "cuLaunchKernel", (CUfunction fn, unsigned int grid_x, \
		unsigned int grid_y, unsigned int grid_z, \
		unsigned int block_x, unsigned int block_y, \
		unsigned int block_z, unsigned int shared_bytes, \
		CUstream stream, void **params, void **extra))

struct cuda {
	CUDA_FUNCTIONS(CUDA_POINTER, CUDA_POINTER)
};

/** The table, loaded once; NULL with @e when there is no driver. */
const struct cuda *dl_cuda(struct err *e);

#define DL_CUDA_CODE 48
/** "cuda_out_of_memory": how a row names @code; returns @buf. */
const char *dl_cuda_code(const struct cuda *cu, CUresult code,
			 char buf[DL_CUDA_CODE]);
/** The driver's own sentence about @code; static text. */
const char *dl_cuda_text(const struct cuda *cu, CUresult code);

#endif
