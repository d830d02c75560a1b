/* SPDX-License-Identifier: BSD-3-Clause */
/* A fake: queue pairs, their states, and what is posted and completed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fake/verbs/fake.h"

#define RESOLVE_MS 1000		/* as the kernel waits for an address */
#define ENTRY_B	   64		/* of a queue, which locks memory */

static struct fv_qp *qp_of(struct ibv_qp *qp)
{
	return (struct fv_qp *)qp;
}

/* ---- completion queues --------------------------------------------------- */

struct ibv_cq *ibv_create_cq(struct ibv_context *ctx, int entries, void *arg,
			     struct ibv_comp_channel *channel, int vector)
{
	struct fv_cq *c = calloc(1, sizeof(*c));
	int rc = c == NULL ? ENOMEM :
			     fv_lock(ctx, (int64_t)entries * ENTRY_B);

	(void)vector;
	if (rc != 0) {
		free(c);
		errno = rc;
		return NULL;
	}
	c->cq.context = ctx;
	c->cq.channel = channel;
	c->cq.cq_context = arg;
	c->cq.cqe = entries;
	pthread_mutex_init(&c->cq.mutex, NULL);
	pthread_mutex_init(&c->lock, NULL);
	return &c->cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	if (((struct fv_cq *)cq)->n_qps > 0) {
		return EBUSY;
	}
	fv_lock(cq->context, -(int64_t)cq->cqe * ENTRY_B);
	free(cq);
	return 0;
}

static void attach(struct ibv_cq *cq, struct fv_qp *q)
{
	struct fv_cq *c = (struct fv_cq *)cq;

	pthread_mutex_lock(&c->lock);
	if (c->n_qps == 0 || c->qps[c->n_qps - 1] != q) {
		c->qps[c->n_qps++] = q;
	}
	pthread_mutex_unlock(&c->lock);
}

static void detach(struct ibv_cq *cq, const struct fv_qp *q)
{
	struct fv_cq *c = (struct fv_cq *)cq;
	int n = 0;

	pthread_mutex_lock(&c->lock);
	for (int i = 0; i < c->n_qps; i++) {
		if (c->qps[i] != q) {
			c->qps[n++] = c->qps[i];
		}
	}
	c->n_qps = n;
	pthread_mutex_unlock(&c->lock);
}

static const enum ibv_wc_opcode of_send[] = {
	[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
	[IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
	[IBV_WR_SEND] = IBV_WC_SEND,
	[IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,
	[IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
};

/* What mlx5 says with a status. */
static uint32_t vendor_of(int status)
{
	return status == IBV_WC_RETRY_EXC_ERR ? 0x81 :
	       status == IBV_WC_WR_FLUSH_ERR ? 0xf9 :
	       status == IBV_WC_REM_ACCESS_ERR ? 0x88 :
	       status == IBV_WC_LOC_PROT_ERR ? 0x53 : 0;
}

static int take_sends(struct fv_qp *q, int n, struct ibv_wc *wc)
{
	int got = 0;

	for (; got < n && q->reported != q->moved; q->reported++) {
		const struct fv_send *s = &q->sends[q->reported % FV_RING];

		if (s->status == 0 && !q->init.sq_sig_all &&
		    !(s->wr.send_flags & IBV_SEND_SIGNALED)) {
			continue;
		}
		wc[got++] = (struct ibv_wc){
			.wr_id = s->wr.wr_id,
			.status = (enum ibv_wc_status)s->status,
			.opcode = of_send[s->wr.opcode],
			.vendor_err = vendor_of(s->status),
			.byte_len = s->bytes,
			.qp_num = q->qp.qp_num,
		};
	}
	return got;
}

static int take_receives(struct fv_qp *q, int n, struct ibv_wc *wc)
{
	bool broken = q->wire->state == IBV_QPS_ERR;
	unsigned int end = broken ? q->wire->posted : q->wire->filled;
	int got = 0;

	for (; got < n && q->taken != end; q->taken++) {
		const struct fv_recv *r = &q->wire->ring[q->taken % FV_RING];
		bool flushed = broken &&
			       (int)(q->taken - q->wire->filled) >= 0;
		int status = flushed ? IBV_WC_WR_FLUSH_ERR : r->status;

		wc[got++] = (struct ibv_wc){
			.wr_id = r->wr_id,
			.status = (enum ibv_wc_status)status,
			.opcode = flushed ? IBV_WC_RECV :
					    (enum ibv_wc_opcode)r->opcode,
			.vendor_err = vendor_of(status),
			.byte_len = r->byte_len, .imm_data = r->imm,
			.qp_num = q->qp.qp_num, .src_qp = q->wire->peer,
			.wc_flags = flushed ? 0 : r->flags,
		};
	}
	return got;
}

int fv_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct fv_cq *c = (struct fv_cq *)cq;
	int got = 0;

	pthread_mutex_lock(&c->lock);
	c->turn++;
	for (int i = 0; i < c->n_qps && got < n; i++) {
		struct fv_qp *q = c->qps[(i + c->turn) % c->n_qps];

		pthread_mutex_lock(&q->lock);
		if (q->qp.send_cq == cq) {
			fv_move(q);
			got += take_sends(q, n - got, wc + got);
		}
		if (q->qp.recv_cq == cq) {
			got += take_receives(q, n - got, wc + got);
		}
		pthread_mutex_unlock(&q->lock);
	}
	pthread_mutex_unlock(&c->lock);
	return got;
}

/* ---- queue pairs --------------------------------------------------------- */

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct fv_wire_qp *all = fv_wire()->qps;
	int64_t bytes = ((int64_t)init->cap.max_send_wr +
			 init->cap.max_recv_wr) * ENTRY_B;
	struct fv_qp *q;
	int slot;

	if (init->qp_type != IBV_QPT_RC || init->srq != NULL ||
	    init->cap.max_send_wr > FV_RING ||
	    init->cap.max_recv_wr > FV_RING ||
	    init->cap.max_send_sge > FV_SGES ||
	    init->cap.max_recv_sge > 1 ||
	    init->cap.max_inline_data > FV_INLINE) {
		errno = EINVAL;
		return NULL;
	}
	if (fv_lock(pd->context, bytes) != 0 ||
	    (q = calloc(1, sizeof(*q))) == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	q->sends = calloc(FV_RING, sizeof(*q->sends));
	slot = q->sends == NULL ? -1 : fv_claim(&all->number, &all->pid,
						sizeof(*all), FV_QPS);
	if (slot < 0) {
		free(q->sends);
		free(q);
		errno = ENOMEM;
		return NULL;
	}
	q->wire = &all[slot];
	q->wire->posted = q->wire->filled = 0;
	q->wire->busy = 0;
	q->wire->state = IBV_QPS_RESET;
	q->init = *init;
	q->locked_B = bytes;
	q->peer_port = -1;
	q->qp = (struct ibv_qp){
		.context = pd->context, .qp_context = init->qp_context,
		.pd = pd, .send_cq = init->send_cq, .recv_cq = init->recv_cq,
		.handle = (uint32_t)slot, .qp_num = q->wire->number,
		.state = IBV_QPS_RESET, .qp_type = IBV_QPT_RC,
	};
	pthread_mutex_init(&q->qp.mutex, NULL);
	pthread_mutex_init(&q->lock, NULL);
	attach(init->send_cq, q);
	attach(init->recv_cq, q);
	return &q->qp;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	struct fv_qp *q = qp_of(qp);

	detach(qp->send_cq, q);
	detach(qp->recv_cq, q);
	q->wire->state = IBV_QPS_RESET;
	q->wire->number = 0;
	fv_quiesce(&q->wire->busy);
	fv_lock(qp->context, -q->locked_B);
	free(q->sends);
	free(q);
	return 0;
}

/* ---- states -------------------------------------------------------------- */

static int to_init(struct fv_qp *q, const struct ibv_qp_attr *a, int mask)
{
	if (!(mask & IBV_QP_PORT) || a->pkey_index != 0 ||
	    fv_port_of(q->qp.context, a->port_num) < 0) {
		return EINVAL;
	}
	q->wire->port = fv_port_of(q->qp.context, a->port_num);
	q->attr.port_num = a->port_num;
	q->attr.qp_access_flags = a->qp_access_flags;
	return 0;
}

/* Finds the peer's port, as the kernel does it: on Ethernet somebody must
 * answer for the address. */
static int to_rtr(struct fv_qp *q, const struct ibv_qp_attr *a, int mask)
{
	int own = q->wire->port, peer;
	const struct ibv_ah_attr *ah = &a->ah_attr;
	const char *ms = getenv("FAKE_VERBS_RESOLVE_MS");

	if (!(mask & IBV_QP_AV) || !(mask & IBV_QP_DEST_QPN) ||
	    (fv_ports[own].ethernet && !ah->is_global) ||
	    (ah->is_global && ah->grh.sgid_index >= fv_ports[own].n_gids)) {
		return EINVAL;
	}
	peer = ah->is_global ? fv_port_by_gid(&ah->grh.dgid) :
	       ah->dlid > 0 && ah->dlid <= fv_n_ports ? ah->dlid - 1 : -1;
	q->attr.ah_attr = *ah;
	q->attr.path_mtu = a->path_mtu;
	q->attr.dest_qp_num = a->dest_qp_num;
	if (fv_ports[own].ethernet &&
	    (peer < 0 || fv_port_down(own) || fv_port_down(peer) ||
	     fv_faulty(FV_CUT, own, peer, ah->grh.sgid_index, NULL))) {
		fv_sleep_ns((ms != NULL ? strtol(ms, NULL, 10) : RESOLVE_MS) *
			    FV_MS);
		return ETIMEDOUT;
	}
	q->peer_port = peer;
	q->wire->peer = a->dest_qp_num;
	return 0;
}

static int to_rts(struct fv_qp *q, const struct ibv_qp_attr *a, int mask)
{
	if (!(mask & IBV_QP_TIMEOUT) || !(mask & IBV_QP_RETRY_CNT)) {
		return EINVAL;
	}
	q->attr.timeout = a->timeout;
	q->attr.retry_cnt = a->retry_cnt;
	q->attr.rnr_retry = a->rnr_retry;
	return 0;
}

/* What is under way is forgotten. */
static int to_reset(struct fv_qp *q)
{
	q->reported = q->moved = q->posted;
	q->taken = q->wire->posted;
	q->wire->filled = q->taken;
	q->peer_port = -1;
	return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *a, int mask)
{
	struct fv_qp *q = qp_of(qp);
	enum ibv_qp_state from = (enum ibv_qp_state)(int)q->wire->state;
	enum ibv_qp_state to = a->qp_state;
	int rc = EINVAL;

	if (!(mask & IBV_QP_STATE)) {
		return EINVAL;
	}
	pthread_mutex_lock(&q->lock);
	if (to == IBV_QPS_RESET) {
		rc = to_reset(q);
	} else if (to == IBV_QPS_ERR) {
		fv_break(q, IBV_WC_WR_FLUSH_ERR);
		rc = 0;
	} else if (to == IBV_QPS_INIT &&
		   (from == IBV_QPS_RESET || from == IBV_QPS_INIT)) {
		rc = to_init(q, a, mask);
	} else if (to == IBV_QPS_RTR && from == IBV_QPS_INIT) {
		rc = to_rtr(q, a, mask);
	} else if (to == IBV_QPS_RTS &&
		   (from == IBV_QPS_RTR || from == IBV_QPS_RTS)) {
		rc = to_rts(q, a, mask);
	}
	if (rc == 0) {
		qp->state = q->attr.qp_state = to;
		q->wire->state = to;
	}
	pthread_mutex_unlock(&q->lock);
	return rc;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *a, int mask,
		 struct ibv_qp_init_attr *init)
{
	struct fv_qp *q = qp_of(qp);

	(void)mask;
	pthread_mutex_lock(&q->lock);
	/* NCCL's own header ends before the last member */
	memcpy(a, &q->attr, offsetof(struct ibv_qp_attr, rate_limit));
	a->qp_state = a->cur_qp_state = (enum ibv_qp_state)(int)q->wire->state;
	*init = q->init;
	pthread_mutex_unlock(&q->lock);
	return 0;
}

/* No such extension. */
int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp, (void)ece;
	return EOPNOTSUPP;
}

int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp, (void)ece;
	return EOPNOTSUPP;
}

/* ---- posting ------------------------------------------------------------- */

static int add_send(struct fv_qp *q, const struct ibv_send_wr *wr)
{
	struct fv_send *s = &q->sends[q->posted % FV_RING];

	if (q->posted - q->reported == FV_RING) {
		return ENOMEM;
	}
	if (wr->num_sge > FV_SGES ||
	    (size_t)wr->opcode >= sizeof(of_send) / sizeof(*of_send)) {
		return EINVAL;
	}
	/* NCCL's own header has a shorter struct: no more than RDMA needs */
	*s = (struct fv_send){ .bytes = 0 };
	memcpy(&s->wr, wr, offsetof(struct ibv_send_wr, wr) +
				   sizeof(wr->wr.rdma));
	for (int i = 0; i < wr->num_sge; i++) {
		s->sge[i] = wr->sg_list[i];
		if (wr->send_flags & IBV_SEND_INLINE) {
			if (s->bytes + s->sge[i].length > FV_INLINE) {
				return ENOMEM;
			}
			memcpy(s->data + s->bytes,
			       (void *)(uintptr_t)s->sge[i].addr,
			       s->sge[i].length);
		}
		s->bytes += s->sge[i].length;
	}
	s->due_ns = fv_reserve_queue(q, wr->opcode == IBV_WR_RDMA_READ,
				     s->bytes);
	q->posted++;
	if (q->wire->state != IBV_QPS_RTS) {
		fv_break(q, IBV_WC_WR_FLUSH_ERR);
	}
	return 0;
}

int fv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		 struct ibv_send_wr **bad)
{
	struct fv_qp *q = qp_of(qp);
	int rc = q->wire->state >= IBV_QPS_RTS ? 0 : EINVAL;

	pthread_mutex_lock(&q->lock);
	while (rc == 0 && wr != NULL) {
		rc = add_send(q, wr);
		wr = rc == 0 ? wr->next : wr;
	}
	fv_move(q);
	pthread_mutex_unlock(&q->lock);
	*bad = wr;
	return rc;
}

int fv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		 struct ibv_recv_wr **bad)
{
	struct fv_qp *q = qp_of(qp);
	int rc = 0;

	pthread_mutex_lock(&q->lock);
	for (; wr != NULL && rc == 0; wr = rc == 0 ? wr->next : wr) {
		struct fv_recv *r = &q->wire->ring[q->wire->posted % FV_RING];

		if (wr->num_sge > 1 ||
		    q->wire->posted - q->taken == FV_RING) {
			rc = wr->num_sge > 1 ? EINVAL : ENOMEM;
			continue;
		}
		*r = (struct fv_recv){ .wr_id = wr->wr_id };
		if (wr->num_sge == 1) {
			r->addr = wr->sg_list->addr;
			r->length = wr->sg_list->length;
			r->lkey = wr->sg_list->lkey;
		}
		q->wire->posted++;
	}
	pthread_mutex_unlock(&q->lock);
	*bad = wr;
	return rc;
}
