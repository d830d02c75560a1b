/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_GPU_KERNELS_H
#define PROBES_GPU_KERNELS_H

/**
 * What runs on a GPU that is tested, as PTX text that the driver compiles.
 *
 * memory_check(u64 mem, u64 units, u64 seed, u64 flip, u64 found)
 *	Compare @units of 16 bytes, a multiple of four times the threads in the
 *	grid, with what pattern_fill (gpu_kernels.h) wrote.  Adds to @found[0]
 *	how many of the 64-bit words differ, takes the number of the first unit
 *	to @found[1] and the bits that differ to @found[2].
 * matrix(u64 sums, u64 sms, u32 rounds, u32 drill, u32 rate)
 *	The same arithmetic in every warp of every block.  Adds to @sums[block]
 *	what each of its threads made of its results, and says in @sms[block] on
 *	which multiprocessor it ran.  A block whose hash with @drill is below
 *	@rate has one bit flipped first: 0 = none.
 */
#define GPU_KERNEL_MEMORY "memory_check"
#define GPU_KERNEL_MATRIX "matrix"

extern const char gpu_memory_ptx[];
/* By tensor cores, from Ampere on; and by what every GPU since Pascal has.
 * Their results differ. */
extern const char gpu_matrix_ptx[], gpu_matrix_plain_ptx[];

#endif
