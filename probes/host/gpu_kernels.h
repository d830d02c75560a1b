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

/** %i = number of this thread in the grid, %step = threads in the grid;
 *  spoils %r1 to %r4 and %rd1. */
#define PTX_THREAD_INDEX \
	"	mov.u32		%r1, %ctaid.x;\n" \
	"	mov.u32		%r2, %ntid.x;\n" \
	"	mov.u32		%r3, %tid.x;\n" \
	"	mul.wide.u32	%i, %r1, %r2;\n" \
	"	cvt.u64.u32	%rd1, %r3;\n" \
	"	add.u64		%i, %i, %rd1;\n" \
	"	mov.u32		%r4, %nctaid.x;\n" \
	"	mul.wide.u32	%step, %r4, %r2;\n"

#endif
