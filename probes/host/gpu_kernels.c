/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/gpu_kernels.h"

#define PTX_REGISTERS \
	"	.reg .pred	%p<4>;\n" \
	"	.reg .b32	%r<8>;\n" \
	"	.reg .b64	%rd<8>, %mem, %end, %seed, %flip, %wrong;\n" \
	"	.reg .b64	%i, %step, %word, %at, %n;\n"

/*
 * %word = word %i of the pattern, %at = its address; the constant is
 * PATTERN_MULTIPLIER of pattern.h.
 */
#define PTX_PATTERN_WORD \
	"	add.u64		%word, %seed, %i;\n" \
	"	mul.lo.u64	%word, %word, 0x9e3779b97f4a7c15;\n" \
	"	shl.b64		%at, %i, 3;\n" \
	"	add.u64		%at, %mem, %at;\n"

/*
 * %word |= its bits @shift to the right, staying within each group of bits
 * that @mask describes: after 4, 2 and 1 the lowest bit of every byte tells
 * whether the byte was not zero.
 */
#define PTX_FOLD(shift, mask) \
	"	shr.u64		%rd2, %word, " shift ";\n" \
	"	and.b64		%rd2, %rd2, " mask ";\n" \
	"	or.b64		%word, %word, %rd2;\n"

const char gpu_kernels_ptx[] =
	".version 6.4\n"
	".target sm_60\n"
	".address_size 64\n"
	".visible .entry " GPU_KERNEL_FILL "(.param .u64 p_mem,\n"
	"	.param .u64 p_words, .param .u64 p_seed, .param .u64 p_flip)\n"
	"{\n"
	PTX_REGISTERS
	"	ld.param.u64	%mem, [p_mem];\n"
	"	cvta.to.global.u64 %mem, %mem;\n"
	"	ld.param.u64	%end, [p_words];\n"
	"	ld.param.u64	%seed, [p_seed];\n"
	"	ld.param.u64	%flip, [p_flip];\n"
	PTX_THREAD_INDEX
	"next:\n"
	"	setp.ge.u64	%p1, %i, %end;\n"
	"@%p1	ret;\n"
	PTX_PATTERN_WORD
	"	xor.b64		%word, %word, %flip;\n"
	"	st.global.u64	[%at], %word;\n"
	"	add.u64		%i, %i, %step;\n"
	"	bra		next;\n"
	"}\n"
	".visible .entry " GPU_KERNEL_CHECK "(.param .u64 p_mem,\n"
	"	.param .u64 p_bytes, .param .u64 p_seed, .param .u64 p_wrong)\n"
	"{\n"
	PTX_REGISTERS
	"	ld.param.u64	%mem, [p_mem];\n"
	"	cvta.to.global.u64 %mem, %mem;\n"
	"	ld.param.u64	%end, [p_bytes];\n"
	"	ld.param.u64	%seed, [p_seed];\n"
	"	ld.param.u64	%wrong, [p_wrong];\n"
	"	cvta.to.global.u64 %wrong, %wrong;\n"
	"	mov.u64		%n, 0;\n"
	PTX_THREAD_INDEX
	"next:\n"
	"	shl.b64		%rd3, %i, 3;\n"
	"	setp.ge.u64	%p1, %rd3, %end;\n"
	"@%p1	bra		done;\n"
	PTX_PATTERN_WORD
	"	ld.global.u64	%rd4, [%at];\n"
	"	xor.b64		%word, %word, %rd4;\n"
	"	sub.u64		%rd5, %end, %rd3;\n"
	"	setp.ge.u64	%p2, %rd5, 8;\n"
	"@%p2	bra		count;\n"
	/* the last word: leave out what lies past the end */
	"	cvt.u32.u64	%r5, %rd5;\n"
	"	shl.b32		%r5, %r5, 3;\n"
	"	mov.u64		%rd6, 1;\n"
	"	shl.b64		%rd6, %rd6, %r5;\n"
	"	sub.u64		%rd6, %rd6, 1;\n"
	"	and.b64		%word, %word, %rd6;\n"
	"count:\n"
	PTX_FOLD("4", "0x0f0f0f0f0f0f0f0f")
	PTX_FOLD("2", "0x3333333333333333")
	PTX_FOLD("1", "0x5555555555555555")
	"	and.b64		%word, %word, 0x0101010101010101;\n"
	"	popc.b64	%r6, %word;\n"
	"	cvt.u64.u32	%rd7, %r6;\n"
	"	add.u64		%n, %n, %rd7;\n"
	"	add.u64		%i, %i, %step;\n"
	"	bra		next;\n"
	"done:\n"
	"	setp.eq.u64	%p3, %n, 0;\n"
	"@%p3	ret;\n"
	"	red.global.add.u64 [%wrong], %n;\n"
	"	ret;\n"
	"}\n"
	".visible .entry " GPU_KERNEL_GATE "(.param .u64 p_word,\n"
	"	.param .u64 p_ticket, .param .u64 p_limit)\n"
	"{\n"
	"	.reg .pred	%p<3>;\n"
	"	.reg .b64	%word, %ticket, %limit, %now, %since, %t;\n"
	"	ld.param.u64	%word, [p_word];\n"
	"	ld.param.u64	%ticket, [p_ticket];\n"
	"	ld.param.u64	%limit, [p_limit];\n"
	"	mov.u64		%since, %globaltimer;\n"
	"next:\n"
	"	ld.volatile.u64	%now, [%word];\n"
	"	setp.ge.u64	%p1, %now, %ticket;\n"
	"@%p1	ret;\n"
	"	mov.u64		%t, %globaltimer;\n"
	"	sub.u64		%t, %t, %since;\n"
	"	setp.lt.u64	%p2, %t, %limit;\n"
	"@%p2	bra		next;\n"
	"	ret;\n"
	"}\n";
