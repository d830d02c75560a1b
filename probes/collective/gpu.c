/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/collective/gpu.h"

#include <stdlib.h>
#include <string.h>

/* ---- kernels ------------------------------------------------------------- */

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

/* ---- gpu ----------------------------------------------------------------- */

#define BLOCKS	1024
#define THREADS 256
/* Approximate number of elements that the host checks at a time. */
#define PIECE	(INT64_C(1) << 19)

#define TABLES (COLLECTIVE_GIVEN + COLLECTIVE_WANTED)

CUresult collective_gpu_open(struct collective_gpu *c, struct gpu *g,
			     const struct collective_data *d,
			     int64_t deadline_ns)
{
	uint64_t tables[TABLES];
	CUmodule module;
	CUresult rc;

	memset(c, 0, sizeof(*c));
	c->gpu = g;
	c->data = *d;
	rc = g->cu->module_load(&module, collective_kernels_ptx);
	if (rc == CUDA_SUCCESS) {
		rc = g->cu->module_function(&c->fill, module,
					    COLLECTIVE_KERNEL_FILL);
	}
	if (rc == CUDA_SUCCESS) {
		rc = g->cu->module_function(&c->wrong, module,
					    COLLECTIVE_KERNEL_WRONG);
	}
	if (rc != CUDA_SUCCESS) {
		c->fill = c->wrong = NULL;
		return CUDA_SUCCESS;	/* the host does it */
	}
	memcpy(tables, d->given, sizeof(d->given));
	memcpy(tables + COLLECTIVE_GIVEN, d->wanted, sizeof(d->wanted));
	rc = g->cu->mem_alloc(&c->tables, sizeof(tables));
	if (rc == CUDA_SUCCESS) {
		rc = g->cu->copy_to_gpu(c->tables, tables, sizeof(tables),
					g->stream);
	}
	return rc == CUDA_SUCCESS ? gpu_drain(g, deadline_ns) : rc;
}

/** The host's version: @fills, or counts into the shared word. */
static CUresult by_host(struct collective_gpu *c,
			const struct collective_data *d, CUdeviceptr mem,
			int64_t n, uint64_t seed, bool fills,
			int64_t deadline_ns)
{
	struct gpu *g = c->gpu;
	/* whole turns of all ranks, so that each piece begins with the first */
	int64_t piece = (PIECE / c->data.ranks + 1) * c->data.ranks;
	void *stage = malloc((size_t)piece << d->width_log2);
	CUresult rc = stage != NULL ? gpu_drain(g, deadline_ns) :
				      CUDA_ERROR_OUT_OF_MEMORY;

	for (int64_t at = 0; rc == CUDA_SUCCESS && at < n;
	     at += piece) {
		int64_t part = n - at < piece ? n - at : piece;
		CUdeviceptr there = mem +
				    ((CUdeviceptr)at << d->width_log2);
		size_t bytes = (size_t)part << d->width_log2;

		if (fills) {
			collective_data_fill(d, stage, part,
					     seed + (uint64_t)at);
			rc = g->cu->copy_to_gpu(there, stage, bytes,
						g->stream);
		} else {
			rc = g->cu->copy_to_host(stage, there, bytes,
						 g->stream);
		}
		if (rc == CUDA_SUCCESS) {
			rc = gpu_drain(g, deadline_ns);
		}
		if (rc == CUDA_SUCCESS && !fills) {
			g->host_words[GPU_WORD_WRONG] +=
				(uint64_t)collective_data_wrong(
					d, stage, part, seed + (uint64_t)at);
		}
	}
	free(stage);
	return rc;
}

CUresult collective_gpu_fill(struct collective_gpu *c, CUdeviceptr mem,
			     int64_t n, uint64_t seed, bool moved,
			     int64_t deadline_ns)
{
	struct collective_data d = c->data;
	uint64_t count = (uint64_t)n, width = (uint64_t)d.width_log2;
	uint64_t rank = (uint64_t)d.rank, ranks = (uint64_t)d.ranks;
	uint64_t table;
	void *params[] = { &mem, &count, &width, &table, &rank, &ranks,
			   &seed };

	d.moves = d.moves || moved;
	table = d.moves ? 0 : c->tables;
	return c->fill != NULL ?
		       gpu_launch(c->gpu, c->fill, BLOCKS, THREADS, params) :
		       by_host(c, &d, mem, n, seed, true, deadline_ns);
}

CUresult collective_gpu_wrong(struct collective_gpu *c, CUdeviceptr mem,
			      int64_t n, uint64_t seed, int64_t deadline_ns)
{
	const struct collective_data *d = &c->data;
	uint64_t count = (uint64_t)n, width = (uint64_t)d->width_log2;
	uint64_t exact = 0;	/* the tolerance of the kernel */
	uint64_t table =
		d->moves ? 0 : c->tables + COLLECTIVE_GIVEN * sizeof(uint64_t);
	CUdeviceptr sum = gpu_word_at(c->gpu, GPU_WORD_WRONG);
	void *params[] = { &mem, &count, &width, &table, &exact, &seed,
			   &sum };

	return c->wrong != NULL ?
		       gpu_launch(c->gpu, c->wrong, BLOCKS, THREADS, params) :
		       by_host(c, d, mem, n, seed, false, deadline_ns);
}

CUresult collective_gpu_count(struct collective_gpu *c, int64_t *wrong,
			      int64_t deadline_ns)
{
	struct gpu *g = c->gpu;
	CUresult rc = c->wrong != NULL ? gpu_word_pull(g, GPU_WORD_WRONG) :
					 CUDA_SUCCESS;

	if (rc == CUDA_SUCCESS) {
		rc = gpu_drain(g, deadline_ns);
	}
	*wrong = (int64_t)g->host_words[GPU_WORD_WRONG];
	return rc;
}
