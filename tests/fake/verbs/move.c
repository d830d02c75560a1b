/* SPDX-License-Identifier: BSD-3-Clause */
/* A fake: bytes from one process to another, in time and in order, or not. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/fake/verbs/fake.h"

#define SMALL_B	   4096		/* such words overtake what is in a port */
#define FLAG_B	   8		/* the end of a message, written last */
#define ENDLESS_NS (4 * FV_MS)	/* between attempts without a timeout */
/* A word into what is spoilt, which is no flag there. */
#define SPOILT_AT  64

/* ---- time ---------------------------------------------------------------- */

static double pace_of(int port, int other)
{
	double pace = fv_ports[port].pace_Gb_s, factor;

	if (fv_faulty(FV_SLOW, port, other, -1, &factor)) {
		pace *= factor;
	}
	return pace;
}

int64_t fv_reserve(int from, int to, uint32_t bytes)
{
	int64_t now = fv_now_ns(), begin = now, end;
	double pace, other;
	atomic_llong *out, *in;
	long long was;

	if (from < 0 || to < 0 || bytes <= SMALL_B) {
		return now;
	}
	pace = pace_of(from, to);
	other = pace_of(to, from);
	pace = pace <= 0 || (other > 0 && other < pace) ? other : pace;
	if (pace <= 0) {
		return now;
	}
	out = &fv_wire()->ports[from].free_ns[0];
	in = &fv_wire()->ports[to].free_ns[1];
	was = *out;
	do {
		begin = was > now ? was : now;
		begin = *in > begin ? *in : begin;
		end = begin + (int64_t)((double)bytes * 8 / pace);
	} while (!atomic_compare_exchange_weak(out, &was, end));
	*in = end;
	return end;
}

int64_t fv_reserve_queue(struct fv_qp *q, bool reads, uint32_t bytes)
{
	const int own = q->wire->port, peer = q->peer_port;
	const double pace = fv_ports[own].queue_Gb_s;
	int64_t due = reads ? fv_reserve(peer, own, bytes) :
			      fv_reserve(own, peer, bytes);

	if (pace > 0 && bytes > SMALL_B) {
		q->free_ns = q->free_ns > fv_now_ns() ? q->free_ns :
							fv_now_ns();
		q->free_ns += (int64_t)((double)bytes * 8 / pace);
		due = due > q->free_ns ? due : q->free_ns;
	}
	return due;
}

/* ---- moving -------------------------------------------------------------- */

enum moved { MOVED, NO_ANSWER, NOT_READY, NO_ACCESS_HERE, NO_ACCESS_THERE };

static enum moved copy(const struct iovec *local, int n, int pid, void *remote,
		       size_t bytes, bool reads)
{
	struct iovec there = { remote, bytes };
	ssize_t rc;

	if (bytes == 0) {
		return MOVED;
	}
	rc = reads ? process_vm_readv(pid, local, (unsigned long)n, &there, 1,
				      0) :
		     process_vm_writev(pid, local, (unsigned long)n, &there, 1,
				       0);
	if (rc == (ssize_t)bytes) {
		return MOVED;
	}
	if (rc < 0 && errno == EPERM) {
		fprintf(stderr, "fake verbs: process %d may not be written to; "
			"same user, and ptrace_scope at most 1?\n", pid);
	}
	return rc < 0 && errno == ESRCH ? NO_ANSWER : NO_ACCESS_THERE;
}

/* Data first, then the last bytes: whoever waits for them sees the rest. */
static enum moved write_flag_last(struct iovec *local, int n, int pid,
				  char *remote, size_t bytes)
{
	struct iovec *last = &local[n - 1], flag;
	enum moved m;

	if (n == 0 || last->iov_len <= FLAG_B) {
		return copy(local, n, pid, remote, bytes, false);
	}
	last->iov_len -= FLAG_B;
	flag = (struct iovec){ (char *)last->iov_base + last->iov_len, FLAG_B };
	m = copy(local, n, pid, remote, bytes - FLAG_B, false);
	return m != MOVED ? m : copy(&flag, 1, pid, remote + bytes - FLAG_B,
				     FLAG_B, false);
}

static void spoil(int pid, char *remote, size_t bytes)
{
	struct iovec one = { remote + SPOILT_AT, 1 };
	uint8_t byte;
	struct iovec here = { &byte, 1 };

	if (bytes > SMALL_B &&
	    process_vm_readv(pid, &here, 1, &one, 1, 0) == 1) {
		byte ^= 0xff;
		process_vm_writev(pid, &here, 1, &one, 1, 0);
	}
}

/* The request's own memory; -1 when a key does not fit. */
static int gather(const struct fv_send *s, struct iovec iov[FV_SGES])
{
	unsigned int access = s->wr.opcode == IBV_WR_RDMA_READ ?
				      IBV_ACCESS_LOCAL_WRITE : 0;
	int n = 0, pid;

	if (s->wr.send_flags & IBV_SEND_INLINE) {
		iov[0] = (struct iovec){ (void *)(uintptr_t)s->data, s->bytes };
		return s->bytes > 0;
	}
	for (int i = 0; i < s->wr.num_sge; i++) {
		void *at = fv_translate(s->sge[i].lkey, s->sge[i].addr,
					s->sge[i].length, access, &pid);

		if (s->sge[i].length == 0) {
			continue;
		}
		if (at == NULL || pid != getpid()) {
			return -1;
		}
		iov[n++] = (struct iovec){ at, s->sge[i].length };
	}
	return n;
}

static struct fv_wire_qp *peer_of(const struct fv_qp *q)
{
	struct fv_wire_qp *p = &fv_wire()->qps[q->wire->peer % FV_QPS];

	return p->number == q->wire->peer && p->port == q->peer_port &&
			       (p->state == IBV_QPS_RTR ||
				p->state == IBV_QPS_RTS) &&
			       p->peer == q->qp.qp_num &&
			       (kill(p->pid, 0) == 0 || errno != ESRCH) ?
		       p : NULL;
}

static bool is_cut(const struct fv_qp *q)
{
	int own = q->wire->port, peer = q->peer_port,
	    gid = q->attr.ah_attr.grh.sgid_index;

	return peer < 0 || fv_port_down(own) || fv_port_down(peer) ||
	       fv_faulty(FV_CUT, own, peer, gid, NULL) ||
	       fv_faulty(FV_LOST, own, peer, gid, NULL) ||
	       fv_flow_lost(own, peer, q->attr.ah_attr.grh.flow_label);
}

/* Where the request goes to at the peer; NULL: that is not allowed. */
static char *target_of(const struct fv_send *s, const struct fv_recv *r,
		       int *pid)
{
	static char nowhere;

	if (s->bytes == 0) {
		return &nowhere;
	}
	if (s->wr.opcode == IBV_WR_SEND ||
	    s->wr.opcode == IBV_WR_SEND_WITH_IMM) {
		return s->bytes > r->length ? NULL :
		       fv_translate(r->lkey, r->addr, s->bytes,
				    IBV_ACCESS_LOCAL_WRITE, pid);
	}
	return fv_translate(s->wr.wr.rdma.rkey, s->wr.wr.rdma.remote_addr,
			    s->bytes, s->wr.opcode == IBV_WR_RDMA_READ ?
					      IBV_ACCESS_REMOTE_READ :
					      IBV_ACCESS_REMOTE_WRITE,
			    pid);
}

static bool is_received(const struct fv_send *s)
{
	return s->wr.opcode != IBV_WR_RDMA_WRITE &&
	       s->wr.opcode != IBV_WR_RDMA_READ;
}

static void fill(struct fv_wire_qp *peer, struct fv_recv *r,
		 const struct fv_send *s)
{
	bool imm = s->wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM ||
		   s->wr.opcode == IBV_WR_SEND_WITH_IMM;

	r->byte_len = s->bytes;
	r->imm = imm ? s->wr.imm_data : 0;
	r->flags = imm ? IBV_WC_WITH_IMM : 0;
	r->status = IBV_WC_SUCCESS;
	r->opcode = s->wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM ?
			    IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
	peer->filled++;		/* the receiver sees all of the above */
}

static enum moved move_to(struct fv_qp *q, struct fv_send *s)
{
	struct fv_wire_qp *peer = is_cut(q) ? NULL : peer_of(q);
	struct iovec iov[FV_SGES];
	struct fv_recv *r;
	int n, pid = 0;
	enum moved m;
	char *to;

	if (peer == NULL) {
		return NO_ANSWER;
	}
	r = &peer->ring[peer->filled % FV_RING];
	if (is_received(s) && peer->filled == peer->posted) {
		return NOT_READY;
	}
	n = gather(s, iov);
	if (n < 0) {
		return NO_ACCESS_HERE;
	}
	to = target_of(s, r, &pid);
	if (to == NULL || (s->bytes > 0 && pid != peer->pid)) {
		return NO_ACCESS_THERE;
	}
	m = s->wr.opcode == IBV_WR_RDMA_READ ?
		    copy(iov, n, pid, to, s->bytes, true) :
		    write_flag_last(iov, n, pid, to, s->bytes);
	if (m != MOVED) {
		return m;
	}
	fv_wire()->ports[q->wire->port].moved_B += s->bytes;
	fv_wire()->ports[q->peer_port].moved_B += s->bytes;
	if (fv_faulty(FV_CORRUPT, q->wire->port, q->peer_port, -1, NULL)) {
		if (s->wr.opcode == IBV_WR_RDMA_READ) {
			spoil(getpid(), iov[0].iov_base, s->bytes);
		} else {
			spoil(pid, to, s->bytes);
		}
	}
	if (is_received(s)) {
		fill(peer, r, s);
	}
	return MOVED;
}

/* A peer that takes its queue or memory back waits until this is over. */
static enum moved move_one(struct fv_qp *q, struct fv_send *s)
{
	atomic_int *queue = &fv_wire()->qps[q->wire->peer % FV_QPS].busy;
	atomic_int *memory = &fv_wire()->mrs[s->wr.wr.rdma.rkey % FV_MRS].busy;
	enum moved m;

	++*queue;
	++*memory;
	m = move_to(q, s);
	--*memory;
	--*queue;
	return m;
}

/* ---- the queue ----------------------------------------------------------- */

void fv_break(struct fv_qp *q, int status)
{
	for (; q->moved != q->posted; q->moved++) {
		q->sends[q->moved % FV_RING].status = status;
		status = IBV_WC_WR_FLUSH_ERR;
	}
	q->qp.state = IBV_QPS_ERR;
	q->wire->state = IBV_QPS_ERR;
}

/* Nothing came back: the same again after the timeout, as often as that was
 * wanted, and once more to wait for the last. */
static void try_later(struct fv_qp *q, struct fv_send *s, int64_t now)
{
	int64_t wait = q->attr.timeout == 0 ? ENDLESS_NS :
					      4096LL << q->attr.timeout;

	if (q->attr.timeout != 0 && s->attempts++ > q->attr.retry_cnt) {
		fv_break(q, IBV_WC_RETRY_EXC_ERR);
		return;
	}
	s->next_ns = now + wait;
}

void fv_move(struct fv_qp *q)
{
	static const int status[] = {
		[NO_ACCESS_HERE] = IBV_WC_LOC_PROT_ERR,
		[NO_ACCESS_THERE] = IBV_WC_REM_ACCESS_ERR,
	};

	while (q->moved != q->posted) {
		struct fv_send *s = &q->sends[q->moved % FV_RING];
		int64_t now = fv_now_ns();
		enum moved m;

		if (now < s->due_ns || now < s->next_ns) {
			break;
		}
		m = move_one(q, s);
		if (m == MOVED) {
			q->moved++;
		} else if (m == NO_ANSWER) {
			try_later(q, s, now);
		} else if (m != NOT_READY) {
			fv_break(q, status[m]);
		}
		if (m != MOVED) {
			break;
		}
	}
}
