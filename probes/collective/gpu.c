/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/collective/gpu.h"

#include <stdlib.h>
#include <string.h>

#define BLOCKS	1024
#define THREADS 256
/* What the host looks at in one piece, elements, about. */
#define PIECE	(INT64_C(1) << 19)

#define TABLES (COLLECTIVE_GIVEN + COLLECTIVE_WANTED)

static bool load_kernels(struct collective_gpu *c)
{
	const struct cuda *cu = c->gpu->cu;
	CUmodule module;

	if (cu->module_load(&module, collective_kernels_ptx) == CUDA_SUCCESS &&
	    cu->module_function(&c->fill, module, COLLECTIVE_KERNEL_FILL) ==
		    CUDA_SUCCESS &&
	    cu->module_function(&c->wrong, module, COLLECTIVE_KERNEL_WRONG) ==
		    CUDA_SUCCESS) {
		return true;
	}
	c->fill = c->wrong = NULL;
	return false;
}

CUresult collective_gpu_open(struct collective_gpu *c, struct gpu *g,
			     const struct collective_data *d,
			     int64_t deadline_ns)
{
	uint64_t tables[TABLES];
	CUresult rc;

	memset(c, 0, sizeof(*c));
	c->gpu = g;
	c->data = *d;
	if (!load_kernels(c)) {
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

static CUresult launch(struct collective_gpu *c, CUfunction fn, void **params)
{
	return c->gpu->cu->launch(fn, BLOCKS, 1, 1, THREADS, 1, 1, 0,
				  c->gpu->stream, params, NULL);
}

/** Whole turns of all ranks, so that each piece begins with the first. */
static int64_t piece_of(const struct collective_gpu *c)
{
	return (PIECE / c->data.ranks + 1) * c->data.ranks;
}

/** The host's version: @fills, or counts into the shared word. */
static CUresult by_host(struct collective_gpu *c,
			const struct collective_data *d, CUdeviceptr mem,
			int64_t n, uint64_t seed, bool fills,
			int64_t deadline_ns)
{
	struct gpu *g = c->gpu;
	int64_t piece = piece_of(c);
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
	return c->fill != NULL ? launch(c, c->fill, params) :
				 by_host(c, &d, mem, n, seed, true,
					 deadline_ns);
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

	return c->wrong != NULL ? launch(c, c->wrong, params) :
				  by_host(c, d, mem, n, seed, false,
					  deadline_ns);
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
