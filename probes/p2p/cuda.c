/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cuda: the copy engines of the GPUs of one node, and the way between them,
 * without NCCL.  Each end maps the other's memory by CUDA IPC.
 */
#include "probes/transport/xport.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/limit.h"
#include "probes/host/facts.h"
#include "probes/p2p/cuda_link.h"
#include "probes/p2p/measure.h"
#include "probes/transport/peer_conn.h"
#include "probes/host/sysfile.h"

static int find_driver(const char **code, struct err *why)
{
	const struct cuda *cu = dl_cuda(why);

	*code = "cuda_missing";
	if (cu == NULL) {
		return err_hint(why, "no GPU driver here; --transport=tcp "
				     "needs no GPU");
	}
	return cu->ipc_open != NULL ?
		       0 : err_set(why, ENOSYS,
				   "the GPU driver is older than CUDA 11.0");
}

static void cuda_shutdown(struct xport *x)
{
	free(x);	/* the context goes with the process */
}

static struct xport *cuda_open(const struct xport_self *self, const char **code,
			       struct err *e)
{
	struct xport *x;

	if (find_driver(code, e) < 0) {
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
