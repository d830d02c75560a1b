/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives by NCCL.  The communicator blocks its calls: one that does not
 * queues slowly, and the thread that runs here may hang, because another one
 * watches it.
 */
#include "probes/coll_ops.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/clock.h"
#include "lib/hash.h"
#include "lib/str.h"
#include "probes/coll_gpu.h"
#include "probes/nccl_link.h"
#include "probes/worker.h"

#define POLL_SPINS    2000	/* then sleep between looks */
#define POLL_SLEEP_NS 20000
#define SPOIL	      16	/* elements that a drill spoils */
#define POISON	      0x5a5a5a5a5a5a	/* seed of what is nobody's data */

struct coll {
	struct xport *x;
	ncclComm_t comm;
	struct coll_order group;	/* who is in it, what it does */
	struct coll_gpu check;
	atomic_bool aborted;
	off_t log_from;
	const char *doing;
	struct coll_result *r;		/* of the call at hand */
	int64_t began_ns, deadline_ns;
};

/** Where one rank's elements are in a step. */
struct places {
	struct coll_shape shape;
	CUdeviceptr send, recv;
};

/* ---- going wrong ------------------------------------------------------------ */

static void doing(struct coll *c, const char *what)
{
	c->doing = what;
	worker_step(c->x->self.worker, "%s, rank %lld of %lld", what,
		    (long long)c->group.me, (long long)c->group.ranks);
}

static int fail(struct coll *c, enum outcome o, const char *code,
		const char *words)
{
	const char *log = worker_log_path(c->x->self.worker);
	char warning[160] = "";

	nccl_log_last_warning(&c->x->log, c->log_from, warning,
			      sizeof(warning));
	if (*log != '\0') {
		nccl_log_save(&c->x->log, c->log_from, log, NULL);
	}
	return coll_fail(c->r, o, code, "%s: %s%s%s", c->doing, words,
			 *warning != '\0' ? "; NCCL: " : "", warning);
}

static int nccl(struct coll *c, ncclResult_t rc)
{
	const char *words;

	if (rc == ncclSuccess) {
		return 0;
	}
	words = c->x->nccl->ncclGetErrorString(rc);
	c->r->echo = rc == ncclRemoteError || atomic_load(&c->aborted);
	return fail(c, OUTCOME_ERROR, dl_nccl_code(rc), words);
}

static int cuda(struct coll *c, CUresult rc)
{
	char code[DL_CUDA_CODE];

	if (rc == CUDA_SUCCESS) {
		return 0;
	}
	if (rc == CUDA_ERROR_NOT_READY) {
		c->r->echo = true;
		return fail(c, OUTCOME_TIMEOUT, "nccl_timeout",
			    "no end before the deadline");
	}
	return fail(c, OUTCOME_ERROR, dl_cuda_code(c->x->gpu.cu, rc, code),
		    dl_cuda_text(c->x->gpu.cu, rc));
}

/** Until the GPU has passed stamp @i. */
static int wait_for(struct coll *c, int i)
{
	struct gpu *g = &c->x->gpu;
	CUresult rc;

	for (unsigned looks = 0; (rc = g->cu->event_query(g->stamps[i])) ==
				 CUDA_ERROR_NOT_READY;
	     looks++) {
		ncclResult_t state = ncclSuccess;

		if (atomic_load(&c->aborted) ||
		    clock_now_ns() > c->deadline_ns) {
			break;
		}
		if (looks < POLL_SPINS) {
			continue;
		}
		nanosleep(&(struct timespec){ .tv_nsec = POLL_SLEEP_NS },
			  NULL);
		c->x->nccl->ncclCommGetAsyncError(c->comm, &state);
		if (state != ncclSuccess && state != ncclInProgress) {
			return nccl(c, state);
		}
	}
	return cuda(c, rc);
}

static int stamp(struct coll *c, int i)
{
	struct gpu *g = &c->x->gpu;

	return cuda(c, g->cu->event_record(g->stamps[i], g->stream));
}

/* ---- operations -------------------------------------------------------------- */

static void *on_gpu(CUdeviceptr p)
{
	return (void *)(uintptr_t)p;
}

/** Everybody's block to everybody, or to the next. */
static ncclResult_t exchange(struct coll *c, const struct places *p)
{
	const struct nccl *n = c->x->nccl;
	const struct coll_order *g = &c->group;
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

static int operate(struct coll *c, const struct places *p)
{
	const struct nccl *n = c->x->nccl;
	const struct coll_order *g = &c->group;
	ncclDataType_t type = (ncclDataType_t)g->dtype->nccl;
	ncclRedOp_t redop = (ncclRedOp_t)g->redop->nccl;
	struct CUstream_st *stream = c->x->gpu.stream;
	size_t count = (size_t)p->shape.count;
	void *send = on_gpu(p->send), *recv = on_gpu(p->recv);

	switch (g->op) {
	case COLLECTIVE_ALLREDUCE:
		return nccl(c, n->ncclAllReduce(send, recv, count, type, redop,
						c->comm, stream));
	case COLLECTIVE_ALLGATHER:
		return nccl(c, n->ncclAllGather(send, recv, count, type,
						c->comm, stream));
	case COLLECTIVE_REDUCESCATTER:
		return nccl(c, n->ncclReduceScatter(send, recv, count, type,
						    redop, c->comm, stream));
	case COLLECTIVE_BROADCAST:
		return nccl(c, n->ncclBroadcast(send, recv, count, type, 0,
						c->comm, stream));
	case COLLECTIVE_REDUCE:
		return nccl(c, n->ncclReduce(send, recv, count, type, redop, 0,
					     c->comm, stream));
	default:
		return nccl(c, exchange(c, p));
	}
}

/** All ranks meet on the stream: what follows starts together. */
static int meet(struct coll *c)
{
	void *word = on_gpu(gpu_word_at(&c->x->gpu, GPU_WORD_MINE));

	return nccl(c, c->x->nccl->ncclAllReduce(word, word, 1, ncclFloat32,
						 ncclSum, c->comm,
						 c->x->gpu.stream));
}

/** Does the library have what the collective needs? */
static bool has_operation(const struct nccl *n, enum collective op)
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

/* ---- the data check ------------------------------------------------------------ */

static struct places places_of(struct coll *c, const struct coll_order *o)
{
	const struct gpu *g = &c->x->gpu;
	int width = o->dtype->width_log2;
	struct places p;

	coll_shape(o->op, o->dtype, (int)o->ranks, o->size_B, &p.shape);
	p.send = g->buf[GPU_SEND];
	p.recv = g->buf[GPU_RECV];
	if (o->inplace && p.shape.send > p.shape.recv) {
		p.recv = p.send + ((CUdeviceptr)(o->me * p.shape.recv_step)
				   << width);
	} else if (o->inplace) {
		p.send = p.recv + ((CUdeviceptr)(o->me * p.shape.send_step)
				   << width);
	}
	return p;
}

static int fill(struct coll *c, CUdeviceptr at, int64_t n, uint64_t seed,
		bool moved)
{
	return cuda(c, coll_gpu_fill(&c->check, at, n, seed, moved,
				     c->deadline_ns));
}

/** Everything that is not this rank's data becomes nobody's. */
static int prepare(struct coll *c, const struct coll_order *o,
		   const struct places *p, uint64_t seed)
{
	const struct coll_data *d = &c->check.data;

	return fill(c, p->recv, p->shape.recv, POISON, true) < 0 ||
			       fill(c, p->send, p->shape.send,
				    d->moves ? coll_data_seed(seed, o->me) :
					       seed,
				    false) < 0 ?
		       -1 :
		       0;
}

static int wrong_block(struct coll *c, CUdeviceptr at, int64_t n,
		       uint64_t seed)
{
	return cuda(c, coll_gpu_wrong(&c->check, at, n, seed,
				      c->deadline_ns));
}

/** Count what is wrong in what this rank has received. */
static int look(struct coll *c, const struct coll_order *o,
		const struct places *p, uint64_t seed)
{
	int64_t n = p->shape.count, me = o->me;
	CUdeviceptr block = (CUdeviceptr)n << o->dtype->width_log2;

	switch (o->op) {
	case COLLECTIVE_REDUCE:
		return me == 0 ? wrong_block(c, p->recv, n, seed) : 0;
	case COLLECTIVE_REDUCESCATTER:
		return wrong_block(c, p->recv, n,
				   seed + (uint64_t)(me * n));
	case COLLECTIVE_BROADCAST:
		return wrong_block(c, p->recv, n, coll_data_seed(seed, 0));
	case COLLECTIVE_SENDRECV:
		return wrong_block(c, p->recv, n,
				   coll_data_seed(seed, (me + o->ranks - 1) %
								o->ranks));
	case COLLECTIVE_ALLGATHER:
	case COLLECTIVE_ALLTOALL:
		for (int64_t from = 0; from < o->ranks; from++) {
			uint64_t s = coll_data_seed(seed, from);

			if (o->op == COLLECTIVE_ALLTOALL) {
				s += (uint64_t)(me * n);
			}
			if (wrong_block(c, p->recv + (CUdeviceptr)from * block,
					n, s) < 0) {
				return -1;
			}
		}
		return 0;
	default:
		return wrong_block(c, p->recv, n, seed);
	}
}

static int check(struct coll *c, const struct coll_order *o,
		 const struct places *p)
{
	uint64_t seed = (uint64_t)o->seed;
	int64_t spoil = p->shape.recv < SPOIL ? p->shape.recv : SPOIL;

	doing(c, "checking the data");
	if (prepare(c, o, p, seed) < 0 || operate(c, p) < 0 ||
	    (o->drill == XPORT_DRILL_CORRUPT &&
	     fill(c, p->recv, spoil, POISON, true) < 0) ||
	    cuda(c, gpu_check_begin(&c->x->gpu)) < 0 ||
	    look(c, o, p, seed) < 0 || stamp(c, 0) < 0 ||
	    wait_for(c, 0) < 0) {
		return -1;
	}
	return cuda(c, coll_gpu_count(&c->check, &c->r->wrong,
				      c->deadline_ns));
}

/* ---- samples ------------------------------------------------------------------- */

/** A drill's slow rank: after each operation it rests. */
static int rest(struct coll *c, double factor, int64_t since_ns)
{
	struct gpu *g = &c->x->gpu;
	int64_t ns;

	if (factor >= 1) {
		return 0;
	}
	if (cuda(c, gpu_drain(g, c->deadline_ns)) < 0) {
		return -1;
	}
	ns = (int64_t)((double)(clock_now_ns() - since_ns) *
		       (1 / factor - 1));
	nanosleep(&(struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S),
				      .tv_nsec = (long)(ns % NS_PER_S) },
		  NULL);
	return 0;
}

static int repeat(struct coll *c, const struct coll_order *o,
		  const struct places *p, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		int64_t since = clock_now_ns();

		if (operate(c, p) < 0 || rest(c, o->slow_factor, since) < 0) {
			return -1;
		}
	}
	return 0;
}

/**
 * Stamp, operations, stamp ...  The stream is held until it has all of them, or
 * as much as may be queued, so that the GPU does not wait for the host.
 */
static int queue_samples(struct coll *c, const struct coll_order *o,
			 const struct places *p)
{
	struct gpu *g = &c->x->gpu;
	bool held = o->held && o->slow_factor >= 1;
	int64_t queued = 0, room = coll_samples_room(o->nodes);

	if ((held && cuda(c, gpu_hold(g)) < 0) || meet(c) < 0 ||
	    stamp(c, 0) < 0) {
		return -1;
	}
	for (int64_t i = 0; i < o->samples; i++) {
		if (held && queued + o->batch + 1 > room) {
			gpu_release(g);
			held = false;
		}
		if (repeat(c, o, p, o->batch) < 0 ||
		    stamp(c, (int)i + 1) < 0) {
			return -1;
		}
		queued += o->batch + 1;
	}
	gpu_release(g);
	return wait_for(c, (int)o->samples);
}

static int take_samples(struct coll *c, const struct coll_order *o,
			const struct places *p)
{
	struct gpu *g = &c->x->gpu;

	doing(c, "measuring");
	if (queue_samples(c, o, p) < 0) {
		gpu_release(g);
		return -1;
	}
	for (int i = 0; i < o->samples; i++) {
		double s;

		if (cuda(c, gpu_seconds(g, i, i + 1, &s)) < 0) {
			return -1;
		}
		c->r->us[c->r->n++] = s * 1e6 / (double)o->batch;
	}
	return 0;
}

/** What NCCL took for it; only its rank 0 says so. */
static void learn_choice(struct coll *c)
{
	static const char *const functions[COLLECTIVES] = {
		[COLLECTIVE_ALLREDUCE] = "AllReduce",
		[COLLECTIVE_ALLGATHER] = "AllGather",
		[COLLECTIVE_REDUCESCATTER] = "ReduceScatter",
		[COLLECTIVE_BROADCAST] = "Broadcast",
		[COLLECTIVE_REDUCE] = "Reduce",
		[COLLECTIVE_ALLTOALL] = "AlltoAll",
		[COLLECTIVE_SENDRECV] = "SendRecv",
	};
	size_t len = 0;
	char *text = nccl_log_since(&c->x->log, c->log_from, &len);

	if (text != NULL) {
		nccl_chosen_find(text, len, functions[c->group.op], c->r->algo,
				 c->r->proto);
	}
	free(text);
}

static void begin(struct coll *c, int64_t deadline_ns, struct coll_result *r)
{
	c->r = r;
	c->began_ns = clock_now_ns();
	c->deadline_ns = deadline_ns;
	c->log_from = nccl_log_end(&c->x->log);
	worker_log_from(c->x->self.worker, c->log_from);
}

static void coll_nccl_step(struct coll *c, const struct coll_order *o,
			   int64_t deadline_ns, struct coll_result *r)
{
	struct places p = places_of(c, o);
	bool checks = o->check && (p.shape.checks_inplace || !o->inplace);

	begin(c, deadline_ns, r);
	if (checks && check(c, o, &p) < 0) {
		return;
	}
	doing(c, "warm-up");
	if (repeat(c, o, &p, o->warmup) < 0 ||
	    (o->samples > 0 && take_samples(c, o, &p) < 0)) {
		return;
	}
	learn_choice(c);
	nccl_log_forget(&c->x->log);
}

/* ---- beginning and end --------------------------------------------------------- */

/** Send and receive buffer for the largest size that there is memory for. */
static int reserve(struct coll *c, const struct coll_order *o)
{
	CUresult rc;

	doing(c, "allocating buffers");
	c->r->size_B = o->size_B;
	while ((rc = gpu_reserve(&c->x->gpu, (uint64_t)c->r->size_B)) ==
		       CUDA_ERROR_OUT_OF_MEMORY &&
	       c->r->size_B >= o->factor) {
		c->r->size_B /= o->factor;
	}
	return cuda(c, rc);
}

static int make(struct coll *c, const struct coll_order *o)
{
	const struct nccl *n = c->x->nccl;
	struct coll_data data;
	CUcontext ctx;
	ncclUniqueId id;
	int version = 0;

	n->ncclGetVersion(&version);
	dl_nccl_version_text(version, c->r->lib);
	if (hash_unhex(o->ticket, &id, sizeof(id)) < 0) {
		return coll_fail(c->r, OUTCOME_ERROR, "bad_ticket",
				 "the first rank sent no NCCL id");
	}
	if (n->ncclAllReduce == NULL || !has_operation(n, o->op)) {
		return coll_fail(c->r, OUTCOME_ERROR, "nccl_no_operation",
				 "the library has no %s",
				 collective_name(o->op));
	}
	/* contexts belong to threads, and this one is new */
	doing(c, "taking the GPU's context");
	if (cuda(c, c->x->gpu.cu->ctx_retain(&ctx, c->x->gpu.dev)) < 0 ||
	    cuda(c, c->x->gpu.cu->ctx_set(ctx)) < 0) {
		return -1;
	}
	doing(c, "ncclCommInitRank");
	if (nccl(c, n->ncclCommInitRank(&c->comm, (int)o->ranks, id,
					(int)o->me)) < 0) {
		return -1;
	}
	doing(c, "first contact");
	if (meet(c) < 0 || stamp(c, 0) < 0 || wait_for(c, 0) < 0) {
		return -1;
	}
	coll_data_init(&data, o->dtype, coll_reduces(o->op) ? o->redop : NULL,
		       o->me, o->ranks);
	return cuda(c, coll_gpu_open(&c->check, &c->x->gpu, &data,
				     c->deadline_ns)) < 0 ?
		       -1 :
		       reserve(c, o);
}

static struct coll *coll_nccl_join(struct xport *x, const struct coll_order *o,
				   int64_t deadline_ns, struct coll_result *r)
{
	struct coll *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		coll_fail(r, OUTCOME_ERROR, "no_memory",
			  "no memory for a group");
		return NULL;
	}
	c->x = x;
	c->group = *o;
	begin(c, deadline_ns, r);
	if (make(c, o) < 0) {
		free(c);	/* the communicator ends with the process */
		return NULL;
	}
	return c;
}

static void coll_nccl_abort(struct coll *c)
{
	atomic_store(&c->aborted, true);
	gpu_release(&c->x->gpu);
	if (c->comm != NULL && c->x->nccl->ncclCommAbort != NULL) {
		c->x->nccl->ncclCommAbort(c->comm);
	}
}

static void coll_nccl_close(struct coll *c)
{
	const struct nccl *n = c->x->nccl;

	doing(c, "closing the communicator");
	if (n->ncclCommFinalize != NULL) {
		n->ncclCommFinalize(c->comm);
	}
	n->ncclCommDestroy(c->comm);
	if (c->check.tables != 0) {
		c->x->gpu.cu->mem_free(c->check.tables);
	}
	free(c);
}

const struct coll_ops coll_nccl = {
	.transport = "nccl",
	.join = coll_nccl_join,
	.step = coll_nccl_step,
	.abort = coll_nccl_abort,
	.close = coll_nccl_close,
};
