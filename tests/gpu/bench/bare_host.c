/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reference for gpucheck gpu: one GPU, copies to it, from it and inside it
 * between two events, the way nvbandwidth's host_to_device_memcpy_ce measures.
 *
 * usage: bare_host GPU		prints "h2d GB/s d2h GB/s copy GB/s"
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/stats.h"
#include "probes/host/gpu.h"

#define HOST_BYTES  (UINT64_C(64) << 20)
#define INNER_BYTES (UINT64_C(1) << 30)
#define COPIES	    16
#define SAMPLES	    8
#define LIMIT_NS    (20 * NS_PER_S)

enum way { H2D, D2H, INNER };

static struct gpu g;
static void *host;

static void must(CUresult rc, const char *doing)
{
	if (rc != CUDA_SUCCESS) {
		printf("Bail out! %s: %s\n", doing, dl_cuda_text(g.cu, rc));
		exit(2);
	}
}

static CUresult copy(enum way way, uint64_t bytes)
{
	return way == H2D ? g.cu->copy_to_gpu(g.buf[GPU_RECV], host, bytes,
					      g.stream) :
	       way == D2H ? g.cu->copy_to_host(host, g.buf[GPU_SEND], bytes,
					       g.stream) :
			    g.cu->copy(g.buf[GPU_RECV], g.buf[GPU_SEND], bytes,
				       g.stream);
}

/** GB/s; inside the GPU a byte is read and written. */
static double rate(enum way way)
{
	uint64_t bytes = way == INNER ? INNER_BYTES : HOST_BYTES;
	double v[SAMPLES], s;

	for (int k = -1; k < SAMPLES; k++) {
		must(g.cu->event_record(g.stamps[0], g.stream), "a stamp");
		for (int i = 0; i < COPIES; i++) {
			must(copy(way, bytes), "a copy");
		}
		must(g.cu->event_record(g.stamps[1], g.stream), "a stamp");
		must(gpu_drain(&g, clock_now_ns() + LIMIT_NS), "copies");
		must(gpu_seconds(&g, 0, 1, &s), "the time");
		v[k < 0 ? 0 : k] = (way == INNER ? 2.0 : 1.0) *
				   (double)bytes * COPIES / s / 1e9;
	}
	return stats_median(v, SAMPLES);
}

int main(int argc, char **argv)
{
	const char *code = "";
	struct err e = { 0 };

	if (gpu_open(&g, argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0, &code,
		     &e) < 0) {
		printf("Bail out! %s: %s\n", code, e.text);
		return 2;
	}
	must(g.cu->mem_alloc_host(&host, HOST_BYTES), "pinned memory");
	memset(host, 1, HOST_BYTES);
	must(gpu_reserve(&g, INNER_BYTES), "buffers");
	printf("h2d %.2f ", rate(H2D));
	printf("d2h %.2f ", rate(D2H));
	printf("copy %.2f\n", rate(INNER));
	return 0;
}
