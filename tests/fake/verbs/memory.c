/* SPDX-License-Identifier: BSD-3-Clause */
/* A fake: memory that all processes share, keys, and the limit of locked
 * memory. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/fake/verbs/fake.h"

#define PAGE 4096

/* ---- wire ---------------------------------------------------------------- */

static struct fv_wire *wire;
static int wire_fd = -1;

static void map_wire(void)
{
	const char *folder = getenv("FAKE_VERBS");
	char path[4096];
	void *at;
	int fd;

	snprintf(path, sizeof(path), "%s/wire", folder != NULL ? folder : "");
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*wire)) < 0) {
		fprintf(stderr, "fake verbs: %s: %s\n", path, strerror(errno));
		return;
	}
	at = mmap(NULL, sizeof(*wire), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		  0);
	wire_fd = fd;
	wire = at != MAP_FAILED ? at : NULL;
}

struct fv_wire *fv_wire(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, map_wire);
	return wire;
}

static int claim(atomic_uint *key, atomic_int *pid, size_t stride, int n)
{
	for (int i = 0; i < n; i++) {
		atomic_uint *k = (void *)((char *)key + (size_t)i * stride);
		atomic_int *p = (void *)((char *)pid + (size_t)i * stride);
		unsigned int more;

		if (*k != 0 && (kill(*p, 0) == 0 || errno != ESRCH)) {
			continue;
		}
		/* another key each time: what is left of an earlier owner
		 * does not fit; 24 bits, as a number of a queue pair */
		more = (unsigned int)(fv_now_ns() % ((1 << 24) / n - 1) + 1);
		*p = getpid();
		*k = more * (unsigned int)n + (unsigned int)i;
		return i;
	}
	return -1;
}

/* One at a time: a slot with a new key and still the dead process of the old
 * one would be claimed twice. */
int fv_claim(atomic_uint *key, atomic_int *pid, size_t stride, int n)
{
	static pthread_mutex_t threads = PTHREAD_MUTEX_INITIALIZER;
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int slot;

	pthread_mutex_lock(&threads);
	fcntl(wire_fd, F_SETLKW, &lock);
	slot = claim(key, pid, stride, n);
	lock.l_type = F_UNLCK;
	fcntl(wire_fd, F_SETLK, &lock);
	pthread_mutex_unlock(&threads);
	if (slot < 0) {
		errno = ENOMEM;
	}
	return slot;
}

/* ---- limit --------------------------------------------------------------- */

int fv_lock(struct ibv_context *ctx, int64_t bytes)
{
	static atomic_llong locked;
	int port = fv_context_of(ctx)->device->first;
	struct rlimit r;
	double limit;

	bytes = (bytes + (bytes < 0 ? 1 - PAGE : PAGE - 1)) / PAGE * PAGE;
	if (bytes > 0 && fv_faulty(FV_MEMLOCK, port, -1, -1, &limit)) {
		if (limit <= 0 && getrlimit(RLIMIT_MEMLOCK, &r) == 0) {
			limit = (double)r.rlim_cur;
		}
		if ((double)(locked + bytes) > limit) {
			return ENOMEM;
		}
	}
	locked += bytes;
	return 0;
}

/* ---- protection domains, keys -------------------------------------------- */

struct ibv_pd *ibv_alloc_pd(struct ibv_context *ctx)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));

	if (pd != NULL) {
		pd->context = ctx;
	}
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	free(pd);
	return 0;
}

/* Memory of a GPU is not of this process: no NIC without a module for it can
 * reach that. */
static bool is_host(void *addr, size_t length)
{
	char byte;
	struct iovec to = { &byte, 1 };

	for (int end = 0; end < 2 && length > 0; end++) {
		struct iovec from = { (char *)addr + (end ? length - 1 : 0),
				      1 };

		if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != 1) {
			return false;
		}
	}
	return true;
}

static struct ibv_mr *reg(struct ibv_pd *pd, void *addr, size_t length,
			  uint64_t iova, unsigned int access)
{
	struct fv_wire_mr *all = fv_wire()->mrs;
	struct ibv_mr *mr;
	int rc, i;

	if (!is_host(addr, length)) {
		errno = EFAULT;
		return NULL;
	}
	rc = fv_lock(pd->context, (int64_t)length);
	if (rc != 0) {
		errno = rc;
		return NULL;
	}
	mr = calloc(1, sizeof(*mr));
	i = mr == NULL ? -1 : fv_claim(&all->key, &all->pid, sizeof(*all),
				       FV_MRS);
	if (i < 0) {
		free(mr);
		return NULL;
	}
	all[i].addr = (uint64_t)(uintptr_t)addr;
	all[i].length = length;
	all[i].iova = iova;
	all[i].access = access;
	*mr = (struct ibv_mr){ .context = pd->context, .pd = pd, .addr = addr,
			       .length = length, .handle = (uint32_t)i,
			       .lkey = all[i].key, .rkey = all[i].key };
	return mr;
}

struct ibv_mr *(ibv_reg_mr)(struct ibv_pd *pd, void *addr, size_t length,
			    int access)
{
	return reg(pd, addr, length, (uint64_t)(uintptr_t)addr,
		   (unsigned int)access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
				uint64_t iova, unsigned int access)
{
	return reg(pd, addr, length, iova, access);
}

/* No memory of GPUs. */
struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				 size_t length, uint64_t iova, int fd,
				 int access)
{
	(void)pd, (void)offset, (void)length, (void)iova, (void)fd,
		(void)access;
	errno = EOPNOTSUPP;
	return NULL;
}

void fv_quiesce(const atomic_int *busy)
{
	/* one that died meanwhile is not waited for */
	for (int i = 0; *busy > 0 && i < 1000; i++) {
		fv_sleep_ns(FV_MS);
	}
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	struct fv_wire_mr *w = &fv_wire()->mrs[mr->handle];

	w->key = 0;
	fv_quiesce(&w->busy);
	fv_lock(mr->context, -(int64_t)mr->length);
	free(mr);
	return 0;
}

void *fv_translate(uint32_t key, uint64_t addr, uint64_t length,
		   unsigned int access, int *pid)
{
	const struct fv_wire_mr *mr = &fv_wire()->mrs[key % FV_MRS];

	if (mr->key != key || (mr->access & access) != access ||
	    addr < mr->iova || length > mr->length ||
	    addr - mr->iova > mr->length - length) {
		return NULL;
	}
	*pid = mr->pid;
	return (void *)(uintptr_t)(mr->addr + (addr - mr->iova));
}
