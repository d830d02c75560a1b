/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The least that sweeps an allreduce over all GPUs with NCCL: one process a
 * GPU, 5 operations to warm up at the largest and smallest size, then at each
 * size 1 more and 20 between two looks at the clock, out of place and in place,
 * as nccl-tests does; the mean over the ranks.  No data check, no deadlines, no
 * distribution: what gpucheck is compared with, in the same run.
 *
 *   bare_collective GPUS FIRST_B LAST_B
 *
 * Prints "size_B out_of_place_us in_place_us" a line, and "seconds S".
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "probes/dl/nccl.h"
#include "probes/host/gpu.h"

#define MAX_GPUS  16
#define MAX_SIZES 64
#define WARMUP	  5
#define ITERS	  20

struct shared {
	ncclUniqueId id;
	atomic_bool has_id;
	atomic_int arrived[2 * MAX_SIZES + 2];
	double us[2 * MAX_SIZES][MAX_GPUS];
};

static struct shared *shared;
static int size, self;
static int64_t first_B, last_B;
static const struct nccl *nccl;
static struct gpu gpu;
static ncclComm_t comm;

static void die(const char *what)
{
	fprintf(stderr, "bare_collective: rank %d: %s\n", self, what);
	_exit(1);
}

static void barrier(int i)
{
	atomic_fetch_add(&shared->arrived[i], 1);
	while (atomic_load(&shared->arrived[i]) < size) {
	}
}

static void operate(int64_t bytes, bool inplace, int n)
{
	for (int i = 0; i < n; i++) {
		CUdeviceptr to = gpu.buf[GPU_RECV];
		CUdeviceptr from = inplace ? to : gpu.buf[GPU_SEND];

		if (nccl->ncclAllReduce((void *)(uintptr_t)from,
					(void *)(uintptr_t)to,
					(size_t)bytes / 4, ncclFloat32,
					ncclSum, comm,
					gpu.stream) != ncclSuccess) {
			die("ncclAllReduce");
		}
	}
}

static void drain(void)
{
	while (gpu.cu->stream_query(gpu.stream) == CUDA_ERROR_NOT_READY) {
	}
}

static void measure(int i, int64_t bytes, bool inplace)
{
	int64_t start;

	operate(bytes, inplace, 1);
	drain();
	barrier(i);
	start = clock_raw_ns();
	operate(bytes, inplace, ITERS);
	drain();
	shared->us[i][self] = (double)(clock_raw_ns() - start) / 1e3 / ITERS;
}

static void one_rank(void)
{
	const char *code = "";
	struct err e = { 0 };
	int i = 0;

	nccl = dl_nccl(&e);
	if (nccl == NULL || nccl->ncclAllReduce == NULL ||
	    gpu_open(&gpu, self, &code, &e) < 0) {
		die(e.text);
	}
	if (self == 0) {
		nccl->ncclGetUniqueId(&shared->id);
		atomic_store(&shared->has_id, true);
	}
	while (!atomic_load(&shared->has_id)) {
	}
	if (nccl->ncclCommInitRank(&comm, size, shared->id, self) !=
		    ncclSuccess ||
	    gpu_reserve(&gpu, (uint64_t)last_B) != CUDA_SUCCESS) {
		die("no communicator, or no memory");
	}
	operate(last_B, false, WARMUP);
	operate(first_B, false, WARMUP);
	drain();
	for (int64_t b = first_B; b <= last_B; b *= 2, i += 2) {
		measure(i, b, false);
		measure(i + 1, b, true);
	}
	barrier(2 * MAX_SIZES);
	nccl->ncclCommDestroy(comm);
	_exit(0);
}

static double mean(int i)
{
	double sum = 0;

	for (int r = 0; r < size; r++) {
		sum += shared->us[i][r];
	}
	return sum / size;
}

int main(int argc, char **argv)
{
	int64_t start = clock_now_ns(), n = 0;
	int status, bad = 0, i = 0;

	if (argc != 4 || units_parse_int(argv[1], 1, MAX_GPUS, &n, NULL) < 0 ||
	    units_parse_int(argv[2], 4, INT64_C(1) << 40, &first_B, NULL) <
		    0 ||
	    units_parse_int(argv[3], first_B, INT64_C(1) << 40, &last_B,
			    NULL) < 0) {
		fprintf(stderr, "usage: bare_collective GPUS FIRST_B LAST_B\n");
		return 2;
	}
	size = (int)n;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (self = 0; self < size; self++) {
		if (fork() == 0) {
			one_rank();
		}
	}
	while (wait(&status) > 0) {
		bad |= status;
	}
	for (int64_t b = first_B; !bad && b <= last_B; b *= 2, i += 2) {
		printf("%lld %.3f %.3f\n", (long long)b, mean(i), mean(i + 1));
	}
	printf("seconds %.2f\n", (double)(clock_now_ns() - start) / 1e9);
	return bad != 0;
}
