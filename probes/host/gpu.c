/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "probes/host/gpu_holders.h"
#include "probes/host/gpu_kernels.h"
#include "probes/host/gpu_refusal.h"
#include "lib/data/pattern.h"
#include "probes/host/pin.h"

/* Enough threads to reach the memory's speed on the largest GPUs of today. */
#define FILL_BLOCKS	1024
#define FILL_THREADS	256
/* What the host looks at in one piece; a multiple of the pattern's words. */
#define STAGE_BYTES	(UINT64_C(4) << 20)
/* A gate that nobody opens, because the host hangs, opens by itself. */
#define HOLD_NS		(2 * NS_PER_S)
#define OPEN_DRAIN_NS	(5 * NS_PER_S)

CUdeviceptr gpu_word_at(const struct gpu *g, enum gpu_word w)
{
	return g->words + (CUdeviceptr)w * sizeof(uint64_t);
}

CUresult gpu_word_push(struct gpu *g, enum gpu_word w)
{
	return g->cu->copy_to_gpu(gpu_word_at(g, w), &g->host_words[w],
				  sizeof(uint64_t), g->stream);
}

CUresult gpu_word_pull(struct gpu *g, enum gpu_word w)
{
	return g->cu->copy_to_host(&g->host_words[w], gpu_word_at(g, w),
				   sizeof(uint64_t), g->stream);
}

/* A driver's refusal as an error of open(); codes are few and static. */
static int open_fault(const struct cuda *cu, CUresult rc, const char *doing,
		      const char *mode, const char **code, struct err *e)
{
	const struct gpu_refusal *why = gpu_refusal_of(rc, mode);
	char name[DL_CUDA_CODE];

	*code = why != NULL ? why->code :
		rc == CUDA_ERROR_NO_DEVICE ? "gpu_missing" : "open_failed";
	return err_set(e, EIO, "%s%s%s failed: %s (%s)",
		       why != NULL ? why->says : "", why != NULL ? ": " : "",
		       doing, dl_cuda_text(cu, rc),
		       dl_cuda_code(cu, rc, name));
}

void gpu_trouble(const struct gpu *g, CUresult rc, struct gpu_trouble *t)
{
	struct gpu_holders by = { 0 };

	dl_cuda_code(g->cu, rc, t->code);
	STR_COPY(t->text, dl_cuda_text(g->cu, rc));
	if (rc == CUDA_ERROR_OUT_OF_MEMORY) {
		gpu_holders(g->id.uuid, g->opened, &by);
	} else if (gpu_is_lost(g->id.uuid)) {
		STR_COPY(t->code, GPU_LOST);
		snprintf(t->text, sizeof(t->text),
			 "NVML says that the GPU is lost; %s",
			 dl_cuda_text(g->cu, rc));
	}
	if (by.n > 0) {
		STR_COPY(t->code, by.code);
		snprintf(t->text, sizeof(t->text), "%s; held by %s",
			 dl_cuda_text(g->cu, rc), by.words);
	}
}

int gpu_refused(const struct gpu *g, CUresult rc, const char *doing,
		const char **code, struct err *e)
{
	static const char *const held[] = { GPU_BUSY, GPU_IN_USE, GPU_LOST,
					    NULL };
	struct gpu_trouble t;
	int by;

	open_fault(g->cu, rc, doing, gpu_compute_mode(g->id.uuid), code, e);
	gpu_trouble(g, rc, &t);
	by = str_index(held, t.code);
	if (by >= 0) {
		*code = held[by];
		err_set(e, EIO, "%s failed: %s", doing, t.text);
	}
	return -1;
}

int gpu_count(const char **code, struct err *e)
{
	const struct cuda *cu = dl_cuda(e);
	int count = 0;
	CUresult rc;

	if (cu == NULL) {
		*code = "cuda_missing";
		return -1;
	}
	if ((rc = cu->init(0)) != CUDA_SUCCESS) {
		return open_fault(cu, rc, "cuInit", "", code, e);
	}
	if ((rc = cu->device_count(&count)) != CUDA_SUCCESS) {
		return open_fault(cu, rc, "cuDeviceGetCount", "", code, e);
	}
	return count;
}

int gpu_identify(int index, struct gpu_id *id)
{
	const struct cuda *cu = dl_cuda(NULL);
	char hex[GPU_UUID_HEX], bus[32] = "";
	CUdevice dev;
	CUuuid uuid;

	if (cu == NULL || cu->device_get(&dev, index) != CUDA_SUCCESS) {
		return -1;
	}
	memset(id, 0, sizeof(*id));
	cu->device_name(id->name, sizeof(id->name), dev);
	cu->device_bus(bus, sizeof(bus), dev);
	gpu_list_plain_bus(bus, id->bus);
	if (cu->device_uuid != NULL &&
	    cu->device_uuid(&uuid, dev) == CUDA_SUCCESS) {
		snprintf(id->uuid, sizeof(id->uuid), "GPU-%s",
			 gpu_uuid_hex(uuid.bytes, hex));
	}
	return 0;
}

/* The data check runs on the GPU if the driver takes our PTX, else here. */
static CUresult load_kernels(struct gpu *g)
{
	const struct {
		const char *name;
		CUfunction *fn;
	} kernels[] = {
		{ GPU_KERNEL_FILL, &g->fill },
		{ GPU_KERNEL_CHECK, &g->check },
		{ GPU_KERNEL_GATE, &g->gate },
	};
	CUmodule module;
	CUresult rc = g->cu->module_load(&module, gpu_kernels_ptx);

	for (size_t i = 0; rc == CUDA_SUCCESS &&
			   i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		rc = g->cu->module_function(kernels[i].fn, module,
					    kernels[i].name);
	}
	if (rc == CUDA_SUCCESS) {
		return rc;
	}
	g->fill = g->check = g->gate = NULL;
	STR_COPY(g->no_kernel, dl_cuda_text(g->cu, rc));
	return g->cu->mem_alloc_host(&g->stage, STAGE_BYTES);
}

static CUresult make_parts(struct gpu *g)
{
	const size_t bytes = GPU_WORDS * sizeof(uint64_t);
	void *host_words = NULL;
	CUresult rc = g->cu->stream_create(&g->stream, CU_STREAM_NON_BLOCKING);

	for (int i = 0; i < GPU_STAMPS && rc == CUDA_SUCCESS; i++) {
		rc = g->cu->event_create(&g->stamps[i], CU_EVENT_DEFAULT);
	}
	if (rc != CUDA_SUCCESS ||
	    (rc = g->cu->mem_alloc(&g->words, bytes)) != CUDA_SUCCESS ||
	    (rc = g->cu->mem_alloc_host(&host_words, bytes)) != CUDA_SUCCESS) {
		return rc;
	}
	g->host_words = memset(host_words, 0, bytes);
	return load_kernels(g);
}

int gpu_open(struct gpu *g, int index, const char **code, struct err *e)
{
	int count = gpu_count(code, e);
	CUcontext ctx;
	CUresult rc;

	if (count < 0) {
		return -1;
	}
	if (index >= count) {
		*code = "gpu_missing";
		return err_set(e, ENODEV, "GPU %d does not exist: number of "
					  "GPUs that CUDA shows: %d",
			       index, count);
	}
	memset(g, 0, sizeof(*g));
	g->cu = dl_cuda(e);
	if ((rc = g->cu->device_get(&g->dev, index)) != CUDA_SUCCESS) {
		return open_fault(g->cu, rc, "cuDeviceGet", "", code, e);
	}
	gpu_identify(index, &g->id);
	pin_to_device(g->id.bus);	/* before its memory is made */
	if ((rc = g->cu->ctx_retain(&ctx, g->dev)) != CUDA_SUCCESS ||
	    (rc = g->cu->ctx_set(ctx)) != CUDA_SUCCESS) {
		return gpu_refused(g, rc, "opening a context on the GPU", code,
				 e);
	}
	g->opened = true;
	rc = make_parts(g);	/* may take long: not of the time to drain */
	rc = gpu_drained(g, rc, clock_now_ns() + OPEN_DRAIN_NS);
	return rc == CUDA_SUCCESS ?
		       0 :
		       gpu_refused(g, rc, "setting up the GPU", code, e);
}

CUresult gpu_reserve(struct gpu *g, uint64_t bytes)
{
	CUresult rc = CUDA_SUCCESS;

	if (bytes <= g->buf_bytes) {
		return rc;
	}
	bytes = (bytes + 7) / 8 * 8;	/* the pattern is whole words */
	for (int i = 0; i < GPU_BUFFERS && rc == CUDA_SUCCESS; i++) {
		if (g->buf[i] != 0) {
			g->cu->mem_free(g->buf[i]);
			g->buf[i] = 0;
		}
		rc = g->cu->mem_alloc(&g->buf[i], bytes);
	}
	g->buf_bytes = rc == CUDA_SUCCESS ? bytes : 0;
	return rc;
}

static CUresult launch(struct gpu *g, CUfunction fn, unsigned blocks,
		       unsigned threads, void **params)
{
	return g->cu->launch(fn, blocks, 1, 1, threads, 1, 1, 0, g->stream,
			     params, NULL);
}

/* What the host looks at next of the @left bytes. */
static uint64_t piece_of(uint64_t left)
{
	return left < STAGE_BYTES ? left : STAGE_BYTES;
}

/* The host's version: piece by piece through pinned memory. */
static CUresult fill_from_host(struct gpu *g, CUdeviceptr mem, uint64_t bytes,
			       uint64_t seed, bool poison, int64_t deadline_ns)
{
	CUresult rc = CUDA_SUCCESS;

	for (uint64_t at = 0; at < bytes && rc == CUDA_SUCCESS;
	     at += STAGE_BYTES) {
		uint64_t n = piece_of(bytes - at);
		unsigned char *p = g->stage;

		pattern_fill(p, n, seed + at / 8);
		for (uint64_t i = 0; poison && i < n; i++) {
			p[i] = (unsigned char)~p[i];
		}
		rc = g->cu->copy_to_gpu(mem + at, p, n, g->stream);
		rc = gpu_drained(g, rc, deadline_ns);
	}
	return rc;
}

static CUresult check_on_host(struct gpu *g, uint64_t bytes, uint64_t seed,
			      int64_t deadline_ns)
{
	for (uint64_t at = 0; at < bytes; at += STAGE_BYTES) {
		uint64_t n = piece_of(bytes - at);
		CUresult rc = g->cu->copy_to_host(
			g->stage, g->buf[GPU_RECV] + at, n, g->stream);

		rc = gpu_drained(g, rc, deadline_ns);
		if (rc != CUDA_SUCCESS) {
			return rc;
		}
		g->host_words[GPU_WORD_WRONG] +=
			pattern_wrong(g->stage, n, seed + at / 8);
	}
	return CUDA_SUCCESS;
}

CUresult gpu_fill(struct gpu *g, enum gpu_buffer b, uint64_t bytes,
		  uint64_t seed, bool poison, int64_t deadline_ns)
{
	uint64_t words = (bytes + 7) / 8, flip = poison ? UINT64_MAX : 0;
	void *params[] = { &g->buf[b], &words, &seed, &flip };

	return g->fill != NULL ?
		       launch(g, g->fill, FILL_BLOCKS, FILL_THREADS, params) :
		       fill_from_host(g, g->buf[b], bytes, seed, poison,
				      deadline_ns);
}

CUresult gpu_check_begin(struct gpu *g)
{
	g->host_words[GPU_WORD_WRONG] = 0;
	return gpu_word_push(g, GPU_WORD_WRONG);
}

CUresult gpu_check(struct gpu *g, uint64_t bytes, uint64_t seed,
		   int64_t deadline_ns)
{
	CUdeviceptr count = gpu_word_at(g, GPU_WORD_WRONG);
	void *params[] = { &g->buf[GPU_RECV], &bytes, &seed, &count };

	return g->check != NULL ?
		       launch(g, g->check, FILL_BLOCKS, FILL_THREADS, params) :
		       check_on_host(g, bytes, seed, deadline_ns);
}

CUresult gpu_check_end(struct gpu *g, uint64_t *wrong, int64_t deadline_ns)
{
	CUresult rc = g->check != NULL ? gpu_word_pull(g, GPU_WORD_WRONG) :
					 CUDA_SUCCESS;

	rc = gpu_drained(g, rc, deadline_ns);
	*wrong = g->host_words[GPU_WORD_WRONG];
	return rc;
}

CUresult gpu_drain(struct gpu *g, int64_t deadline_ns)
{
	CUresult rc;

	while ((rc = g->cu->stream_query(g->stream)) == CUDA_ERROR_NOT_READY &&
	       clock_now_ns() < deadline_ns) {
		clock_sleep(10 * NS_PER_US);
	}
	return rc;
}

CUresult gpu_drained(struct gpu *g, CUresult rc, int64_t deadline_ns)
{
	return rc == CUDA_SUCCESS ? gpu_drain(g, deadline_ns) : rc;
}

CUresult gpu_hold(struct gpu *g)
{
	uint64_t ticket = g->gates + 1, limit_ns = HOLD_NS;
	void *word = &g->host_words[GPU_WORD_GATE];	/* read from the GPU */
	void *params[] = { &word, &ticket, &limit_ns };
	CUresult rc;

	if (g->gate == NULL) {
		return CUDA_SUCCESS;
	}
	rc = launch(g, g->gate, 1, 1, params);
	g->gates += rc == CUDA_SUCCESS;
	return rc;
}

void gpu_release(struct gpu *g)
{
	__atomic_store_n(&g->host_words[GPU_WORD_GATE], g->gates,
			 __ATOMIC_RELEASE);
}

CUresult gpu_seconds(struct gpu *g, int from, int to, double *s)
{
	float ms = 0;
	CUresult rc = g->cu->event_elapsed(&ms, g->stamps[from],
					   g->stamps[to]);

	*s = (double)ms / 1e3;
	return rc;
}
