/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of a real GPU on its way to an HCA: what the driver exports is a
 * dma-buf of the right size, the whole buffer and nothing else is offered, and
 * data goes in and out of it.  The HCA is a stand-in that looks at what it is
 * given, because GPUs without one are what there is to test on: whether a NIC
 * takes it is not shown here.  TAP.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if HAVE_VERBS
#include <infiniband/verbs.h>
#endif

#include "lib/base/clock.h"
#include "probes/dl/verbs.h"
#include "probes/host/gpu.h"
#include "probes/ib/link.h"
#include "tests/gpu/tap.h"

#if HAVE_VERBS

#define SEED 7

/** What the stand-in was given last. */
static struct {
	int calls, plain_calls, dropped;
	uint64_t offset, iova;
	size_t length;
	char exporter[64];	/* of the dma-buf, as the kernel has it */
	long long exported_B;
} seen;

static void look_at(int fd)
{
	char path[64], line[128];
	struct stat st;
	FILE *f;

	seen.exporter[0] = '\0';
	seen.exported_B = fstat(fd, &st) == 0 ? (long long)st.st_size : -1;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		sscanf(line, "exp_name: %63s", seen.exporter);
	}
	if (f != NULL) {
		fclose(f);
	}
}

static struct ibv_mr *take_dmabuf(struct ibv_pd *pd, uint64_t offset,
				  size_t length, uint64_t iova, int fd,
				  int access)
{
	static struct ibv_mr mr;

	(void)pd;
	(void)access;
	seen.calls++;
	seen.offset = offset;
	seen.length = length;
	seen.iova = iova;
	look_at(fd);
	return &mr;
}

/* As an HCA does without nvidia-peermem. */
static struct ibv_mr *take_none(struct ibv_pd *pd, void *addr, size_t length,
				int access)
{
	(void)pd;
	(void)addr;
	(void)length;
	(void)access;
	seen.plain_calls++;
	errno = EFAULT;
	return NULL;
}

static int drop(struct ibv_mr *mr)
{
	(void)mr;
	seen.dropped++;
	return 0;
}

static void exported(const struct verbs_device *d, size_t bytes)
{
	int64_t deadline_ns = clock_now_ns() + 20 * NS_PER_S;
	struct verbs_memory m = { 0 };
	const char *code = "";
	struct err e = { 0 };

	memset(&seen, 0, sizeof(seen));
	if (!ok(verbs_memory_open(&m, d, bytes, 0, &code, &e) == 0,
		"%zu bytes: buffers on the GPU", bytes)) {
		printf("# %s: %s\n", code, e.text);
		verbs_memory_close(&m);
		return;
	}
	ok(strcmp(m.how, "/dmabuf") == 0 && seen.calls == VERBS_SIDES &&
		   seen.plain_calls == 0,
	   "%zu bytes: by dma-buf", bytes);
	printf("# exporter %s, %lld bytes\n", seen.exporter, seen.exported_B);
	ok(seen.exporter[0] != '\0', "%zu bytes: the kernel calls it a dma-buf",
	   bytes);
	ok(seen.length == bytes && seen.iova == m.side[VERBS_RECV].addr &&
		   seen.exported_B >=
			   (long long)(seen.offset + seen.length),
	   "%zu bytes: the whole buffer is in it", bytes);
	ok(verbs_memory_fill(&m, VERBS_SEND, bytes, SEED, deadline_ns) == 0 &&
		   verbs_memory_fill(&m, VERBS_RECV, bytes, SEED,
				     deadline_ns) == 0 &&
		   verbs_memory_wrong(&m, bytes, SEED, deadline_ns) > 0,
	   "%zu bytes: what has not arrived is wrong", bytes);
	verbs_memory_close(&m);
	ok(seen.dropped == VERBS_SIDES, "%zu bytes: registrations are given up",
	   bytes);
}

static void refused(const struct verbs_device *d)
{
	struct verbs_memory m = { 0 };
	const char *code = "";
	struct err e = { 0 };

	memset(&seen, 0, sizeof(seen));
	ok(verbs_memory_open(&m, d, 65536, 0, &code, &e) < 0 &&
		   strcmp(code, "gpu_memory") == 0 && seen.plain_calls == 1,
	   "neither dma-buf nor nvidia-peermem: an error");
	printf("# %s\n", e.text);
	verbs_memory_close(&m);
}

int main(void)
{
	static const size_t sizes[] = { 4, 65536, 65536 + 4, 256 << 20 };
	struct verbs v = {
		.reg_dmabuf_mr = take_dmabuf,
		.reg_mr = take_none,
		.dereg_mr = drop,
	};
	struct verbs_device d = { .v = &v, .name = "standin_0:1" };
	const char *code = "";
	struct err e = { 0 };

	if (gpu_count(&code, &e) <= 0) {
		printf("1..0 # SKIP no GPU: %s\n", e.text);
		return 0;
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		exported(&d, sizes[i]);
	}
	v.reg_dmabuf_mr = NULL;
	refused(&d);
	printf("1..%d\n", tests);
	return failures ? 1 : 0;
}

#else

int main(void)
{
	printf("1..0 # SKIP built without infiniband/verbs.h\n");
	return 0;
}

#endif
