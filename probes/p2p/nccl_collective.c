/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives by NCCL.  The communicator blocks its calls: one that does not
 * queues slowly, and the thread that runs here may hang, because another one
 * watches it.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "probes/collective/collective.h"
#include "probes/collective/gpu.h"
#include "probes/p2p/nccl_link.h"
#include "probes/plan/plan.h"

struct collective_member {
	struct xport *x;
	ncclComm_t comm;
	struct collective_order order; /* that it was joined by */
	struct collective_gpu check;
	atomic_bool aborted;
	/* --register=symmetric: the window of each buffer; else NULL */
	void *windows[GPU_BUFFERS];
	off_t log_from;
	const char *doing;
	/* of the call at hand */
	const struct collective_order *o;
	struct collective_shape shape;
	CUdeviceptr send, recv; /* the elements of this rank */
	struct collective_result *r;
	int64_t began_ns, deadline_ns;
};

/* ---- nccl call ----------------------------------------------------------- */

/* One call of NCCL or CUDA, what it is about, and how it goes wrong. */

#define POLL_SPINS    2000	/* then sleep between looks */
#define POLL_SLEEP_NS 20000

/* ---- going wrong -------------------------------------------------------- */

/* Set the activity that an error from here on names. */
static void set_doing(struct collective_member *c, const char *what)
{
	c->doing = what;
	worker_step(c->x->self.worker, "%s, rank %lld of %lld", what,
		    (long long)c->order.me, (long long)c->order.ranks);
}

static int fail(struct collective_member *c, enum outcome o, const char *code,
		const char *words)
{
	char says[NCCL_LOG_SAYS];

	nccl_log_explain(c->x->log_fd, c->log_from, c->x->self.worker->log,
			 says);
	return collective_fail(c->r, o, code, "%s: %s%s", c->doing, words,
			       says);
}

static int nccl_rc(struct collective_member *c, ncclResult_t rc)
{
	const char *words;

	if (rc == ncclSuccess) {
		return 0;
	}
	words = c->x->nccl->ncclGetErrorString(rc);
	c->r->echo = rc == ncclRemoteError || atomic_load(&c->aborted);
	return fail(c, OUTCOME_ERROR, dl_nccl_code(rc), words);
}

static int cuda_rc(struct collective_member *c, CUresult rc)
{
	char code[DL_CUDA_CODE];
	struct err e;

	if (rc == CUDA_SUCCESS) {
		return 0;
	}
	if (rc == CUDA_ERROR_NOT_READY) {
		c->r->echo = true;
		return fail(c, OUTCOME_TIMEOUT, "nccl_timeout",
			    "not finished before the deadline");
	}
	gpu_trouble(&c->x->gpu, rc, code, &e);
	return fail(c, OUTCOME_ERROR, code, e.text);
}

/* Until the GPU has passed stamp @i. */
static int wait_for(struct collective_member *c, int i)
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
			return nccl_rc(c, state);
		}
	}
	return cuda_rc(c, rc);
}

static int stamp(struct collective_member *c, int i)
{
	struct gpu *g = &c->x->gpu;

	return cuda_rc(c, g->cu->event_record(g->stamps[i], g->stream));
}

/* ---- operations --------------------------------------------------------- */

/** Send the blocks of each rank to all ranks, or to the next. */
static ncclResult_t exchange(struct collective_member *c)
{
	const struct nccl *n = c->x->nccl;
	const struct collective_order *g = &c->order;
	ncclDataType_t type = (ncclDataType_t)g->dtype->nccl;
	CUdeviceptr block = (CUdeviceptr)c->shape.count << g->dtype->width_log2;
	bool all = g->op == COLLECTIVE_ALLTOALL;
	int ranks = (int)g->ranks, me = (int)g->me;
	ncclResult_t rc = n->ncclGroupStart(), ended;

	for (int i = 0; rc == ncclSuccess && i < (all ? ranks : 1); i++) {
		int to = all ? i : (me + 1) % ranks;
		int from = all ? i : (me + ranks - 1) % ranks;
		CUdeviceptr at = (CUdeviceptr)i * block;

		rc = n->ncclSend(on_gpu(c->send + at), (size_t)c->shape.count,
				 type, to, c->comm, c->x->gpu.stream);
		if (rc == ncclSuccess) {
			rc = n->ncclRecv(on_gpu(c->recv + at),
					 (size_t)c->shape.count, type, from,
					 c->comm, c->x->gpu.stream);
		}
	}
	ended = n->ncclGroupEnd();	/* in any case: groups nest */
	return rc != ncclSuccess ? rc : ended;
}

/* Queue the operation that was joined for once. */
static int operate_once(struct collective_member *c)
{
	const struct nccl *n = c->x->nccl;
	const struct collective_order *g = &c->order;
	ncclDataType_t type = (ncclDataType_t)g->dtype->nccl;
	ncclRedOp_t redop = (ncclRedOp_t)g->redop->nccl;
	struct CUstream_st *stream = c->x->gpu.stream;
	size_t count = (size_t)c->shape.count;
	void *send = on_gpu(c->send), *recv = on_gpu(c->recv);
	ncclResult_t rc;

	switch (g->op) {
	case COLLECTIVE_ALLREDUCE:
		rc = n->ncclAllReduce(send, recv, count, type, redop, c->comm,
				      stream);
		break;
	case COLLECTIVE_ALLGATHER:
		rc = n->ncclAllGather(send, recv, count, type, c->comm, stream);
		break;
	case COLLECTIVE_REDUCESCATTER:
		rc = n->ncclReduceScatter(send, recv, count, type, redop,
					  c->comm, stream);
		break;
	case COLLECTIVE_BROADCAST:
		rc = n->ncclBroadcast(send, recv, count, type, 0, c->comm,
				      stream);
		break;
	case COLLECTIVE_REDUCE:
		rc = n->ncclReduce(send, recv, count, type, redop, 0, c->comm,
				   stream);
		break;
	default:
		rc = exchange(c);
	}
	return nccl_rc(c, rc);
}

/* All ranks meet on the stream: what follows starts together. */
static int meet(struct collective_member *c)
{
	void *word = on_gpu(gpu_word_at(&c->x->gpu, GPU_WORD_MINE));
	ncclResult_t rc = c->x->nccl->ncclAllReduce(word, word, 1, ncclFloat32,
						    ncclSum, c->comm,
						    c->x->gpu.stream);

	return nccl_rc(c, rc);
}

/* Return true if the library has the functions of the collective. */
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

/* ---- nccl check ---------------------------------------------------------- */

/*
 * The data check: each rank fills in what only that rank can have sent, and
 * counts afterwards what is missing, all of it on the GPU.
 */

#define SPOIL  16		/* elements that a drill spoils */
#define POISON 0x5a5a5a5a5a5a	/* seed of data that no rank sends */

static int fill(struct collective_member *c, CUdeviceptr at, int64_t n,
		uint64_t seed, bool moved)
{
	return cuda_rc(c, collective_gpu_fill(&c->check, at, n, seed, moved,
					      c->deadline_ns));
}

/** Fill in the data of this rank. */
static int fill_sent(struct collective_member *c, uint64_t seed)
{
	seed = c->check.data.moves ? collective_data_seed(seed, c->o->me) :
				     seed;
	return fill(c, c->send, c->shape.send, seed, false);
}

static int wrong_block(struct collective_member *c, CUdeviceptr at, int64_t n,
		       uint64_t seed)
{
	return cuda_rc(c, collective_gpu_wrong(&c->check, at, n, seed,
					       c->deadline_ns));
}

/** Count what is wrong in what this rank has received. */
static int count_wrong(struct collective_member *c, uint64_t seed)
{
	const struct collective_order *o = c->o;
	int64_t n = c->shape.count, me = o->me;
	CUdeviceptr block = (CUdeviceptr)n << o->dtype->width_log2;

	switch (o->op) {
	case COLLECTIVE_REDUCE:
		return me == 0 ? wrong_block(c, c->recv, n, seed) : 0;
	case COLLECTIVE_REDUCESCATTER:
		return wrong_block(c, c->recv, n, seed + (uint64_t)(me * n));
	case COLLECTIVE_BROADCAST:
		return wrong_block(c, c->recv, n,
				   collective_data_seed(seed, 0));
	case COLLECTIVE_SENDRECV:
		return wrong_block(c, c->recv, n,
				   collective_data_seed(seed, (me + o->ranks -
							       1) % o->ranks));
	case COLLECTIVE_ALLGATHER:
	case COLLECTIVE_ALLTOALL:
		for (int64_t from = 0; from < o->ranks; from++) {
			uint64_t s = collective_data_seed(seed, from);

			if (o->op == COLLECTIVE_ALLTOALL) {
				s += (uint64_t)(me * n);
			}
			if (wrong_block(c, c->recv + (CUdeviceptr)from * block,
					n, s) < 0) {
				return -1;
			}
		}
		return 0;
	default:
		return wrong_block(c, c->recv, n, seed);
	}
}

/** Overwrite the first elements at @at, of @n, with foreign data. */
static int spoil(struct collective_member *c, CUdeviceptr at, int64_t n)
{
	return fill(c, at, n < SPOIL ? n : SPOIL, POISON, true);
}

/** Operate on what is prepared, as number @i of verify (-1: of check), and
 *  count what is wrong in what this rank has received into *@wrong. */
static int operate(struct collective_member *c, uint64_t seed, int64_t i,
		   int64_t *wrong)
{
	const struct collective_order *o = c->o;

	if ((o->me == o->wrong_by && collective_is_spoilt(o, i) &&
	     spoil(c, c->send, c->shape.send) < 0) ||
	    operate_once(c) < 0 ||
	    (i < 0 && o->drill == XPORT_DRILL_CORRUPT &&
	     spoil(c, c->recv, c->shape.recv) < 0) ||
	    cuda_rc(c, gpu_check_begin(&c->x->gpu)) < 0 ||
	    count_wrong(c, seed) < 0 || stamp(c, 0) < 0 || wait_for(c, 0) < 0) {
		return -1;
	}
	return cuda_rc(c,
		       collective_gpu_count(&c->check, wrong, c->deadline_ns));
}

/* Operate c->o->verify times, each with other data, and note which operations
 * were wrong.  Data received before have another seed and are as good as
 * foreign, so that only the send buffer is filled again. */
static int verify(struct collective_member *c)
{
	const struct collective_order *o = c->o;

	c->r->wrong = c->r->wrong > 0 ? c->r->wrong : 0;
	set_doing(c, "verifying the data");
	for (int64_t i = 0; i < o->verify; i++) {
		uint64_t seed = collective_verify_seed(o, o->verify_from + i);
		int64_t wrong = 0;

		if (fill_sent(c, seed) < 0 ||
		    operate(c, seed, o->verify_from + i, &wrong) < 0) {
			return -1;
		}
		c->r->bad |= (uint64_t)(wrong > 0) << i;
		c->r->wrong += wrong;
	}
	return 0;
}

/* ---- samples ------------------------------------------------------------ */

static int repeat(struct collective_member *c, int64_t n)
{
	double factor = c->o->slow_factor;

	for (int64_t i = 0; i < n; i++) {
		int64_t since = clock_now_ns();

		if (operate_once(c) < 0) {
			return -1;
		}
		/* the slow rank of a drill rests after each operation */
		if (factor < 1 &&
		    cuda_rc(c, gpu_drain(&c->x->gpu, c->deadline_ns)) < 0) {
			return -1;
		}
		if (factor < 1) {
			xport_throttle((double)(clock_now_ns() - since) / 1e9,
				       factor);
		}
	}
	return 0;
}

/**
 * Stamp, operations, stamp ...  The stream is held until it has all of them, or
 * as much as may be queued, so that the GPU does not wait for the host.
 */
static int queue_samples(struct collective_member *c)
{
	const struct collective_order *o = c->o;
	struct gpu *g = &c->x->gpu;
	bool held = o->held && o->slow_factor >= 1;
	int64_t queued = 0, room = collective_samples_room(o->nodes);

	if ((held && cuda_rc(c, gpu_hold(g)) < 0) || meet(c) < 0 ||
	    stamp(c, 0) < 0) {
		return -1;
	}
	for (int64_t i = 0; i < o->samples; i++) {
		if (held && queued + o->batch + 1 > room) {
			gpu_release(g);
			held = false;
		}
		if (repeat(c, o->batch) < 0 || stamp(c, (int)i + 1) < 0) {
			return -1;
		}
		queued += o->batch + 1;
	}
	gpu_release(g);
	return wait_for(c, (int)o->samples);
}

static void begin(struct collective_member *c, const struct collective_order *o,
		  int64_t deadline_ns, struct collective_result *r)
{
	c->o = o;
	c->r = r;
	c->began_ns = clock_now_ns();
	c->deadline_ns = deadline_ns;
	c->log_from = nccl_log_end(c->x->log_fd);
	c->x->self.worker->note->log_from = c->log_from;
}

static void nccl_step(struct collective_member *c,
		      const struct collective_order *o, int64_t deadline_ns,
		      struct collective_result *r)
{
	const struct gpu *g = &c->x->gpu;
	const int width = o->dtype->width_log2;
	const uint64_t seed = (uint64_t)o->seed;
	bool known;
	size_t len = 0;
	char *text;
	double s;

	begin(c, o, deadline_ns, r);
	collective_shape(o->op, o->dtype, (int)o->ranks, o->size_B, &c->shape);
	c->send = g->buf[GPU_SEND];
	c->recv = g->buf[GPU_RECV];
	if (o->inplace && c->shape.send > c->shape.recv) {
		c->recv = c->send +
			  ((CUdeviceptr)(o->me * c->shape.recv_step) << width);
	} else if (o->inplace) {
		c->send = c->recv +
			  ((CUdeviceptr)(o->me * c->shape.send_step) << width);
	}
	known = c->shape.checks_inplace || !o->inplace;
	if (known && o->check) {
		set_doing(c, "checking the data");
		/* what this rank does not send is foreign data */
		if (fill(c, c->recv, c->shape.recv, POISON, true) < 0 ||
		    fill_sent(c, seed) < 0 ||
		    operate(c, seed, -1, &r->wrong) < 0) {
			return;
		}
	}
	if (known && o->verify > 0 && verify(c) < 0) {
		return;
	}
	set_doing(c, "warm-up");
	if (repeat(c, o->warmup) < 0) {
		return;
	}
	if (o->samples > 0) {
		set_doing(c, "measuring");
		if (queue_samples(c) < 0) {
			gpu_release(&c->x->gpu);
			return;
		}
	}
	for (int i = 0; i < o->samples; i++) {
		if (cuda_rc(c, gpu_seconds(&c->x->gpu, i, i + 1, &s)) < 0) {
			return;
		}
		r->us[r->n++] = s * 1e6 / (double)o->batch;
	}
	/* read the algorithm that NCCL used; only its rank 0 logs it */
	text = nccl_log_since(c->x->log_fd, c->log_from, &len);
	if (text != NULL) {
		nccl_chosen_find(text, len, collective_names[c->order.op],
				 r->algo, r->proto);
	}
	free(text);
	nccl_log_forget(c->x->log_fd);
}

/* ---- beginning and end -------------------------------------------------- */

static int make(struct collective_member *c, const struct collective_order *o)
{
	const struct nccl *n = c->x->nccl;
	struct collective_data data;
	CUcontext ctx;
	ncclUniqueId id;
	int version = 0;

	n->ncclGetVersion(&version);
	dl_nccl_version_text(version, c->r->lib);
	if (hash_unhex(o->ticket, &id, sizeof(id)) < 0) {
		return collective_fail(
			c->r, OUTCOME_ERROR, "bad_ticket",
			"rank 0 of the collective sent no NCCL id");
	}
	if (n->ncclAllReduce == NULL || !has_operation(n, o->op)) {
		return collective_fail(c->r, OUTCOME_ERROR, "nccl_no_operation",
				       "the NCCL library has no %s",
				       collective_names[o->op]);
	}
	/* contexts belong to threads, and this one is new */
	set_doing(c, "activating the GPU's context");
	if (cuda_rc(c, c->x->gpu.cu->ctx_retain(&ctx, c->x->gpu.dev)) < 0 ||
	    cuda_rc(c, c->x->gpu.cu->ctx_set(ctx)) < 0) {
		return -1;
	}
	set_doing(c, "ncclCommInitRank");
	if (nccl_rc(c, n->ncclCommInitRank(&c->comm, (int)o->ranks, id,
					   (int)o->me)) < 0) {
		return -1;
	}
	link_read_network(c->x);
	link_say_network(c->x, "");
	set_doing(c, "first barrier after ncclCommInitRank");
	if (meet(c) < 0 || stamp(c, 0) < 0 || wait_for(c, 0) < 0) {
		return -1;
	}
	collective_data_init(&data, o->dtype,
			     collective_kinds[o->op].reduces ? o->redop : NULL,
			     o->me, o->ranks);
	if (cuda_rc(c, collective_gpu_open(&c->check, &c->x->gpu, &data,
					   c->deadline_ns)) < 0) {
		return -1;
	}
	return 0;
}

/** Replace both buffers by memory of NCCL that all ranks register as a window,
 *  if the variant wants that. */
static int use_windows(struct collective_member *c)
{
	const struct nccl *n = c->x->nccl;
	const char *how = getenv(REGISTER_ENV);
	struct gpu *g = &c->x->gpu;
	size_t bytes = ((size_t)c->r->size_B + 7) / 8 * 8;

	if (how == NULL || strcmp(how, "symmetric") != 0) {
		return 0;
	}
	set_doing(c, "registering symmetric buffers");
	if (n->ncclMemAlloc == NULL || n->ncclMemFree == NULL ||
	    n->ncclCommWindowRegister == NULL ||
	    n->ncclCommWindowDeregister == NULL) {
		return collective_fail(c->r, OUTCOME_ERROR, "nccl_no_operation",
				       "NCCL %s has no symmetric windows, "
				       "which 2.27 and later have", c->r->lib);
	}
	g->buf_bytes = 0;
	for (int i = 0; i < GPU_BUFFERS; i++) {
		void *at = NULL;

		g->cu->mem_free(g->buf[i]);
		g->buf[i] = 0;
		if (nccl_rc(c, n->ncclMemAlloc(&at, bytes)) < 0) {
			return -1;
		}
		g->buf[i] = (CUdeviceptr)(uintptr_t)at;
		if (nccl_rc(c, n->ncclCommWindowRegister(
				       c->comm, at, bytes, &c->windows[i],
				       NCCL_WINDOW_SYMMETRIC)) < 0) {
			return -1;
		}
	}
	return 0;
}

static struct collective_member *nccl_join(struct xport *x,
					   const struct collective_order *o,
					   int64_t deadline_ns,
					   struct collective_result *r)
{
	struct collective_member *c = calloc(1, sizeof(*c));
	CUresult cuda;
	int rc;

	if (c == NULL) {
		collective_fail(r, OUTCOME_ERROR, "no_memory",
				"no memory for a collective");
		return NULL;
	}
	c->x = x;
	c->order = *o;
	begin(c, o, deadline_ns, r);
	rc = make(c, o);
	if (rc == 0) {
		/* buffers of the largest size that there is memory for */
		set_doing(c, "allocating buffers");
		r->size_B = o->size_B;
		while ((cuda = gpu_reserve(&x->gpu, (uint64_t)r->size_B)) ==
			       CUDA_ERROR_OUT_OF_MEMORY &&
		       r->size_B >= o->factor) {
			r->size_B /= o->factor;
		}
		rc = cuda_rc(c, cuda);
		rc = rc < 0 ? rc : use_windows(c);
	}
	if (rc < 0) {
		free(c);	/* the communicator ends with the process */
		return NULL;
	}
	return c;
}

static void nccl_abort(struct collective_member *c)
{
	atomic_store(&c->aborted, true);
	gpu_release(&c->x->gpu);
	if (c->comm != NULL && c->x->nccl->ncclCommAbort != NULL) {
		c->x->nccl->ncclCommAbort(c->comm);
	}
}

static void nccl_close(struct collective_member *c)
{
	const struct nccl *n = c->x->nccl;
	struct gpu *g = &c->x->gpu;

	for (int i = 0; i < GPU_BUFFERS; i++) {	/* undo use_windows() */
		if (c->windows[i] != NULL) {
			n->ncclCommWindowDeregister(c->comm, c->windows[i]);
			n->ncclMemFree(on_gpu(g->buf[i]));
			g->buf[i] = 0;
		}
	}
	set_doing(c, "closing the communicator");
	if (n->ncclCommFinalize != NULL) {
		n->ncclCommFinalize(c->comm);
	}
	n->ncclCommDestroy(c->comm);
	if (c->check.tables != 0) {
		g->cu->mem_free(c->check.tables);
	}
	free(c);
}

const struct collective_ops collective_nccl = {
	.join = nccl_join,
	.step = nccl_step,
	.abort = nccl_abort,
	.close = nccl_close,
};
