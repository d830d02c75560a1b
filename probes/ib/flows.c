/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --flows: single messages between two ports from several UDP source ports,
 * which RoCE v2 takes from the flow label of a queue pair.  Switches choose one
 * of several equal links by a hash of addresses and ports, so that a bad link
 * loses the packets of some queue pairs and of no others.
 *
 * Each queue pair has one message on its way.  A lost packet shows in time: the
 * message is sent again after the timeout of the queue pair.  As in ping, a
 * flow that has lost some is tested twice more, and has to lose some each time.
 */
#include "probes/ib/link.h"

#define LABEL_MASK 0x3fff
/* Odd, so that labels differ: 2^14 divided by the golden ratio, which spreads
 * any number of them evenly. */
#define LABEL_STEP 10125

/* Labels of 14 bits: some implementations take no others into the port. */
uint32_t flow_label(int i)
{
	return (1 + (uint32_t)i * LABEL_STEP) & LABEL_MASK;
}

uint16_t flow_port(uint32_t label)
{
	/* rdma_flow_label_to_udp_sport() of Linux */
	return (uint16_t)(0xc000 | ((label & 0x3fff) ^ (label >> 14)));
}

#if HAVE_VERBS

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"

#define FLOW_PROBES 20
#define FLOW_AGAIN  60
#define FLOW_TESTS  2	/* of a flow that lost some */
#define POLL_MAX    16
/* A wait is a share of that without any completion. */
#define NAP_SHARE   16
#define NAP_MIN_NS  20000
#define NAP_MAX_NS  NS_PER_MS

_Static_assert(FLOWS_AT_ONCE <= QPS_MAX, "they share one link");

enum flow_state {
	FLOW_OPEN,
	FLOW_GOOD,
	FLOW_LOSES,	/* in each of its tests */
	FLOW_UNKNOWN,	/* a call failed, or the queue pair */
};

struct flow {
	struct ibv_qp *qp;
	enum flow_state state;
	int tests;		/* after the first one */
	int todo;		/* messages of the test at hand */
	int sent, lost;		/* of all tests */
	int before;		/* lost before the test at hand */
	int64_t since_ns;	/* when the message on its way was sent */
	int64_t gaps_ns;	/* that this process did not run since */
	bool dead;		/* no acknowledgement at all */
};

/* ---- queue pairs --------------------------------------------------------- */

int flows_new(struct xport_link *l)
{
	const struct verbs_device *d = &l->x->dev;
	const int64_t asked = l->x->self.spec->flows;
	const int n = asked < FLOWS_MAX ? (int)asked : FLOWS_MAX;
	const int deep = n < FLOWS_AT_ONCE ? n : FLOWS_AT_ONCE;
	const int entries = deep * l->tx_depth + n;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	if (n <= 1 || verbs_flows_lack(d) != NULL) {
		return 0;
	}
	l->flows = calloc(FLOWS_MAX, sizeof(*l->flows));
	if (l->flows == NULL) {
		return ENOMEM;
	}
	/* those that are measured at once have as much on their way */
	l->flow_cq = d->v->create_cq(d->ctx, entries < d->max_cqe ?
				     entries : d->max_cqe, NULL, NULL, 0);
	if (l->flow_cq == NULL) {
		return errno;
	}
	init.send_cq = init.recv_cq = l->flow_cq;
	while (l->n_flows < n) {
		struct flow *f = &l->flows[l->n_flows];

		init.cap.max_send_wr = l->n_flows < deep ?
					       (uint32_t)l->tx_depth : 1;
		f->qp = d->v->create_qp(d->pd, &init);
		if (f->qp == NULL) {
			return errno;
		}
		l->own.flow_qpns[l->n_flows++] = f->qp->qp_num;
	}
	l->own.n_flow_qpns = n;
	return 0;
}

struct ibv_qp *flows_queue(const struct xport_link *l, int i)
{
	return i < l->n_flows ? l->flows[i].qp : NULL;
}

void flows_free(struct xport_link *l)
{
	const struct verbs *v = l->x->dev.v;

	if (l->flows == NULL) {
		return;
	}
	for (int i = 0; i < FLOWS_MAX; i++) {
		if (l->flows[i].qp != NULL) {
			v->destroy_qp(l->flows[i].qp);
		}
	}
	if (l->flow_cq != NULL) {
		v->destroy_cq(l->flow_cq);
	}
	free(l->flows);
}

/* ---- the test ------------------------------------------------------------ */

static void flow_send(struct xport_link *l, int i)
{
	struct flow *f = &l->flows[i];
	struct ibv_sge sge = {
		.addr = (uint64_t)(uintptr_t)&l->x->box->flow_out,
		.length = sizeof(l->x->box->flow_out),
		.lkey = l->x->box_area.local_key,
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = (uint64_t)i,
		.sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma.remote_addr = (uint64_t)l->peer.box_addr +
				       offsetof(struct verbs_box, flow_in),
		.wr.rdma.rkey = (uint32_t)l->peer.box_key,
	};

	f->todo--;
	f->sent++;
	f->since_ns = clock_now_ns();
	f->gaps_ns = 0;
	if (ibv_post_send(f->qp, &wr, &bad) != 0) {
		f->state = FLOW_UNKNOWN;
	}
}

/* Whether the message on its way was sent again: only then it takes a timeout.
 * Most of that must have been seen: a completion may have waited for this
 * process. */
static bool flow_late(const struct flow *f, int64_t now_ns, int64_t timeout_ns)
{
	const int64_t took_ns = now_ns - f->since_ns;

	return took_ns >= timeout_ns &&
	       took_ns - f->gaps_ns >= timeout_ns / 2;
}

/* Take a completion, and send the next message of its flow, if any. */
static void flow_take(struct xport_link *l, const struct ibv_wc *wc,
		      int64_t now_ns, int64_t timeout_ns)
{
	struct flow *f = &l->flows[wc->wr_id % FLOWS_MAX];

	if (wc->status == IBV_WC_RETRY_EXC_ERR) {
		f->lost++;
		f->dead = true;
		f->state = FLOW_LOSES;
	} else if (wc->status != IBV_WC_SUCCESS) {
		f->state = FLOW_UNKNOWN;
	}
	if (wc->status != IBV_WC_SUCCESS) {
		return;
	}
	f->lost += flow_late(f, now_ns, timeout_ns);
	if (f->todo == 0 && f->lost == f->before) {
		f->state = FLOW_GOOD;
	} else if (f->todo == 0 && f->tests == FLOW_TESTS) {
		f->state = FLOW_LOSES;
	} else if (f->todo == 0) {
		f->tests++;
		f->before = f->lost;
		f->todo = FLOW_AGAIN;
	}
	if (f->state == FLOW_OPEN) {
		flow_send(l, (int)(wc->wr_id % FLOWS_MAX));
	}
}

/* Count the flows that are still tested; this process has not run for
 * @gap_ns. */
static int flows_open(struct xport_link *l, int64_t gap_ns)
{
	int open = 0;

	for (int i = 0; i < l->n_flows; i++) {
		l->flows[i].gaps_ns += gap_ns;
		open += l->flows[i].state == FLOW_OPEN;
	}
	return open;
}

/* Test until all flows are known; 0, or -1 if the task is cancelled. */
static int flows_run(struct xport_link *l, int64_t deadline_ns,
		     int64_t timeout_ns)
{
	const int64_t begin = clock_now_ns();
	int64_t now = begin, last = now, came = now, idle;
	struct ibv_wc wc[POLL_MAX];
	int n;

	while (flows_open(l, now - last > timeout_ns / 4 ?
				    now - last : 0) > 0 &&
	       now < deadline_ns) {
		last = now;
		n = ibv_poll_cq(l->flow_cq, POLL_MAX, wc);
		now = clock_now_ns();
		for (int i = 0; i < n; i++) {
			flow_take(l, &wc[i], now, timeout_ns);
		}
		came = n > 0 ? now : came;
		idle = (now - came) / NAP_SHARE;
		if (idle > NAP_MIN_NS) {
			clock_sleep(idle < NAP_MAX_NS ? idle : NAP_MAX_NS);
			if (worker_cancelled(l->x->self.worker)) {
				return -1;
			}
		}
	}
	for (int i = 0; i < l->n_flows; i++) {
		struct flow *f = &l->flows[i];
		bool waits = f->state == FLOW_OPEN &&
			     flow_late(f, now, 2 * timeout_ns);

		f->lost += waits;
		f->dead = f->dead || waits;
		if (f->state == FLOW_OPEN) {
			/* its losses took the time of its other tests */
			f->state = 2 * f->lost * timeout_ns > now - begin ?
					   FLOW_LOSES : FLOW_UNKNOWN;
		}
	}
	return 0;
}

/* Report flow @i, which loses packets. */
static void flow_tell(const struct xport_link *l, int i, bool sends,
		      double timeout_ms)
{
	const struct flow *f = &l->flows[i];
	const uint32_t label = flow_label(i);
	char from[GID_TEXT], to[GID_TEXT], what[120];
	struct xport_flow lost = { .sends = sends, .port = flow_port(label),
				   .sent = f->sent, .lost = f->lost };

	if (f->dead) {
		snprintf(what, sizeof(what), "no acknowledgement of message %d",
			 f->sent);
	} else {
		snprintf(what, sizeof(what), "%d of %d messages had to be sent "
			 "again after %.0f ms, in each of its tests", f->lost,
			 f->sent, timeout_ms);
	}
	snprintf(lost.says, sizeof(lost.says), "UDP %s port %lld to %s port "
		 "4791 (flow label 0x%x): %s", gid_text(l->gid.raw, from),
		 (long long)lost.port, gid_text(l->peer_gid.raw, to), label,
		 what);
	xport_lost(l->x->self.worker, &lost);
}

void flows_test(struct xport_link *l, bool sends, int64_t deadline_ns,
		struct xport_result *r)
{
	const struct spec *s = l->x->self.spec;
	const int64_t timeout_ns = xport_timeout_ns(s);
	int64_t end_ns = clock_now_ns() + xport_flows_ns(s);

	if (l->n_flows == 0) {
		return;
	}
	worker_step(l->x->self.worker, "testing %d flows to %s", l->n_flows,
		    l->peer.name);
	for (int i = 0; i < l->n_flows; i++) {
		struct flow *f = &l->flows[i];

		*f = (struct flow){ .qp = f->qp, .todo = FLOW_PROBES };
		flow_send(l, i);
	}
	if (flows_run(l, end_ns < deadline_ns ? end_ns : deadline_ns,
		      timeout_ns) < 0) {
		return;
	}
	r->flows = 0;
	for (int i = 0; i < l->n_flows; i++) {
		const enum flow_state state = l->flows[i].state;

		r->flows += state == FLOW_GOOD || state == FLOW_LOSES;
		if (state == FLOW_LOSES) {
			flow_tell(l, i, sends, (double)timeout_ns / 1e6);
		}
	}
}

/* ---- bandwidth ----------------------------------------------------------- */

/* The bandwidth of the first @n flows at once; NAN if it was not measured. */
static double flows_rate(const struct xport_link *l, const struct xport_cell *c,
			 int n, int64_t deadline_ns)
{
	/* the same pair with other queue pairs: a failure is not one of @l */
	struct xport x = *l->x;
	struct xport_link other = {
		.x = &x, .cq = l->flow_cq, .n_queues = n, .peer = l->peer,
		.tx_depth = l->tx_depth,
	};
	struct xport_result r;
	struct stream s;

	/* no receive is posted there */
	x.op = x.op == OP_SEND ? OP_WRITE : x.op;
	for (int i = 0; i < n; i++) {
		other.queue[i].qp = l->flows[i].qp;
	}
	stream_init(&s, &other, c, deadline_ns);
	if (stream_send(&s, c->warmup) < 0 || stream_run(&s) < 0) {
		return NAN;
	}
	xport_result_init(&r);
	samples_result(&s.samples, &r);
	return r.bw_GB_s;
}

void flows_measure(struct xport_link *l, const struct xport_cell *c,
		   int64_t took_ns, int64_t deadline_ns,
		   struct xport_result *r)
{
	const int64_t now = clock_now_ns(), left_ns = deadline_ns - now;
	const int64_t end_ns = now + left_ns / 2;
	double before, after;
	int n = 0;

	while (n < FLOWS_AT_ONCE && flows_queue(l, n) != NULL) {
		if (l->flows[n++].state != FLOW_GOOD) {
			return;
		}
	}
	/* the other half is for the other direction */
	if (n < 2 || XPORT_FLOW_STREAMS * took_ns > left_ns / 2) {
		return;
	}
	worker_step(l->x->self.worker, "%d flows at once to %s", n,
		    l->peer.name);
	/* other traffic comes and goes: of one flow the better of two counts */
	before = flows_rate(l, c, 1, end_ns);
	r->flows_GB_s = flows_rate(l, c, n, end_ns);
	after = flows_rate(l, c, 1, end_ns);
	r->flow_GB_s = fmax(before, after);
	if (isnan(before) || isnan(after)) {
		r->flows_GB_s = NAN;
	}
}

#endif
