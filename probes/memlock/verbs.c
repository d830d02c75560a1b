/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/prove.h"

#include <errno.h>
#include <sys/mman.h>

#include "probes/dl/verbs.h"
#include "probes/host/port.h"
#include "probes/host/sysfile.h"

#if HAVE_VERBS
#include <infiniband/verbs.h>

#define PAGE_B	     4096
#define HCAS_MAX     64
#define CQ_CEILING_B (INT64_C(4) << 20)
#define QP_CEILING_B (INT64_C(2) << 20)
#define MR_NEEDED_B  (NEED_CHANNELS * NEED_BUFFER_B)

/* One open device and what a trial needs of it. */
struct hca {
	const struct verbs *v;
	struct ibv_context *ctx;
	struct ibv_device_attr attr;
	struct ibv_pd *pd;
	struct ibv_cq *cq;	/* for queue pairs */
	void *area;		/* for registrations */
};

/* Some providers return NULL and leave errno alone. */
static int refusal_errno(void)
{
	return errno != 0 ? errno : EIO;
}

static int attempt_cq(int64_t size_B, void *arg)
{
	struct hca *h = arg;
	struct ibv_cq *cq;

	errno = 0;
	cq = h->v->create_cq(h->ctx, (int)(size_B / NEED_CQE_B), NULL, NULL,
			     0);
	return cq != NULL ? h->v->destroy_cq(cq) : refusal_errno();
}

static int attempt_qp(int64_t size_B, void *arg)
{
	struct hca *h = arg;
	struct ibv_qp_init_attr init = {
		.send_cq = h->cq,
		.recv_cq = h->cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = (uint32_t)(size_B / NEED_REQUEST_B),
			 .max_recv_wr = (uint32_t)(size_B / NEED_REQUEST_B),
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp;

	errno = 0;
	qp = h->v->create_qp(h->pd, &init);
	return qp != NULL ? h->v->destroy_qp(qp) : refusal_errno();
}

static int attempt_mr(int64_t size_B, void *arg)
{
	struct hca *h = arg;
	struct ibv_mr *mr;

	errno = 0;
	mr = h->v->reg_mr(h->pd, h->area, (size_t)size_B,
			  IBV_ACCESS_LOCAL_WRITE);
	return mr != NULL ? h->v->dereg_mr(mr) : refusal_errno();
}

/* Bytes of @n entries, a whole number of pages, one page at least, no more than
 * @ceiling_B. */
static int64_t pages(int64_t n, int64_t entry_B, int64_t ceiling_B)
{
	int64_t bytes = n * entry_B / PAGE_B * PAGE_B;

	bytes = bytes > PAGE_B ? bytes : PAGE_B;
	return bytes < ceiling_B ? bytes : ceiling_B;
}

static void try_cq(const struct proof *p, struct hca *h, const char *name)
{
	const struct trial t = {
		.check = CHECK_CQ, .hca = name, .needed_B = NEED_CQ_B,
		.ceiling_B = pages(h->attr.max_cqe, NEED_CQE_B, CQ_CEILING_B),
		.device_max = h->attr.max_cq, .attempt = attempt_cq, .arg = h,
	};

	proof_try(p, &t);
}

static void try_qp(const struct proof *p, struct hca *h, const char *name)
{
	const struct trial t = {
		.check = CHECK_QP, .hca = name, .needed_B = NEED_QP_B,
		.ceiling_B = pages(h->attr.max_qp_wr, NEED_REQUEST_B,
				   QP_CEILING_B),
		.device_max = h->attr.max_qp, .attempt = attempt_qp, .arg = h,
	};

	h->cq = h->v->create_cq(h->ctx, 1, NULL, NULL, 0);
	if (h->cq == NULL) {
		proof_skipped(p, CHECK_QP, name,
			      "there is no completion queue for it");
		return;
	}
	proof_try(p, &t);
	h->v->destroy_cq(h->cq);
}

static void try_mr(const struct proof *p, struct hca *h, const char *name)
{
	const struct trial t = {
		.check = CHECK_MR, .hca = name, .needed_B = MR_NEEDED_B,
		.ceiling_B = MR_NEEDED_B, .device_max = h->attr.max_mr,
		.attempt = attempt_mr, .arg = h,
	};

	h->area = mmap(NULL, MR_NEEDED_B, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (h->area == MAP_FAILED) {
		proof_refused(p, CHECK_MR, name, errno);
		return;
	}
	proof_try(p, &t);
	munmap(h->area, MR_NEEDED_B);
}

static void try_device(const struct proof *p, const struct verbs *v,
		       struct ibv_device *dev)
{
	const char *name = v->get_device_name(dev);
	struct hca h = { .v = v };

	errno = 0;
	h.ctx = v->open_device(dev);
	if (h.ctx == NULL) {
		/* libibverbs tries several files and tells the errno of the
		 * last: look at the right one */
		proof_refused(p, CHECK_CQ, name,
			      port_device_errno(name, refusal_errno()));
		return;
	}
	if (v->query_device(h.ctx, &h.attr) != 0) {
		proof_refused(p, CHECK_CQ, name, refusal_errno());
		goto close;
	}
	try_cq(p, &h, name);
	errno = 0;
	h.pd = v->alloc_pd(h.ctx);
	if (h.pd == NULL) {
		proof_refused(p, CHECK_MR, name, refusal_errno());
		goto close;
	}
	try_qp(p, &h, name);
	try_mr(p, &h, name);
	v->dealloc_pd(h.pd);
close:
	v->close_device(h.ctx);
}

/* The kernel has HCAs, and libibverbs shows none of them. */
static int refuse_all(const struct proof *p, int error)
{
	char names[HCAS_MAX][64];
	size_t n = sysfile_list(names, HCAS_MAX, "/sys/class/infiniband");

	for (size_t i = 0; i < n; i++) {
		proof_refused(p, CHECK_CQ, names[i], error);
	}
	return (int)n;
}

int proof_verbs(const struct proof *p, struct err *e)
{
	const struct verbs *v = dl_verbs(e);
	struct ibv_device **list;
	int n = 0;

	if (v == NULL) {
		return -1;
	}
	list = v->get_device_list(&n);
	if (list == NULL || n == 0) {
		n = refuse_all(p, ENODEV);
	}
	for (int i = 0; list != NULL && list[i] != NULL; i++) {
		try_device(p, v, list[i]);
	}
	if (list != NULL) {
		v->free_device_list(list);
	}
	return n;
}

#else

int proof_verbs(const struct proof *p, struct err *e)
{
	(void)p;
	return err_set(e, 0, "built without infiniband/verbs.h");
}

#endif
