/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nccl: the path that jobs use.  Every pair has a communicator of its own, of
 * two ranks that never block a call, so that a pair that hangs can be given up
 * at its deadline and the GPU serves the next one.
 */
#include "probes/transport/xport.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/dl.h"
#include "lib/base/hash.h"
#include "lib/base/limit.h"
#include "probes/collective/ops.h"
#include "probes/dl/nccl_torch.h"
#include "probes/host/facts.h"
#include "probes/host/nccl_conf.h"
#include "probes/nccl/env.h"
#include "probes/nccl/shm.h"
#include "probes/p2p/nccl_link.h"
#include "probes/p2p/measure.h"

/* Python has had the time that it took to open the GPU, and now this. */
#define TORCH_NS (2 * NS_PER_S)

static int find_libraries(const char **code, struct err *why)
{
	if (dl_cuda(why) == NULL) {
		*code = "cuda_missing";
		return err_hint(why, "no GPU driver here; --transport=tcp "
				     "needs no GPU");
	}
	if (dl_nccl(why) == NULL) {
		*code = "nccl_missing";
		return err_hint(why, "install NCCL or set GPUCHECK_NCCL_LIB");
	}
	return 0;
}

/* Before NCCL's first call, and as this version of it will read files. */
static void set_up_environment(struct xport *x)
{
	const struct spec *spec = x->self.spec;
	char path[64];
	int version = 0;
	struct nccl_wishes wishes = {
		.pretend_node = x->self.pretend ? x->self.node : NULL,
		.ifname = x->self.ifname,
		.production_settings = spec->production_settings,
		.pxn = spec->pxn,
		.force_net = spec->force_net,
		.says_choices = spec->algo[0] != '\0' || spec->proto[0] != '\0',
	};

	x->nccl->ncclGetVersion(&version);	/* reads no settings */
	wishes.conf = nccl_conf_read("", version);
	x->env = json_object();
	if (getenv("NCCL_DEBUG_FILE") == NULL) {
		x->log.fd = x->self.worker->log_fd;
	}
	if (x->log.fd >= 0) {
		wishes.debug_file = nccl_log_path(&x->log, path, sizeof(path));
	}
	x->ifname_set = nccl_env_apply(&wishes, x->env);
	json_decref(wishes.conf);
}

/*
 * Which NCCL do jobs have?  One rank of a node looks, while the GPU is opened,
 * unless the user has chosen one.
 */
static void look_for_torch(struct xport *x)
{
	int rank = x->self.pretend ? x->self.rank : x->self.local_rank;

	if (rank != 0 || getenv("GPUCHECK_NCCL_LIB") != NULL) {
		return;
	}
	x->torch = calloc(1, sizeof(*x->torch));
	if (x->torch != NULL && nccl_torch_begin(x->torch, NULL) < 0) {
		free(x->torch);
		x->torch = NULL;
	}
}

/*
 * Which GPU is this rank's?  Pretend nodes share those of the machine, in the
 * order of the ranks, so that they are all used before one is used twice.
 */
static int own_gpu(const struct xport *x, const char **code, struct err *e)
{
	int count;

	if (!x->self.pretend) {
		return x->self.local_rank;
	}
	count = gpu_count(code, e);
	if (count == 0) {
		*code = "gpu_missing";
		return err_set(e, ENODEV, "CUDA shows no GPU");
	}
	return count < 0 ? -1 : x->self.rank % count;
}

static void nccl_shutdown(struct xport *x)
{
	struct nccl_torch unread;

	if (x != NULL) {
		/* the context goes with the process: freeing it can hang */
		nccl_shm_unlink();
		nccl_log_close(&x->log);
		json_decref(x->env);
		if (x->torch != NULL) {
			nccl_torch_end(x->torch, 0, &unread, NULL);
		}
		free(x->torch);
		free(x);
	}
}

static struct xport *nccl_open(const struct xport_self *self, const char **code,
			       struct err *e)
{
	struct xport *x;
	int gpu;

	if (find_libraries(code, e) < 0) {
		return NULL;
	}
	x = calloc(1, sizeof(*x));
	if (x == NULL) {
		*code = LIMIT_MEMORY;
		err_set(e, ENOMEM, "no memory for a transport");
		return NULL;
	}
	x->self = *self;
	x->log.fd = -1;
	x->nccl = dl_nccl(e);
	set_up_environment(x);
	look_for_torch(x);
	worker_step(self->worker, "initialising CUDA");
	gpu = own_gpu(x, code, e);
	if (gpu < 0) {
		goto shut_down;
	}
	worker_step(self->worker, "opening GPU %d", gpu);
	if (gpu_open(&x->gpu, gpu, code, e) < 0) {
		goto shut_down;
	}
	return x;
shut_down:
	nccl_shutdown(x);
	return NULL;
}

static void nccl_describe(struct xport *x, json_t *facts)
{
	char version[DL_NCCL_VERSION], gpu[24], path[PATH_MAX];
	const char *key;
	json_t *value;
	int code = 0;

	x->nccl->ncclGetVersion(&code);
	snprintf(gpu, sizeof(gpu), "gpu%d", x->self.local_rank);
	facts_add(facts, gpu, "nccl_version",
		  dl_nccl_version_text(code, version), "", "ncclGetVersion");
	facts_add(facts, gpu, "nccl_lib",
		  dl_path((void *)x->nccl->ncclGetVersion, path), "", "dladdr");
	facts_addf(facts, gpu, "data_check", "", "worker", "%s%s",
		   x->gpu.check != NULL ? "on the GPU" : "on the host: ",
		   x->gpu.no_kernel);
	if (x->torch != NULL) {
		torch_facts(x->torch, clock_now_ns() + TORCH_NS, facts);
		free(x->torch);
		x->torch = NULL;
	}
	if (x->ifname_set) {
		facts_add(facts, gpu, "nccl_socket_ifname",
			  getenv("NCCL_SOCKET_IFNAME"), "", "worker");
	}
	json_object_foreach(x->env, key, value) {
		facts_add(facts, "run", key,
			  json_is_string(value) ? json_string_value(value) :
						  "unset",
			  "", "worker");
	}
}

static int nccl_ticket(struct xport *x, char ticket[XPORT_TICKET_MAX],
		       struct err *e)
{
	off_t log_from = nccl_log_end(&x->log);
	ncclUniqueId id;
	ncclResult_t rc;

	worker_step(x->self.worker, "ncclGetUniqueId");
	rc = x->nccl->ncclGetUniqueId(&id);
	if (rc != ncclSuccess) {
		char says[NCCL_LOG_SAYS];

		nccl_log_explain(&x->log, log_from, "", says);
		return err_set(e, EIO, "ncclGetUniqueId: %s%s",
			       dl_nccl_code(rc), says);
	}
	hash_hex(&id, sizeof(id), ticket);
	return 0;
}

static struct xport_link *nccl_begin(struct xport *x, const char *ticket,
				     struct xport_seat seat, int peer,
				     int64_t deadline_ns,
				     struct xport_result *r)
{
	struct xport_link *l;
	ncclUniqueId id;

	if (x->stuck) {
		return xport_fail(r, OUTCOME_ERROR, "gpu_stuck",
				  "an earlier pair left the GPU busy");
	}
	if (hash_unhex(ticket, &id, sizeof(id)) < 0) {
		return xport_fail(r, OUTCOME_ERROR, "bad_ticket",
				  "rank %d sent no NCCL id", peer);
	}
	if (seat.me > 1 && x->nccl->ncclCommInitRankConfig == NULL) {
		return xport_fail(r, OUTCOME_SKIPPED, "relay_old_nccl",
				  "NCCL before 2.14 cannot relay here: its "
				  "ncclCommInitRank blocks");
	}
	l = calloc(1, sizeof(*l));
	if (l == NULL) {
		return xport_short(r, ENOMEM, "no memory for a pair");
	}
	l->x = x;
	l->seat = seat;
	l->me = seat.me == 0 ? 0 : 1;
	l->peer = peer;
	l->id = id;
	l->log_from = nccl_log_end(&x->log);
	link_begin(l, deadline_ns, r);
	if (link_make(l) < 0) {
		free(l);
		return NULL;
	}
	x->links++;
	return l;
}

static bool nccl_fit(const struct xport *x)
{
	return !x->stuck;
}

const struct xport_ops xport_nccl = {
	.name = "nccl",
	.priority = 30,
	.collective = &collective_nccl,
	.default_size_bytes = UINT64_C(64) << 20,
	.default_timeout_ns = 3 * NS_PER_S,
	.dead_GB_s = 0.3,	/* an NCCL that uses sockets does more */
	.setup_timeout_ns = 6 * NS_PER_S,
	.open_timeout_ns = 60 * NS_PER_S,
	/* data/reference/p2p-nccl-4xH200: ready 1.8 s after the start, then 3
	 * rounds of joins (0.59 s) and first contacts (1.33 s, of which 0.05 a
	 * round measure); the rate is that of one 400 Gbit/s NIC, inside a
	 * node less than data/reference/allreduce-2xH200 has */
	.cost = { .open_s = 1.8, .pair_s = 0.59, .sample_s = NCCL_SAMPLE_S,
		  .rate_GB_s = 45, .inside_GB_s = 300 },
	.open = nccl_open,
	.describe = nccl_describe,
	.ticket = nccl_ticket,
	.begin = nccl_begin,
	.begun = link_made,
	.meet = link_contact,
	.run = nccl_measure,
	.close = link_close,
	.fit = nccl_fit,
	.shutdown = nccl_shutdown,
};
