/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_DL_NCCL_H
#define PROBES_DL_NCCL_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/dl.h"
#include "lib/base/err.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"

/* ---- nccl torch ---------------------------------------------------------- */

/**
 * The NCCL that jobs of PyTorch run with: what the torch of the python3 on PATH
 * is linked with, which is mostly one of the same environment.  Python says
 * where torch is, without importing it; the dynamic linker lists what
 * libtorch_cuda.so of it would load, and runs nothing of that.
 */
struct nccl_torch_look {
	struct spawn_child child;
	struct str out, why;
	/* after the end */
	char path[PATH_MAX]; /* links followed */
	char version[24];    /* "2.27.3"; "" where no name tells */
};

/** Begin; 0, or -1 with @e where there is no python3. */
int nccl_torch_begin(struct nccl_torch_look *l, struct err *e);
/** After a begin that returned 0: set path and version, if they are found by
 *  @deadline_ns.  0, or -1 with @e: no torch, one without GPUs, one that has
 *  NCCL in itself. */
int nccl_torch_end(struct nccl_torch_look *l, int64_t deadline_ns,
		   struct err *e);

/** Pure: the file of libnccl.so.2 in the dynamic linker's list @text, lines
 *  such as "libnccl.so.2 => /usr/lib/libnccl.so.2 (0x7f00)".  0, or -1 with
 *  @e. */
int nccl_torch_parse(const char *text, char path[PATH_MAX], struct err *e);

/** The version that the name of the file @path has, or its package beside it
 *  (nvidia_nccl_cu12-2.27.3.dist-info); "" without. */
void nccl_torch_version(const char *path, char version[24]);

/** The name of the place that comes before all of nccl_find(). */
#define NCCL_LOADER "the loader's path"
/** Maximum libraries that are listed. */
#define NCCL_FILES 8

struct nccl_files {
	const char *root;
	size_t n;
	struct {
		char path[PATH_MAX]; /* links followed */
		char version[24];    /* nccl_torch_version() */
		const char *in;	     /* one of NCCL_PLACES; static */
	} list[NCCL_FILES];
};

/**
 * Find NCCL outside of the loader's path, below @root ("" = /; static): in the
 * Python environment, conda, modules, NVIDIA's HPC SDK, spack, /usr/local and
 * /opt.  The order is that in which they are tried: by place, and in a place
 * the last version first.  To be freed; NULL without memory, or if a file
 * system does not answer.
 */
struct nccl_files *nccl_find(const char *root);
/** The names of all places. */
#define NCCL_PLACES NCCL_LOADER ", $NCCL_HOME, $NCCL_ROOT, modules, Python, " \
	"conda, ~/.local, HPC SDK, spack, /usr, /usr/local, /opt"

/* ---- nccl ---------------------------------------------------------------- */

#if HAVE_NCCL
#include <nccl.h>
#else
/*
 * The part of nccl.h that this program uses, for machines that build without
 * it. The config is the one of NCCL 2.14, which every later library accepts.
 */
typedef struct ncclComm *ncclComm_t;
typedef struct {
	char internal[128];
} ncclUniqueId;
typedef enum {
	ncclSuccess = 0,
	ncclUnhandledCudaError,
	ncclSystemError,
	ncclInternalError,
	ncclInvalidArgument,
	ncclInvalidUsage,
	ncclRemoteError,
	ncclInProgress,
} ncclResult_t;
typedef enum { ncclInt8 = 0, ncclUint8 = 1, ncclFloat32 = 7 } ncclDataType_t;
typedef enum { ncclSum = 0, ncclNumOps = 5 } ncclRedOp_t;
typedef struct {
	size_t size;
	unsigned int magic;
	unsigned int version;
	int blocking;
} ncclConfig_t;

#define NCCL_CONFIG_UNDEF_INT	(-2147483647 - 1)
#define NCCL_CONFIG_INITIALIZER \
	{ sizeof(ncclConfig_t), 0xcafebeef, 21400, NCCL_CONFIG_UNDEF_INT }
#endif

struct CUstream_st;	/* cudaStream_t and CUstream are both pointers to it */

/**
 * NCCL, opened at run time: $GPUCHECK_NCCL_LIB, a file or "torch" for that of
 * nccl_torch_begin(), else libnccl.so.2, else that of nccl_find().  Optional
 * functions came with 2.4 (abort), 2.14 (config, finalize), 2.13 (last error).
 */
#define NCCL_FUNCTIONS(F, OPT) \
	F(ncclResult_t, ncclGetVersion, (int *version)) \
	F(ncclResult_t, ncclGetUniqueId, (ncclUniqueId *id)) \
	F(ncclResult_t, ncclCommInitRank, (ncclComm_t *comm, int size, \
		ncclUniqueId id, int rank)) \
	OPT(ncclResult_t, ncclCommInitRankConfig, (ncclComm_t *comm, \
		int size, ncclUniqueId id, int rank, ncclConfig_t *config)) \
	F(ncclResult_t, ncclCommGetAsyncError, (ncclComm_t comm, \
		ncclResult_t *state)) \
	OPT(ncclResult_t, ncclCommFinalize, (ncclComm_t comm)) \
	F(ncclResult_t, ncclCommDestroy, (ncclComm_t comm)) \
	OPT(ncclResult_t, ncclCommAbort, (ncclComm_t comm)) \
	F(ncclResult_t, ncclGroupStart, (void)) \
	F(ncclResult_t, ncclGroupEnd, (void)) \
	F(ncclResult_t, ncclSend, (const void *buf, size_t count, \
		ncclDataType_t type, int peer, ncclComm_t comm, \
		struct CUstream_st *stream)) \
	F(ncclResult_t, ncclRecv, (void *buf, size_t count, \
		ncclDataType_t type, int peer, ncclComm_t comm, \
		struct CUstream_st *stream)) \
	/* a library for some of them only is of use for these */ \
	OPT(ncclResult_t, ncclAllReduce, (const void *from, void *to, \
		size_t count, ncclDataType_t type, ncclRedOp_t op, \
		ncclComm_t comm, struct CUstream_st *stream)) \
	OPT(ncclResult_t, ncclReduce, (const void *from, void *to, \
		size_t count, ncclDataType_t type, ncclRedOp_t op, int root, \
		ncclComm_t comm, struct CUstream_st *stream)) \
	OPT(ncclResult_t, ncclReduceScatter, (const void *from, void *to, \
		size_t count, ncclDataType_t type, ncclRedOp_t op, \
		ncclComm_t comm, struct CUstream_st *stream)) \
	OPT(ncclResult_t, ncclAllGather, (const void *from, void *to, \
		size_t count, ncclDataType_t type, ncclComm_t comm, \
		struct CUstream_st *stream)) \
	OPT(ncclResult_t, ncclBroadcast, (const void *from, void *to, \
		size_t count, ncclDataType_t type, int root, ncclComm_t comm, \
		struct CUstream_st *stream)) \
	F(const char *, ncclGetErrorString, (ncclResult_t result)) \
	OPT(const char *, ncclGetLastError, (ncclComm_t comm)) \
	/* 2.19, 2.27; a window is a pointer */ \
	OPT(ncclResult_t, ncclMemAlloc, (void **at, size_t bytes)) \
	OPT(ncclResult_t, ncclMemFree, (void *at)) \
	OPT(ncclResult_t, ncclCommWindowRegister, (ncclComm_t comm, void *at, \
		size_t bytes, void **window, int flags)) \
	OPT(ncclResult_t, ncclCommWindowDeregister, (ncclComm_t comm, \
		void *window))

/** NCCL_WIN_COLL_SYMMETRIC of newer headers. */
#define NCCL_WINDOW_SYMMETRIC 1

struct nccl {
	NCCL_FUNCTIONS(DL_POINTER, DL_POINTER)
	/* place of the library, one of NCCL_PLACES, or the variable that named
	 * it */
	const char *in;
};

/** The table, loaded once; NULL with @e when there is no NCCL.  For "torch" it
 *  starts a process, and changes the environment to what that found: before
 *  other threads run. */
const struct nccl *dl_nccl(struct err *e);

/** "nccl_remote_error": how a row names @result; static text. */
const char *dl_nccl_code(ncclResult_t result);

#define DL_NCCL_VERSION 24
/** "2.28.9" from NCCL's version number @code; returns @buf. */
const char *dl_nccl_version_text(int code, char buf[DL_NCCL_VERSION]);

#endif
