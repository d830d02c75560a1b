/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cuda: the copy engines of the GPUs of one node, and the way between them,
 * without NCCL.  Each end maps the other's memory by CUDA IPC.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/limit.h"
#include "lib/base/net.h"
#include "lib/base/stats.h"
#include "lib/base/str.h"
#include "probes/host/gpu.h"
#include "probes/host/inventory.h"
#include "probes/host/sysfile.h"
#include "probes/p2p/measure.h"
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

/** The transport cuda, open in one worker. */
struct xport {
	struct gpu gpu;
	struct xport_self self;
	int gpu_index;
	char boot_id[40];
	CUdeviceptr mailbox;	/* on the GPU; the other end writes its flags */
	CUfunction ping_pong;	/* NULL: the driver refused it */
	struct ping_log *log;	/* pinned */
	bool lent;		/* a lost end may still map the buffer */
	bool spoilt;		/* an error has ended the context, or work that
				 * never ends is on the GPU */
};

/**
 * Two workers of one node, each with the other's mailbox and receive buffer
 * mapped, and a connection to keep in step.  Calls return 0, or -1 with the
 * result that p2p_begin() named filled in and the link dead.
 */
struct xport_link {
	struct p2p_end end;
	struct xport *x;
	int fd;
	char peer_gpu[64];	/* "GPU 1", for sentences */
	bool pings;		/* both ends can play ping-pong */
	char path[32];
	CUdeviceptr mailbox, buf;	/* the other end's; 0 = not mapped */
	uint64_t buf_bytes;
};

/* CUDA shares whole blocks of this size; a part of one cannot be exported. */
#define MAILBOX_BYTES	(UINT64_C(2) << 20)
/* Most runs never grow buffers of this size. */
#define BUFFER_BYTES	(UINT64_C(64) << 20)

#define CLOSE_NS	(200 * NS_PER_MS)
#define ABANDON_NS	(2 * NS_PER_S)

/* The last stamp is the link's own. */
#define STAMP_DRAIN	(GPU_STAMPS - 1)

/* ---- the own GPU ------------------------------------------------------- */

/* Context, buffers, mailbox, kernels; 0 or -1 as gpu_open(). */
static int ipc_gpu_open(struct xport *x, const char **code, struct err *e)
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

/* Which way CUDA says GPU @dev reaches GPU @peer: "NVLink", "PCIe", NULL when
 * it does not. */
static const char *ipc_way(const struct cuda *cu, CUdevice dev, CUdevice peer)
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

	if (l->end.dead) {
		return;
	}
	l->end.dead = true;
	gpu_release(&x->gpu);
	x->spoilt = gpu_drain(&x->gpu, clock_now_ns() + ABANDON_NS) !=
		    CUDA_SUCCESS;
}

/* ---- waiting ---------------------------------------------------------- */

/* Wait until time stamp @i has passed. */
static int ipc_wait(struct xport_link *l, int i)
{
	struct gpu *g = &l->x->gpu;
	unsigned looks;
	CUresult rc;

	for (looks = 0; (rc = g->cu->event_query(g->stamps[i])) ==
				CUDA_ERROR_NOT_READY &&
			clock_now_ns() < l->end.deadline_ns; looks++) {
		if (p2p_pause(&l->end, looks) < 0) {
			return -1;
		}
	}
	return p2p_cuda(&l->end, rc);
}

/* Wait until the stream is empty. */
static int ipc_drain(struct xport_link *l)
{
	return p2p_stamp(&l->end, STAMP_DRAIN) < 0 ?
		       -1 : ipc_wait(l, STAMP_DRAIN);
}

/* ---- the other end ---------------------------------------------------- */

/* Both ends send @n bytes and get as many. */
static int swap(struct xport_link *l, const void *mine, void *theirs, size_t n)
{
	struct err e = { 0 };

	if (net_write_all(l->fd, mine, n, l->end.deadline_ns, &e) == 0 &&
	    net_read_all(l->fd, theirs, n, l->end.deadline_ns, &e) == 0) {
		return 0;
	}
	peer_fault(l->end.r, &e, l->end.doing);
	abandon(l);
	return -1;
}

/* Tell the other end @mine and hear its *@theirs: a meeting, too. */
static int ipc_exchange(struct xport_link *l, uint64_t mine, uint64_t *theirs)
{
	return swap(l, &mine, theirs, sizeof(mine));
}

static int ipc_meet(struct xport_link *l)
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
	if (peer->rank != l->end.peer) {
		return p2p_fail(&l->end, OUTCOME_ERROR, "wrong_peer",
				"rank %lld answered where rank %d was expected",
				(long long)peer->rank, l->end.peer);
	}
	if (strcmp(peer->boot_id, mine.boot_id) != 0) {
		return p2p_fail(&l->end, OUTCOME_SKIPPED, "other_node",
				"rank %d runs on another machine; copies work "
				"only inside one", l->end.peer);
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
	return p2p_fail(&l->end, OUTCOME_SKIPPED, "no_peer_access",
			mine & CAN_REACH ?
				"%s cannot reach the memory of GPU %d" :
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

	if (p2p_cuda(&l->end, cu->ipc_export(&offer.handle, mine)) < 0 ||
	    swap(l, &offer, &got, sizeof(offer)) < 0) {
		return -1;
	}
	*their_bytes = got.bytes;
	return *theirs != 0 ?
		       0 :
		       p2p_cuda(&l->end, cu->ipc_open(
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

/* Exchange identities, check that the GPUs reach each other, map the
 * mailboxes. */
static int ipc_open(struct xport_link *l)
{
	struct hello peer;
	uint64_t bytes;

	p2p_doing(&l->end, "looking for a path between the GPUs");
	if (exchange_hello(l, &peer) < 0 || check_way(l, peer.uuid) < 0) {
		return -1;
	}
	p2p_doing(&l->end, "mapping the other GPU's memory");
	return swap_memory(l, l->x->mailbox, MAILBOX_BYTES, &l->mailbox,
			   &bytes);
}

/* Buffers of @bytes at both ends, mapped; contents are lost. */
static int ipc_share(struct xport_link *l, uint64_t bytes)
{
	struct xport *x = l->x;

	p2p_doing(&l->end, "sharing buffers");
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
	if (p2p_cuda(&l->end, gpu_reserve(&x->gpu, bytes)) < 0) {
		return -1;
	}
	return swap_memory(l, x->gpu.buf[GPU_RECV], x->gpu.buf_bytes, &l->buf,
			   &l->buf_bytes);
}

/* close() of the transport: unmap, together with the other end where that is
 * alive. */
static void ipc_close(struct xport_link *l)
{
	struct xport_result r;

	if (l == NULL) {
		return;
	}
	p2p_begin(&l->end, clock_now_ns() + CLOSE_NS, &r);
	p2p_doing(&l->end, "closing");
	unmap(l, &l->buf);
	unmap(l, &l->mailbox);
	if (l->end.dead || ipc_meet(l) < 0) {
		l->x->lent = true;
	}
	close(l->fd);
	free(l);
}

/* ---- cuda measure -------------------------------------------------------- */

/*
 * The sender pushes: copies from its memory into the other GPU's, queued behind
 * a gate so that the time is the copies' and not that of queueing them.  The
 * other end poisons its buffer before each sample and looks at it afterwards.
 *
 * Copies need one GPU at a time.  Jobs run kernels on both that wait for each
 * other, and a machine whose PCIe switches or IOMMU misroute such writes can
 * pass every copy and still hang every job: so, last, a game of ping-pong
 * between two kernels, whose rounds are the latency.
 */

#define PING_LIMIT_NS	(500 * NS_PER_MS)
#define PING_WARMUP	50
/* Where GPUs are shared, kernels take turns: rounds are then few and slow. */
#define PING_PROOF	2

/* Layout of the mailbox: the flag comes first. */
#define MAILBOX_LOG	4096

enum stamp { STAMP_START, STAMP_STOP };

/* ---- bandwidth and data ----------------------------------------------- */

static int copies(struct xport_link *l, const struct xport_cell *c, int count)
{
	struct gpu *g = &l->x->gpu;
	CUresult rc = CUDA_SUCCESS;

	for (; count > 0 && rc == CUDA_SUCCESS; count--) {
		rc = g->cu->copy(l->buf, g->buf[GPU_SEND], c->size_bytes,
				 g->stream);
	}
	return p2p_cuda(&l->end, rc);
}

/* One sample of @count copies; both ends get the sender's seconds. */
static int sample(struct xport_link *l, const struct xport_cell *c, int count,
		  double one_s, double *s)
{
	struct gpu *g = &l->x->gpu;
	uint64_t mine = 0, theirs;

	(void)one_s;
	if ((!c->sender && ipc_drain(l) < 0) || ipc_meet(l) < 0) {
		return -1;
	}
	if (c->sender) {
		if (p2p_cuda(&l->end, gpu_hold(g)) < 0 ||
		    p2p_stamp(&l->end, STAMP_START) < 0 ||
		    copies(l, c, count) < 0 ||
		    p2p_stamp(&l->end, STAMP_STOP) < 0) {
			return -1;
		}
		gpu_release(g);
		if (ipc_wait(l, STAMP_STOP) < 0 ||
		    p2p_cuda(&l->end, gpu_seconds(g, STAMP_START, STAMP_STOP,
						  s)) < 0) {
			return -1;
		}
		*s = xport_throttle(*s, c->slow_factor);
		mine = (uint64_t)(*s * 1e9) + 1;	/* never 0 */
	} else if (c->bidi && (copies(l, c, count + count / 4 + 2) < 0 ||
			       ipc_drain(l) < 0)) {
		return -1;	/* a little more than what comes meanwhile */
	}
	if (ipc_exchange(l, mine, &theirs) < 0) {
		return -1;
	}
	*s = (double)(c->sender ? mine : theirs) / 1e9;
	return 0;
}

static int warm_up(struct xport_link *l, const struct xport_cell *c, int count)
{
	return c->sender ? copies(l, c, count) : 0;
}

/* ---- ping-pong of kernels --------------------------------------------- */

static int queue_ping_pong(struct xport_link *l, const struct xport_cell *c)
{
	struct xport *x = l->x;
	struct gpu *g = &x->gpu;
	uint64_t first = c->pattern_seed, rounds = PING_ROUNDS;
	uint64_t lead = c->sender, limit_ns;
	CUdeviceptr log = x->mailbox + MAILBOX_LOG;
	void *params[] = { &x->mailbox, &l->mailbox, &first, &rounds,
			   &lead,	&limit_ns,   &log };
	/* a kernel waits no longer: there must be time left to report it */
	int64_t left = (l->end.deadline_ns - clock_now_ns()) / 2;
	CUresult rc;

	left = left < 0 ? 0 : left;
	limit_ns = left < PING_LIMIT_NS ? (uint64_t)left : PING_LIMIT_NS;
	rc = gpu_launch(g, x->ping_pong, 1, 1, params);
	if (rc == CUDA_SUCCESS) {
		rc = g->cu->copy_to_host(x->log, log, sizeof(*x->log),
					 g->stream);
	}
	return p2p_cuda(&l->end, rc);
}

/* Set the latency: half of each round by the finer clock, at the rate that the
 * coarser clock gives. */
static void put_latency(const struct ping_log *log, double factor,
			struct xport_result *r)
{
	double us[PING_ROUNDS];
	double us_a_tick = (double)(log->end_ns - log->start_ns) / 1e3 /
			   (double)(log->end_tick - log->start_tick);
	size_t n = 0;
	uint64_t i;

	for (i = PING_WARMUP; i < log->rounds; i++) {
		us[n++] = (double)(log->tick[i] - log->tick[i - 1]) *
			  us_a_tick / 2 / factor;
	}
	if (n > 0) {
		r->lat_us = stats_median(us, n);
		r->lat_p99_us = stats_percentile(us, n, 99);
	}
}

static int ping_pong(struct xport_link *l, const struct xport_cell *c)
{
	struct xport *x = l->x;
	uint64_t mine, theirs;

	if (!l->pings) {
		return 0;
	}
	p2p_doing(&l->end, "running kernels that wait for each other");
	if (ipc_drain(l) < 0 || ipc_meet(l) < 0 || queue_ping_pong(l, c) < 0 ||
	    ipc_drain(l) < 0) {
		return -1;
	}
	mine = l->x->log->rounds;
	if (ipc_exchange(l, mine, &theirs) < 0) {
		return -1;
	}
	if (mine < PING_PROOF || theirs < PING_PROOF) {
		if (c->sender) {
			xport_fail(
				l->end.r, OUTCOME_ERROR, "p2p_deadlock",
				"copies work, but kernels of GPU %d and %s do "
				"not "
				"see each other's writes: PCIe ACS or an IOMMU "
				"between them; switch both off",
				x->gpu_index, l->peer_gpu);
		} else {
			xport_fail(l->end.r, OUTCOME_ERROR, "p2p_deadlock",
				   "GPU %d saw %llu flags of %s", x->gpu_index,
				   (unsigned long long)x->log->rounds,
				   l->peer_gpu);
		}
		return -1;
	}
	if (c->sender) {
		put_latency(l->x->log, c->slow_factor, l->end.r);
	}
	return 0;
}

static const struct p2p_way by_copies = {
	.sending = "copying",
	.receiving = "being copied to",
	.transfers = "copies",
	.sample_s = CUDA_SAMPLE_S,
	.away = OUTCOME_ERROR,
	.failed = abandon,
	.reserve = ipc_share,
	.move = warm_up,
	.sample = sample,
	.latency = ping_pong,
};

/* run() of the transport: bandwidth of the copy engine, data, and, when the
 * latency is asked for, whether kernels of both GPUs that wait for each other
 * get along.  Both ends call it with the same cell but for sender and drill,
 * and take the same decisions. */
static bool ipc_measure(struct xport_link *l, const struct xport_cell *c,
			int64_t deadline_ns, struct xport_result *r)
{
	p2p_begin(&l->end, deadline_ns, r);
	STR_COPY(r->path, l->path);
	return p2p_measure(&l->end, c);
}

/* ---- cuda ---------------------------------------------------------------- */

static void cuda_shutdown(struct xport *x)
{
	free(x);	/* the context goes with the process */
}

static struct xport *cuda_open(const struct xport_self *self, const char **code,
			       struct err *e)
{
	const struct cuda *cu = dl_cuda(e);
	struct xport *x;

	*code = "cuda_missing";
	if (cu == NULL) {
		err_hint(e, "no GPU driver here; --transport=tcp "
			    "needs no GPU");
		return NULL;
	}
	if (cu->ipc_open == NULL) {
		err_set(e, ENOSYS, "the GPU driver is older than CUDA 11.0");
		return NULL;
	}
	x = calloc(1, sizeof(*x));
	if (x == NULL) {
		*code = LIMIT_MEMORY;
		err_set(e, ENOMEM, "no memory for a transport");
		return NULL;
	}
	x->self = *self;
	x->gpu_index = self->local_rank;
	sysfile_read(x->boot_id, sizeof(x->boot_id),
		     "/proc/sys/kernel/random/boot_id");
	worker_step(self->worker, "opening GPU %d", x->gpu_index);
	if (ipc_gpu_open(x, code, e) < 0) {
		cuda_shutdown(x);
		return NULL;
	}
	return x;
}

static void cuda_describe(struct xport *x, json_t *facts)
{
	const struct cuda *cu = x->gpu.cu;
	char scope[16], fact[32];
	CUdevice peer;
	int i;

	snprintf(scope, sizeof(scope), "gpu%d", x->gpu_index);
	for (i = 0; cu->device_get(&peer, i) == CUDA_SUCCESS; i++) {
		const char *way;

		if (peer == x->gpu.dev) {
			continue;
		}
		way = ipc_way(cu, x->gpu.dev, peer);
		snprintf(fact, sizeof(fact), "peer_access_gpu%d", i);
		facts_add(facts, scope, fact, way != NULL ? way : "none", "",
			  "cuDeviceCanAccessPeer");
	}
	facts_addf(facts, scope, "data_check", "", "cuda", "%s%s",
		   x->gpu.check != NULL ? "on the GPU" : "on the host: ",
		   x->gpu.no_kernel);
	facts_add(facts, scope, "kernel_check",
		  x->ping_pong != NULL ? "yes" : "no", "", "cuda");
}

/* In this process every later call would fail, or wait. */
static bool cuda_fit(const struct xport *x)
{
	return !x->spoilt;
}

static struct xport_link *cuda_join(struct xport *x, const char *ticket,
				    const char *nonce, bool lead, int peer,
				    int64_t deadline_ns,
				    struct xport_result *r)
{
	struct xport_link *l;
	int fd;

	fd = peer_connect(x->self.worker, ticket, nonce, lead, peer,
			  deadline_ns, r);
	if (fd < 0) {
		return NULL;
	}
	l = calloc(1, sizeof(*l));
	if (l == NULL) {
		close(fd);
		return xport_short(r, ENOMEM, "no memory for a pair");
	}
	l->end = (struct p2p_end){ .way = &by_copies, .gpu = &x->gpu,
				   .worker = x->self.worker, .peer = peer };
	l->x = x;
	l->fd = fd;
	p2p_begin(&l->end, deadline_ns, r);
	if (ipc_open(l) < 0) {
		ipc_close(l);
		return NULL;
	}
	return l;
}

const struct xport_ops xport_cuda = {
	.name = "cuda",
	.priority = 20,
	.default_size_bytes = UINT64_C(64) << 20,
	.default_timeout_ns = 3 * NS_PER_S,
	.dead_GB_s = 0.3,	/* copies by way of the host do more */
	.setup_timeout_ns = 5 * NS_PER_S,
	.open_timeout_ns = 60 * NS_PER_S,
	/* data/reference/p2p-cuda-4xH200: 1.37 s for 3 rounds of 0.063 s, of
	 * which 0.05 measure */
	.cost = { .open_s = 1.2, .pair_s = 0.013, .sample_s = CUDA_SAMPLE_S,
		  .rate_GB_s = 390 },
	.open = cuda_open,
	.describe = cuda_describe,
	.join = cuda_join,
	.run = ipc_measure,
	.close = ipc_close,
	.fit = cuda_fit,
	.shutdown = cuda_shutdown,
};
