/* SPDX-License-Identifier: BSD-3-Clause */
/* Data path of a connection: posting, polling, words between the ends. */
#include <errno.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/data/schema.h"
#include "probes/ib/link.h"

/* ---- ticket -------------------------------------------------------------- */

#define TICKET(member, ...) FIELD(verbs_ticket, member, #member, __VA_ARGS__)

static const struct field gid_fields[] = {
	FIELD(gid_entry, raw, "gid", HEX, 0, 0, "address"),
	FIELD(gid_entry, roce, "roce", INT, 0, 2, "version; 0: InfiniBand"),
	FIELD(gid_entry, prefix, "prefix", INT, 0, 8 * GID_BYTES,
	      "bits of its network"),
	{ 0 }
};

static const struct field port_fields[] = {
	TICKET(name, TEXT, 0, 0, "of the port"),
	TICKET(link_layer, TEXT, 0, 0, "InfiniBand or Ethernet"),
	TICKET(ip, TEXT, 0, 0, "of rdma_cm on InfiniBand"),
	{ 0 }
};

static const struct field queue_fields[] = {
	FIELD_LIST(verbs_ticket, qpns, n_qpns, "qpns", INTS, 0, 0xffffff,
		   "numbers of the queue pairs"),
	FIELD_LIST(verbs_ticket, flow_qpns, n_flow_qpns, "flow_qpns", INTS, 0,
		   0xffffff, "of one flow each"),
	TICKET(lid, INT, 0, UINT16_MAX, "of the port"),
	TICKET(psn, INT, 0, 0xffffff, "first packet"),
	TICKET(mtu_B, INT, 256, 4096, "of the path"),
	TICKET(read_depth, INT, 0, UINT8_MAX, "reads at a time"),
	TICKET(data_addr, INT, 0, INT64_MAX, "buffer"),
	TICKET(data_key, INT, 0, UINT32_MAX, "its key"),
	TICKET(box_addr, INT, 0, INT64_MAX, "words between the ends"),
	TICKET(box_key, INT, 0, UINT32_MAX, "their key"),
	TICKET(cm_port, INT, 0, UINT16_MAX, "of rdma_cm; 0: none"),
	{ 0 }
};

int verbs_ticket_format(const struct verbs_ticket *t, char *buf, size_t size,
			struct err *e)
{
	json_t *j = schema_json(port_fields, t);
	json_t *queues = schema_json(queue_fields, t), *gids = json_array();
	size_t n;

	for (size_t i = 0; i < t->n_gids; i++) {
		json_array_append_new(gids,
				      schema_json(gid_fields, &t->gids[i]));
	}
	json_object_set_new(j, "gids", gids);
	json_object_update(j, queues);
	json_decref(queues);
	n = json_dumpb(j, buf, size - 1, JSON_COMPACT);
	json_decref(j);
	if (n == 0 || n >= size) {
		return err_set(e, ENOMEM, "the connection data does not fit");
	}
	buf[n] = '\0';
	return 0;
}

int verbs_ticket_parse(const char *text, struct verbs_ticket *t, struct err *e)
{
	json_t *j = json_parse(text, strlen(text), e), *gids, *gid;
	int rc = -1;

	memset(t, 0, sizeof(*t));
	gids = j != NULL ? json_get_array(j, "gids", GID_OFFERS, e) : NULL;
	if (gids != NULL && schema_read(port_fields, t, j, e) == 0) {
		rc = schema_read(queue_fields, t, j, e);
	}
	for (; rc == 0 && t->n_gids < json_array_size(gids); t->n_gids++) {
		gid = json_array_get(gids, t->n_gids);
		rc = schema_read(gid_fields, &t->gids[t->n_gids], gid, e);
	}
	if (rc == 0 && t->n_qpns == 0) {
		rc = err_set(e, EPROTO, "'qpns' is empty");
	}
	json_decref(j);
	return rc;
}

/* ---- stream -------------------------------------------------------------- */

#if HAVE_VERBS

#include "lib/base/clock.h"

static bool verbs_heard(struct xport_link *l, uint64_t *value);

#define SAMPLE_NS	((int64_t)(VERBS_SAMPLE_S * NS_PER_S))
/* Small messages complete in groups: a completion each would be measured. */
#define GROUP_BYTES	8192
#define GROUP		16
/* Without a given end no more is on its way than this carries: all that is must
 * be let through at the end, and a queue of 1 GiB messages takes seconds. */
#define QUEUE_NS	(20 * NS_PER_MS)

void stream_init(struct stream *s, struct xport_link *l,
		 const struct xport_cell *c, int64_t deadline_ns)
{
	*s = (struct stream){
		.l = l, .c = c, .deadline_ns = deadline_ns,
		.depth = l->tx_depth * l->n_queues, .group = 1,
		.samples.sample_s = VERBS_SAMPLE_S,
	};
	if (c->size_bytes <= GROUP_BYTES && s->depth >= 4) {
		s->group = s->depth / 4 < GROUP ? s->depth / 4 : GROUP;
	}
	if (c->slow_factor < 1) {
		s->depth = s->group = 1;	/* throttled one by one */
	}
	l->done = 0;
}

/* A throttled end makes each message last 1 / factor times as long. */
void verbs_throttle(int64_t since_ns, double factor)
{
	if (factor < 1) {
		xport_throttle((double)(clock_raw_ns() - since_ns) / 1e9,
			       factor);
	}
}

/*
 * One more group, when it may be on its way; @limit messages in all, 0 = no
 * limit.  One at a time, as a driver may do the work while it is handed over:
 * what has completed meanwhile must be seen.
 */
static int stream_fill(struct stream *s, int64_t limit)
{
	int n = s->group, most = limit > 0 ? s->depth : s->window;

	if (limit > 0 && limit - s->sent < n) {
		n = (int)(limit - s->sent);
	}
	if (n == 0 || s->l->posted + n > most) {
		return 0;
	}
	s->sent += n;
	s->post_ns = s->c->slow_factor < 1 ? clock_raw_ns() : 0;
	return verbs_post(s->l, n, s->c->size_bytes);
}

static void stream_begin(struct stream *s)
{
	s->sent = s->counted = s->l->done = 0;
	s->begin_ns = s->sample_ns = clock_raw_ns();
	s->window = s->depth < 2 * s->group ? s->depth : 2 * s->group;
}

/* How many QUEUE_NS carries shows as they come through. */
static void stream_widen(struct stream *s, int64_t now_ns)
{
	double carried = (double)s->l->done * QUEUE_NS /
			 (double)(now_ns - s->begin_ns);

	if (carried > s->window) {
		s->window = carried < s->depth ? (int)carried : s->depth;
	}
}

static int stream_drain(struct stream *s)
{
	while (s->l->posted > 0) {
		if (verbs_turn(s->l, s->deadline_ns) < 0) {
			return -1;
		}
	}
	return 0;
}

int stream_send(struct stream *s, int64_t n)
{
	s->sent = 0;
	while (s->sent < n) {
		if (stream_fill(s, n) < 0 ||
		    verbs_turn(s->l, s->deadline_ns) < 0) {
			return -1;
		}
	}
	return stream_drain(s);
}

static void take_sample(struct stream *s, int64_t now_ns)
{
	samples_add(&s->samples, s->c, (int)(s->l->done - s->counted),
		    (double)(now_ns - s->sample_ns) / 1e9);
	s->counted = s->l->done;
	s->sample_ns = now_ns;
}

int stream_run(struct stream *s)
{
	const int64_t iters = s->c->iters;
	int64_t now = 0, done = 0, count;

	stream_begin(s);
	/* small messages come in groups: they may be through before all samples
	 * are taken */
	while (!samples_enough(&s->samples, s->c) &&
	       (iters <= 0 || s->l->done < iters)) {
		if (stream_fill(s, iters) < 0 ||
		    verbs_turn(s->l, s->deadline_ns) < 0) {
			return -1;
		}
		/* reading the clock is slow on some machines */
		if (s->l->done == done) {
			continue;
		}
		done = s->l->done;
		if (s->l->posted == 0) {
			verbs_throttle(s->post_ns, s->c->slow_factor);
		}
		now = clock_raw_ns();
		stream_widen(s, now);
		count = done - s->counted;
		if (iters > 0 ? count >= samples_batch(&s->samples, s->c) :
				count > 0 && now - s->sample_ns >= SAMPLE_NS) {
			take_sample(s, now);
		}
	}
	if (s->l->done > s->counted) {
		take_sample(s, now);
	}
	return stream_drain(s);
}

int stream_until_word(struct stream *s, uint64_t *word)
{
	int64_t done = 0;

	stream_begin(s);
	while (!verbs_heard(s->l, word)) {
		if (stream_fill(s, 0) < 0 ||
		    verbs_turn(s->l, s->deadline_ns) < 0) {
			return -1;
		}
		if (s->l->done != done) {
			done = s->l->done;
			stream_widen(s, clock_raw_ns());
		}
	}
	return stream_drain(s);
}
#endif

/* ---- queue --------------------------------------------------------------- */

#if HAVE_VERBS

#include <sched.h>

#include <infiniband/verbs.h>

#define POLL_MAX	16
#define QUIET_MAX	3	/* pings between two that complete */
#define RECEIVE_BATCH	16	/* receives are posted again by so many */
#define SPINS_A_LOOK	256
/*
 * An HCA answers sooner than ALONE_NS; an end that waits longer leaves the CPU
 * to others.  In pings, an end that sleeps makes its peer wait so long that it
 * sleeps as well: there the CPU is only offered, at first.  A process that has
 * slept before is preferred by the scheduler, though, and keeps the CPU that it
 * offers for some milliseconds: after CROWDED_NS only sleep helps.  With more
 * messages in the queue no peer waits, and soft-RoCE has work for that CPU.
 */
#define ALONE_NS	100000
#define CROWDED_NS	500000
#define CROWDED_NAP_NS	50000
#define AWAKE_NS	(2 * NS_PER_MS)
#define LOOK_NS		(10 * NS_PER_MS)
/* A nap is a share of the wait so far: what ends it is noticed so much late. */
#define NAP_MIN_NS	300000
#define NAP_MAX_NS	(10 * NS_PER_MS)
#define NAP_SHARE	16
#define DOZE_SHARE	2
#define VALUE_BITS	48

/* The kind of a request is the upper half of its id; the lower is the queue,
 * and a count. */
enum wr_kind { WR_DATA, WR_WORD, WR_RECV };

static uint64_t wr_id(enum wr_kind kind, int queue, int count)
{
	return (uint64_t)kind << 32 | (uint64_t)queue << 16 | (uint64_t)count;
}

static int fail(struct xport_link *l, enum link_fault fault,
		enum verbs_call call, int error)
{
	if (l->fault == FAULT_NONE) {
		l->fault = fault;
		l->call = call;
		l->error = error;
	}
	return -1;
}

/* ---- posting ------------------------------------------------------------- */

static int post(struct xport_link *l, int queue, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	int rc = ibv_post_send(l->queue[queue].qp, wr, &bad);

	return rc == 0 ? 0 : fail(l, FAULT_CALL, VERBS_POST, rc);
}

static const enum ibv_wr_opcode opcodes[] = {
	[OP_WRITE] = IBV_WR_RDMA_WRITE,
	[OP_SEND] = IBV_WR_SEND,
	[OP_READ] = IBV_WR_RDMA_READ,
};

int verbs_post(struct xport_link *l, int n, size_t bytes)
{
	const struct xport *x = l->x;
	enum verbs_side side = x->op == OP_READ ? VERBS_RECV : VERBS_SEND;
	struct ibv_sge sge = {
		.addr = x->memory.side[side].addr,
		.length = (uint32_t)bytes,
		.lkey = x->memory.side[side].local_key,
	};
	struct ibv_send_wr wr[LINK_GROUP_MAX];
	int best = 0;
	int queue;

	for (int i = 1; i < l->n_queues; i++) {
		if (l->queue[i].posted < l->queue[best].posted) {
			best = i;
		}
	}
	queue = best;
	n = n < LINK_GROUP_MAX ? n : LINK_GROUP_MAX;
	for (int i = 0; i < n; i++) {
		bool last = i == n - 1;

		wr[i] = (struct ibv_send_wr){
			.wr_id = wr_id(WR_DATA, queue, n),
			.next = last ? NULL : &wr[i + 1],
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = opcodes[x->op],
			.send_flags = last ? IBV_SEND_SIGNALED : 0,
			.wr.rdma.remote_addr = (uint64_t)l->peer.data_addr,
			.wr.rdma.rkey = (uint32_t)l->peer.data_key,
		};
	}
	l->posted += n;
	l->queue[queue].posted += n;
	return post(l, queue, wr);
}

/*
 * Eight bytes of the own box, on their way as @wr wants it.  A @quiet one
 * completes with the next that does not: each completion takes time of the
 * ping after it.
 */
static int post_word(struct xport_link *l, struct ibv_send_wr *wr,
		     const uint64_t *from, bool quiet)
{
	struct ibv_sge sge = {
		.addr = (uint64_t)(uintptr_t)from,
		.length = sizeof(*from),
		.lkey = l->x->box_area.local_key,
	};

	wr->wr_id = wr_id(WR_WORD, 0, 1);
	wr->sg_list = &sge;
	wr->num_sge = 1;
	if (wr->opcode != IBV_WR_RDMA_READ && l->inline_bytes > 0) {
		wr->send_flags |= IBV_SEND_INLINE;
	}
	l->quiet = quiet && l->quiet < QUIET_MAX ? l->quiet + 1 : 0;
	if (l->quiet == 0) {
		wr->send_flags |= IBV_SEND_SIGNALED;
		l->words_out++;
	}
	return post(l, 0, wr);
}

int verbs_ping(struct xport_link *l, uint64_t value)
{
	const bool reads = l->x->op == OP_READ;
	struct ibv_send_wr wr = {
		.opcode = l->x->op == OP_SEND && value == LINK_PING_LAST ?
				  IBV_WR_SEND_WITH_IMM : opcodes[l->x->op],
		.wr.rdma.remote_addr =
			(uint64_t)l->peer.box_addr +
			(reads ? offsetof(struct verbs_box, ping_out) :
				 offsetof(struct verbs_box, ping_in)),
		.wr.rdma.rkey = (uint32_t)l->peer.box_key,
	};

	if (reads && value == LINK_PING_LAST) {
		return 0;	/* no process answers */
	}
	l->x->box->ping_out = value;
	return post_word(l, &wr, &l->x->box->ping_out, !reads);
}

static int post_receives(struct xport_link *l, int queue)
{
	const struct verbs_memory *m = &l->x->memory;
	struct ibv_sge sge = {
		.addr = m->side[VERBS_RECV].addr,
		.length = (uint32_t)m->bytes,
		.lkey = m->side[VERBS_RECV].local_key,
	};
	struct ibv_recv_wr wr[RECEIVE_BATCH], *bad;
	int rc;

	for (int i = 0; i < RECEIVE_BATCH; i++) {
		wr[i] = (struct ibv_recv_wr){
			.wr_id = wr_id(WR_RECV, queue, 1),
			.next = i < RECEIVE_BATCH - 1 ? &wr[i + 1] : NULL,
			.sg_list = &sge,
			.num_sge = 1,
		};
	}
	rc = ibv_post_recv(l->queue[queue].qp, wr, &bad);
	l->queue[queue].to_receive -= RECEIVE_BATCH;
	return rc == 0 ? 0 : fail(l, FAULT_CALL, VERBS_POST, rc);
}

/* ---- completions --------------------------------------------------------- */

static int take_completion(struct xport_link *l, const struct ibv_wc *wc)
{
	struct link_queue *q = &l->queue[wc->wr_id >> 16 & (QPS_MAX - 1)];
	int count = wc->wr_id & UINT16_MAX;

	if (wc->status != IBV_WC_SUCCESS) {
		l->vendor = l->fault == FAULT_NONE ? wc->vendor_err : l->vendor;
		return fail(l, FAULT_WC, VERBS_POLL, (int)wc->status);
	}
	switch ((enum wr_kind)(wc->wr_id >> 32)) {
	case WR_DATA:
		l->posted -= count;
		q->posted -= count;
		l->done += count;
		break;
	case WR_WORD:
		l->words_out--;
		break;
	case WR_RECV:
		l->received++;
		q->to_receive++;
		/* data may follow it at once */
		l->last_word |= (wc->wc_flags & IBV_WC_WITH_IMM) != 0;
		break;
	}
	return 0;
}

int verbs_poll(struct xport_link *l)
{
	struct ibv_wc wc[POLL_MAX];
	int n;

	do {
		n = ibv_poll_cq(l->cq, POLL_MAX, wc);
		if (n < 0) {
			return fail(l, FAULT_CALL, VERBS_POLL, EIO);
		}
		l->spins = n > 0 ? 0 : l->spins;
		for (int i = 0; i < n; i++) {
			if (take_completion(l, &wc[i]) < 0) {
				return -1;
			}
		}
	} while (n == POLL_MAX);
	for (int i = 0; i < l->n_queues; i++) {
		while (l->queue[i].to_receive >= RECEIVE_BATCH) {
			if (post_receives(l, i) < 0) {
				return -1;
			}
		}
	}
	return 0;
}

static void nap(int64_t waited_ns)
{
	int64_t ns = waited_ns / NAP_SHARE;

	clock_sleep(ns < NAP_MIN_NS ? NAP_MIN_NS :
		    ns > NAP_MAX_NS ? NAP_MAX_NS :
				      ns);
}

int verbs_wait(struct xport_link *l, int64_t deadline_ns)
{
	bool many = l->posted > 1 || l->pace == PACE_STREAM;
	int64_t now, waited_ns;

	if (++l->spins % SPINS_A_LOOK != 0) {
		return 0;
	}
	now = clock_now_ns();
	l->since_ns = l->spins == SPINS_A_LOOK ? now : l->since_ns;
	waited_ns = now - l->since_ns;
	if (waited_ns > ALONE_NS) {
		if (many && waited_ns <= AWAKE_NS) {
			clock_sleep(waited_ns / DOZE_SHARE);
		} else if (l->pace == PACE_PING && waited_ns > CROWDED_NS) {
			clock_sleep(CROWDED_NAP_NS);
		} else if (l->pace == PACE_PING || waited_ns <= AWAKE_NS) {
			sched_yield();
		} else {
			nap(waited_ns);
		}
	}
	if (now > deadline_ns) {
		return fail(l, FAULT_TIMEOUT, VERBS_POLL, ETIMEDOUT);
	}
	if (now > l->look_ns) {
		l->look_ns = now + LOOK_NS;
		if (worker_cancelled(l->x->self.worker)) {
			return fail(l, FAULT_CANCELLED, VERBS_POLL, ECANCELED);
		}
	}
	return 0;
}

int verbs_turn(struct xport_link *l, int64_t deadline_ns)
{
	return verbs_poll(l) < 0 ? -1 : verbs_wait(l, deadline_ns);
}

/* ---- words --------------------------------------------------------------- */

int verbs_tell(struct xport_link *l, uint64_t value)
{
	const size_t at = ++l->step_out % BOX_WORDS;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma.remote_addr = (uint64_t)l->peer.box_addr +
				       offsetof(struct verbs_box, in) +
				       at * sizeof(l->x->box->in[0]),
		.wr.rdma.rkey = (uint32_t)l->peer.box_key,
	};

	l->x->box->out[at] = (uint64_t)l->step_out << VALUE_BITS | value;
	return post_word(l, &wr, &l->x->box->out[at], false);
}

/* Take the next word from the peer; false if none has arrived. */
static bool verbs_heard(struct xport_link *l, uint64_t *value)
{
	uint16_t step = (uint16_t)(l->step_in + 1);
	/* the HCA writes it, no compiler sees that */
	const volatile uint64_t *word = &l->x->box->in[step % BOX_WORDS];
	uint64_t v = *word;

	if (v >> VALUE_BITS != step) {
		return false;
	}
	l->step_in = step;
	l->spins = 0;
	*value = v & ((UINT64_C(1) << VALUE_BITS) - 1);
	return true;
}

int verbs_hear(struct xport_link *l, uint64_t *value, bool patient,
	      int64_t deadline_ns)
{
	int64_t since = patient ? clock_now_ns() : 0;

	while (!verbs_heard(l, value)) {
		if (verbs_turn(l, deadline_ns) < 0) {
			return -1;
		}
		if (patient) {
			nap(clock_now_ns() - since);
			l->spins |= SPINS_A_LOOK - 1;	/* the next one looks */
		}
	}
	return 0;
}

#endif
