/* SPDX-License-Identifier: BSD-3-Clause */
/* All free memory of a GPU, written with a pattern and read back. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "probes/gpu/gpu.h"

#define BLOCKS	    1024
#define THREADS	    256
#define KEEP_BYTES  (UINT64_C(1) << 30)	/* of free memory, for the driver */
/* Bytes that memory_check() reads per step: four units of 16 bytes a thread. */
#define STEP_BYTES  ((uint64_t)BLOCKS * THREADS * 64)
#define CHUNKS	    64
#define SEED	    UINT64_C(0x6770756368656b)

/* ---- the pattern --------------------------------------------------------- */

struct memory {
	struct {
		CUdeviceptr at;
		uint64_t bytes;
	} chunks[CHUNKS];
	size_t n;
	uint64_t bytes;		/* of all */
	CUfunction check;
	CUdeviceptr found;	/* three words: kernels.h */
};

/* Load the kernel, then take all memory but what the driver may need, in as few
 * pieces as there are. */
static CUresult take_memory(struct gpu_seat *s, struct memory *m)
{
	static const uint64_t nothing[] = { 0, UINT64_MAX, 0 };
	struct gpu *g = &s->gpu;
	size_t left = 0, total = 0, piece;
	CUresult rc =
		gpu_kernel(g, gpu_memory_ptx, GPU_KERNEL_MEMORY, &m->check);

	if (rc == CUDA_SUCCESS) {
		rc = g->cu->mem_alloc(&m->found, sizeof(nothing));
	}
	if (rc == CUDA_SUCCESS) {
		rc = g->cu->copy_to_gpu(m->found, nothing, sizeof(nothing),
					g->stream);
	}
	if (rc == CUDA_SUCCESS) {
		rc = g->cu->mem_info(&left, &total);
	}
	left = rc == CUDA_SUCCESS && left > KEEP_BYTES ? left - KEEP_BYTES : 0;
	piece = left;
	while (rc == CUDA_SUCCESS && piece >= STEP_BYTES && m->n < CHUNKS) {
		uint64_t bytes = piece / STEP_BYTES * STEP_BYTES;

		rc = g->cu->mem_alloc(&m->chunks[m->n].at, bytes);
		if (rc == CUDA_SUCCESS) {
			m->chunks[m->n++].bytes = bytes;
			m->bytes += bytes;
			left -= bytes;
			piece = left < piece ? left : piece;
		} else if (rc == CUDA_ERROR_OUT_OF_MEMORY) {
			rc = CUDA_SUCCESS;
			piece /= 2;
		}
	}
	return rc;
}

/** All of it written with the pattern, each bit as in @flip, then looked at;
 *  *@read_s gets more of the seconds that looking took. */
static CUresult pass(struct gpu_seat *s, struct memory *m, uint64_t flip,
		     double *read_s)
{
	struct gpu *g = &s->gpu;
	uint64_t seed = SEED;
	CUresult rc = CUDA_SUCCESS;
	double seconds = 0;

	for (int look = 0; look < 2 && rc == CUDA_SUCCESS; look++) {
		rc = g->cu->event_record(g->stamps[look], g->stream);
		seed = SEED;
		for (size_t i = 0; i < m->n && rc == CUDA_SUCCESS; i++) {
			uint64_t words = m->chunks[i].bytes / 8;
			uint64_t units = words / 2;
			void *fill[] = { &m->chunks[i].at, &words, &seed,
					 &flip };
			void *check[] = { &m->chunks[i].at, &units, &seed,
					  &flip, &m->found };

			rc = gpu_launch(g, look ? m->check : g->fill, BLOCKS,
					THREADS, look ? check : fill);
			seed += words;
		}
	}
	if (rc == CUDA_SUCCESS) {
		rc = g->cu->event_record(g->stamps[2], g->stream);
	}
	rc = gpu_drained(g, rc, INT64_MAX);
	if (rc == CUDA_SUCCESS) {
		rc = gpu_seconds(g, 1, 2, &seconds);
	}
	*read_s += seconds;
	return rc;
}

static bool pattern(struct gpu_seat *s)
{
	struct memory m = { 0 };
	uint64_t found[3] = { 0 };
	double read_s = 0;
	CUresult rc;

	if (!s->gpu.fill) {
		seat_say(s, OUTCOME_SKIPPED, "gpu_no_kernel", "the driver "
			 "rejects gpucheck's kernel: %s", s->gpu.no_kernel);
		return true;
	}
	rc = take_memory(s, &m);
	if (rc == CUDA_SUCCESS) {
		rc = pass(s, &m, 0, &read_s);
	}
	if (rc == CUDA_SUCCESS) {
		rc = pass(s, &m, UINT64_MAX, &read_s);
	}
	if (rc == CUDA_SUCCESS) {
		rc = s->gpu.cu->copy_to_host(found, m.found, sizeof(found),
					     s->gpu.stream);
		rc = gpu_drained(&s->gpu, rc, INT64_MAX);
	}
	for (size_t i = 0; i < m.n; i++) {
		s->gpu.cu->mem_free(m.chunks[i].at);
	}
	if (rc != CUDA_SUCCESS) {
		return seat_refused(s, rc, "the test of its memory");
	}
	s->row->size_B = (int64_t)m.bytes;
	s->row->count = 2;
	s->row->wrong = (int64_t)found[0];
	if (m.bytes > 0) {
		s->row->bw_GB_s = 2.0 * (double)m.bytes / read_s / 1e9;
	}
	if (found[0] > 0) {
		seat_say(s, OUTCOME_CORRUPT, "memory_wrong",
			 "%" PRIu64 " words of 8 bytes were read back changed, "
			 "the first at byte %" PRIu64 " of its allocation, "
			 "bits 0x%016" PRIx64, found[0], found[1] * 16,
			 found[2]);
	} else {
		seat_good(s);
	}
	return true;
}

bool gpu_test_memory(struct gpu_seat *s)
{
	if (!gpu_test_copy(s)) {
		return false;
	}
	/* free the buffers that are no longer used, so that their memory is
	 * tested */
	for (int i = 0; i < GPU_BUFFERS; i++) {
		s->gpu.cu->mem_free(s->gpu.buf[i]);
		s->gpu.buf[i] = 0;
	}
	s->gpu.buf_bytes = 0;
	seat_begin(s, GPU_TEST_PATTERN);
	return pattern(s);
}
