/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A libibverbs without hardware, for the proof of memlock.  This is a model:
 * soft-RoCE keeps queues in kernel memory, mlx5 keeps them in memory of the
 * process and pins it, so that ibv_create_cq() itself fails at the limit.  Here
 * queues are locked with mlock, which the kernel counts as it counts pins.
 *
 * FAKE_VERBS says what is wrong with the device: no_cqs, denied, crash; unset:
 * nothing.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#define CQE_B	  64
#define REQUEST_B 256
#define MAX_CQ	  1234

static struct ibv_device device;
static struct ibv_device *list[] = { &device, NULL };
static struct ibv_context context;
static struct ibv_pd pd;

/* What a queue or a registration has locked. */
struct locked {
	union {
		struct ibv_cq cq;
		struct ibv_qp qp;
		struct ibv_mr mr;
	} object;		/* first: what the caller holds */
	void *area;
	size_t size;
	bool ours;
};

static bool wrong(const char *what)
{
	const char *set = getenv("FAKE_VERBS");

	return set && strcmp(set, what) == 0;
}

static void *lock_area(void *area, size_t size)
{
	struct locked *l = calloc(1, sizeof(*l));

	l->ours = !area;
	l->size = size;
	l->area = area ? area :
			 mmap(NULL, size, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (syscall(SYS_mlock, l->area, size) < 0) {
		int why = errno;

		if (l->ours) {
			munmap(l->area, size);
		}
		free(l);
		errno = why;
		return NULL;
	}
	return l;
}

static int unlock_area(void *object)
{
	struct locked *l = object;

	syscall(SYS_munlock, l->area, l->size);
	if (l->ours) {
		munmap(l->area, l->size);
	}
	free(l);
	return 0;
}

/* mlx5 has queues of powers of two. */
static size_t rounded(size_t n)
{
	size_t size = 4096;

	while (size < n) {
		size *= 2;
	}
	return size;
}

struct ibv_device **ibv_get_device_list(int *n)
{
	*n = 1;
	return list;
}

void ibv_free_device_list(struct ibv_device **l)
{
	(void)l;
}

const char *ibv_get_device_name(struct ibv_device *d)
{
	(void)d;
	return "fake_0";
}

struct ibv_context *ibv_open_device(struct ibv_device *d)
{
	(void)d;
	if (wrong("denied") && geteuid() != 0) {
		errno = EACCES;	/* only root may: users' jobs fail */
		return NULL;
	}
	return &context;
}

int ibv_close_device(struct ibv_context *c)
{
	(void)c;
	return 0;
}

int ibv_query_device(struct ibv_context *c, struct ibv_device_attr *attr)
{
	(void)c;
	*attr = (struct ibv_device_attr){
		.max_cq = MAX_CQ, .max_cqe = 4194303, .max_mr = 1 << 20,
		.max_qp = 131072, .max_qp_wr = 32768,
	};
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *c, int entries, void *arg,
			     struct ibv_comp_channel *channel, int vector)
{
	(void)c;
	(void)arg;
	(void)channel;
	(void)vector;
	if (wrong("crash")) {
		abort();
	}
	if (wrong("no_cqs")) {
		errno = ENOMEM;
		return NULL;
	}
	return lock_area(NULL, rounded((size_t)entries * CQE_B));
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	return unlock_area(cq);
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *c)
{
	(void)c;
	return &pd;
}

int ibv_dealloc_pd(struct ibv_pd *p)
{
	(void)p;
	return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *p, struct ibv_qp_init_attr *init)
{
	(void)p;
	return lock_area(NULL, rounded(init->cap.max_send_wr * REQUEST_B));
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	return unlock_area(qp);
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *p, void *addr, size_t size, int access)
{
	(void)p;
	(void)access;
	return lock_area(addr, size);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	return unlock_area(mr);
}

/* Not used by memlock, and asked for by who opens the library. */
#undef ibv_query_port
int ibv_query_port(struct ibv_context *c, uint8_t port,
		   struct _compat_ibv_port_attr *attr)
{
	(void)c;
	(void)port;
	(void)attr;
	return ENOSYS;
}

int ibv_query_gid(struct ibv_context *c, uint8_t port, int index,
		  union ibv_gid *gid)
{
	(void)c;
	(void)port;
	(void)index;
	(void)gid;
	return -1;
}

int ibv_query_pkey(struct ibv_context *c, uint8_t port, int index,
		   __be16 *pkey)
{
	(void)c;
	(void)port;
	(void)index;
	(void)pkey;
	return -1;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	(void)qp;
	(void)attr;
	(void)mask;
	return ENOSYS;
}
