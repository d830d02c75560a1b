/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Do the kernels of collectives agree with the host's version of the same
 * data, on a real GPU?  TAP.  Every type, reduced and moved, odd counts, and
 * one changed element each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "probes/collective/gpu.h"
#include "tests/gpu/tap.h"

#define N    100003
#define SEED UINT64_C(0x123456789ab)

static struct gpu gpu;
static int64_t deadline_ns;

/** What the GPU counts as wrong in its buffer; -1: it failed. */
static int64_t count(struct collective_gpu *c, uint64_t seed)
{
	int64_t wrong = -1;

	if (gpu_check_begin(&gpu) != CUDA_SUCCESS ||
	    collective_gpu_wrong(c, gpu.buf[GPU_RECV], N, seed, deadline_ns) !=
		    CUDA_SUCCESS ||
	    collective_gpu_count(c, &wrong, deadline_ns) != CUDA_SUCCESS) {
		return -1;
	}
	return wrong;
}

/** Bytes from the host into the buffer that is checked. */
static void put(const void *mem, size_t bytes)
{
	gpu.cu->copy_to_gpu(gpu.buf[GPU_RECV], mem, bytes, gpu.stream);
	gpu_drain(&gpu, deadline_ns);
}

/** What the GPU makes is what the host makes. */
static void same_given(struct collective_gpu *c, const char *name,
		       unsigned char *host, unsigned char *back, size_t bytes)
{
	memset(back, 0, bytes);
	collective_data_fill(&c->data, host, N, SEED);
	if (collective_gpu_fill(c, gpu.buf[GPU_SEND], N, SEED, false,
				deadline_ns) == CUDA_SUCCESS &&
	    gpu_drain(&gpu, deadline_ns) == CUDA_SUCCESS) {
		gpu.cu->copy_to_host(back, gpu.buf[GPU_SEND], bytes,
				     gpu.stream);
		gpu_drain(&gpu, deadline_ns);
	}
	ok(memcmp(host, back, bytes) == 0, "%s: GPU and host make the same",
	   name);
}

/** The GPU finds what the host finds. */
static void same_wrong(struct collective_gpu *c, const char *name,
		       unsigned char *host, size_t bytes)
{
	size_t width = bytes / N;

	for (size_t i = 0; i < N; i++) {
		uint64_t word = (SEED + i) * UINT64_C(0x9e3779b97f4a7c15);
		uint64_t v = c->data.moves ?
				     word >> (64 - (8 << c->data.width_log2)) :
				     c->data.wanted[word >> 62];

		memcpy(host + i * width, &v, width);
	}
	put(host, bytes);
	ok(count(c, SEED) == 0, "%s: what is right is right", name);
	host[width * (N / 2) + width - 1] ^= 0x20;
	host[0] ^= 0x7f;
	host[bytes - 1] ^= 0x40;
	put(host, bytes);
	ok(count(c, SEED) == collective_data_wrong(&c->data, host, N, SEED),
	   "%s: what is wrong is counted", name);
	ok(count(c, SEED + 1) ==
		   collective_data_wrong(&c->data, host, N, SEED + 1),
	   "%s: so is what belongs elsewhere", name);
}

static void one(const struct dtype *t, const struct redop *r, int64_t ranks)
{
	size_t bytes = (size_t)N << t->width_log2;
	unsigned char *host = calloc(1, bytes + 8);
	unsigned char *back = calloc(1, bytes + 8);
	struct collective_data d;
	struct collective_gpu c;
	char name[64];

	snprintf(name, sizeof(name), "%s %s of %lld", t->name,
		 r ? r->name : "moved", (long long)ranks);
	collective_data_init(&d, t, r, ranks - 1, ranks);
	if (host == NULL || back == NULL ||
	    collective_gpu_open(&c, &gpu, &d, deadline_ns) != CUDA_SUCCESS) {
		ok(false, "%s: ready", name);
	} else {
		ok(c.fill != NULL, "%s: the driver takes the kernels", name);
		same_given(&c, name, host, back, bytes);
		same_wrong(&c, name, host, bytes);
	}
	free(host);
	free(back);
}

int main(void)
{
	const char *code = "";
	struct err e = { 0 };

	deadline_ns = clock_now_ns() + 60 * NS_PER_S;
	if (gpu_open(&gpu, 0, &code, &e) < 0) {
		printf("1..0 # SKIP %s\n", e.text);
		return 0;
	}
	if (gpu_reserve(&gpu, UINT64_C(8) * N + 64) != CUDA_SUCCESS) {
		printf("Bail out! no memory on the GPU\n");
		return 1;
	}
	for (const struct dtype *t = dtypes; t->name; t++) {
		one(t, NULL, 8);
		for (const struct redop *r = redops; r->name; r++) {
			one(t, r, r->nccl == 0 ? 13 : 8);
		}
	}
	printf("1..%d\n", tests);
	return failures ? 1 : 0;
}
