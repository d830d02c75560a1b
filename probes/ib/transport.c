/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs: reliable connections between HCA ports, set up over the control star,
 * so that a port is measured without rdma_cm and its own forgiving ways.
 */
#include "probes/ib/link.h"

#include "lib/base/clock.h"
#include "lib/base/limit.h"
#include "probes/ib/cm.h"
#include "probes/ib/measure.h"

#define DEFAULT_BYTES 65536

#if HAVE_VERBS

#include <errno.h>
#include <stdlib.h>

static void verbs_shutdown(struct xport *x)
{
	if (x == NULL) {
		return;
	}
	verbs_pair_free(x->pending);
	verbs_memory_close(&x->memory);
	if (x->box_area.mr != NULL) {
		x->dev.v->dereg_mr(x->box_area.mr);
	}
	free(x->box);
	verbs_device_close(&x->dev);
	free(x);
}

/* The largest message of the run. */
static size_t largest(const struct spec *s)
{
	int64_t bytes = s->size_end_B > 0 ? s->size_end_B : s->size_begin_B;

	return bytes > 0 ? (size_t)bytes : DEFAULT_BYTES;
}

static struct xport *verbs_open(const struct xport_self *self,
				const char **code, struct err *e)
{
	const struct spec *spec = self->spec;
	int gpu = spec->memory == MEMORY_GPU ? self->local_rank : -1;
	bool relaxed = false;	/* words say what has arrived before them */
	struct xport *x;

	if (dl_verbs(e) == NULL) {
		*code = "verbs_missing";
		err_hint(e, "install libibverbs1 and ibverbs-providers, or set "
			    "GPUCHECK_VERBS_LIB");
		return NULL;
	}
	x = calloc(1, sizeof(*x));
	if (x == NULL) {
		*code = LIMIT_MEMORY;
		err_set(e, ENOMEM, "no memory for a transport");
		return NULL;
	}
	x->self = *self;
	x->op = spec->op;
	x->tx_depth = (int)spec->tx_depth;
	worker_step(self->worker, "opening %s", self->part);
	x->by_cm = spec->rdma_cm;
	if (verbs_device_open(&x->dev, self->part, spec, code, e) < 0 ||
	    (x->by_cm && cm_check(&x->dev, code, e) < 0) ||
	    (x->box = verbs_area_new(&x->dev, sizeof(*x->box), &relaxed,
				     &x->box_area, code, e)) == NULL ||
	    verbs_memory_open(&x->memory, &x->dev, largest(spec), gpu, code,
			      e) < 0) {
		verbs_shutdown(x);
		return NULL;
	}
	return x;
}

static void verbs_describe(struct xport *x, json_t *facts)
{
	verbs_device_facts(&x->dev, facts);
	verbs_memory_facts(&x->memory, facts);
}

/* A queue pair of the task at hand; one that came to nothing goes. */
static void drop(struct xport *x)
{
	verbs_pair_free(x->pending);
	x->pending = NULL;
}

static int write_ticket(const struct xport_link *l,
			char ticket[XPORT_TICKET_MAX], struct xport_result *r)
{
	struct err e = { 0 };

	if (verbs_ticket_format(&l->own, ticket, XPORT_TICKET_MAX, &e) < 0) {
		xport_fail(r, OUTCOME_ERROR, "no_memory", "%s", e.text);
		return -1;
	}
	return 0;
}

static int verbs_offer(struct xport *x, const char *nonce,
		       char ticket[XPORT_TICKET_MAX], struct xport_result *r)
{
	struct xport_link *l;

	drop(x);
	l = x->pending = verbs_pair_new(x, nonce, r);
	if (l == NULL || (x->by_cm && cm_listen(l, r) < 0) ||
	    write_ticket(l, ticket, r) < 0) {
		drop(x);
		return -1;
	}
	return 0;
}

/* The answer says that this end is ready: the lead may send at once, or may
 * accept the connection that this end has asked it for. */
static int verbs_answer(struct xport *x, const char *ticket,
			const char *nonce, int peer,
			char answer[XPORT_TICKET_MAX], struct xport_result *r)
{
	struct xport_link *l;

	drop(x);
	l = x->pending = verbs_pair_new(x, nonce, r);
	if (l == NULL || write_ticket(l, answer, r) < 0 ||
	    verbs_pair_meet(l, ticket, false, peer, r) < 0 ||
	    (x->by_cm ? cm_call(l, r) : verbs_pair_connect(l, r)) < 0) {
		drop(x);
		return -1;
	}
	return 0;
}

/* What is left to do once both tickets are here. */
static int connect_ends(struct xport_link *l, const char *ticket, bool lead,
			int peer, int64_t deadline_ns, struct xport_result *r)
{
	bool by_cm = l->x->by_cm;

	return (lead && verbs_pair_meet(l, ticket, true, peer, r) < 0) ||
			       (by_cm &&
				cm_hear(l, lead, deadline_ns, r) < 0) ||
			       ((by_cm || lead) &&
				verbs_pair_connect(l, r) < 0) ||
			       (by_cm &&
				cm_finish(l, lead, deadline_ns, r) < 0) ?
		       -1 :
		       0;
}

static struct xport_link *verbs_join(struct xport *x, const char *ticket,
				     const char *nonce, bool lead, int peer,
				     int64_t deadline_ns,
				     struct xport_result *r)
{
	struct xport_link *l = x->pending;
	uint64_t word;
	int rc;

	(void)nonce;
	x->pending = NULL;
	if (connect_ends(l, ticket, lead, peer, deadline_ns, r) < 0) {
		verbs_pair_free(l);
		return NULL;
	}
	worker_step(x->self.worker, "barrier of %s and %s", l->own.name,
		    l->peer.name);
	rc = lead ? verbs_tell(l, 0) : verbs_hear(l, &word, false, deadline_ns);
	if (rc < 0) {
		verbs_tell_fault(l, "first barrier", r);
		verbs_pair_free(l);
		return NULL;
	}
	return l;
}

#else

static struct xport *verbs_open(const struct xport_self *self,
				const char **code, struct err *e)
{
	(void)self;
	*code = "verbs_missing";
	err_set(e, 0, "built without rdma-core's headers");
	err_hint(e, "build where infiniband/verbs.h is, or with 'make deps'");
	return NULL;
}

#endif

/* --memory=gpu where there is none, or none that an HCA can reach */
static const char *const lacks[] = {
	"cuda_missing", "gpu_missing", "gpu_memory", NULL
};

const struct xport_ops xport_verbs = {
	.name = "verbs",
	.priority = -1,		/* moves nothing between GPUs: ib asks for it */
	.default_size_bytes = DEFAULT_BYTES,
	.default_timeout_ns = 2 * NS_PER_S,
	.dead_GB_s = 0.1,	/* Soft-RoCE, the slowest, does more */
	.setup_timeout_ns = 3 * NS_PER_S,
	/* by what it does: devices and protection domains; a queue pair at
	 * each end and 1020 pings each way, 30 ms at most; then samples.
	 * Soft-RoCE takes a second or two a pair */
	.cost = { .open_s = 1, .pair_s = 0.05, .sample_s = VERBS_SAMPLE_S,
		  .rate_GB_s = 20 },
	.open_timeout_ns = 15 * NS_PER_S,
	.lacks = lacks,
	.open = verbs_open,
#if HAVE_VERBS
	.describe = verbs_describe,
	.offer = verbs_offer,
	.answer = verbs_answer,
	.join = verbs_join,
	.run = verbs_measure,
	.close = verbs_pair_free,
	.shutdown = verbs_shutdown,
#endif
};
