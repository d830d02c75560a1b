/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives by NCCL.  The communicator blocks its calls: one that does not
 * queues slowly, and the thread that runs here may hang, because another one
 * watches it.
 */
#include "probes/collective/nccl.h"

#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"

/* ---- samples ------------------------------------------------------------ */

/** A drill's slow rank: after each operation it rests. */
static int rest(struct collective_member *c, double factor, int64_t since_ns)
{
	if (factor >= 1) {
		return 0;
	}
	if (collective_cuda_rc(c, gpu_drain(&c->x->gpu, c->deadline_ns)) < 0) {
		return -1;
	}
	xport_throttle((double)(clock_now_ns() - since_ns) / 1e9, factor);
	return 0;
}

static int repeat(struct collective_member *c, const struct collective_order *o,
		  const struct collective_places *p, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		int64_t since = clock_now_ns();

		if (collective_operate(c, p) < 0 ||
		    rest(c, o->slow_factor, since) < 0) {
			return -1;
		}
	}
	return 0;
}

/**
 * Stamp, operations, stamp ...  The stream is held until it has all of them, or
 * as much as may be queued, so that the GPU does not wait for the host.
 */
static int queue_samples(struct collective_member *c,
			 const struct collective_order *o,
			 const struct collective_places *p)
{
	struct gpu *g = &c->x->gpu;
	bool held = o->held && o->slow_factor >= 1;
	int64_t queued = 0, room = collective_samples_room(o->nodes);

	if ((held && collective_cuda_rc(c, gpu_hold(g)) < 0) ||
	    collective_meet(c) < 0 || collective_stamp(c, 0) < 0) {
		return -1;
	}
	for (int64_t i = 0; i < o->samples; i++) {
		if (held && queued + o->batch + 1 > room) {
			gpu_release(g);
			held = false;
		}
		if (repeat(c, o, p, o->batch) < 0 ||
		    collective_stamp(c, (int)i + 1) < 0) {
			return -1;
		}
		queued += o->batch + 1;
	}
	gpu_release(g);
	return collective_wait_for(c, (int)o->samples);
}

static int take_samples(struct collective_member *c,
			const struct collective_order *o,
			const struct collective_places *p)
{
	struct gpu *g = &c->x->gpu;

	collective_doing(c, "measuring");
	if (queue_samples(c, o, p) < 0) {
		gpu_release(g);
		return -1;
	}
	for (int i = 0; i < o->samples; i++) {
		double s;

		if (collective_cuda_rc(c, gpu_seconds(g, i, i + 1, &s)) < 0) {
			return -1;
		}
		c->r->us[c->r->n++] = s * 1e6 / (double)o->batch;
	}
	return 0;
}

/** What NCCL took for it; only its rank 0 says so. */
static void learn_choice(struct collective_member *c)
{
	size_t len = 0;
	char *text = nccl_log_since(&c->x->log, c->log_from, &len);

	if (text != NULL) {
		nccl_chosen_find(text, len, collective_name(c->order.op),
				 c->r->algo, c->r->proto);
	}
	free(text);
}

static void begin(struct collective_member *c, int64_t deadline_ns,
		  struct collective_result *r)
{
	c->r = r;
	c->began_ns = clock_now_ns();
	c->deadline_ns = deadline_ns;
	c->log_from = nccl_log_end(&c->x->log);
	c->x->self.worker->note->log_from = c->log_from;
}

static void nccl_step(struct collective_member *c,
		      const struct collective_order *o, int64_t deadline_ns,
		      struct collective_result *r)
{
	struct collective_places p = collective_places_of(c, o);
	bool known = p.shape.checks_inplace || !o->inplace;

	begin(c, deadline_ns, r);
	if ((known && o->check && collective_check(c, o, &p) < 0) ||
	    (known && o->verify > 0 && collective_verify(c, o, &p) < 0)) {
		return;
	}
	collective_doing(c, "warm-up");
	if (repeat(c, o, &p, o->warmup) < 0 ||
	    (o->samples > 0 && take_samples(c, o, &p) < 0)) {
		return;
	}
	learn_choice(c);
	nccl_log_forget(&c->x->log);
}

/* ---- beginning and end -------------------------------------------------- */

/** Send and receive buffer for the largest size that there is memory for. */
static int reserve(struct collective_member *c,
		   const struct collective_order *o)
{
	CUresult rc;

	collective_doing(c, "allocating buffers");
	c->r->size_B = o->size_B;
	while ((rc = gpu_reserve(&c->x->gpu, (uint64_t)c->r->size_B)) ==
		       CUDA_ERROR_OUT_OF_MEMORY &&
	       c->r->size_B >= o->factor) {
		c->r->size_B /= o->factor;
	}
	return collective_cuda_rc(c, rc);
}

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
	if (n->ncclAllReduce == NULL || !collective_has_operation(n, o->op)) {
		return collective_fail(c->r, OUTCOME_ERROR, "nccl_no_operation",
				       "the NCCL library has no %s",
				       collective_name(o->op));
	}
	/* contexts belong to threads, and this one is new */
	collective_doing(c, "activating the GPU's context");
	if (collective_cuda_rc(
		    c, c->x->gpu.cu->ctx_retain(&ctx, c->x->gpu.dev)) < 0 ||
	    collective_cuda_rc(c, c->x->gpu.cu->ctx_set(ctx)) < 0) {
		return -1;
	}
	collective_doing(c, "ncclCommInitRank");
	if (collective_nccl_rc(c, n->ncclCommInitRank(&c->comm, (int)o->ranks,
						      id, (int)o->me)) < 0) {
		return -1;
	}
	nccl_told_read(&c->x->told, &c->x->log);
	nccl_told_say(&c->x->told, &c->x->self, "");
	collective_doing(c, "first barrier after ncclCommInitRank");
	if (collective_meet(c) < 0 || collective_stamp(c, 0) < 0 ||
	    collective_wait_for(c, 0) < 0) {
		return -1;
	}
	collective_data_init(&data, o->dtype,
			     collective_kinds[o->op].reduces ? o->redop : NULL,
			     o->me, o->ranks);
	if (collective_cuda_rc(c, collective_gpu_open(&c->check, &c->x->gpu,
						      &data,
						      c->deadline_ns)) < 0) {
		return -1;
	}
	return reserve(c, o);
}

static struct collective_member *nccl_join(struct xport *x,
					   const struct collective_order *o,
					   int64_t deadline_ns,
					   struct collective_result *r)
{
	struct collective_member *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		collective_fail(r, OUTCOME_ERROR, "no_memory",
				"no memory for a collective");
		return NULL;
	}
	c->x = x;
	c->order = *o;
	begin(c, deadline_ns, r);
	if (make(c, o) < 0) {
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

	collective_doing(c, "closing the communicator");
	if (n->ncclCommFinalize != NULL) {
		n->ncclCommFinalize(c->comm);
	}
	n->ncclCommDestroy(c->comm);
	if (c->check.tables != 0) {
		c->x->gpu.cu->mem_free(c->check.tables);
	}
	free(c);
}

const struct collective_ops collective_nccl = {
	.join = nccl_join,
	.step = nccl_step,
	.abort = nccl_abort,
	.close = nccl_close,
};
