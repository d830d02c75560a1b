/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_IB_GPU_H
#define PROBES_IB_GPU_H

#include "probes/host/gpu.h"
#include "probes/ib/memory.h"

/**
 * Memory of a GPU that an HCA reads and writes by itself.
 */

/**
 * Open the GPU that shares the longest way of PCI bridges with the HCA, of
 * several equal ones the @index-th, counted round, as m->gpu; with buffers of
 * m->bytes each, registered with m->d: by dma-buf, else by nvidia-peermem, and
 * m->how says which.  0, or -1 with @e and *@code.
 */
int verbs_gpu_open(struct verbs_memory *m, int index, const char **code,
		   struct err *e);

#endif
