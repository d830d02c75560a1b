/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/p2p/nccl_link.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "probes/host/inventory.h"

#define POLL_STATE	64	/* looks at the GPU for one at NCCL */
#define CLOSE_NS	(1 * NS_PER_S)
#define ABORT_DRAIN_NS	(2 * NS_PER_S)

/* The last stamp is the link's own. */
#define STAMP_EXCHANGE	(GPU_STAMPS - 1)

void link_begin(struct xport_link *l, int64_t deadline_ns,
		struct xport_result *r)
{
	p2p_begin(&l->end, deadline_ns, r);
	l->x->self.worker->note->log_from = l->log_from;
}

/* ---- going wrong ------------------------------------------------------ */

/* Free the GPU of whatever NCCL still runs on it. */
static void abandon(struct xport_link *l)
{
	struct xport *x = l->x;

	l->end.dead = true;
	gpu_release(&x->gpu);
	if (l->comm == NULL) {
		return;
	}
	worker_step(x->self.worker, "ncclCommAbort after failing with rank %d",
		    l->end.peer);
	if (x->nccl->ncclCommAbort == NULL) {
		x->stuck = true;	/* nothing else frees it */
	} else {
		x->nccl->ncclCommAbort(l->comm);
		x->stuck = gpu_drain(&x->gpu, clock_now_ns() +
					      ABORT_DRAIN_NS) != CUDA_SUCCESS;
	}
	l->comm = NULL;
}

void link_failed(struct xport_link *l)
{
	char says[NCCL_LOG_SAYS];
	struct xport_result *r = l->end.r;
	const size_t len = strlen(r->detail);

	nccl_log_explain(l->x->log_fd, l->log_from, l->end.worker->log, says);
	str_copy(&r->detail[len], sizeof(r->detail) - len, says);
	abandon(l);
}

static int fail_nccl(struct xport_link *l, ncclResult_t rc)
{
	const struct nccl *nc = l->x->nccl;
	const char *words = nc->ncclGetErrorString(rc), *last = NULL;

	/* where the log is the user's: the last error of any communicator */
	if (l->x->log_fd < 0 && nc->ncclGetLastError != NULL) {
		last = nc->ncclGetLastError(l->comm);
	}
	/* the other end is gone: its own row says why */
	l->end.r->echo = rc == ncclRemoteError;
	/* without the advice in brackets, to look where we have looked */
	return p2p_fail(&l->end, OUTCOME_ERROR, dl_nccl_code(rc),
			"%s with rank %d: %.*s%s", l->end.doing, l->end.peer,
			(int)strcspn(words, "("), words,
			last != NULL ? last : "");
}

/* One look at the clock and at the coordinator between two looks at the GPU. */
static int pause_poll(struct xport_link *l, unsigned looks)
{
	int64_t now = clock_now_ns();

	if (now >= l->end.deadline_ns) {
		l->end.r->echo = true;	/* of whatever keeps the other end */
		return p2p_fail(&l->end, OUTCOME_TIMEOUT, "nccl_timeout",
				"%s with rank %d: not finished after %.1f s",
				l->end.doing, l->end.peer,
				(double)(now - l->end.began_ns) / 1e9);
	}
	return p2p_pause(&l->end, looks);
}

/* ---- waiting ---------------------------------------------------------- */

/* Return the state of the communicator, or its error. */
static ncclResult_t state_of(const struct xport_link *l)
{
	ncclResult_t state = ncclSuccess;
	ncclResult_t polled =
		l->x->nccl->ncclCommGetAsyncError(l->comm, &state);

	return polled != ncclSuccess ? polled : state;
}

/* @rc of an NCCL call; on a communicator that does not block, wait for it. */
static int settle(struct xport_link *l, ncclResult_t rc)
{
	for (unsigned looks = 0; rc == ncclInProgress; looks++) {
		if (looks > 0 && pause_poll(l, looks) < 0) {
			return -1;
		}
		rc = state_of(l);
	}
	return rc == ncclSuccess ? 0 : fail_nccl(l, rc);
}

int link_wait(struct xport_link *l, int i)
{
	struct gpu *g = &l->x->gpu;
	unsigned looks;
	CUresult rc;

	for (looks = 1; (rc = g->cu->event_query(g->stamps[i])) ==
			CUDA_ERROR_NOT_READY; looks++) {
		ncclResult_t state = ncclSuccess;

		if (pause_poll(l, looks) < 0) {
			return -1;
		}
		if (looks % POLL_STATE == 0) {
			state = state_of(l);
		}
		if (state != ncclSuccess && state != ncclInProgress) {
			return fail_nccl(l, state);
		}
	}
	return p2p_cuda(&l->end, rc);
}

/* ---- moving data ------------------------------------------------------ */

int link_move(struct xport_link *l, CUdeviceptr at, uint64_t bytes, bool sends)
{
	const struct nccl *nc = l->x->nccl;
	struct CUstream_st *stream = l->x->gpu.stream;

	return settle(l, sends ? nc->ncclSend(on_gpu(at), bytes, ncclUint8,
					      !l->me, l->comm, stream) :
				 nc->ncclRecv(on_gpu(at), bytes, ncclUint8,
					      !l->me, l->comm, stream));
}

/* An operation inside a group: "in progress" is settled at the group's end. */
static ncclResult_t queued(ncclResult_t rc)
{
	return rc == ncclInProgress ? ncclSuccess : rc;
}

int link_swap(struct xport_link *l, CUdeviceptr from, CUdeviceptr to,
	      uint64_t bytes)
{
	const struct nccl *nc = l->x->nccl;
	struct gpu *g = &l->x->gpu;
	ncclResult_t rc = nc->ncclGroupStart(), ended;

	if (rc != ncclSuccess) {
		return fail_nccl(l, rc);
	}
	rc = queued(nc->ncclSend(on_gpu(from), bytes, ncclUint8, !l->me,
				 l->comm, g->stream));
	if (rc == ncclSuccess) {
		rc = queued(nc->ncclRecv(on_gpu(to), bytes, ncclUint8, !l->me,
					 l->comm, g->stream));
	}
	ended = nc->ncclGroupEnd();	/* in any case: groups nest */
	return settle(l, rc != ncclSuccess ? rc : ended);
}

int link_meet(struct xport_link *l)
{
	struct gpu *g = &l->x->gpu;

	return link_swap(l, gpu_word_at(g, GPU_WORD_MINE),
			 gpu_word_at(g, GPU_WORD_THEIRS), sizeof(uint64_t));
}

int link_exchange(struct xport_link *l, uint64_t mine, uint64_t *theirs)
{
	struct gpu *g = &l->x->gpu;

	g->host_words[GPU_WORD_MINE] = mine;
	if (p2p_cuda(&l->end, gpu_word_push(g, GPU_WORD_MINE)) < 0 ||
	    link_meet(l) < 0 ||
	    p2p_cuda(&l->end, gpu_word_pull(g, GPU_WORD_THEIRS)) < 0 ||
	    p2p_stamp(&l->end, STAMP_EXCHANGE) < 0 ||
	    link_wait(l, STAMP_EXCHANGE) < 0) {
		return -1;
	}
	*theirs = g->host_words[GPU_WORD_THEIRS];
	return 0;
}

/* ---- beginning and end ------------------------------------------------ */

int link_make(struct xport_link *l)
{
	const struct nccl *nc = l->x->nccl;
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclResult_t rc;

	if (nc->ncclCommInitRankConfig == NULL) {
		return 0;	/* what blocks is done at first contact */
	}
	p2p_doing(&l->end, "ncclCommInitRankConfig");
	config.blocking = 0;
	rc = nc->ncclCommInitRankConfig(&l->comm, l->seat.ranks, l->id,
					 l->seat.me, &config);
	return rc == ncclSuccess || rc == ncclInProgress ? 0 :
							   fail_nccl(l, rc);
}

int link_made(struct xport_link *l, struct xport_result *r)
{
	ncclResult_t state = l->comm != NULL ? state_of(l) : ncclSuccess;

	l->end.r = r;
	return state == ncclSuccess    ? 1 :
	       state == ncclInProgress ? pause_poll(l, 0) :
					 fail_nccl(l, state);
}

void link_read_network(struct xport *x)
{
	size_t len = 0;
	char *text = x->network_read ? NULL :
				       nccl_log_since(x->log_fd, 0, &len);

	if (text != NULL) {
		x->network_read = true;
		nccl_path_nics(text, len, &x->nics);
		nccl_network_find(text, len, &x->network);
	}
	free(text);
}

void link_say_network(struct xport *x, const char *nic)
{
	bool sockets = strcmp(x->nics.net, "Socket") == 0;
	const char *const facts[][2] = {
		{ "network", x->network.name },
		{ "network_nic", nic[0] == '\0' && sockets ? x->nics.name[0] :
							     nic },
		{ "network_why", x->network.why },
		{ "nvls_why", x->network.nvls },
	};
	struct worker *w = x->self.worker;
	char gpu[24];

	if (x->network_said) {
		return;
	}
	x->network_said = true;
	snprintf(gpu, sizeof(gpu), "gpu%d", x->self.local_rank);
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		if (facts[i][1][0] != '\0') {
			/* found out while measuring: they go with the next
			 * report */
			w->facts = w->facts != NULL ? w->facts : json_array();
			facts_add(w->facts, gpu, facts[i][0], facts[i][1], "",
				  "NCCL's log");
		}
	}
}

int link_contact(struct xport_link *l, int64_t deadline_ns,
		 struct xport_result *r)
{
	struct xport *x = l->x;
	uint64_t rank = (uint64_t)x->self.rank, peer;
	size_t len = 0;
	char *text;

	l->met_from = nccl_log_end(x->log_fd);
	link_begin(l, deadline_ns, r);
	if (l->comm == NULL) {
		/* blocks; the agent ends this process at the deadline */
		p2p_doing(&l->end, "ncclCommInitRank");
		if (settle(l, l->x->nccl->ncclCommInitRank(
				      &l->comm, l->seat.ranks, l->id,
				      l->seat.me)) < 0) {
			return -1;
		}
	}
	p2p_doing(&l->end, "first contact");
	if (link_exchange(l, rank, &peer) < 0) {
		return -1;
	}
	/* the path that NCCL connected: it connects at the first transfer,
	 * while the process does nothing else, so that the log is about this
	 * pair */
	text = nccl_log_since(x->log_fd, l->met_from, &len);
	link_read_network(x);
	if (text != NULL) {
		nccl_path_find(text, len, l->me, !l->me, true, &x->nics,
			       l->out.path, l->out.nic);
		nccl_path_find(text, len, !l->me, l->me, false, &x->nics,
			       l->in.path, l->in.nic);
	}
	free(text);
	if (str_starts(l->out.path, "NET/")) {
		link_say_network(x, l->out.nic);
	}
	if (peer != (uint64_t)l->end.peer) {
		return p2p_fail(&l->end, OUTCOME_ERROR, "wrong_peer",
				"rank %llu answered where rank %d was expected",
				(unsigned long long)peer, l->end.peer);
	}
	return 0;
}

void link_close(struct xport_link *l)
{
	int64_t deadline = clock_now_ns() + CLOSE_NS;
	ncclResult_t rc = ncclSuccess;
	const struct nccl *nc;

	if (l == NULL) {
		return;
	}
	nc = l->x->nccl;
	if (l->comm != NULL) {
		p2p_doing(&l->end, "closing the communicator");
	}
	/* both ends finalize together; that does not wait for a dead end */
	if (l->comm != NULL && !l->end.dead && nc->ncclCommFinalize != NULL) {
		rc = nc->ncclCommFinalize(l->comm);
		while (rc == ncclInProgress && clock_now_ns() < deadline) {
			clock_sleep(P2P_POLL_NS);
			rc = state_of(l);
		}
	}
	if (l->comm != NULL && !l->end.dead && rc == ncclSuccess) {
		nc->ncclCommDestroy(l->comm);
	} else if (l->comm != NULL) {
		abandon(l);
	}
	if (--l->x->links == 0) {
		nccl_log_forget(l->x->log_fd);
	}
	free(l);
}
