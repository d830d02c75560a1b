/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/collective/gpu.h"

#include "probes/host/gpu_kernels.h"

#define PTX_REGISTERS \
	"	.reg .pred	%p<8>;\n" \
	"	.reg .b16	%h<2>;\n" \
	"	.reg .b32	%r<8>, %width, %shift;\n" \
	"	.reg .b64	%rd<8>, %mem, %end, %seed, %table, %rank;\n" \
	"	.reg .b64	%ranks, %tol, %count, %n;\n" \
	"	.reg .b64	%i, %step, %word, %at, %value;\n"

/* what both take; %shift = 64 less the bits of an element */
#define PTX_COMMON \
	"	ld.param.u64	%mem, [p_mem];\n" \
	"	cvta.to.global.u64 %mem, %mem;\n" \
	"	ld.param.u64	%end, [p_n];\n" \
	"	ld.param.u64	%rd2, [p_width];\n" \
	"	cvt.u32.u64	%width, %rd2;\n" \
	"	ld.param.u64	%table, [p_table];\n" \
	"	setp.eq.u64	%p1, %table, 0;\n" \
	"@!%p1	cvta.to.global.u64 %table, %table;\n" \
	"	ld.param.u64	%seed, [p_seed];\n" \
	"	mov.u32		%r5, 8;\n" \
	"	shl.b32		%r5, %r5, %width;\n" \
	"	mov.u32		%r6, 64;\n" \
	"	sub.u32		%shift, %r6, %r5;\n" \
	PTX_THREAD_INDEX \
	"	setp.eq.u32	%p2, %width, 0;\n" \
	"	setp.eq.u32	%p3, %width, 1;\n" \
	"	setp.eq.u32	%p4, %width, 2;\n"

/*
 * %word of element %i, %at = its address, %rd3 = the two upper bits of %word;
 * the constant is PATTERN_MULTIPLIER of pattern.h.
 */
#define PTX_ELEMENT \
	"	setp.ge.u64	%p5, %i, %end;\n" \
	"@%p5	bra		done;\n" \
	"	add.u64		%word, %seed, %i;\n" \
	"	mul.lo.u64	%word, %word, 0x9e3779b97f4a7c15;\n" \
	"	shl.b64		%at, %i, %width;\n" \
	"	add.u64		%at, %mem, %at;\n" \
	"	shr.u64		%rd3, %word, 62;\n" \
	"	shr.u64		%value, %word, %shift;\n" \
	"@%p1	bra		known;\n"

const char collective_kernels_ptx[] =
	".version 6.4\n"
	".target sm_60\n"
	".address_size 64\n"
	".visible .entry " COLLECTIVE_KERNEL_FILL "(.param .u64 p_mem,\n"
	"	.param .u64 p_n, .param .u64 p_width, .param .u64 p_table,\n"
	"	.param .u64 p_rank, .param .u64 p_ranks, .param .u64 p_seed)\n"
	"{\n"
	PTX_REGISTERS
	PTX_COMMON
	"	ld.param.u64	%rank, [p_rank];\n"
	"	ld.param.u64	%ranks, [p_ranks];\n"
	"next:\n"
	PTX_ELEMENT
	"	rem.u64		%rd4, %i, %ranks;\n"
	"	setp.eq.u64	%p6, %rd4, %rank;\n"
	"	selp.u64	%rd5, 1, 0, %p6;\n"
	"	shl.b64		%rd3, %rd3, 1;\n"
	"	add.u64		%rd3, %rd3, %rd5;\n"
	"	shl.b64		%rd3, %rd3, 3;\n"
	"	add.u64		%rd3, %table, %rd3;\n"
	"	ld.global.u64	%value, [%rd3];\n"
	"known:\n"
	"	cvt.u32.u64	%r7, %value;\n"
	"	cvt.u16.u64	%h1, %value;\n"
	"@%p2	st.global.u8	[%at], %h1;\n"
	"@%p3	st.global.u16	[%at], %h1;\n"
	"@%p4	st.global.u32	[%at], %r7;\n"
	"	setp.gt.u32	%p7, %width, 2;\n"
	"@%p7	st.global.u64	[%at], %value;\n"
	"	add.u64		%i, %i, %step;\n"
	"	bra		next;\n"
	"done:\n"
	"	ret;\n"
	"}\n"
	".visible .entry " COLLECTIVE_KERNEL_WRONG "(.param .u64 p_mem,\n"
	"	.param .u64 p_n, .param .u64 p_width, .param .u64 p_table,\n"
	"	.param .u64 p_tol, .param .u64 p_seed, .param .u64 p_count)\n"
	"{\n"
	PTX_REGISTERS
	PTX_COMMON
	"	ld.param.u64	%tol, [p_tol];\n"
	"	ld.param.u64	%count, [p_count];\n"
	"	cvta.to.global.u64 %count, %count;\n"
	"	mov.u64		%n, 0;\n"
	"next:\n"
	PTX_ELEMENT
	"	shl.b64		%rd3, %rd3, 3;\n"
	"	add.u64		%rd3, %table, %rd3;\n"
	"	ld.global.u64	%value, [%rd3];\n"
	"known:\n"
	"	mov.u64		%rd6, 0;\n"
	"	mov.u16		%h1, 0;\n"
	"	mov.u32		%r7, 0;\n"
	"@%p2	ld.global.u8	%h1, [%at];\n"
	"@%p3	ld.global.u16	%h1, [%at];\n"
	"@%p4	ld.global.u32	%r7, [%at];\n"
	"	setp.gt.u32	%p7, %width, 2;\n"
	"@%p7	ld.global.u64	%rd6, [%at];\n"
	"@%p2	cvt.u64.u16	%rd6, %h1;\n"
	"@%p3	cvt.u64.u16	%rd6, %h1;\n"
	"@%p4	cvt.u64.u32	%rd6, %r7;\n"
	/* the larger less the smaller */
	"	max.u64		%rd7, %rd6, %value;\n"
	"	min.u64		%rd6, %rd6, %value;\n"
	"	sub.u64		%rd7, %rd7, %rd6;\n"
	"	setp.gt.u64	%p6, %rd7, %tol;\n"
	"	selp.u64	%rd7, 1, 0, %p6;\n"
	"	add.u64		%n, %n, %rd7;\n"
	"	add.u64		%i, %i, %step;\n"
	"	bra		next;\n"
	"done:\n"
	"	setp.eq.u64	%p6, %n, 0;\n"
	"@%p6	ret;\n"
	"	red.global.add.u64 [%count], %n;\n"
	"	ret;\n"
	"}\n";
