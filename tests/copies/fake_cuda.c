/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A CUDA driver without a GPU, for GPUCHECK_CUDA_LIB: memory is shared memory,
 * work is done at once by the calling thread, kernels are known by name.
 *
 *	FAKE_CUDA_GPUS=N	this many GPUs (4)
 *	CUDA_VISIBLE_DEVICES=..	... of which it shows these numbers
 *	FAKE_CUDA_REFUSE=K:C	a context on GPU K is refused with code C
 *	FAKE_CUDA_FAR=K		GPU K and the others have no access to each
 *				other
 *	FAKE_CUDA_PCIE=K	GPU K has no NVLink
 *	FAKE_CUDA_FLAGS=lost	kernels' writes to other GPUs' flags get lost
 *	FAKE_CUDA_BREAK=K	a copy of GPU K ends its context, once: then
 *	FAKE_CUDA_BROKE=FILE	is there
 *	FAKE_CUDA_BREAK_BY=C	with code C (700)
 *	FAKE_CUDA_MEMORY=B	there are no blocks of more than B bytes
 *	FAKE_CUDA_UNSEEN=1	memory is out of reach of an HCA, and of the
 *				kernel
 *	FAKE_CUDA_NO_KERNELS=1	no PTX is taken
 *	FAKE_CUDA_FLIP=K	copies to GPU K arrive with a bit flipped
 *	FAKE_CUDA_FLIP_SIZE=B	only those of B bytes do
 *	FAKE_CUDA_LIGHT=1	copies to the host and from it take 1 us and go
 *				at 50 GB/s, and of all large ones a page alone
 *				is moved
 *	FAKE_CUDA_HANG=K	such a copy of GPU K never ends
 *	FAKE_CUDA_PINNED=B	the host locks no more than B bytes at once
 *	FAKE_CUDA_WRONG=K	GPU K computes one wrong result
 */
#undef HAVE_CUDA
#define HAVE_CUDA 0

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "probes/dl/cuda.h"
#include "probes/p2p/measure.h"

#define ILLEGAL_ADDRESS 700
#define OUT_OF_MEMORY	2
#define INVALID_VALUE	1
#define UNSUPPORTED	217
#define NOT_PERMITTED	800
#define MOST		256
#define LARGE		(1u << 20)
#define MAILBOX_BYTES	(2u << 20)

struct block {
	char *at;
	size_t bytes;
	int fd;
	int gpu;		/* where it is */
};

/* What cuIpcGetMemHandle hands out. */
struct handle {
	int64_t pid, fd, gpu;
	uint64_t bytes;
};

struct CUevent_st {
	int64_t ns;
};

static struct block blocks[MOST];
static int gpu = -1;		/* the one whose context is current */
static CUresult broken;		/* what ended it */
static int copies;
static int64_t busy_ns;		/* the GPU's own time: copies take 2 us each
				 * and go at 400 GB/s on any machine */

static int setting(const char *name, int otherwise)
{
	const char *text = getenv(name);

	return text != NULL ? (int)strtol(text, NULL, 10) : otherwise;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *pointer(CUdeviceptr p)
{
	return (void *)(uintptr_t)p;
}

#define FAKE(name, ...) \
	CUresult name(__VA_ARGS__); \
	CUresult name(__VA_ARGS__)

/* ---- devices and contexts ---------------------------------------------- */

FAKE(cuInit, unsigned int flags)
{
	return flags == 0 ? CUDA_SUCCESS : INVALID_VALUE;
}

FAKE(cuDriverGetVersion, int *version)
{
	*version = 13000;
	return CUDA_SUCCESS;
}

FAKE(cuGetErrorName, CUresult code, const char **name)
{
	*name = code == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" :
		code == OUT_OF_MEMORY	? "CUDA_ERROR_OUT_OF_MEMORY" :
		code == NOT_PERMITTED	? "CUDA_ERROR_NOT_PERMITTED" :
					  "CUDA_ERROR_UNKNOWN";
	return CUDA_SUCCESS;
}

FAKE(cuGetErrorString, CUresult code, const char **text)
{
	*text = code == ILLEGAL_ADDRESS ?
			"an illegal memory access was encountered" :
		code == OUT_OF_MEMORY ? "out of memory" :
		code == NOT_PERMITTED ? "operation not permitted" :
					"unknown error";
	return CUDA_SUCCESS;
}

/* The GPU that is shown as number @index, -1 for none. */
static int shown(int index)
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES");
	int gpus = setting("FAKE_CUDA_GPUS", 4), number = index;

	for (int i = 0; list != NULL && i < index; i++) {
		list = strchr(list, ',');
		if (list == NULL) {
			return -1;
		}
		list++;
	}
	if (list != NULL) {
		number = (int)strtol(list, NULL, 10);
	}
	return index >= 0 && number < gpus ? number : -1;
}

FAKE(cuDeviceGetCount, int *count)
{
	*count = 0;
	while (shown(*count) >= 0) {
		(*count)++;
	}
	return CUDA_SUCCESS;
}

FAKE(cuDeviceGet, CUdevice *dev, int index)
{
	*dev = shown(index);
	return *dev >= 0 ? CUDA_SUCCESS : 101;
}

FAKE(cuDeviceGetName, char *name, int size, CUdevice dev)
{
	snprintf(name, (size_t)size, "Fake GPU %d", dev);
	return CUDA_SUCCESS;
}

FAKE(cuDeviceGetPCIBusId, char *bus, int size, CUdevice dev)
{
	snprintf(bus, (size_t)size, "0000:%02X:00.0", dev + 1);
	return CUDA_SUCCESS;
}

FAKE(cuDeviceGetUuid, CUuuid *uuid, CUdevice dev)
{
	memset(uuid, dev + 1, sizeof(*uuid));
	return CUDA_SUCCESS;
}

FAKE(cuDeviceCanAccessPeer, int *can, CUdevice dev, CUdevice peer)
{
	int far = setting("FAKE_CUDA_FAR", -1);

	*can = dev != peer && dev != far && peer != far;
	return CUDA_SUCCESS;
}

FAKE(cuDeviceGetP2PAttribute, int *value, CUdevice_P2PAttribute which,
     CUdevice dev, CUdevice peer)
{
	int pcie = setting("FAKE_CUDA_PCIE", -1);

	*value = which == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED &&
		 dev != pcie && peer != pcie;
	return CUDA_SUCCESS;
}

FAKE(cuDevicePrimaryCtxRetain, CUcontext *ctx, CUdevice dev)
{
	const char *refuse = getenv("FAKE_CUDA_REFUSE");

	if (refuse != NULL && refuse[0] == '0' + dev) {
		return (CUresult)strtol(refuse + 2, NULL, 10);
	}
	*ctx = (CUcontext)(uintptr_t)(dev + 1);
	return CUDA_SUCCESS;
}

FAKE(cuCtxSetCurrent, CUcontext ctx)
{
	char number[16];

	gpu = (int)(uintptr_t)ctx - 1;
	snprintf(number, sizeof(number), "%d", gpu);
	setenv("FAKE_CUDA_HELD", number, 1);	/* for fake_nvml.c */
	return CUDA_SUCCESS;
}

/* ---- streams and events ------------------------------------------------ */

FAKE(cuStreamCreate, CUstream *stream, unsigned int flags)
{
	(void)flags;
	*stream = NULL;
	return CUDA_SUCCESS;
}

FAKE(cuStreamQuery, CUstream stream)
{
	(void)stream;
	return broken;
}

FAKE(cuEventCreate, CUevent *event, unsigned int flags)
{
	(void)flags;
	*event = calloc(1, sizeof(**event));
	return *event != NULL ? CUDA_SUCCESS : OUT_OF_MEMORY;
}

FAKE(cuEventRecord, CUevent event, CUstream stream)
{
	(void)stream;
	event->ns = busy_ns;
	return broken;
}

FAKE(cuEventQuery, CUevent event)
{
	(void)event;
	return broken;
}

FAKE(cuEventElapsedTime, float *ms, CUevent from, CUevent to)
{
	*ms = (float)(to->ns - from->ns + 1) / 1e6f;
	return broken;
}

/* ---- memory ------------------------------------------------------------ */

static struct block *free_block(void)
{
	int i = 0;

	while (i < MOST && blocks[i].at != NULL) {
		i++;
	}
	return i < MOST ? &blocks[i] : NULL;
}

static struct block *block_of(CUdeviceptr mem)
{
	int i = 0;

	while (i < MOST && (CUdeviceptr)(uintptr_t)blocks[i].at != mem) {
		i++;
	}
	return i < MOST && mem != 0 ? &blocks[i] : NULL;
}

static CUresult map(CUdeviceptr *mem, int fd, size_t bytes, int where)
{
	struct block *b = free_block();
	int seen = setting("FAKE_CUDA_UNSEEN", 0) ? PROT_NONE :
						     PROT_READ | PROT_WRITE;
	void *at = mmap(NULL, bytes, seen, MAP_SHARED, fd, 0);

	if (b == NULL || at == MAP_FAILED) {
		return OUT_OF_MEMORY;
	}
	*b = (struct block){ .at = at, .bytes = bytes, .fd = fd,
			     .gpu = where };
	*mem = (CUdeviceptr)(uintptr_t)at;
	return CUDA_SUCCESS;
}

static CUresult unmap(CUdeviceptr mem)
{
	struct block *b = block_of(mem);

	if (b == NULL) {
		return INVALID_VALUE;
	}
	munmap(b->at, b->bytes);
	close(b->fd);
	b->at = NULL;
	return broken;
}

FAKE(cuMemAlloc_v2, CUdeviceptr *mem, size_t bytes)
{
	int most = setting("FAKE_CUDA_MEMORY", 0);
	int fd;

	if (most > 0 && bytes > (size_t)most) {
		return OUT_OF_MEMORY;
	}
	fd = memfd_create("fake-gpu", MFD_CLOEXEC);
	if (broken != CUDA_SUCCESS) {
		return broken;
	}
	return ftruncate(fd, (off_t)bytes) < 0 ? OUT_OF_MEMORY :
						 map(mem, fd, bytes, gpu);
}

FAKE(cuMemFree_v2, CUdeviceptr mem)
{
	return unmap(mem);
}

FAKE(cuMemGetInfo_v2, size_t *left, size_t *total)
{
	*left = *total = (size_t)1 << 30;
	return CUDA_SUCCESS;
}

/* What is moved of @bytes. */
static size_t lighten(size_t bytes)
{
	return setting("FAKE_CUDA_LIGHT", 0) && bytes >= LARGE ? 4096 : bytes;
}

static size_t with_host(size_t bytes)
{
	if (setting("FAKE_CUDA_LIGHT", 0)) {
		busy_ns += 1000 + (int64_t)(bytes / 50);
	}
	if (bytes >= LARGE && gpu == setting("FAKE_CUDA_HANG", -1)) {
		pause();
	}
	return lighten(bytes);
}

FAKE(cuMemAllocHost_v2, void **mem, size_t bytes)
{
	int most = setting("FAKE_CUDA_PINNED", 0);

	if (most > 0 && bytes > (size_t)most) {
		return OUT_OF_MEMORY;
	}
	*mem = calloc(1, bytes);
	return *mem != NULL ? CUDA_SUCCESS : OUT_OF_MEMORY;
}

FAKE(cuMemcpyDtoHAsync_v2, void *dst, CUdeviceptr src, size_t bytes,
     CUstream stream)
{
	(void)stream;
	memcpy(dst, pointer(src), with_host(bytes));
	return broken;
}

FAKE(cuMemcpyHtoDAsync_v2, CUdeviceptr dst, const void *src, size_t bytes,
     CUstream stream)
{
	(void)stream;
	memcpy(pointer(dst), src, with_host(bytes));
	return broken;
}

FAKE(cuMemcpyAsync, CUdeviceptr dst, CUdeviceptr src, size_t bytes,
     CUstream stream)
{
	struct block *b;

	(void)stream;
	if (gpu == setting("FAKE_CUDA_BREAK", -1) && ++copies == 3 &&
	    close(open(getenv("FAKE_CUDA_BROKE"), O_CREAT | O_EXCL, 0600)) ==
		    0) {
		broken = (CUresult)setting("FAKE_CUDA_BREAK_BY",
					   ILLEGAL_ADDRESS);
	}
	if (broken == CUDA_SUCCESS) {
		memcpy(pointer(dst), pointer(src), lighten(bytes));
		busy_ns += 2000 + (int64_t)(bytes / 400);
	}
	b = block_of(dst);
	if (broken == CUDA_SUCCESS && b != NULL &&
	    b->gpu == setting("FAKE_CUDA_FLIP", -1) &&
	    (int)bytes == setting("FAKE_CUDA_FLIP_SIZE", (int)bytes)) {
		((char *)pointer(dst))[bytes / 2] ^= 1;
	}
	return broken;
}

FAKE(cuIpcGetMemHandle, CUipcMemHandle *handle, CUdeviceptr mem)
{
	struct block *b = block_of(mem);
	struct handle h = { .pid = getpid(), .gpu = gpu };

	if (b == NULL || broken != CUDA_SUCCESS) {
		return broken != CUDA_SUCCESS ? broken : INVALID_VALUE;
	}
	h.fd = b->fd;
	h.bytes = b->bytes;
	memcpy(handle, &h, sizeof(h));
	return CUDA_SUCCESS;
}

FAKE(cuIpcOpenMemHandle_v2, CUdeviceptr *mem, CUipcMemHandle handle,
     unsigned int flags)
{
	const char *flags_go = getenv("FAKE_CUDA_FLAGS");
	struct handle h;
	char path[64];
	int can, fd;

	memcpy(&h, &handle, sizeof(h));
	if (flags_go != NULL && h.bytes == MAILBOX_BYTES) {
		return cuMemAlloc_v2(mem, h.bytes);
	}
	cuDeviceCanAccessPeer(&can, gpu, (CUdevice)h.gpu);
	if (flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS ||
	    (h.gpu != gpu && !can)) {
		return UNSUPPORTED;
	}
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)h.pid, (int)h.fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? INVALID_VALUE : map(mem, fd, h.bytes, (int)h.gpu);
}

FAKE(cuIpcCloseMemHandle, CUdeviceptr mem)
{
	return unmap(mem);
}

/* For tests/fake/nccl: an operation has taken so long. */
int fake_cuda_gpu(void);

/* The number of the GPU in use. */
int fake_cuda_gpu(void)
{
	return gpu;
}

void fake_cuda_spend(int64_t ns);

void fake_cuda_spend(int64_t ns)
{
	busy_ns += ns;
}

/* ---- kernels ------------------------------------------------------------ */

static uint64_t word(uint64_t seed, uint64_t i)
{
	return (seed + i) * UINT64_C(0x9e3779b97f4a7c15);
}

static void pattern_fill(uint64_t *args[])
{
	uint64_t *mem = pointer(*args[0]), words = *args[1], i;

	for (i = 0; i < words; i++) {
		mem[i] = word(*args[2], i) ^ *args[3];
	}
}

static void pattern_check(uint64_t *args[])
{
	const unsigned char *mem = pointer(*args[0]);
	uint64_t bytes = *args[1], i;

	for (i = 0; i < bytes; i++) {
		unsigned char want = (unsigned char)(word(*args[2], i / 8) >>
						     i % 8 * 8);

		*(uint64_t *)pointer(*args[3]) += mem[i] != want;
	}
}

/* Nothing here is queued: what is held back would never end. */
static void gate(uint64_t *args[])
{
	(void)args;
}

static void ping_pong(uint64_t *args[])
{
	volatile uint64_t *mine = pointer(*args[0]);
	volatile uint64_t *theirs = pointer(*args[1]);
	uint64_t flag = *args[2], rounds = *args[3], lead = *args[4];
	struct ping_log *log = pointer(*args[6]);

	log->start_ns = log->start_tick = (uint64_t)now_ns();
	for (log->rounds = 0; log->rounds < rounds; log->rounds++, flag++) {
		if (lead) {
			*theirs = flag;
		}
		while (*mine != flag) {
			if ((uint64_t)now_ns() - log->start_ns > *args[5]) {
				goto end;
			}
			/* who sleeps comes first when there are few cores */
			nanosleep(&(struct timespec){ .tv_nsec = 1000 }, NULL);
		}
		if (!lead) {
			*theirs = flag;
		}
		log->tick[log->rounds] = (uint64_t)now_ns();
	}
end:
	log->end_ns = log->end_tick = (uint64_t)now_ns();
}

/* Element @i as probes/collective/kernels.h has it: @n ranks, this is @rank. */
static uint64_t element(uint64_t *args[], uint64_t seed, uint64_t i,
			uint64_t rank, uint64_t n, uint64_t stride)
{
	uint64_t *table = pointer(*args[3]), w = word(seed, i);

	if (table == NULL) {
		return w >> (64 - (8 << *args[2]));
	}
	return table[stride * (w >> 62) + (n > 0 && i % n == rank)];
}

static void collective_fill(uint64_t *args[])
{
	size_t width = (size_t)1 << *args[2];

	for (uint64_t i = 0; i < *args[1]; i++) {
		uint64_t v = element(args, *args[6], i, *args[4], *args[5], 2);

		memcpy((char *)pointer(*args[0]) + i * width, &v, width);
	}
}

static void collective_wrong(uint64_t *args[])
{
	size_t width = (size_t)1 << *args[2];

	for (uint64_t i = 0; i < *args[1]; i++) {
		uint64_t want = element(args, *args[5], i, 0, 0, 1), got = 0;

		memcpy(&got, (char *)pointer(*args[0]) + i * width, width);
		*(uint64_t *)pointer(*args[6]) +=
			(got > want ? got - want : want - got) > *args[4];
	}
}

/* As probes/gpu/kernels.h has them. */
static void memory_check(uint64_t *args[])
{
	const uint64_t *mem = pointer(*args[0]);
	uint64_t *found = pointer(*args[4]);

	for (uint64_t i = 0; i < 2 * *args[1]; i++) {
		uint64_t odd = mem[i] ^ word(*args[2], i) ^ *args[3];

		found[0] += odd != 0;
		found[1] = odd != 0 && i / 2 < found[1] ? i / 2 : found[1];
		found[2] |= odd;
	}
}

static void matrix(uint64_t *args[])
{
	uint64_t *sums = pointer(*args[0]);
	uint32_t *sms = pointer(*args[1]);
	bool wrong = gpu == setting("FAKE_CUDA_WRONG", -1);

	for (size_t i = 0; i < 1056; i++) {
		sums[i] = 42 + (i == 7 && wrong);
		sms[i] = (uint32_t)i;
	}
	nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
}

static const struct CUfunc_st {
	const char *name;
	void (*run)(uint64_t *args[]);
} functions[] = {
	{ .name = "pattern_fill", .run = pattern_fill },
	{ .name = "pattern_check", .run = pattern_check },
	{ .name = "gate", .run = gate },
	{ .name = "ping_pong", .run = ping_pong },
	{ .name = "memory_check", .run = memory_check },
	{ .name = "matrix", .run = matrix },
	{ .name = "collective_fill", .run = collective_fill },
	{ .name = "collective_wrong", .run = collective_wrong },
};

FAKE(cuModuleLoadData, CUmodule *module, const void *image)
{
	(void)image;
	*module = NULL;
	return setting("FAKE_CUDA_NO_KERNELS", 0) ? UNSUPPORTED : CUDA_SUCCESS;
}

FAKE(cuModuleGetFunction, CUfunction *fn, CUmodule module, const char *name)
{
	(void)module;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (strcmp(functions[i].name, name) == 0) {
			*fn = (CUfunction)&functions[i];
			return CUDA_SUCCESS;
		}
	}
	return INVALID_VALUE;
}

FAKE(cuLaunchKernel, CUfunction fn, unsigned int grid_x, unsigned int grid_y,
     unsigned int grid_z, unsigned int block_x, unsigned int block_y,
     unsigned int block_z, unsigned int shared_bytes, CUstream stream,
     void **params, void **extra)
{
	(void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y,
		(void)block_z, (void)shared_bytes, (void)stream, (void)extra;
	if (broken == CUDA_SUCCESS) {
		fn->run((uint64_t **)params);
	}
	return broken;
}
