/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A library that looks like NCCL 2.12: what came later is not there.  Every
 * call goes on to the real NCCL.  For GPUCHECK_NCCL_LIB.
 */
#include <dlfcn.h>
#include <stddef.h>

#include "probes/dl/nccl.h"

static void *real(const char *name)
{
	static void *handle;

	if (handle == NULL) {
		handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
	}
	return handle != NULL ? dlsym(handle, name) : NULL;
}

#define FORWARD(name, parameters, arguments) \
	ncclResult_t name parameters; \
	ncclResult_t name parameters \
	{ \
		ncclResult_t (*fn) parameters = real(#name); \
		return fn != NULL ? fn arguments : ncclInternalError; \
	}

FORWARD(ncclGetVersion, (int *version), (version))
FORWARD(ncclGetUniqueId, (ncclUniqueId *id), (id))
FORWARD(ncclCommInitRank,
	(ncclComm_t *comm, int size, ncclUniqueId id, int rank),
	(comm, size, id, rank))
FORWARD(ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t *state),
	(comm, state))
FORWARD(ncclCommDestroy, (ncclComm_t comm), (comm))
FORWARD(ncclCommAbort, (ncclComm_t comm), (comm))
FORWARD(ncclGroupStart, (void), ())
FORWARD(ncclGroupEnd, (void), ())
FORWARD(ncclSend,
	(const void *buf, size_t count, ncclDataType_t type, int peer,
	 ncclComm_t comm, struct CUstream_st *stream),
	(buf, count, type, peer, comm, stream))
FORWARD(ncclRecv,
	(void *buf, size_t count, ncclDataType_t type, int peer,
	 ncclComm_t comm, struct CUstream_st *stream),
	(buf, count, type, peer, comm, stream))

const char *ncclGetErrorString(ncclResult_t result);
const char *ncclGetErrorString(ncclResult_t result)
{
	const char *(*fn)(ncclResult_t) = real("ncclGetErrorString");

	return fn != NULL ? fn(result) : "";
}
