/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/p2p/cuda_link.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/net.h"
#include "lib/base/str.h"
#include "probes/transport/xport.h"

/* ---- cuda kernels -------------------------------------------------------- */

/*
 * Volatile accesses are not cached and, of 8 bytes, not torn; nothing but the
 * flag is passed, so that no fence is needed.  A flag counts when it is equal,
 * not when it is greater: what an earlier pair left behind means nothing.
 */
/* PTX text, see gpu_kernels.h; for one thread.
 *
 * ping_pong(u64 mine, u64 theirs, u64 first, u64 rounds, u64 lead,
 *	     u64 limit_ns, u64 log)
 *	Flags @first, @first + 1, ... for @rounds rounds: write each into the
 *	other GPU's memory at @theirs and wait until the other GPU has written
 *	it here at @mine; the @lead writes before it waits, the other end after.
 *	Ends by itself @limit_ns after its start, whatever the other end does.
 *	What happened goes to the struct ping_log at @log. */
static const char ipc_kernels_ptx[] =
	".version 6.4\n"
	".target sm_60\n"
	".address_size 64\n"
	".visible .entry " IPC_KERNEL_PING_PONG "(.param .u64 p_mine,\n"
	"	.param .u64 p_theirs, .param .u64 p_first,\n"
	"	.param .u64 p_rounds, .param .u64 p_lead,\n"
	"	.param .u64 p_limit, .param .u64 p_log)\n"
	"{\n"
	"	.reg .pred	%lead, %p<4>;\n"
	"	.reg .b64	%mine, %theirs, %flag, %rounds, %limit, %log;\n"
	"	.reg .b64	%since, %now, %seen, %done, %looks;\n"
	"	.reg .b64	%tick, %at, %t;\n"
	"	ld.param.u64	%mine, [p_mine];\n"
	"	cvta.to.global.u64 %mine, %mine;\n"
	"	ld.param.u64	%theirs, [p_theirs];\n"
	"	cvta.to.global.u64 %theirs, %theirs;\n"
	"	ld.param.u64	%flag, [p_first];\n"
	"	ld.param.u64	%rounds, [p_rounds];\n"
	"	ld.param.u64	%t, [p_lead];\n"
	"	setp.ne.u64	%lead, %t, 0;\n"
	"	ld.param.u64	%limit, [p_limit];\n"
	"	ld.param.u64	%log, [p_log];\n"
	"	cvta.to.global.u64 %log, %log;\n"
	"	add.u64		%at, %log, 40;\n"
	"	mov.u64		%done, 0;\n"
	"	mov.u64		%looks, 0;\n"
	"	mov.u64		%since, %globaltimer;\n"
	"	mov.u64		%tick, %clock64;\n"
	"	st.global.u64	[%log+8], %since;\n"
	"	st.global.u64	[%log+24], %tick;\n"
	"next:\n"
	"	setp.ge.u64	%p1, %done, %rounds;\n"
	"@%p1	bra		end;\n"
	"@%lead	st.volatile.global.u64 [%theirs], %flag;\n"
	"wait:\n"
	"	ld.volatile.global.u64 %seen, [%mine];\n"
	"	setp.eq.u64	%p2, %seen, %flag;\n"
	"@%p2	bra		seen;\n"
	/* the timer is slow to read: once in 64 looks */
	"	add.u64		%looks, %looks, 1;\n"
	"	and.b64		%t, %looks, 63;\n"
	"	setp.ne.u64	%p0, %t, 0;\n"
	"@%p0	bra		wait;\n"
	"	mov.u64		%now, %globaltimer;\n"
	"	sub.u64		%t, %now, %since;\n"
	"	setp.lt.u64	%p3, %t, %limit;\n"
	"@%p3	bra		wait;\n"
	"	bra		end;\n"
	"seen:\n"
	"@!%lead st.volatile.global.u64 [%theirs], %flag;\n"
	"	mov.u64		%tick, %clock64;\n"
	"	st.global.u64	[%at], %tick;\n"
	"	add.u64		%at, %at, 8;\n"
	"	add.u64		%flag, %flag, 1;\n"
	"	add.u64		%done, %done, 1;\n"
	"	bra		next;\n"
	"end:\n"
	"	mov.u64		%now, %globaltimer;\n"
	"	mov.u64		%tick, %clock64;\n"
	"	st.global.u64	[%log+16], %now;\n"
	"	st.global.u64	[%log+32], %tick;\n"
	"	st.global.u64	[%log], %done;\n"
	"	ret;\n"
	"}\n";

/* ---- cuda link ----------------------------------------------------------- */

/* CUDA shares whole blocks of this size; a part of one cannot be exported. */
#define MAILBOX_BYTES	(UINT64_C(2) << 20)
/* Most runs never grow buffers of this size. */
#define BUFFER_BYTES	(UINT64_C(64) << 20)

#define POLL_SPINS	2000	/* then sleep between looks */
#define POLL_SLEEP_NS	20000
#define CLOSE_NS	(200 * NS_PER_MS)
#define ABANDON_NS	(2 * NS_PER_S)

/* The last stamp is the link's own. */
#define STAMP_DRAIN	(GPU_STAMPS - 1)

void ipc_begin(struct xport_link *l, int64_t deadline_ns,
	       struct xport_result *r)
{
	l->deadline_ns = deadline_ns;
	l->r = r;
}

void ipc_doing(struct xport_link *l, const char *doing)
{
	l->doing = doing;
	worker_step(l->x->self.worker, "%s with rank %d", doing, l->peer);
}

/* ---- the own GPU ------------------------------------------------------- */

int ipc_gpu_open(struct xport *x, const char **code, struct err *e)
{
	struct gpu *g = &x->gpu;
	void *log = NULL;
	CUresult rc;

	if (gpu_open(g, x->gpu_index, code, e) < 0) {
		return -1;
	}
	rc = g->cu->mem_alloc(&x->mailbox, MAILBOX_BYTES);
	if (rc == CUDA_SUCCESS) {
		rc = g->cu->mem_alloc_host(&log, sizeof(*x->log));
	}
	if (rc != CUDA_SUCCESS) {
		return gpu_refused(g, rc, "getting memory of the GPU", code, e);
	}
	x->log = log;
	/* without it there is no latency */
	gpu_kernel(g, ipc_kernels_ptx, IPC_KERNEL_PING_PONG, &x->ping_pong);
	return 0;
}

const char *ipc_way(const struct cuda *cu, CUdevice dev, CUdevice peer)
{
	int can = 0, atomic = 0;

	if (cu->can_access(&can, dev, peer) != CUDA_SUCCESS || can == 0) {
		return NULL;
	}
	if (cu->peer_attribute != NULL) {
		cu->peer_attribute(
			&atomic,
			CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, dev,
			peer);
	}
	return atomic ? "NVLink" : "PCIe";	/* which has no atomics */
}

/* ---- going wrong ------------------------------------------------------ */

/* Free the GPU of what still runs there; where that fails, it stays so. */
static void abandon(struct xport_link *l)
{
	struct xport *x = l->x;

	if (l->dead) {
		return;
	}
	l->dead = true;
	gpu_release(&x->gpu);
	x->spoilt = gpu_drain(&x->gpu, clock_now_ns() + ABANDON_NS) !=
		    CUDA_SUCCESS;
}

static int fail(struct xport_link *l, enum outcome outcome, const char *code,
		const char *fmt, ...) __attribute__((format(printf, 4, 5)));

static int fail(struct xport_link *l, enum outcome outcome, const char *code,
		const char *fmt, ...)
{
	char text[sizeof(l->r->detail)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	xport_fail(l->r, outcome, code, "%s", text);
	abandon(l);
	return -1;
}

int ipc_cuda(struct xport_link *l, CUresult rc)
{
	struct gpu_trouble t;

	if (rc == CUDA_SUCCESS) {
		return 0;
	}
	if (rc == CUDA_ERROR_NOT_READY) {
		return fail(l, OUTCOME_TIMEOUT, "cuda_timeout",
			    "%s: the GPU did not respond in time", l->doing);
	}
	gpu_trouble(&l->x->gpu, rc, &t);
	return fail(l, OUTCOME_ERROR, t.code, "%s: %s", l->doing, t.text);
}

/* ---- waiting ---------------------------------------------------------- */

int ipc_stamp(struct xport_link *l, int i)
{
	struct gpu *g = &l->x->gpu;

	return ipc_cuda(l, g->cu->event_record(g->stamps[i], g->stream));
}

int ipc_wait(struct xport_link *l, int i)
{
	struct gpu *g = &l->x->gpu;
	unsigned looks;
	CUresult rc;

	for (looks = 0; (rc = g->cu->event_query(g->stamps[i])) ==
				CUDA_ERROR_NOT_READY &&
			clock_now_ns() < l->deadline_ns; looks++) {
		if (looks < POLL_SPINS) {
			continue;
		}
		clock_sleep(POLL_SLEEP_NS);
		if (worker_cancelled(l->x->self.worker)) {
			l->r->echo = true;
			return fail(l, OUTCOME_ERROR, "cancelled",
				    "%s: cancelled, rank %d failed",
				    l->doing, l->peer);
		}
	}
	return ipc_cuda(l, rc);
}

int ipc_drain(struct xport_link *l)
{
	return ipc_stamp(l, STAMP_DRAIN) < 0 ? -1 : ipc_wait(l, STAMP_DRAIN);
}

/* ---- the other end ---------------------------------------------------- */

/* Both ends send @n bytes and get as many. */
static int swap(struct xport_link *l, const void *mine, void *theirs, size_t n)
{
	struct err e = { 0 };

	if (net_write_all(l->fd, mine, n, l->deadline_ns, &e) == 0 &&
	    net_read_all(l->fd, theirs, n, l->deadline_ns, &e) == 0) {
		return 0;
	}
	peer_fault(l->r, &e, l->doing);
	abandon(l);
	return -1;
}

int ipc_exchange(struct xport_link *l, uint64_t mine, uint64_t *theirs)
{
	return swap(l, &mine, theirs, sizeof(mine));
}

int ipc_meet(struct xport_link *l)
{
	uint64_t theirs;

	return ipc_exchange(l, 0, &theirs);
}

/* Identity that a worker sends once. */
struct hello {
	char boot_id[40];
	char uuid[48];
	int64_t rank, gpu;
};

static int exchange_hello(struct xport_link *l, struct hello *peer)
{
	const struct xport *x = l->x;
	struct hello mine = { .rank = x->self.rank, .gpu = x->gpu_index };

	STR_COPY(mine.boot_id, x->boot_id);
	STR_COPY(mine.uuid, x->gpu.id.uuid);
	if (swap(l, &mine, peer, sizeof(mine)) < 0) {
		return -1;
	}
	peer->boot_id[sizeof(peer->boot_id) - 1] = '\0';
	peer->uuid[sizeof(peer->uuid) - 1] = '\0';
	if (peer->rank != l->peer) {
		return fail(l, OUTCOME_ERROR, "wrong_peer",
			    "rank %lld answered where rank %d was expected",
			    (long long)peer->rank, l->peer);
	}
	if (strcmp(peer->boot_id, mine.boot_id) != 0) {
		return fail(l, OUTCOME_SKIPPED, "other_node",
			    "rank %d runs on another machine; copies work only "
			    "inside one", l->peer);
	}
	snprintf(l->peer_gpu, sizeof(l->peer_gpu), "GPU %lld",
		 (long long)peer->gpu);
	return 0;
}

/* Abilities of this end, as a mask. */
enum can { CAN_REACH = 1, CAN_PING = 2 };

/* Find out if, and by which path, this GPU can write into the memory of the
 * other one.  Both ends must: a pair is joined for both directions. */
static int check_way(struct xport_link *l, const char *uuid)
{
	struct gpu *g = &l->x->gpu;
	bool same = strcmp(uuid, g->id.uuid) == 0;
	const char *way = "unknown";	/* hidden here: CUDA may open it yet */
	uint64_t mine = CAN_REACH, theirs;
	struct gpu_id id;
	CUdevice dev;

	for (int i = 0; !same && gpu_identify(i, &id) == 0; i++) {
		if (strcmp(uuid, id.uuid) == 0 &&
		    g->cu->device_get(&dev, i) == CUDA_SUCCESS) {
			way = ipc_way(g->cu, g->dev, dev);
			break;
		}
	}
	if (same) {
		/* where kernels of two processes take turns */
		STR_COPY(l->path, "same GPU");
	} else if (way != NULL) {
		snprintf(l->path, sizeof(l->path), "P2P/%s", way);
		mine |= l->x->ping_pong != NULL ? CAN_PING : 0;
	} else {
		mine = 0;
	}
	if (ipc_exchange(l, mine, &theirs) < 0) {
		return -1;
	}
	l->pings = mine & theirs & CAN_PING;
	if (mine & theirs & CAN_REACH) {
		return 0;
	}
	return fail(l, OUTCOME_SKIPPED, "no_peer_access",
		    mine & CAN_REACH ? "%s cannot reach the memory of GPU %d" :
			   "no access to the memory of %s from GPU %d",
		    l->peer_gpu, l->x->gpu_index);
}

/* ---- memory of the other end ------------------------------------------ */

/* Show the other end @mine, of @bytes; *@theirs is mapped unless it is. */
static int swap_memory(struct xport_link *l, CUdeviceptr mine, uint64_t bytes,
		       CUdeviceptr *theirs, uint64_t *their_bytes)
{
	const struct cuda *cu = l->x->gpu.cu;
	struct {
		CUipcMemHandle handle;
		uint64_t bytes;
	} offer = { .bytes = bytes }, got;

	if (ipc_cuda(l, cu->ipc_export(&offer.handle, mine)) < 0 ||
	    swap(l, &offer, &got, sizeof(offer)) < 0) {
		return -1;
	}
	*their_bytes = got.bytes;
	return *theirs != 0 ?
		       0 :
		       ipc_cuda(l, cu->ipc_open(
					   theirs, got.handle,
					   CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
}

static void unmap(struct xport_link *l, CUdeviceptr *mem)
{
	if (*mem != 0 && !l->x->spoilt) {
		l->x->gpu.cu->ipc_close(*mem);
	}
	*mem = 0;
}

int ipc_open(struct xport_link *l)
{
	struct hello peer;
	uint64_t bytes;

	ipc_doing(l, "looking for a path between the GPUs");
	if (exchange_hello(l, &peer) < 0 || check_way(l, peer.uuid) < 0) {
		return -1;
	}
	ipc_doing(l, "mapping the other GPU's memory");
	return swap_memory(l, l->x->mailbox, MAILBOX_BYTES, &l->mailbox,
			   &bytes);
}

int ipc_share(struct xport_link *l, uint64_t bytes)
{
	struct xport *x = l->x;

	ipc_doing(l, "sharing buffers");
	/* neither end may free a buffer that the other one has mapped */
	if (l->buf_bytes < bytes) {
		unmap(l, &l->buf);
	}
	if (ipc_meet(l) < 0) {
		return -1;
	}
	bytes = bytes < BUFFER_BYTES ? BUFFER_BYTES : bytes;
	if (x->lent && bytes > x->gpu.buf_bytes) {
		/* not to be freed before its last user is gone */
		x->gpu.buf[GPU_RECV] = 0;
		x->lent = false;
	}
	if (ipc_cuda(l, gpu_reserve(&x->gpu, bytes)) < 0) {
		return -1;
	}
	return swap_memory(l, x->gpu.buf[GPU_RECV], x->gpu.buf_bytes, &l->buf,
			   &l->buf_bytes);
}

void ipc_close(struct xport_link *l)
{
	struct xport_result r;

	if (l == NULL) {
		return;
	}
	ipc_begin(l, clock_now_ns() + CLOSE_NS, &r);
	ipc_doing(l, "closing");
	unmap(l, &l->buf);
	unmap(l, &l->mailbox);
	if (l->dead || ipc_meet(l) < 0) {
		l->x->lent = true;
	}
	close(l->fd);
	free(l);
}
