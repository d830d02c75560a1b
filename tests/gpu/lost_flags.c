/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CUDA driver with one fault, for GPUCHECK_CUDA_LIB: what kernels write
 * into another GPU's mailbox goes elsewhere, while copies arrive.  So behaves
 * a machine whose PCIe switches or IOMMU misroute writes between GPUs.
 *
 * Everything else comes from the real driver, which this library depends on.
 */
#include <dlfcn.h>
#include <stddef.h>

#include "probes/dl/cuda.h"

#define MAILBOX_BYTES ((size_t)2 << 20)

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *mem, CUipcMemHandle handle,
			       unsigned int flags);

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *mem, CUipcMemHandle handle,
			       unsigned int flags)
{
	CUresult (*map)(CUdeviceptr *, CUipcMemHandle, unsigned int) =
		dlsym(RTLD_NEXT, "cuIpcOpenMemHandle_v2");
	CUresult (*unmap)(CUdeviceptr) =
		dlsym(RTLD_NEXT, "cuIpcCloseMemHandle");
	CUresult (*range)(CUdeviceptr *, size_t *, CUdeviceptr) =
		dlsym(RTLD_NEXT, "cuMemGetAddressRange_v2");
	CUresult (*alloc)(CUdeviceptr *, size_t) =
		dlsym(RTLD_NEXT, "cuMemAlloc_v2");
	CUresult rc = map(mem, handle, flags);
	size_t bytes = 0;

	if (rc == CUDA_SUCCESS) {
		rc = range(NULL, &bytes, *mem);
	}
	if (rc == CUDA_SUCCESS && bytes == MAILBOX_BYTES) {
		unmap(*mem);
		rc = alloc(mem, bytes);
	}
	return rc;
}
