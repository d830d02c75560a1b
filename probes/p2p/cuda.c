/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cuda: the copy engines of the GPUs of one node, and the way between them,
 * without NCCL.  Each end maps the other's memory by CUDA IPC.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/limit.h"
#include "lib/base/stats.h"
#include "lib/base/str.h"
#include "probes/host/inventory.h"
#include "probes/host/sysfile.h"
#include "probes/p2p/cuda_link.h"
#include "probes/p2p/measure.h"
#include "probes/transport/xport.h"

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
	return ipc_cuda(l, rc);
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
		if (ipc_cuda(l, gpu_hold(g)) < 0 ||
		    ipc_stamp(l, STAMP_START) < 0 || copies(l, c, count) < 0 ||
		    ipc_stamp(l, STAMP_STOP) < 0) {
			return -1;
		}
		gpu_release(g);
		if (ipc_wait(l, STAMP_STOP) < 0 ||
		    ipc_cuda(l, gpu_seconds(g, STAMP_START, STAMP_STOP, s)) <
			    0) {
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
	int64_t left = (l->deadline_ns - clock_now_ns()) / 2;
	CUresult rc;

	left = left < 0 ? 0 : left;
	limit_ns = left < PING_LIMIT_NS ? (uint64_t)left : PING_LIMIT_NS;
	rc = gpu_launch(g, x->ping_pong, 1, 1, params);
	if (rc == CUDA_SUCCESS) {
		rc = g->cu->copy_to_host(x->log, log, sizeof(*x->log),
					 g->stream);
	}
	return ipc_cuda(l, rc);
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
	ipc_doing(l, "running kernels that wait for each other");
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
				l->r, OUTCOME_ERROR, "p2p_deadlock",
				"copies work, but kernels of GPU %d and %s do "
				"not "
				"see each other's writes: PCIe ACS or an IOMMU "
				"between them; switch both off",
				x->gpu_index, l->peer_gpu);
		} else {
			xport_fail(l->r, OUTCOME_ERROR, "p2p_deadlock",
				   "GPU %d saw %llu flags of %s", x->gpu_index,
				   (unsigned long long)x->log->rounds,
				   l->peer_gpu);
		}
		return -1;
	}
	if (c->sender) {
		put_latency(l->x->log, c->slow_factor, l->r);
	}
	return 0;
}

/* run() of the transport: bandwidth of the copy engine, data, and, when the
 * latency is asked for, whether kernels of both GPUs that wait for each other
 * get along.  Both ends call it with the same cell but for sender and drill,
 * and take the same decisions. */
static bool ipc_measure(struct xport_link *l, const struct xport_cell *c,
			int64_t deadline_ns, struct xport_result *r)
{
	static const struct p2p_way by_copies = {
		.sending = "copying",
		.receiving = "being copied to",
		.transfers = "copies",
		.sample_s = CUDA_SAMPLE_S,
		.away = OUTCOME_ERROR,
		.doing = ipc_doing,
		.cuda = ipc_cuda,
		.reserve = ipc_share,
		.move = warm_up,
		.sample = sample,
		.latency = ping_pong,
	};

	ipc_begin(l, deadline_ns, r);
	STR_COPY(r->path, l->path);
	if (!p2p_measure(&by_copies, l, &l->x->gpu, l->x->self.worker, c,
			 deadline_ns, r)) {
		l->dead = true;
	}
	return !l->dead;
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
	l->x = x;
	l->fd = fd;
	l->peer = peer;
	ipc_begin(l, deadline_ns, r);
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
