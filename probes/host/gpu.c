/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/gpu.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/str.h"
#include "probes/dl/nvml.h"
#include "probes/host/gpu_state.h"
#include "probes/host/port.h"
#include "probes/host/sysfile.h"

/* ---- gpu id -------------------------------------------------------------- */

/* How the bus and the UUID of a GPU are written. */

void gpu_list_plain_bus(const char *text, char bus[32])
{
	/* NVML writes the domain with eight digits, the kernel with four */
	if (strlen(text) == 16 && str_starts(text, "0000")) {
		text += 4;
	}
	str_copy(bus, 32, text);
	for (; *bus != '\0'; bus++) {
		*bus = (char)tolower((unsigned char)*bus);
	}
}

const char *gpu_uuid_hex(const void *raw, char text[GPU_UUID_HEX])
{
	char hex[33];

	hash_hex(raw, 16, hex);
	snprintf(text, GPU_UUID_HEX, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8,
		 hex + 12, hex + 16, hex + 20);
	return text;
}

/* ---- gpu refusal --------------------------------------------------------- */

#define NVML_NOT_THERE (-1)

/* CUresult; not all of them are in every cuda.h */
enum {
	DEVICE_UNAVAILABLE = 46,
	INVALID_DEVICE = 101,
	MPS_FIRST = 805,	/* the connection failed */
	MPS_LAST = 810,		/* the client was ended */
	UNKNOWN = 999,
};

static const struct err_words prohibited = {
	.code = "gpu_exclusive",
	.says = "its compute mode is prohibited: no process may use it",
}, exclusive = {
	.code = "gpu_exclusive",
	.says = "its compute mode allows one process at a time, and "
		"another process uses it",
}, mps = {
	.code = "gpu_mps",
	.says = "MPS gives out this GPU, and refuses",
};

static const struct {
	int first, last;	/* codes */
	const char *mode;	/* NULL: any */
	const struct err_words *what;
} refusals[] = {
	{ .first = MPS_FIRST, .last = MPS_LAST, .what = &mps },
	{ .first = DEVICE_UNAVAILABLE, .last = DEVICE_UNAVAILABLE,
	  .mode = GPU_MODE_PROHIBITED, .what = &prohibited },
	{ .first = DEVICE_UNAVAILABLE, .last = DEVICE_UNAVAILABLE,
	  .what = &exclusive },
	/* of older drivers */
	{ .first = INVALID_DEVICE, .last = INVALID_DEVICE,
	  .mode = GPU_MODE_EXCLUSIVE_PROCESS, .what = &exclusive },
	{ .first = INVALID_DEVICE, .last = INVALID_DEVICE,
	  .mode = GPU_MODE_PROHIBITED, .what = &prohibited },
	{ .first = UNKNOWN, .last = UNKNOWN, .mode = GPU_MODE_PROHIBITED,
	  .what = &prohibited },
};

const struct err_words *gpu_refusal_of(CUresult rc, const char *mode)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		if ((int)rc >= refusals[i].first &&
		    (int)rc <= refusals[i].last &&
		    (refusals[i].mode == NULL ||
		     strcmp(refusals[i].mode, mode) == 0)) {
			return refusals[i].what;
		}
	}
	return NULL;
}

const char *gpu_mode_word(int mode)
{
	/* nvmlComputeMode_t */
	static const char *const words[] = { "default", "exclusive_thread",
					     GPU_MODE_PROHIBITED,
					     GPU_MODE_EXCLUSIVE_PROCESS };

	return mode >= 0 && (size_t)mode < sizeof(words) / sizeof(*words) ?
		       words[mode] : "";
}

int gpu_nvml(const char *uuid, const struct nvml **lib, nvmlDevice_t *dev)
{
	const struct nvml *nvml = dl_nvml(NULL);

	*lib = NULL;
	if (nvml == NULL || nvml->nvmlDeviceGetHandleByUUID == NULL ||
	    nvml->nvmlInit_v2() != NVML_SUCCESS) {
		return NVML_NOT_THERE;
	}
	*lib = nvml;
	return nvml->nvmlDeviceGetHandleByUUID(uuid, dev);
}

/* Ask NVML for the compute mode of GPU @uuid; returns NVML's code. */
static int ask_mode(const char *uuid, int *mode)
{
	const struct nvml *lib;
	nvmlDevice_t dev;
	int rc = gpu_nvml(uuid, &lib, &dev);

	if (rc == NVML_SUCCESS) {
		rc = lib->nvmlDeviceGetComputeMode != NULL ?
			     lib->nvmlDeviceGetComputeMode(dev, mode) :
			     NVML_NOT_THERE;
	}
	if (lib != NULL) {
		lib->nvmlShutdown();
	}
	return rc;
}

/* ---- gpu holders --------------------------------------------------------- */

/* Processes that hold a GPU before the run: memory of another job, or of one
 * that has ended, is not a fault of the GPU, and must not be disturbed. */

#define HOLDERS_MAX  64
#define HOLDERS_SAID 2
#define DEPTH_MAX    64		/* of processes below each other */
#define ENVIRON_MAX  (256 * 1024)

static void say_holder(const struct nvml_process *p, const char *job,
		       struct str *out)
{
	char comm[32], dir[32];
	const struct passwd *user = NULL;
	struct stat st;

	snprintf(dir, sizeof(dir), "/proc/%u", p->pid);
	if (sysfile_read(comm, sizeof(comm), "%s/comm", dir) < 0) {
		str_addf(out, "pid %u (" GPU_UNSEEN, p->pid);
	} else {
		str_addf(out, "pid %u (%s", p->pid, comm);
	}
	if (stat(dir, &st) == 0) {
		user = getpwuid(st.st_uid);
		user ? str_addf(out, ", user %s", user->pw_name) :
		       str_addf(out, ", uid %u", (unsigned)st.st_uid);
	}
	if (p->memory_B < UINT64_C(1) << 50) {	/* else: not known */
		str_addf(out, ", %.3g GB", (double)p->memory_B / 1e9);
	}
	str_addf(out, job[0] == '?' ? ")" :
		      job[0]	    ? ", Slurm job %s)" :
				      ", no Slurm job)", job);
}

/** Return true for a server of NVIDIA's, such as MPS: it holds a GPU for its
 *  clients. */
static bool is_service(unsigned int pid)
{
	char comm[32];

	return sysfile_read(comm, sizeof(comm), "/proc/%u/comm", pid) > 0 &&
	       str_starts(comm, "nvidia-");
}

/** Return the topmost ancestor of this process that runs the same program: the
 *  process that started this run on this machine. */
static int64_t start_of_run(void)
{
	int64_t start = getpid();
	char own[32] = "", comm[32];

	sysfile_read(own, sizeof(own), "/proc/self/comm");
	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		int64_t parent = process_parent("", start);

		if (parent == 0 ||
		    sysfile_read(comm, sizeof(comm), "/proc/%" PRId64 "/comm",
				 parent) <= 0 || strcmp(own, comm) != 0) {
			break;
		}
		start = parent;
	}
	return start;
}

void gpu_holders(const char *uuid, bool used, struct gpu_holders *h)
{
	struct nvml_process list[HOLDERS_MAX];
	unsigned int n = HOLDERS_MAX;
	int64_t start;
	const struct nvml *lib;
	nvmlDevice_t dev;
	struct str out = STR_INIT;
	char *vars;

	*h = (struct gpu_holders){ .code = GPU_IN_USE };
	if (gpu_nvml(uuid, &lib, &dev) != NVML_SUCCESS ||
	    !NVML_SAYS(lib, nvmlDeviceGetComputeRunningProcesses_v3, dev, &n,
		       list) || n == 0) {
		return;
	}
	vars = calloc(1, ENVIRON_MAX);
	start = start_of_run();
	for (unsigned int i = 0; i < n && i < HOLDERS_MAX; i++) {
		const char *job; /* "" without one, "?": not readable */
		int got;

		if (is_service(list[i].pid) ||
		    process_is_below("", list[i].pid, start) ||
		    (used && process_parent("", list[i].pid) == 0)) {
			continue;
		}
		got = vars == NULL ?
			      -1 :
			      sysfile_read(vars, ENVIRON_MAX,
					   "/proc/%u/environ", list[i].pid);
		job = got < 0 ? "?" :
				process_env(vars, (size_t)got, "SLURM_JOB_ID");
		h->code = job[0] ? h->code : GPU_BUSY;
		if (h->n++ < HOLDERS_SAID) {
			str_add(&out, h->n > 1 ? " and " : "");
			say_holder(&list[i], job, &out);
		}
	}
	if (h->n > HOLDERS_SAID) {
		str_addf(&out, " and %u more", h->n - HOLDERS_SAID);
	}
	str_copy(h->words, sizeof(h->words), str_text(&out));
	str_release(&out);
	free(vars);
}

/* ---- gpu kernels --------------------------------------------------------- */

#define PTX_REGISTERS \
	"	.reg .pred	%p<4>;\n" \
	"	.reg .b32	%r<8>;\n" \
	"	.reg .b64	%rd<8>, %mem, %end, %seed, %flip, %wrong;\n" \
	"	.reg .b64	%i, %step, %word, %at, %n;\n"

/*
 * %word = word %i of the pattern, %at = its address; the constant is
 * PATTERN_MULTIPLIER of pattern.h.
 */
#define PTX_PATTERN_WORD \
	"	add.u64		%word, %seed, %i;\n" \
	"	mul.lo.u64	%word, %word, 0x9e3779b97f4a7c15;\n" \
	"	shl.b64		%at, %i, 3;\n" \
	"	add.u64		%at, %mem, %at;\n"

/*
 * %word |= its bits @shift to the right, staying within each group of bits
 * that @mask describes: after 4, 2 and 1 the lowest bit of every byte tells
 * whether the byte was not zero.
 */
#define PTX_FOLD(shift, mask) \
	"	shr.u64		%rd2, %word, " shift ";\n" \
	"	and.b64		%rd2, %rd2, " mask ";\n" \
	"	or.b64		%word, %word, %rd2;\n"

const char gpu_kernels_ptx[] =
	".version 6.4\n"
	".target sm_60\n"
	".address_size 64\n"
	".visible .entry " GPU_KERNEL_FILL "(.param .u64 p_mem,\n"
	"	.param .u64 p_words, .param .u64 p_seed, .param .u64 p_flip)\n"
	"{\n"
	PTX_REGISTERS
	"	ld.param.u64	%mem, [p_mem];\n"
	"	cvta.to.global.u64 %mem, %mem;\n"
	"	ld.param.u64	%end, [p_words];\n"
	"	ld.param.u64	%seed, [p_seed];\n"
	"	ld.param.u64	%flip, [p_flip];\n"
	PTX_THREAD_INDEX
	"next:\n"
	"	setp.ge.u64	%p1, %i, %end;\n"
	"@%p1	ret;\n"
	PTX_PATTERN_WORD
	"	xor.b64		%word, %word, %flip;\n"
	"	st.global.u64	[%at], %word;\n"
	"	add.u64		%i, %i, %step;\n"
	"	bra		next;\n"
	"}\n"
	".visible .entry " GPU_KERNEL_CHECK "(.param .u64 p_mem,\n"
	"	.param .u64 p_bytes, .param .u64 p_seed, .param .u64 p_wrong)\n"
	"{\n"
	PTX_REGISTERS
	"	ld.param.u64	%mem, [p_mem];\n"
	"	cvta.to.global.u64 %mem, %mem;\n"
	"	ld.param.u64	%end, [p_bytes];\n"
	"	ld.param.u64	%seed, [p_seed];\n"
	"	ld.param.u64	%wrong, [p_wrong];\n"
	"	cvta.to.global.u64 %wrong, %wrong;\n"
	"	mov.u64		%n, 0;\n"
	PTX_THREAD_INDEX
	"next:\n"
	"	shl.b64		%rd3, %i, 3;\n"
	"	setp.ge.u64	%p1, %rd3, %end;\n"
	"@%p1	bra		done;\n"
	PTX_PATTERN_WORD
	"	ld.global.u64	%rd4, [%at];\n"
	"	xor.b64		%word, %word, %rd4;\n"
	"	sub.u64		%rd5, %end, %rd3;\n"
	"	setp.ge.u64	%p2, %rd5, 8;\n"
	"@%p2	bra		count;\n"
	/* the last word: leave out what lies past the end */
	"	cvt.u32.u64	%r5, %rd5;\n"
	"	shl.b32		%r5, %r5, 3;\n"
	"	mov.u64		%rd6, 1;\n"
	"	shl.b64		%rd6, %rd6, %r5;\n"
	"	sub.u64		%rd6, %rd6, 1;\n"
	"	and.b64		%word, %word, %rd6;\n"
	"count:\n"
	PTX_FOLD("4", "0x0f0f0f0f0f0f0f0f")
	PTX_FOLD("2", "0x3333333333333333")
	PTX_FOLD("1", "0x5555555555555555")
	"	and.b64		%word, %word, 0x0101010101010101;\n"
	"	popc.b64	%r6, %word;\n"
	"	cvt.u64.u32	%rd7, %r6;\n"
	"	add.u64		%n, %n, %rd7;\n"
	"	add.u64		%i, %i, %step;\n"
	"	bra		next;\n"
	"done:\n"
	"	setp.eq.u64	%p3, %n, 0;\n"
	"@%p3	ret;\n"
	"	red.global.add.u64 [%wrong], %n;\n"
	"	ret;\n"
	"}\n"
	".visible .entry " GPU_KERNEL_GATE "(.param .u64 p_word,\n"
	"	.param .u64 p_ticket, .param .u64 p_limit)\n"
	"{\n"
	"	.reg .pred	%p<3>;\n"
	"	.reg .b64	%word, %ticket, %limit, %now, %since, %t;\n"
	"	ld.param.u64	%word, [p_word];\n"
	"	ld.param.u64	%ticket, [p_ticket];\n"
	"	ld.param.u64	%limit, [p_limit];\n"
	"	mov.u64		%since, %globaltimer;\n"
	"next:\n"
	"	ld.volatile.u64	%now, [%word];\n"
	"	setp.ge.u64	%p1, %now, %ticket;\n"
	"@%p1	ret;\n"
	"	mov.u64		%t, %globaltimer;\n"
	"	sub.u64		%t, %t, %since;\n"
	"	setp.lt.u64	%p2, %t, %limit;\n"
	"@%p2	bra		next;\n"
	"	ret;\n"
	"}\n";

/* ---- gpu ----------------------------------------------------------------- */

/* Enough threads to reach the memory's speed on the largest GPUs of today. */
#define FILL_BLOCKS	1024
#define FILL_THREADS	256
/* Bytes that the host checks at a time; a multiple of the pattern's words. */
#define STAGE_BYTES	(UINT64_C(4) << 20)
/* A gate opens by itself after this long: the host may hang. */
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
	const struct err_words *why = gpu_refusal_of(rc, mode);
	char name[DL_CUDA_CODE];

	*code = why != NULL ? why->code :
		rc == CUDA_ERROR_NO_DEVICE ? "gpu_missing" : "open_failed";
	return err_set(e, EIO, "%s%s%s failed: %s (%s)",
		       why != NULL ? why->says : "", why != NULL ? ": " : "",
		       doing, dl_cuda_text(cu, rc),
		       dl_cuda_code(cu, rc, name));
}

void gpu_trouble(const struct gpu *g, CUresult rc, char code[DL_CUDA_CODE],
		 struct err *e)
{
	const char *says = dl_cuda_text(g->cu, rc);
	struct gpu_holders by = { 0 };
	int mode;

	dl_cuda_code(g->cu, rc, code);
	err_set(e, EIO, "%s", says);
	if (rc == CUDA_ERROR_OUT_OF_MEMORY) {
		gpu_holders(g->id.uuid, g->opened, &by);
	} else if (ask_mode(g->id.uuid, &mode) == NVML_ERROR_GPU_IS_LOST) {
		str_copy(code, DL_CUDA_CODE, GPU_LOST);
		err_set(e, EIO, "NVML says that the GPU is lost; %s", says);
	}
	if (by.n > 0) {
		str_copy(code, DL_CUDA_CODE, by.code);
		err_set(e, EIO, "%s; held by %s", says, by.words);
	}
}

int gpu_refused(const struct gpu *g, CUresult rc, const char *doing,
		const char **code, struct err *e)
{
	static const char *const held[] = { GPU_BUSY, GPU_IN_USE, GPU_LOST,
					    NULL };
	char trouble[DL_CUDA_CODE];
	struct err why;
	int by, mode;

	open_fault(g->cu, rc, doing,
		   ask_mode(g->id.uuid, &mode) == NVML_SUCCESS ?
			   gpu_mode_word(mode) :
			   "",
		   code, e);
	gpu_trouble(g, rc, trouble, &why);
	by = str_index(held, trouble);
	if (by >= 0) {
		*code = held[by];
		err_set(e, EIO, "%s failed: %s", doing, why.text);
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

static CUresult make_parts(struct gpu *g)
{
	const size_t bytes = GPU_WORDS * sizeof(uint64_t);
	const struct {
		const char *name;
		CUfunction *fn;
	} kernels[] = {
		{ GPU_KERNEL_FILL, &g->fill },
		{ GPU_KERNEL_CHECK, &g->check },
		{ GPU_KERNEL_GATE, &g->gate },
	};
	void *host_words = NULL;
	CUmodule module;
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
	/* the GPU checks the data if the driver accepts the PTX; else the host
	 * does */
	rc = g->cu->module_load(&module, gpu_kernels_ptx);
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

CUresult gpu_kernel(const struct gpu *g, const char *ptx, const char *name,
		    CUfunction *fn)
{
	CUmodule module;
	CUresult rc = g->cu->module_load(&module, ptx);

	if (rc == CUDA_SUCCESS) {
		rc = g->cu->module_function(fn, module, name);
	}
	*fn = rc == CUDA_SUCCESS ? *fn : NULL;
	return rc;
}

CUresult gpu_launch(struct gpu *g, CUfunction fn, unsigned blocks,
		    unsigned threads, void **params)
{
	return g->cu->launch(fn, blocks, 1, 1, threads, 1, 1, 0, g->stream,
			     params, NULL);
}

CUresult gpu_fill(struct gpu *g, enum gpu_buffer b, uint64_t bytes,
		  uint64_t seed, bool poison, int64_t deadline_ns)
{
	uint64_t words = (bytes + 7) / 8, flip = poison ? UINT64_MAX : 0;
	void *params[] = { &g->buf[b], &words, &seed, &flip };
	CUresult rc = CUDA_SUCCESS;

	if (g->fill != NULL) {
		return gpu_launch(g, g->fill, FILL_BLOCKS, FILL_THREADS,
				  params);
	}
	/* without kernels: piece by piece through pinned memory */
	for (uint64_t at = 0; at < bytes && rc == CUDA_SUCCESS;
	     at += STAGE_BYTES) {
		uint64_t n =
			bytes - at < STAGE_BYTES ? bytes - at : STAGE_BYTES;
		unsigned char *p = g->stage;

		pattern_fill(p, n, seed + at / 8);
		for (uint64_t i = 0; poison && i < n; i++) {
			p[i] = (unsigned char)~p[i];
		}
		rc = g->cu->copy_to_gpu(g->buf[b] + at, p, n, g->stream);
		rc = gpu_drained(g, rc, deadline_ns);
	}
	return rc;
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

	if (g->check != NULL) {
		return gpu_launch(g, g->check, FILL_BLOCKS, FILL_THREADS,
				  params);
	}
	for (uint64_t at = 0; at < bytes; at += STAGE_BYTES) {
		uint64_t n =
			bytes - at < STAGE_BYTES ? bytes - at : STAGE_BYTES;
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
	rc = gpu_launch(g, g->gate, 1, 1, params);
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
