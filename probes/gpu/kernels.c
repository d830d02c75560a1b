/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/gpu/gpu.h"

#include "probes/host/gpu.h"

/* ---- memory -------------------------------------------------------------- */

#define LOAD(k) \
	"	ld.global.v2.u64 {%a" k ", %b" k "}, [%at];\n" \
	"	add.u64		%at, %at, %stride;\n"

/* PATTERN_MULTIPLIER of pattern.h: word n of the pattern is (seed + n) times
 * it. */
#define COMPARE(k) \
	"	shl.b64		%word, %i, 1;\n" \
	"	add.u64		%word, %word, %seed;\n" \
	"	mul.lo.u64	%word, %word, 0x9e3779b97f4a7c15;\n" \
	"	xor.b64		%a" k ", %a" k ", %word;\n" \
	"	add.u64		%word, %word, 0x9e3779b97f4a7c15;\n" \
	"	xor.b64		%b" k ", %b" k ", %word;\n" \
	"	xor.b64		%a" k ", %a" k ", %flip;\n" \
	"	xor.b64		%b" k ", %b" k ", %flip;\n" \
	"	or.b64		%word, %a" k ", %b" k ";\n" \
	"	setp.ne.u64	%p1, %a" k ", 0;\n" \
	"	setp.ne.u64	%p2, %b" k ", 0;\n" \
	"	setp.ne.u64	%p3, %word, 0;\n" \
	"@%p1	red.global.add.u64 [%found], 1;\n" \
	"@%p2	red.global.add.u64 [%found], 1;\n" \
	"@%p3	red.global.min.u64 [%found + 8], %i;\n" \
	"@%p3	red.global.or.b64 [%found + 16], %word;\n" \
	"	add.u64		%i, %i, %step;\n"

const char gpu_memory_ptx[] =
	".version 6.4\n"
	".target sm_60\n"
	".address_size 64\n"
	".visible .entry " GPU_KERNEL_MEMORY "(.param .u64 p_mem,\n"
	"	.param .u64 p_units, .param .u64 p_seed, .param .u64 p_flip,\n"
	"	.param .u64 p_found)\n"
	"{\n"
	"	.reg .pred	%p<5>;\n"
	"	.reg .b32	%r<5>;\n"
	"	.reg .b64	%rd<2>, %a<4>, %b<4>, %mem, %units, %seed;\n"
	"	.reg .b64	%flip, %found, %i, %step, %stride, %at, %word;\n"
	"	ld.param.u64	%mem, [p_mem];\n"
	"	cvta.to.global.u64 %mem, %mem;\n"
	"	ld.param.u64	%units, [p_units];\n"
	"	ld.param.u64	%seed, [p_seed];\n"
	"	ld.param.u64	%flip, [p_flip];\n"
	"	ld.param.u64	%found, [p_found];\n"
	"	cvta.to.global.u64 %found, %found;\n"
	PTX_THREAD_INDEX
	"	shl.b64		%stride, %step, 4;\n"
	"next:\n"
	"	setp.ge.u64	%p4, %i, %units;\n"
	"@%p4	ret;\n"
	"	shl.b64		%at, %i, 4;\n"
	"	add.u64		%at, %mem, %at;\n"
	LOAD("0") LOAD("1") LOAD("2") LOAD("3")
	COMPARE("0") COMPARE("1") COMPARE("2") COMPARE("3")
	"	bra		next;\n"
	"}\n";

/* ---- arithmetic ---------------------------------------------------------- */

/* %x goes on (Numerical Recipes, 2nd ed., 7.1, "quick and dirty"). */
#define NEXT \
	"	mad.lo.u32	%x, %x, 1664525, 1013904223;\n"
/* A register of two halves, or a single, from 1 to 2 with either sign. */
#define TWO_HALVES(reg) \
	NEXT \
	"	and.b32		" reg ", %x, 0x83ff83ff;\n" \
	"	or.b32		" reg ", " reg ", 0x3c003c00;\n"
#define SINGLE(reg) \
	NEXT \
	"	and.b32		" reg ", %x, 0x807fffff;\n" \
	"	or.b32		" reg ", " reg ", 0x3f800000;\n"

#define EIGHT(X) X("0") X("1") X("2") X("3") X("4") X("5") X("6") X("7")

#define CLEAR(k) \
	"	mov.b32		%c" k "_0, 0f00000000;\n" \
	"	mov.b32		%c" k "_1, 0f00000000;\n" \
	"	mov.b32		%c" k "_2, 0f00000000;\n" \
	"	mov.b32		%c" k "_3, 0f00000000;\n"
#define HASH_ONE(reg) \
	"	mov.b32		%r1, " reg ";\n" \
	"	cvt.u64.u32	%bits, %r1;\n" \
	"	xor.b64		%hash, %hash, %bits;\n" \
	"	mul.lo.u64	%hash, %hash, 0x100000001b3;\n"	/* FNV-1a's */
#define HASH(k) \
	HASH_ONE("%c" k "_0") HASH_ONE("%c" k "_1") \
	HASH_ONE("%c" k "_2") HASH_ONE("%c" k "_3")

#define MATRIX_BEGIN(target, version) \
	".version " version "\n" \
	".target " target "\n" \
	".address_size 64\n" \
	".visible .entry " GPU_KERNEL_MATRIX "(.param .u64 p_sums,\n" \
	"	.param .u64 p_sms, .param .u32 p_rounds, .param .u32 p_drill,\n" \
	"	.param .u32 p_rate)\n" \
	"{\n" \
	"	.reg .pred	%p<4>;\n" \
	"	.reg .b32	%r<8>, %x, %a<4>, %u<8>, %v<8>, %rounds;\n" \
	"	.reg .f32	%c0_<4>, %c1_<4>, %c2_<4>, %c3_<4>;\n" \
	"	.reg .f32	%c4_<4>, %c5_<4>, %c6_<4>, %c7_<4>, %fa<4>, %fb<8>;\n" \
	"	.reg .b64	%hash, %bits, %at, %off;\n" \
	"	ld.param.u32	%rounds, [p_rounds];\n" \
	"	mov.u32		%r1, %tid.x;\n" \
	"	and.b32		%r1, %r1, 31;\n" \
	"	mul.lo.u32	%x, %r1, 2654435761;\n"

/*
 * %r2 = hash of the block and the drill (Murmur's finaliser); the first thread
 * of a block below the rate flips a bit.
 */
#define MATRIX_END \
	"	ld.param.u32	%r3, [p_drill];\n" \
	"	ld.param.u32	%r4, [p_rate];\n" \
	"	mov.u32		%r5, %ctaid.x;\n" \
	"	mov.u32		%r6, %tid.x;\n" \
	"	mad.lo.u32	%r2, %r5, 2654435761, %r3;\n" \
	"	shr.u32		%r3, %r2, 16;\n" \
	"	xor.b32		%r2, %r2, %r3;\n" \
	"	mul.lo.u32	%r2, %r2, 0x85ebca6b;\n" \
	"	shr.u32		%r3, %r2, 13;\n" \
	"	xor.b32		%r2, %r2, %r3;\n" \
	"	mul.lo.u32	%r2, %r2, 0xc2b2ae35;\n" \
	"	shr.u32		%r3, %r2, 16;\n" \
	"	xor.b32		%r2, %r2, %r3;\n" \
	"	setp.lt.u32	%p1, %r2, %r4;\n" \
	"	setp.eq.and.u32	%p2, %r6, 0, %p1;\n" \
	"	mov.b32		%r1, %c0_0;\n" \
	"@%p2	xor.b32		%r1, %r1, 0x400;\n" \
	"	mov.b32		%c0_0, %r1;\n" \
	"	mov.u64		%hash, 0xcbf29ce484222325;\n" \
	EIGHT(HASH) \
	"	ld.param.u64	%at, [p_sums];\n" \
	"	cvta.to.global.u64 %at, %at;\n" \
	"	mul.wide.u32	%off, %r5, 8;\n" \
	"	add.u64		%at, %at, %off;\n" \
	"	red.global.add.u64 [%at], %hash;\n" \
	"	setp.ne.u32	%p3, %r6, 0;\n" \
	"@%p3	ret;\n" \
	"	ld.param.u64	%at, [p_sms];\n" \
	"	cvta.to.global.u64 %at, %at;\n" \
	"	mul.wide.u32	%off, %r5, 4;\n" \
	"	add.u64		%at, %at, %off;\n" \
	"	mov.u32		%r7, %smid;\n" \
	"	st.global.u32	[%at], %r7;\n" \
	"	ret;\n" \
	"}\n"

#define B_HALVES(k) TWO_HALVES("%u" k) TWO_HALVES("%v" k)
#define MMA(k) \
	"	mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32\n" \
	"		{%c" k "_0, %c" k "_1, %c" k "_2, %c" k "_3},\n" \
	"		{%a0, %a1, %a2, %a3}, {%u" k ", %v" k "},\n" \
	"		{%c" k "_0, %c" k "_1, %c" k "_2, %c" k "_3};\n"
#define STIR(k) \
	"	mad.lo.u32	%a" k ", %a" k ", 1664525, 1013904223;\n" \
	"	and.b32		%a" k ", %a" k ", 0x83ff83ff;\n" \
	"	or.b32		%a" k ", %a" k ", 0x3c003c00;\n"

const char gpu_matrix_ptx[] =
	MATRIX_BEGIN("sm_80", "7.0")
	TWO_HALVES("%a0") TWO_HALVES("%a1") TWO_HALVES("%a2") TWO_HALVES("%a3")
	EIGHT(B_HALVES)
	EIGHT(CLEAR)
	"next:\n"
	EIGHT(MMA)
	STIR("0") STIR("1") STIR("2") STIR("3")
	"	sub.u32		%rounds, %rounds, 1;\n"
	"	setp.ne.u32	%p1, %rounds, 0;\n"
	"@%p1	bra		next;\n"
	MATRIX_END;

#define B_SINGLE(k) SINGLE("%r2") "	mov.b32		%fb" k ", %r2;\n"
#define A_SINGLE(k) SINGLE("%a" k) "	mov.b32		%fa" k ", %a" k ";\n"
#define FMA(k) \
	"	fma.rn.f32	%c" k "_0, %fa0, %fb" k ", %c" k "_0;\n" \
	"	fma.rn.f32	%c" k "_1, %fa1, %fb" k ", %c" k "_1;\n" \
	"	fma.rn.f32	%c" k "_2, %fa2, %fb" k ", %c" k "_2;\n" \
	"	fma.rn.f32	%c" k "_3, %fa3, %fb" k ", %c" k "_3;\n"

const char gpu_matrix_plain_ptx[] =
	MATRIX_BEGIN("sm_60", "6.4")
	EIGHT(B_SINGLE)
	EIGHT(CLEAR)
	"next:\n"
	A_SINGLE("0") A_SINGLE("1") A_SINGLE("2") A_SINGLE("3")
	EIGHT(FMA)
	"	sub.u32		%rounds, %rounds, 1;\n"
	"	setp.ne.u32	%p1, %rounds, 0;\n"
	"@%p1	bra		next;\n"
	MATRIX_END;
