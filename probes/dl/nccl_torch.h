/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_DL_NCCL_TORCH_H
#define PROBES_DL_NCCL_TORCH_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"

/**
 * The NCCL that jobs of PyTorch run with: what the torch of the python3 on PATH
 * is linked with, which is mostly one of the same environment.  Python says
 * where torch is, without importing it; the dynamic linker lists what
 * libtorch_cuda.so of it would load, and runs nothing of that.
 */
struct nccl_torch {
	char path[PATH_MAX];	/* links followed */
	char version[24];	/* "2.27.3"; "" where no name tells */
};

/** One look, while other things are done. */
struct nccl_torch_look {
	struct spawn_child child;
	struct str out, why;
};

/** Begin; 0, or -1 with @e where there is no python3. */
int nccl_torch_begin(struct nccl_torch_look *l, struct err *e);
/** After a begin that returned 0: what was found by @deadline_ns.  0, or -1
 *  with @e: no torch, one without GPUs, one that has NCCL in itself. */
int nccl_torch_end(struct nccl_torch_look *l, int64_t deadline_ns,
		   struct nccl_torch *t, struct err *e);

/** Pure: the file of libnccl.so.2 in the dynamic linker's list @text, lines
 *  such as "libnccl.so.2 => /usr/lib/libnccl.so.2 (0x7f00)".  0, or -1 with
 *  @e. */
int nccl_torch_parse(const char *text, char path[PATH_MAX], struct err *e);

/** The version that the name of the file @path has, or its package beside it
 *  (nvidia_nccl_cu12-2.27.3.dist-info); "" without. */
void nccl_torch_version(const char *path, char version[24]);

#endif
