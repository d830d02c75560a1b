/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_DL_CUDA_H
#define PROBES_DL_CUDA_H

#include <stddef.h>

#include "lib/base/err.h"

#if HAVE_CUDA
#include <cuda.h>
#else
/* What is used of cuda.h, for machines that build without it. */
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
#define CU_STREAM_NON_BLOCKING	1
#define CU_EVENT_DEFAULT	0
#define CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS 1
#define CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK	1
#define CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED 3
#endif

/* cuda.h of 11.7 and later: CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD */
#define DL_CUDA_DMABUF_FD 1

/**
 * The CUDA driver, opened at run time.  Fields have our own names because
 * cuda.h redefines its functions as macros (cuMemAlloc is cuMemAlloc_v2); the
 * table in cuda.c names the exact ABI, the oldest one that does.
 */
struct cuda {
	CUresult (*init)(unsigned int flags);
	CUresult (*driver_version)(int *version);
	CUresult (*error_name)(CUresult code, const char **name);
	CUresult (*error_string)(CUresult code, const char **text);
	CUresult (*device_count)(int *count);
	CUresult (*device_get)(CUdevice *dev, int index);
	CUresult (*device_name)(char *name, int size, CUdevice dev);
	CUresult (*device_bus)(char *bus, int size, CUdevice dev);
	CUresult (*device_uuid)(CUuuid *uuid, CUdevice dev);
	CUresult (*can_access)(int *can, CUdevice dev, CUdevice peer);
	CUresult (*peer_attribute)(int *value, CUdevice_P2PAttribute which,
				   CUdevice dev, CUdevice peer);
	CUresult (*ctx_retain)(CUcontext *ctx, CUdevice dev);
	CUresult (*ctx_set)(CUcontext ctx);
	CUresult (*stream_create)(CUstream *stream, unsigned int flags);
	CUresult (*stream_query)(CUstream stream);
	CUresult (*event_create)(CUevent *event, unsigned int flags);
	CUresult (*event_record)(CUevent event, CUstream stream);
	CUresult (*event_query)(CUevent event);
	CUresult (*event_elapsed)(float *ms, CUevent from, CUevent to);
	CUresult (*mem_alloc)(CUdeviceptr *mem, size_t bytes);
	CUresult (*mem_free)(CUdeviceptr mem);
	CUresult (*mem_alloc_host)(void **mem, size_t bytes);
	CUresult (*copy_to_host)(void *dst, CUdeviceptr src, size_t bytes,
				 CUstream stream);
	CUresult (*copy_to_gpu)(CUdeviceptr dst, const void *src, size_t bytes,
				CUstream stream);
	CUresult (*copy)(CUdeviceptr dst, CUdeviceptr src, size_t bytes,
			 CUstream stream);
	CUresult (*ipc_export)(CUipcMemHandle *handle, CUdeviceptr mem);
	CUresult (*ipc_open)(CUdeviceptr *mem, CUipcMemHandle handle,
			     unsigned int flags);
	CUresult (*ipc_close)(CUdeviceptr mem);
	/* the type of the handle is an enum there */
	CUresult (*mem_handle)(void *handle, CUdeviceptr mem, size_t bytes,
			       int type, unsigned long long flags);
	CUresult (*module_load)(CUmodule *module, const void *image);
	CUresult (*module_function)(CUfunction *fn, CUmodule module,
				    const char *name);
	CUresult (*launch)(CUfunction fn, unsigned int grid_x,
			   unsigned int grid_y, unsigned int grid_z,
			   unsigned int block_x, unsigned int block_y,
			   unsigned int block_z, unsigned int shared_bytes,
			   CUstream stream, void **params, void **extra);
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
