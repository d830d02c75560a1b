/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same arithmetic in every block of threads, again and again: all blocks of
 * a launch must have the same sum, and all launches on all GPUs of a model the
 * same one.  One that differs computed something wrong, and its block says
 * where.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/str.h"
#include "probes/dl/nvml.h"
#include "probes/gpu/gpu.h"
#include "probes/host/gpu_state.h"

/* ---- compute ------------------------------------------------------------- */

#define BLOCKS	1056
#define THREADS 256
#define ROUNDS	16384	/* 9 ms on H200; the sum depends on it */

/* The same layout on both sides. */
struct results {
	uint64_t sums[BLOCKS];
	uint32_t sms[BLOCKS];
};

struct compute {
	CUfunction kernel;
	CUdeviceptr gpu;	/* struct results */
	struct results *host, *zero;	/* pinned */
	const char *by;
	uint64_t sum; /* of the first launch */
	/* readings of NVML meanwhile */
	const struct nvml *lib; /* NULL: it says nothing */
	nvmlDevice_t dev;
	double power_W; /* sum */
	int n_power;
	unsigned int hottest_C, slowest_MHz;
	unsigned long long throttled;
};

static CUresult load(struct gpu_seat *s, struct compute *m)
{
	const struct {
		const char *ptx, *by;
	} ways[] = {
		{ gpu_matrix_ptx, "tensor cores" },
		{ gpu_matrix_plain_ptx, "single precision" },
	};
	struct gpu *g = &s->gpu;
	CUresult rc = CUDA_ERROR_UNKNOWN;
	void *memory;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]) &&
			   rc != CUDA_SUCCESS; i++) {
		m->by = ways[i].by;
		rc = gpu_kernel(g, ways[i].ptx, GPU_KERNEL_MATRIX, &m->kernel);
	}
	if (rc == CUDA_SUCCESS) {
		rc = g->cu->mem_alloc(&m->gpu, sizeof(struct results));
	}
	if (rc == CUDA_SUCCESS) {
		rc = g->cu->mem_alloc_host(&memory, 2 * sizeof(struct results));
	}
	if (rc == CUDA_SUCCESS) {
		m->host = memory;
		m->zero = m->host + 1;
		memset(m->zero, 0, sizeof(*m->zero));
	}
	return rc;
}

/* Launch the kernel, and count the blocks whose sum differs. */
static CUresult launch(struct gpu_seat *s, struct compute *m, uint32_t turn)
{
	struct gpu *g = &s->gpu;
	struct gpu_row *row = s->row;
	CUdeviceptr sms = m->gpu + offsetof(struct results, sms);
	uint32_t rounds = ROUNDS;
	uint32_t drill = (uint32_t)hash_mix((uint64_t)s->spec->seed, turn,
					    (uint64_t)s->row->gpu, 0);
	uint32_t rate = (uint32_t)(s->drill.wrong * UINT32_MAX);
	void *params[] = { &m->gpu, &sms, &rounds, &drill, &rate };
	CUresult rc = g->cu->copy_to_gpu(m->gpu, m->zero, sizeof(*m->zero),
					 g->stream);

	if (rc == CUDA_SUCCESS) {
		rc = gpu_launch(g, m->kernel, BLOCKS, THREADS, params);
	}
	if (rc == CUDA_SUCCESS) {
		rc = g->cu->copy_to_host(m->host, m->gpu, sizeof(*m->host),
					 g->stream);
	}
	rc = gpu_drained(g, rc, INT64_MAX);
	/* the result that most blocks have (Boyer-Moore majority vote) */
	for (size_t i = 0, votes = 0; turn == 0 && i < BLOCKS; i++) {
		if (votes == 0) {
			m->sum = m->host->sums[i];
		}
		votes += m->host->sums[i] == m->sum ? 1 : (size_t)-1;
	}
	for (size_t i = 0; rc == CUDA_SUCCESS && i < BLOCKS; i++) {
		if (m->host->sums[i] != m->sum) {
			row->wrong++;
			row->sm = row->sm == RECORD_NONE ? m->host->sms[i] :
							   row->sm;
		}
	}
	return rc;
}

static void meter_sample(struct compute *m)
{
	unsigned long long reasons;
	unsigned int value;

	if (!m->lib) {
		return;
	}
	if (NVML_SAYS(m->lib, nvmlDeviceGetPowerUsage, m->dev, &value)) {
		m->power_W += value / 1e3;
		m->n_power++;
	}
	if (NVML_SAYS(m->lib, nvmlDeviceGetTemperature, m->dev,
		      NVML_TEMPERATURE_GPU, &value) &&
	    value > m->hottest_C) {
		m->hottest_C = value;
	}
	if (NVML_SAYS(m->lib, nvmlDeviceGetClockInfo, m->dev, NVML_CLOCK_SM,
		      &value) &&
	    (m->slowest_MHz == 0 || value < m->slowest_MHz)) {
		m->slowest_MHz = value;
	}
	if (NVML_SAYS(m->lib, nvmlDeviceGetCurrentClocksThrottleReasons, m->dev,
		      &reasons)) {
		m->throttled |= reasons;
	}
}

bool gpu_test_compute(struct gpu_seat *s)
{
	struct compute m = { 0 };
	struct gpu_row *row = s->row;
	int64_t end_ns, sampled_ns = 0;
	uint32_t turn = 0;
	CUresult rc;

	seat_begin(s, GPU_TEST_COMPUTE);
	if (gpu_nvml(s->id.uuid, &m.lib, &m.dev) != NVML_SUCCESS) {
		m.lib = NULL; /* it has no such GPU */
	}
	rc = load(s, &m);
	s->row->wrong = 0;
	end_ns = clock_now_ns() + s->spec->compute_ns;
	while (rc == CUDA_SUCCESS && (turn == 0 || clock_now_ns() < end_ns)) {
		rc = launch(s, &m, turn);
		turn += rc == CUDA_SUCCESS;
		/* while the GPU is busy it is at its clock; a sample now is
		 * of what was a moment ago */
		if (clock_now_ns() - sampled_ns > 50 * NS_PER_MS) {
			meter_sample(&m);
			sampled_ns = clock_now_ns();
		}
	}
	if (rc != CUDA_SUCCESS) {
		return seat_refused(s, rc, "the test of its arithmetic");
	}
	if (m.n_power > 0) {
		row->power_W = m.power_W / m.n_power;
	}
	if (m.hottest_C > 0) {
		row->temp_C = m.hottest_C;
	}
	if (m.slowest_MHz > 0) {
		row->clock_MHz = m.slowest_MHz;
	}
	gpu_throttle_words(m.throttled, row->throttled, sizeof(row->throttled));
	row->count = turn;
	snprintf(row->hash, sizeof(row->hash), "%016" PRIx64, m.sum);
	if (row->wrong > 0) {
		seat_say(s, OUTCOME_CORRUPT, "wrong_result",
			 "%" PRId64 " of %" PRIu64 " results by %s differ, the "
			 "first of multiprocessor %" PRId64,
			 row->wrong, (uint64_t)turn * BLOCKS, m.by, row->sm);
	} else {
		snprintf(row->detail, sizeof(row->detail), "by %s", m.by);
		seat_good(s);
	}
	return true;
}
