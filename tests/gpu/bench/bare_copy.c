/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reference for the transport cuda: one process, both GPUs, peer access
 * switched on, copies queued behind a gate between two events; the way
 * nvbandwidth's device_to_device_memcpy_write_ce measures.
 *
 * usage: bare_copy BYTES	every pair of GPUs, both ways: SRC DST GB/s
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/stats.h"
#include "probes/host/gpu.h"

#define GPUS_MAX 16
#define COPIES	 16
#define SAMPLES	 8
#define LIMIT_NS (20 * NS_PER_S)

static struct gpu gpus[GPUS_MAX];
static CUcontext contexts[GPUS_MAX];

static void must(CUresult rc, const char *doing)
{
	if (rc != CUDA_SUCCESS) {
		printf("Bail out! %s: %s\n", doing,
		       dl_cuda_text(dl_cuda(NULL), rc));
		exit(2);
	}
}

static int open_gpus(uint64_t bytes)
{
	const char *code = "";
	struct err e = { 0 };
	int n = gpu_count(&code, &e), i;

	for (i = 0; i < n && i < GPUS_MAX; i++) {
		if (gpu_open(&gpus[i], i, &code, &e) < 0) {
			printf("Bail out! %s: %s\n", code, e.text);
			exit(2);
		}
		must(gpus[i].cu->ctx_retain(&contexts[i], gpus[i].dev),
		     "context");
		must(gpu_reserve(&gpus[i], bytes), "buffers");
	}
	return i;
}

static void enable_peers(int n)
{
	CUresult (*enable)(CUcontext, unsigned int) = dlsym(
		dlopen("libcuda.so.1", RTLD_NOW), "cuCtxEnablePeerAccess");
	int i, k;

	for (i = 0; i < n; i++) {
		must(gpus[i].cu->ctx_set(contexts[i]), "context");
		for (k = 0; k < n; k++) {
			if (k != i) {
				must(enable(contexts[k], 0), "peer access");
			}
		}
	}
}

static double sample(struct gpu *from, const struct gpu *to, uint64_t bytes)
{
	double s;
	int i;

	must(gpu_hold(from), "gate");
	must(from->cu->event_record(from->stamps[0], from->stream), "event");
	for (i = 0; i < COPIES; i++) {
		must(from->cu->copy(to->buf[GPU_RECV], from->buf[GPU_SEND],
				    bytes, from->stream),
		     "copy");
	}
	must(from->cu->event_record(from->stamps[1], from->stream), "event");
	gpu_release(from);
	must(gpu_drain(from, clock_now_ns() + LIMIT_NS), "copies");
	must(gpu_seconds(from, 0, 1, &s), "times");
	return COPIES * (double)bytes / s / 1e9;
}

static void pair(int from, int to, uint64_t bytes)
{
	double v[SAMPLES];
	int i;

	must(gpus[from].cu->ctx_set(contexts[from]), "context");
	sample(&gpus[from], &gpus[to], bytes);
	for (i = 0; i < SAMPLES; i++) {
		v[i] = sample(&gpus[from], &gpus[to], bytes);
	}
	printf("%d %d %.2f\n", from, to, stats_median(v, SAMPLES));
}

int main(int argc, char **argv)
{
	uint64_t bytes;
	int n, i, k;

	if (argc != 2) {
		return 2;
	}
	bytes = strtoull(argv[1], NULL, 10);
	n = open_gpus(bytes);
	enable_peers(n);
	for (i = 0; i < n; i++) {
		for (k = 0; k < n; k++) {
			if (k != i) {
				pair(i, k, bytes);
			}
		}
	}
	return 0;
}
