/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/ib/link.h"

#if HAVE_VERBS

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "lib/base/hash.h"
#include "lib/base/str.h"

#define WORDS_MAX	8	/* words and pings on their way at a time */
#define RECEIVES_MIN	256	/* posted ahead, for --op=send and pings */
#define INLINE_BYTES	64
#define READ_DEPTH_MAX	16
/* Time until a sender whose receiver has no buffer tries again: 0.64 ms. */
#define RNR_TIMER	12
#define RNR_RETRIES	7	/* without end: the deadline ends it */
#define HOP_LIMIT	64

/* ---- queues -------------------------------------------------------------- */

static int call_failed(const struct xport_link *l, enum verbs_call call,
		       int err, struct xport_result *r)
{
	struct err e = { 0 };
	char text[256];
	const char *code;

	verbs_call_fault(&l->x->dev, call, err, &code, &e);
	if (!verbs_tell_port(l, r)) {
		xport_fail(r, OUTCOME_ERROR, code, "%s",
			   err_str(&e, text, sizeof(text)));
	}
	return -1;
}

static int smaller(int a, int b)
{
	return a < b ? a : b;
}

static int make_queues(struct xport_link *l, struct xport_result *r)
{
	const struct verbs_device *d = &l->x->dev;
	/* the queue with the least to do may have what all have on average, and
	 * a group more */
	int extra = 2 * WORDS_MAX + (d->qps.value > 1 ? LINK_GROUP_MAX : 0);
	int sends;

	l->tx_depth = smaller(l->x->tx_depth, d->max_wr / 2 - extra / 2);
	l->rx_depth = l->tx_depth * 2 > RECEIVES_MIN ? l->tx_depth * 2 :
						       RECEIVES_MIN;
	l->rx_depth = smaller(l->rx_depth, d->max_wr);
	sends = l->tx_depth + extra;
	l->cq = d->v->create_cq(d->ctx,
				smaller(d->qps.value * (sends + l->rx_depth),
					d->max_cqe),
				NULL, NULL, 0);
	if (l->cq == NULL) {
		return call_failed(l, VERBS_CREATE_CQ, errno, r);
	}
	while (l->n_queues < d->qps.value) {
		struct link_queue *q = &l->queue[l->n_queues++];
		struct ibv_qp_init_attr init = {
			.qp_type = IBV_QPT_RC,
			.send_cq = l->cq,
			.recv_cq = l->cq,
			.cap = { .max_send_wr = (uint32_t)sends,
				 .max_recv_wr = (uint32_t)l->rx_depth,
				 .max_send_sge = 1,
				 .max_recv_sge = 1,
				 .max_inline_data = INLINE_BYTES },
		};

		q->qp = d->v->create_qp(d->pd, &init);
		if (q->qp == NULL) {
			/* not every HCA has room for data in the request */
			init.cap.max_inline_data = 0;
			q->qp = d->v->create_qp(d->pd, &init);
		}
		q->to_receive = l->rx_depth;
		l->inline_bytes = init.cap.max_inline_data;
		if (q->qp == NULL) {
			return call_failed(l, VERBS_CREATE_QP, errno, r);
		}
	}
	return 0;
}

/* The path of a queue pair with flow @label; 0: as the driver chooses. */
static struct ibv_ah_attr path_of(const struct xport_link *l, uint32_t label)
{
	const struct verbs_device *d = &l->x->dev;
	struct ibv_ah_attr a = {
		.dlid = (uint16_t)l->peer.lid,
		.sl = (uint8_t)d->service_level.value,
		.port_num = d->port,
	};

	if (l->cm != NULL) {
		a = *cm_path(l->cm);
	} else if (d->ethernet || l->peer.lid == 0 ||
		   /* a peer in another InfiniBand subnet is only reached by
		    * GID, too */
		   memcmp(l->gid.raw, l->peer_gid.raw, 8) != 0) {
		a.is_global = 1;
		a.grh.sgid_index = (uint8_t)l->gid.index;
		a.grh.hop_limit = HOP_LIMIT;
		a.grh.traffic_class = (uint8_t)d->traffic_class.value;
		memcpy(a.grh.dgid.raw, l->peer_gid.raw, GID_BYTES);
	}
	if (label != 0) {
		a.grh.flow_label = label;
	}
	return a;
}

/* Bring all queues into @state, with the attributes that @mask names; 0 or an
 * errno. */
static int to_state(struct xport_link *l, enum ibv_qp_state state, int mask)
{
	const struct verbs_device *d = &l->x->dev;
	struct ibv_qp_attr a = {
		.qp_state = state,
		.pkey_index = (uint16_t)d->pkey_index.value,
		.port_num = d->port,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE |
				   IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ,
		.rq_psn = (uint32_t)l->peer.psn,
		.max_dest_rd_atomic = (uint8_t)l->own.read_depth,
		.min_rnr_timer = RNR_TIMER,
		.ah_attr = path_of(l, 0),
		.sq_psn = (uint32_t)l->own.psn,
		.timeout = (uint8_t)d->qp_timeout,
		.retry_cnt = (uint8_t)d->qp_retries,
		.rnr_retry = RNR_RETRIES,
		.max_rd_atomic = (uint8_t)smaller(
			smaller(d->read_ask, (int)l->peer.read_depth),
			READ_DEPTH_MAX),
	};
	struct ibv_qp *flow;
	int rc = 0;

	/* 1024 bytes are 3: enum ibv_mtu counts powers of two from 256 */
	a.path_mtu = IBV_MTU_256;
	while (a.path_mtu < IBV_MTU_4096 &&
	       (128 << (a.path_mtu + 1)) <= l->mtu_B) {
		a.path_mtu++;
	}
	for (int i = 0; rc == 0 && i < l->n_queues; i++) {
		a.dest_qp_num = (uint32_t)l->peer.qpns[i];
		rc = d->v->modify_qp(l->queue[i].qp, &a, IBV_QP_STATE | mask);
	}
	for (int i = 0; rc == 0 && (flow = flows_queue(l, i)) != NULL; i++) {
		a.ah_attr = path_of(l, flow_label(i));
		a.dest_qp_num = (uint32_t)l->peer.flow_qpns[i];
		rc = d->v->modify_qp(flow, &a, IBV_QP_STATE | mask);
	}
	return rc;
}

/* ---- life ---------------------------------------------------------------- */

/* Return a word that only an end that knows @nonce can compute, different for
 * each @use. */
static uint64_t word_of(const char *nonce, uint64_t use)
{
	uint64_t word = 0;

	for (const char *c = nonce; *c != '\0'; c++) {
		word = hash_mix(word, (uint64_t)*c, use, 0);
	}
	return word;
}

struct xport_link *verbs_pair_new(struct xport *x, const char *nonce,
				  struct xport_result *r)
{
	struct xport_link *l = calloc(1, sizeof(*l));
	/* reads find their data where it is sent from */
	const struct verbs_area *data =
		&x->memory.side[x->op == OP_READ ? VERBS_SEND : VERBS_RECV];
	struct verbs_ticket *t;
	struct ip_addr ip;
	int rc;

	if (l == NULL) {
		return xport_short(r, ENOMEM, "no memory for a pair");
	}
	l->x = x;
	memset(x->box, 0, sizeof(*x->box));
	worker_step(x->self.worker, "creating a queue pair");
	/* the peer would only see that nothing answers, and be the first to say
	 * so */
	rc = verbs_tell_port(l, r) || make_queues(l, r) < 0 ? -1 : 0;
	if (rc == 0 && (rc = flows_new(l)) != 0) {
		call_failed(l, VERBS_CREATE_QP, rc, r);
	}
	if (rc == 0) {
		rc = to_state(l, IBV_QPS_INIT,
			      IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				      IBV_QP_ACCESS_FLAGS);
		if (rc != 0) {
			call_failed(l, VERBS_TO_INIT, rc, r);
		}
	}
	if (rc != 0) {
		verbs_pair_free(l);
		return NULL;
	}
	t = &l->own;
	STR_COPY(t->name, x->dev.name);
	STR_COPY(t->link_layer, x->dev.ethernet ? "Ethernet" : "InfiniBand");
	t->n_gids = x->dev.n_gids;
	memcpy(t->gids, x->dev.gids, sizeof(t->gids));
	t->lid = x->dev.lid;
	if (x->by_cm && !x->dev.ethernet) {
		ip = cm_address(&x->dev);
		ip_text(&ip, t->ip, sizeof(t->ip));
	}
	t->n_qpns = l->n_queues;
	for (int i = 0; i < l->n_queues; i++) {
		t->qpns[i] = l->queue[i].qp->qp_num;
	}
	t->psn = (int64_t)(word_of(nonce, (uint64_t)x->self.rank) & 0xffffff);
	l->word = htobe64(word_of(nonce, UINT64_MAX));
	t->mtu_B = x->dev.mtu_B;
	t->read_depth = smaller(x->dev.read_depth, READ_DEPTH_MAX);
	t->data_addr = (int64_t)data->addr;
	t->data_key = data->remote_key;
	t->box_addr = (int64_t)x->box_area.addr;
	t->box_key = x->box_area.remote_key;
	return l;
}

void verbs_pair_free(struct xport_link *l)
{
	if (l == NULL) {
		return;
	}
	for (int i = 0; i < QPS_MAX; i++) {
		if (l->queue[i].qp != NULL) {
			l->x->dev.v->destroy_qp(l->queue[i].qp);
		}
	}
	flows_free(l);
	if (l->cq != NULL) {
		l->x->dev.v->destroy_cq(l->cq);
	}
	cm_free(l->cm);
	free(l);
}

/* "RoCE v2, 10.7.0.1" */
static const char *gid_says(const struct gid_entry *g, char *buf, size_t size)
{
	char gid[GID_TEXT], roce[32] = "";

	if (g->roce > 0) {
		snprintf(roce, sizeof(roce), "RoCE v%d, ", g->roce);
	}
	snprintf(buf, size, "%s%s", roce, gid_text(g->raw, gid));
	return buf;
}

int verbs_pair_meet(struct xport_link *l, const char *ticket, bool lead,
		    int peer, struct xport_result *r)
{
	const struct verbs_ticket *a = lead ? &l->own : &l->peer;
	const struct verbs_ticket *b = lead ? &l->peer : &l->own;
	char own[64], other[64];
	size_t at_a, at_b;
	struct err e = { 0 };

	if (verbs_ticket_parse(ticket, &l->peer, &e) < 0) {
		xport_fail(r, OUTCOME_ERROR, "bad_ticket",
			   "rank %d sent no valid connection data: %s",
			   peer, e.text);
		return -1;
	}
	/* what does not fit together would fail later with less to go by */
	if (strcmp(l->own.link_layer, l->peer.link_layer) != 0) {
		xport_fail(r, OUTCOME_ERROR, "link_mixed",
			   "%s is %s, %s is %s: they cannot communicate",
			   l->own.name, l->own.link_layer, l->peer.name,
			   l->peer.link_layer);
		return -1;
	}
	if (!gid_agree(a->gids, a->n_gids, b->gids, b->n_gids, &at_a, &at_b)) {
		xport_fail(r, OUTCOME_ERROR, "gid_mismatch",
			   "%s and %s have no GIDs of one RoCE version and "
			   "address family: %s, and %s",
			   l->own.name, l->peer.name,
			   gid_says(&l->own.gids[0], own, sizeof(own)),
			   gid_says(&l->peer.gids[0], other, sizeof(other)));
		return -1;
	}
	l->gid = l->own.gids[lead ? at_a : at_b];
	l->peer_gid = l->peer.gids[lead ? at_b : at_a];
	l->mtu_B = smaller((int)l->own.mtu_B, (int)l->peer.mtu_B);
	l->n_queues = smaller(l->own.n_qpns, l->peer.n_qpns);
	l->n_flows = l->gid.roce == 1 ? 0 :
		     smaller(l->n_flows, l->peer.n_flow_qpns);
	return 0;
}

int verbs_pair_connect(struct xport_link *l, struct xport_result *r)
{
	char own[GID_TEXT], peer[GID_TEXT];
	const struct err_words *w;
	int rc;

	/* the driver resolves the address here and may wait a second for it,
	 * in vain where the own port is down */
	if (verbs_tell_port(l, r)) {
		return -1;
	}
	worker_step(l->x->self.worker, "ibv_modify_qp to RTR, %s to %s",
		    l->own.name, l->peer.name);
	rc = to_state(l, IBV_QPS_RTR,
		      IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			      IBV_QP_MIN_RNR_TIMER);
	if (rc != 0) {
		w = verbs_call_words(VERBS_TO_RTR, rc, l->x->dev.limited);
		if (!verbs_tell_port(l, r)) {
			xport_fail(r, OUTCOME_ERROR, w->code,
				   "%s (GID %d, %s) to %s (%s), INIT to RTR: "
				   "%s; %s",
				   l->own.name, l->gid.index,
				   gid_text(l->gid.raw, own), l->peer.name,
				   gid_text(l->peer_gid.raw, peer),
				   strerror(rc), w->says);
		}
		return -1;
	}
	rc = to_state(l, IBV_QPS_RTS,
		      IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	if (rc != 0) {
		return call_failed(l, VERBS_TO_RTS, rc, r);
	}
	if (verbs_poll(l) < 0) {		/* posts the first receives */
		verbs_tell_fault(l, "posting receives", r);
		return -1;
	}
	return 0;
}

#endif
