/* SPDX-License-Identifier: BSD-3-Clause */
/* One call of NCCL or CUDA, what it is about, and how it goes wrong. */
#include "probes/collective/nccl.h"

#include "lib/base/clock.h"

#define POLL_SPINS    2000	/* then sleep between looks */
#define POLL_SLEEP_NS 20000

/* ---- going wrong -------------------------------------------------------- */

void collective_doing(struct collective_member *c, const char *what)
{
	c->doing = what;
	worker_step(c->x->self.worker, "%s, rank %lld of %lld", what,
		    (long long)c->order.me, (long long)c->order.ranks);
}

static int fail(struct collective_member *c, enum outcome o, const char *code,
		const char *words)
{
	char says[NCCL_LOG_SAYS];

	nccl_log_explain(&c->x->log, c->log_from, c->x->self.worker->log, says);
	return collective_fail(c->r, o, code, "%s: %s%s", c->doing, words,
			       says);
}

int collective_nccl_rc(struct collective_member *c, ncclResult_t rc)
{
	const char *words;

	if (rc == ncclSuccess) {
		return 0;
	}
	words = c->x->nccl->ncclGetErrorString(rc);
	c->r->echo = rc == ncclRemoteError || atomic_load(&c->aborted);
	return fail(c, OUTCOME_ERROR, dl_nccl_code(rc), words);
}

int collective_cuda_rc(struct collective_member *c, CUresult rc)
{
	struct gpu_trouble t;

	if (rc == CUDA_SUCCESS) {
		return 0;
	}
	if (rc == CUDA_ERROR_NOT_READY) {
		c->r->echo = true;
		return fail(c, OUTCOME_TIMEOUT, "nccl_timeout",
			    "not finished before the deadline");
	}
	gpu_trouble(&c->x->gpu, rc, &t);
	return fail(c, OUTCOME_ERROR, t.code, t.text);
}

int collective_wait_for(struct collective_member *c, int i)
{
	struct gpu *g = &c->x->gpu;
	CUresult rc;

	for (unsigned looks = 0;
	     (rc = g->cu->event_query(g->stamps[i])) == CUDA_ERROR_NOT_READY &&
	     !atomic_load(&c->aborted) && clock_now_ns() <= c->deadline_ns;
	     looks++) {
		ncclResult_t state = ncclSuccess;

		if (looks < POLL_SPINS) {
			continue;
		}
		clock_sleep(POLL_SLEEP_NS);
		c->x->nccl->ncclCommGetAsyncError(c->comm, &state);
		if (state != ncclSuccess && state != ncclInProgress) {
			return collective_nccl_rc(c, state);
		}
	}
	return collective_cuda_rc(c, rc);
}

int collective_stamp(struct collective_member *c, int i)
{
	struct gpu *g = &c->x->gpu;

	return collective_cuda_rc(c,
				  g->cu->event_record(g->stamps[i], g->stream));
}

/* ---- operations --------------------------------------------------------- */

static void *on_gpu(CUdeviceptr p)
{
	return (void *)(uintptr_t)p;
}

/** Everybody's block to everybody, or to the next. */
static ncclResult_t exchange(struct collective_member *c,
			     const struct collective_places *p)
{
	const struct nccl *n = c->x->nccl;
	const struct collective_order *g = &c->order;
	ncclDataType_t type = (ncclDataType_t)g->dtype->nccl;
	CUdeviceptr block = (CUdeviceptr)p->shape.count
			    << g->dtype->width_log2;
	bool all = g->op == COLLECTIVE_ALLTOALL;
	int ranks = (int)g->ranks, me = (int)g->me;
	ncclResult_t rc = n->ncclGroupStart(), ended;

	for (int i = 0; rc == ncclSuccess && i < (all ? ranks : 1); i++) {
		int to = all ? i : (me + 1) % ranks;
		int from = all ? i : (me + ranks - 1) % ranks;
		CUdeviceptr at = (CUdeviceptr)i * block;

		rc = n->ncclSend(on_gpu(p->send + at), (size_t)p->shape.count,
				 type, to, c->comm, c->x->gpu.stream);
		if (rc == ncclSuccess) {
			rc = n->ncclRecv(on_gpu(p->recv + at),
					 (size_t)p->shape.count, type, from,
					 c->comm, c->x->gpu.stream);
		}
	}
	ended = n->ncclGroupEnd();	/* in any case: groups nest */
	return rc != ncclSuccess ? rc : ended;
}

static ncclResult_t call(struct collective_member *c,
			 const struct collective_places *p)
{
	const struct nccl *n = c->x->nccl;
	const struct collective_order *g = &c->order;
	ncclDataType_t type = (ncclDataType_t)g->dtype->nccl;
	ncclRedOp_t redop = (ncclRedOp_t)g->redop->nccl;
	struct CUstream_st *stream = c->x->gpu.stream;
	size_t count = (size_t)p->shape.count;
	void *send = on_gpu(p->send), *recv = on_gpu(p->recv);

	switch (g->op) {
	case COLLECTIVE_ALLREDUCE:
		return n->ncclAllReduce(send, recv, count, type, redop,
					c->comm, stream);
	case COLLECTIVE_ALLGATHER:
		return n->ncclAllGather(send, recv, count, type, c->comm,
					stream);
	case COLLECTIVE_REDUCESCATTER:
		return n->ncclReduceScatter(send, recv, count, type, redop,
					    c->comm, stream);
	case COLLECTIVE_BROADCAST:
		return n->ncclBroadcast(send, recv, count, type, 0, c->comm,
					stream);
	case COLLECTIVE_REDUCE:
		return n->ncclReduce(send, recv, count, type, redop, 0,
				     c->comm, stream);
	default:
		return exchange(c, p);
	}
}

int collective_operate(struct collective_member *c,
		       const struct collective_places *p)
{
	return collective_nccl_rc(c, call(c, p));
}

int collective_meet(struct collective_member *c)
{
	void *word = on_gpu(gpu_word_at(&c->x->gpu, GPU_WORD_MINE));
	ncclResult_t rc = c->x->nccl->ncclAllReduce(word, word, 1, ncclFloat32,
						    ncclSum, c->comm,
						    c->x->gpu.stream);

	return collective_nccl_rc(c, rc);
}

bool collective_has_operation(const struct nccl *n, enum collective op)
{
	switch (op) {
	case COLLECTIVE_ALLGATHER:
		return n->ncclAllGather != NULL;
	case COLLECTIVE_REDUCESCATTER:
		return n->ncclReduceScatter != NULL;
	case COLLECTIVE_BROADCAST:
		return n->ncclBroadcast != NULL;
	case COLLECTIVE_REDUCE:
		return n->ncclReduce != NULL;
	default:
		return true;
	}
}
