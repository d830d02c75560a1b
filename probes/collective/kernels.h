/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_COLLECTIVE_KERNELS_H
#define PROBES_COLLECTIVE_KERNELS_H

/**
 * data.h as PTX text that the driver compiles, for any grid.  All
 * parameters are u64; @table is 0 for what only moves.
 *
 * collective_fill(mem, n, width_log2, table, rank, ranks, seed)
 *	Put @n elements of 1 << @width_log2 bytes at @mem: given[].
 * collective_wrong(mem, n, width_log2, table, tolerance, seed, count)
 *	Add to *@count how many of @n elements are not as in wanted[].
 */
extern const char collective_kernels_ptx[];

#define COLLECTIVE_KERNEL_FILL  "collective_fill"
#define COLLECTIVE_KERNEL_WRONG "collective_wrong"

#endif
