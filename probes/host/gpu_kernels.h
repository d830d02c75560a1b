/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_GPU_KERNELS_H
#define PROBES_HOST_GPU_KERNELS_H

/**
 * What runs on the GPU: PTX text that the driver compiles, so that no nvcc is
 * needed, for every GPU since Pascal.  The first two are pattern.h, for any
 * grid; the third is for one thread.
 *
 * pattern_fill(u64 mem, u64 words, u64 seed, u64 flip)
 *	Write @words 64-bit words, each XORed with @flip: 0, or all ones for a
 *	buffer in which every byte is wrong.
 * pattern_check(u64 mem, u64 bytes, u64 seed, u64 wrong)
 *	Add to *@wrong how many of the first @bytes bytes differ.
 * gate(u64 word, u64 ticket, u64 limit_ns)
 *	Wait until *@word reaches @ticket, for @limit_ns at most.
 */
extern const char gpu_kernels_ptx[];

#define GPU_KERNEL_FILL	 "pattern_fill"
#define GPU_KERNEL_CHECK "pattern_check"
#define GPU_KERNEL_GATE	 "gate"

#endif
