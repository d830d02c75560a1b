/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs: reliable connections between HCA ports, set up over the control star,
 * so that a port is measured without rdma_cm and its own forgiving ways.
 */
#include "lib/base/clock.h"
#include "lib/base/limit.h"
#include "probes/ib/link.h"

/* ---- ping ---------------------------------------------------------------- */

#if HAVE_VERBS

#include <math.h>

#include "lib/base/stats.h"

#define PINGS		1000
#define PINGS_WARMUP	20
/* Enough for a median if each ping is slow; but limited in time, and to a share
 * of the time that the task has left. */
#define PINGS_MIN	100
#define PINGS_NS	(30 * NS_PER_MS)
#define PINGS_MAX_NS	NS_PER_S
#define PINGS_SHARE	4
#define PINGS_A_LOOK	16	/* at the clock */
#define UNEVEN		0.05	/* that a counter may be off */
#define SPINS_A_POLL	128

static int write_come(struct xport_link *l, uint64_t value, bool *last,
		      int64_t deadline_ns)
{
	const volatile uint64_t *in = &l->x->box->ping_in;
	uint64_t got;

	while ((got = *in) != value && got != LINK_PING_LAST) {
		/* a completion that is due; now and then, whether one failed */
		bool look = l->words_out > 0 ||
			    (l->spins + 1) % SPINS_A_POLL == 0;

		if ((look && verbs_poll(l) < 0) ||
		    verbs_wait(l, deadline_ns) < 0) {
			return -1;
		}
	}
	l->spins = 0;
	if (l->words_out > 1 && verbs_poll(l) < 0) {
		return -1;	/* there was never time for it */
	}
	*last = got == LINK_PING_LAST;
	return 0;
}

/* Wait for the answer to, or as the peer for, number @value; 0 or -1. */
static int ping_come(struct xport_link *l, uint64_t value, bool *last,
		     int64_t deadline_ns)
{
	const bool reads = l->x->op == OP_READ;

	if (l->x->op == OP_WRITE) {
		return write_come(l, value, last, deadline_ns);
	}
	while (reads ? l->words_out > 0 : l->received == 0) {
		if (verbs_turn(l, deadline_ns) < 0) {
			return -1;
		}
	}
	l->received -= !reads;
	*last = !reads && l->last_word;
	return 0;
}

/* Wait until earlier words and messages are completed. */
static int verbs_settle(struct xport_link *l, int64_t deadline_ns)
{
	/* at least once: an end that learned of the last ping from memory may
	 * not have polled what arrived before, and would take it for pings */
	do {
		if (verbs_poll(l) < 0) {
			return -1;
		}
	} while (l->words_out > 0 && verbs_wait(l, deadline_ns) == 0);
	if (l->words_out > 0) {
		return -1;
	}
	l->received = 0;
	l->last_word = false;
	return 0;
}

/** The same moment by the clock and by the CPU's counter. */
struct moment {
	int64_t ns, ticks;
};

/* Return the try of a few that was interrupted least. */
static struct moment moment_now(void)
{
	struct moment best = { 0 };
	int64_t least = INT64_MAX;

	for (int i = 0; i < 3; i++) {
		int64_t before = clock_ticks(), ns = clock_raw_ns();
		int64_t after = clock_ticks();

		if (after - before < least) {
			least = after - before;
			best = (struct moment){ ns, before + least / 2 };
		}
	}
	return best;
}

/** Nanoseconds a tick; 0 where the counter went backwards or stood. */
static double tick_ns(const struct moment *from, const struct moment *to)
{
	const double ns = (double)(to->ns - from->ns);

	return to->ticks > from->ticks ?
		       ns / (double)(to->ticks - from->ticks) :
		       0;
}

/*
 * @v are round trips in ticks.  A counter that does not go evenly, as where a
 * process moves between CPUs whose counters differ, tells nothing: then the
 * mean by the clock is all there is.
 */
static void tell_latency(struct xport_result *r, double *v, size_t n,
			 const struct moment at[3])
{
	double early = tick_ns(&at[0], &at[1]), late = tick_ns(&at[1], &at[2]);
	double half_us = tick_ns(&at[0], &at[2]) / 2e3;
	bool even = at[1].ns == 0 ||	/* too few to have a middle */
		    (early > 0 && fabs(early - late) <= UNEVEN * late);

	if (half_us > 0 && even) {
		r->lat_us = stats_median(v, n) * half_us;
		r->lat_p99_us = stats_percentile(v, n, 99) * half_us;
	} else {
		r->lat_us = (double)(at[2].ns - at[0].ns) / 2e3 /
			    (double)(n + PINGS_WARMUP);
	}
}

static int send_pings(struct xport_link *l, const struct xport_cell *c,
		      int64_t deadline_ns, struct xport_result *r)
{
	static double v[PINGS];		/* ticks */
	int64_t most = (deadline_ns - clock_now_ns()) / PINGS_SHARE;
	/* beginning, somewhere in the middle, end */
	struct moment at[3] = { moment_now() };
	int64_t start = clock_ticks();
	bool last;
	size_t n = 0;

	most = most < PINGS_MAX_NS ? most : PINGS_MAX_NS;
	/* what the other direction left there looks like its end */
	l->x->box->ping_in = 0;
	for (uint64_t i = 1; i <= PINGS + PINGS_WARMUP; i++) {
		int64_t slow_ns = c->slow_factor < 1 ? clock_raw_ns() : 0;
		int64_t now;

		if (verbs_ping(l, i) < 0 ||
		    ping_come(l, i, &last, deadline_ns) < 0) {
			return -1;
		}
		verbs_throttle(slow_ns, c->slow_factor);
		now = clock_ticks();
		if (i > PINGS_WARMUP) {
			v[n++] = (double)(now - start);
		}
		start = now;
		if (i % PINGS_A_LOOK == 0) {
			if (at[1].ns == 0 && n >= PINGS_MIN / 2) {
				at[1] = moment_now();
			}
			/* reading the clock is part of no ping */
			if (n > 0 && clock_raw_ns() - at[0].ns >
					     (n < PINGS_MIN ? most :
							      PINGS_NS)) {
				break;
			}
			start = clock_ticks();
		}
	}
	at[2] = moment_now();
	tell_latency(r, v, n, at);
	return verbs_ping(l, LINK_PING_LAST);
}

/* Send pings and set their latency in @r; or @answer them. */
static int verbs_pings(struct xport_link *l, const struct xport_cell *c,
		       bool answer, int64_t deadline_ns, struct xport_result *r)
{
	bool last = l->x->op == OP_READ;	/* the HCA answers */
	int rc = 0;

	l->pace = PACE_PING;
	if (!answer) {
		rc = send_pings(l, c, deadline_ns, r);
	}
	for (uint64_t i = 1; answer && !last && rc == 0; i++) {
		rc = ping_come(l, i, &last, deadline_ns);
		if (rc == 0 && !last) {
			rc = verbs_ping(l, i);
		}
	}
	l->pace = PACE_WORD;
	return rc;
}

#endif

/* ---- measure ------------------------------------------------------------- */

/*
 * One direction of a pair.  The active end posts: the one that sends, or with
 * --op=read the one that receives.  Its peer is passive: it takes part in the
 * hand-shakes, lets data arrive, and answers pings.
 *
 *	passive          active
 *	  ready  ------>		then pings, where wanted
 *	         <------  sent		one message, for the check
 *	 checked ------>
 *	         <------  streamed
 *	   end   ------>
 *
 * Pings come first: on soft-RoCE they often take twice as long behind a stream,
 * for a reason that is not known.
 */

#if HAVE_VERBS

#include <stdio.h>

/* Look at what has arrived, when this end is where it arrives. */
static int check_data(struct xport_link *l, const struct xport_cell *c,
		      int64_t deadline_ns, struct xport_result *r)
{
	struct verbs_memory *m = &l->x->memory;

	if (c->sender || !c->check) {
		return 0;
	}
	if (c->drill == XPORT_DRILL_CORRUPT) {
		verbs_memory_spoil(m, c->size_bytes);
	}
	r->wrong = verbs_memory_wrong(m, c->size_bytes, c->pattern_seed,
				      deadline_ns);
	return r->wrong < 0 ? -1 : 0;
}

static int run_active(struct xport_link *l, const struct xport_cell *c,
		      int64_t deadline_ns, struct xport_result *r)
{
	struct stream s;
	uint64_t word;

	if (c->flows) {
		/* before any word: the way of the words may be a bad one */
		flows_test(l, c->sender, deadline_ns, r);
	}
	stream_init(&s, l, c, deadline_ns);
	if (verbs_hear(l, &word, false, deadline_ns) < 0 ||
	    (c->latency && (verbs_settle(l, deadline_ns) < 0 ||
			   verbs_pings(l, c, false, deadline_ns, r) < 0)) ||
	    stream_send(&s, 1) < 0 || check_data(l, c, deadline_ns, r) < 0 ||
	    verbs_tell(l, 0) < 0 ||
	    verbs_hear(l, &word, false, deadline_ns) < 0 ||
	    stream_send(&s, c->warmup) < 0 || stream_run(&s) < 0) {
		return -1;
	}
	samples_result(&s.samples, r);
	if (c->spread) {
		flows_measure(l, c, clock_raw_ns() - s.begin_ns, deadline_ns,
			      r);
	}
	return verbs_tell(l, 0) < 0 ||
			       verbs_hear(l, &word, false, deadline_ns) < 0 ||
			       verbs_settle(l, deadline_ns) < 0 ?
		       -1 :
		       0;
}

static int run_passive(struct xport_link *l, const struct xport_cell *c,
		       int64_t deadline_ns, struct xport_result *r)
{
	/* data that only appears in memory needs no help to arrive */
	bool idle = l->x->op != OP_SEND;
	struct stream s;
	uint64_t word;
	int rc;

	stream_init(&s, l, c, deadline_ns);
	l->x->box->ping_in = 0;
	if (verbs_settle(l, deadline_ns) < 0 || verbs_tell(l, 0) < 0 ||
	    (c->latency && verbs_pings(l, c, true, deadline_ns, r) < 0) ||
	    verbs_hear(l, &word, false, deadline_ns) < 0 ||
	    check_data(l, c, deadline_ns, r) < 0 || verbs_tell(l, 0) < 0) {
		return -1;
	}
	l->pace = PACE_STREAM;
	rc = c->bidi ? stream_until_word(&s, &word) :
			  verbs_hear(l, &word, idle, deadline_ns);
	l->pace = PACE_WORD;
	return rc < 0 || verbs_tell(l, 0) < 0 ||
			       verbs_settle(l, deadline_ns) < 0 ?
		       -1 :
		       0;
}

/* run() of the verbs transport: one direction at one size. */
static bool verbs_measure(struct xport_link *l, const struct xport_cell *c,
			  int64_t deadline_ns, struct xport_result *r)
{
	bool active = c->sender == (l->x->op != OP_READ);
	enum verbs_side side = c->sender ? VERBS_SEND : VERBS_RECV;
	int rc;
	char way[32] = "IB", queues[16] = "";

	if (l->x->dev.ethernet) {
		snprintf(way, sizeof(way), "RoCEv%d/gid%d", l->gid.roce,
			 l->gid.index);
	}
	if (l->n_queues > 1) {
		snprintf(queues, sizeof(queues), "/qp%d", l->n_queues);
	}
	snprintf(r->path, sizeof(r->path), "%s/mtu%d%s%s", way, l->mtu_B,
		 queues, l->x->memory.how);
	if (xport_act_drill(l->x->self.worker, c, deadline_ns, r)) {
		l->fault = FAULT_CANCELLED;
		return false;
	}
	worker_step(l->x->self.worker, "%s %llu bytes with %s",
		    c->sender ? "sending" : "receiving",
		    (unsigned long long)c->size_bytes, l->peer.name);
	rc = verbs_memory_fill(&l->x->memory, side, c->size_bytes,
			       c->pattern_seed, deadline_ns);
	if (rc == 0) {
		rc = active ? run_active(l, c, deadline_ns, r) :
			      run_passive(l, c, deadline_ns, r);
	}
	if (rc < 0 && l->x->memory.fault[0] != '\0') {
		xport_fail(r, OUTCOME_ERROR, "gpu_memory", "%s",
			   l->x->memory.fault);
		l->fault = FAULT_CANCELLED;	/* the peer waits in vain */
	} else if (rc < 0) {
		verbs_tell_fault(l, c->sender ? "sending" : "receiving", r);
	} else if (r->wrong != RECORD_NONE && r->wrong > 0) {
		xport_fail(r, OUTCOME_CORRUPT, "data_corrupt",
			   "%lld of %llu bytes arrived with a wrong value at "
			   "%s",
			   (long long)r->wrong,
			   (unsigned long long)c->size_bytes, l->own.name);
	} else {
		r->outcome = OUTCOME_OK;
	}
	return l->fault == FAULT_NONE;
}

#endif

/* ---- transport ----------------------------------------------------------- */

#define DEFAULT_BYTES 65536

#if HAVE_VERBS

#include <errno.h>
#include <stdlib.h>

#include "probes/host/inventory.h"

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

static struct xport *verbs_open(const struct xport_self *self,
				const char **code, struct err *e)
{
	const struct spec *spec = self->spec;
	int gpu = spec->memory == MEMORY_GPU ? self->local_rank : -1;
	bool relaxed = false;	/* words say what has arrived before them */
	int64_t bytes =
		spec->size_end_B > 0 ? spec->size_end_B : spec->size_begin_B;
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
	    /* for the largest message of the run */
	    verbs_memory_open(&x->memory, &x->dev,
			      bytes > 0 ? (size_t)bytes : DEFAULT_BYTES, gpu,
			      code, e) < 0) {
		verbs_shutdown(x);
		return NULL;
	}
	return x;
}

static void verbs_describe(struct xport *x, json_t *facts)
{
	struct verbs_setting s = x->dev.relaxed;

	verbs_device_facts(&x->dev, facts);
	if (s.value != 0 && !x->memory.relaxed) {
		s.source = "refused";
	}
	s.value = x->memory.relaxed;
	verbs_setting_fact(&x->dev, facts, "relaxed_ordering", &s);
	if (x->self.spec->flows > 1 && verbs_flows_lack(&x->dev) != NULL) {
		facts_add(facts, x->dev.name, "flows_lack",
			  verbs_flows_lack(&x->dev), "", "ibv_query_gid");
	}
}

/* Free the queue pair of a task that did not connect. */
static void drop_pending(struct xport *x)
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

	drop_pending(x);
	l = x->pending = verbs_pair_new(x, nonce, r);
	if (l == NULL || (x->by_cm && cm_listen(l, r) < 0) ||
	    write_ticket(l, ticket, r) < 0) {
		drop_pending(x);
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

	drop_pending(x);
	l = x->pending = verbs_pair_new(x, nonce, r);
	if (l == NULL || write_ticket(l, answer, r) < 0 ||
	    verbs_pair_meet(l, ticket, false, peer, r) < 0 ||
	    (x->by_cm ? cm_call(l, r) : verbs_pair_connect(l, r)) < 0) {
		drop_pending(x);
		return -1;
	}
	return 0;
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
	if ((lead && verbs_pair_meet(l, ticket, true, peer, r) < 0) ||
	    (x->by_cm && cm_hear(l, lead, deadline_ns, r) < 0) ||
	    ((x->by_cm || lead) && verbs_pair_connect(l, r) < 0) ||
	    (x->by_cm && cm_finish(l, lead, deadline_ns, r) < 0)) {
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
	 * each end and 1020 pings each way, 30 ms at most; then samples.  A
	 * flow has a queue pair at each end, too, with four calls of the driver
	 * of up to some hundred microseconds, and 20 messages each way.
	 * Soft-RoCE takes a second or two a pair */
	.cost = { .open_s = 1, .pair_s = 0.05, .flow_s = 0.002,
		  .sample_s = VERBS_SAMPLE_S, .rate_GB_s = 20 },
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
