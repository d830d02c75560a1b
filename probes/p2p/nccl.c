/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nccl: the path that jobs use.  Every pair has a communicator of its own, of
 * two ranks that never block a call, so that a pair that hangs can be given up
 * at its deadline and the GPU serves the next one.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/dl.h"
#include "lib/base/hash.h"
#include "lib/base/limit.h"
#include "lib/base/stats.h"
#include "lib/base/str.h"
#include "probes/dl/nccl.h"
#include "probes/host/inventory.h"
#include "probes/host/nccl_conf.h"
#include "probes/host/sysfile.h"
#include "probes/nccl/env.h"
#include "probes/p2p/measure.h"
#include "probes/p2p/nccl_link.h"
#include "probes/transport/xport.h"

/* ---- nccl measure -------------------------------------------------------- */

/*
 * A sample is a batch of transfers between two time stamps on the stream,
 * right after both GPUs have met there: a pair that starts apart measures how
 * long one waited for the other.  The stream is held until all of it is queued:
 * a communicator that does not block queues slowly, 30 us an operation, and a
 * GPU that starves meanwhile would measure that.  After each sample the ends
 * tell each other what their clocks say and both take the longer time, so that
 * both know the same numbers and stop at the same sample (samples.h).
 */

_Static_assert(SAMPLE_BATCH <= GPU_HOLD_MAX, "a sample is held as a whole");

#define TRIPS		(GPU_HOLD_MAX / 2)	/* held at a time, at most */
#define TRIPS_MAX	(4 * TRIPS)
#define TRIPS_MIN	8
#define TRIPS_FIRST	4	/* show how long one takes */
/** Two processes on one GPU wait 2 ms for each turn: fewer trips must do. */
#define TRIPS_S		20e-3

enum stamp { STAMP_START, STAMP_STOP };

/* ---- samples ---------------------------------------------------------- */

static int move(struct xport_link *l, const struct xport_cell *c)
{
	const CUdeviceptr *buf = l->x->gpu.buf;

	if (c->bidi) {
		return link_swap(l, buf[GPU_SEND], buf[GPU_RECV],
				 c->size_bytes);
	}
	return link_move(l, buf[c->sender ? GPU_SEND : GPU_RECV], c->size_bytes,
			 c->sender);
}

/*
 * Queue @count transfers.  With a drill's @slow_factor the sender posts
 * transfer k no sooner than so slow a link would have ended it, less the time
 * @one_s that it really takes.
 */
static int transfer(struct xport_link *l, const struct xport_cell *c,
		    int count, double one_s)
{
	int64_t start = clock_now_ns();
	int k;

	for (k = 1; k <= count; k++) {
		if (c->sender && c->slow_factor < 1 && one_s > 0) {
			clock_sleep(start - clock_now_ns() +
				    (int64_t)(1e9 * one_s *
					      (k / c->slow_factor - 1)));
		}
		if (move(l, c) < 0) {
			return -1;
		}
	}
	return 0;
}

static int sample(struct xport_link *l, const struct xport_cell *c, int count,
		  double one_s, double *s)
{
	struct gpu *g = &l->x->gpu;
	/* a slowed sender queues late on purpose */
	bool hold = count <= GPU_HOLD_MAX && !(c->sender && c->slow_factor < 1);

	/* queue all of it, then let it go */
	if ((hold && p2p_cuda(&l->end, gpu_hold(g)) < 0) || link_meet(l) < 0 ||
	    p2p_stamp(&l->end, STAMP_START) < 0 ||
	    transfer(l, c, count, one_s) < 0 ||
	    p2p_stamp(&l->end, STAMP_STOP) < 0) {
		return -1;
	}
	gpu_release(g);
	if (link_wait(l, STAMP_STOP) < 0) {
		return -1;
	}
	return p2p_cuda(&l->end, gpu_seconds(g, STAMP_START, STAMP_STOP, s));
}

/* The seconds of the slower end. */
static int agree(struct xport_link *l, double *s)
{
	uint64_t mine = (uint64_t)(*s * 1e9) + 1;	/* never 0 */
	uint64_t theirs;

	if (link_exchange(l, mine, &theirs) < 0) {
		return -1;
	}
	*s = (double)(mine > theirs ? mine : theirs) / 1e9;
	return 0;
}

static int warm_up(struct xport_link *l, const struct xport_cell *c, int count)
{
	return transfer(l, c, count, 0);
}

static int reserve(struct xport_link *l, uint64_t bytes)
{
	p2p_doing(&l->end, "allocating buffers for");
	return p2p_cuda(&l->end, gpu_reserve(&l->x->gpu, bytes));
}

/* ---- latency ---------------------------------------------------------- */

/* Queue @count trips at once, stamped before each and after the last. */
static int queue_trips(struct xport_link *l, bool sender, int count)
{
	CUdeviceptr there = gpu_word_at(&l->x->gpu, GPU_WORD_MINE);
	CUdeviceptr back = gpu_word_at(&l->x->gpu, GPU_WORD_THEIRS);
	int i;

	if (p2p_cuda(&l->end, gpu_hold(&l->x->gpu)) < 0 || link_meet(l) < 0) {
		return -1;
	}
	for (i = 0; i < count; i++) {
		if (p2p_stamp(&l->end, i) < 0 ||
		    link_move(l, sender ? there : back, sizeof(uint64_t),
			      sender) < 0 ||
		    link_move(l, sender ? back : there, sizeof(uint64_t),
			      !sender) < 0) {
			return -1;
		}
	}
	if (p2p_stamp(&l->end, count) < 0) {
		return -1;
	}
	gpu_release(&l->x->gpu);
	return link_wait(l, count);
}

/* Take @count trips; @us gets half of what each of them took. */
static int trips(struct xport_link *l, bool sender, int count, double *us)
{
	int done, n, i;

	for (done = 0; done < count; done += n) {
		n = count - done < TRIPS ? count - done : TRIPS;
		if (queue_trips(l, sender, n) < 0) {
			return -1;
		}
		for (i = 0; i < n; i++) {
			double s;

			if (p2p_cuda(&l->end, gpu_seconds(&l->x->gpu, i, i + 1,
						     &s)) < 0) {
				return -1;
			}
			us[done + i] = s * 1e6 / 2;
		}
	}
	return 0;
}

static int latency(struct xport_link *l, const struct xport_cell *c)
{
	double us[TRIPS_MAX], fit;
	uint64_t mine, theirs;
	int n;

	p2p_doing(&l->end, "latency");
	/* how many trips to take, the same at both ends */
	if (trips(l, c->sender, TRIPS_FIRST, us) < 0) {
		return -1;
	}
	mine = (uint64_t)(2e3 * stats_median(us, TRIPS_FIRST)) + 1;
	if (link_exchange(l, mine, &theirs) < 0) {
		return -1;
	}
	fit = TRIPS_S * 1e9 / (double)(mine > theirs ? mine : theirs);
	n = fit > TRIPS_MAX ? TRIPS_MAX :
	    fit < TRIPS_MIN ? TRIPS_MIN :
			      (int)fit;
	if (trips(l, c->sender, n, us) < 0) {
		return -1;
	}
	if (c->sender) {
		l->end.r->lat_us = stats_median(us, (size_t)n) / c->slow_factor;
		l->end.r->lat_p99_us = stats_percentile(us, (size_t)n, 99) /
				   c->slow_factor;
	}
	return 0;
}

static const struct p2p_way by_nccl = {
	.sending = "sending",
	.receiving = "receiving",
	.transfers = "transfers",
	.sample_s = NCCL_SAMPLE_S,
	.away = OUTCOME_TIMEOUT,
	.failed = link_failed,
	.reserve = reserve,
	.move = warm_up,
	.sample = sample,
	.agree = agree,
	.latency = latency,
};

/* run() of the transport: bandwidth, data, and the latency of 8 B when asked
 * for.  Both ends call it with the same cell but for sender and drill, and take
 * the same decisions. */
static bool nccl_measure(struct xport_link *l, const struct xport_cell *c,
			 int64_t deadline_ns, struct xport_result *r)
{
	const struct link_way *way = c->sender ? &l->out : &l->in;
	const char *on = getenv(NCCL_FAILOVER);
	char *text = NULL;
	size_t len = 0;

	STR_COPY(r->path, way->path);
	STR_COPY(r->nic, way->nic);
	link_begin(l, deadline_ns, r);
	p2p_measure(&l->end, c);
	if (r->outcome == OUTCOME_OK && on != NULL && strcmp(on, "0") != 0) {
		text = nccl_log_since(l->x->log_fd, l->met_from, &len);
	}
	if (text != NULL &&
	    nccl_log_find_failover(text, len, r->detail, sizeof(r->detail))) {
		STR_COPY(r->code, RECORD_FAILOVER);
	}
	free(text);
	return !l->end.dead;
}

/* ---- nccl ---------------------------------------------------------------- */

/* Python has had the time that it took to open the GPU, and now this. */
#define TORCH_NS (2 * NS_PER_S)

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
		.failover = spec->contrast == CONTRAST_FAILOVER,
		.pxn = spec->pxn,
		.ports = x->self.part,
		.force_net = spec->force_net,
		.says_choices = spec->algo[0] != '\0' || spec->proto[0] != '\0',
	};

	x->nccl->ncclGetVersion(&version);	/* reads no settings */
	wishes.conf = nccl_conf_read("", version);
	x->env = json_object();
	if (getenv("NCCL_DEBUG_FILE") == NULL) {
		x->log_fd = x->self.worker->log_fd;
	}
	if (x->log_fd >= 0) {
		wishes.debug_file = nccl_log_path(x->log_fd, path,
						  sizeof(path));
	}
	x->ifname_set = nccl_env_apply(&wishes, x->env);
	json_decref(wishes.conf);
}

/* Check the planned ports, if NCCL is to have these: without them it would use
 * TCP, and say nothing. */
static int check_ports(struct xport *x, const char **code, struct err *e)
{
	const char *hca = getenv("NCCL_IB_HCA");
	char list[sizeof(x->self.part)], name[64], state[32];
	int port;

	STR_COPY(list, x->self.part);
	/* not if the user has set others */
	x->has_plan = list[0] != '\0' && hca != NULL && hca[0] == '=' &&
		      strcmp(hca + 1, list) == 0;
	if (!x->has_plan) {
		return 0;
	}
	for (char *at = list, *one; (one = strsep(&at, ",")) != NULL;) {
		if (sscanf(one, "%63[^:]:%d", name, &port) != 2) {
			continue;
		}
		if (sysfile_read(state, sizeof(state), "/sys/class/infiniband/"
				 "%s/ports/%d/state", name, port) <= 0) {
			*code = "hca_missing";
			return err_set(e, ENODEV, "the planned HCA port %s is "
						  "missing", one);
		}
		if (strstr(state, "ACTIVE") == NULL) {
			*code = "port_down";
			return err_set(e, ENETDOWN, "the planned HCA port %s "
				       "is not active: '%s'", one, state);
		}
	}
	return 0;
}

/*
 * Returns the GPU of this rank.  Pretend nodes share the GPUs of the machine in
 * the order of the ranks, so that all are used before one is used twice.
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
	if (x != NULL) {
		/* the context goes with the process: freeing it can hang */
		nccl_shm_unlink();
		if (x->log_fd >= 0) {
			close(x->log_fd);
		}
		json_decref(x->env);
		if (x->torch != NULL) {
			nccl_torch_end(x->torch, 0, NULL);
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

	if (dl_cuda(e) == NULL) {
		*code = "cuda_missing";
		err_hint(e, "no GPU driver here; --transport=tcp "
			    "needs no GPU");
		return NULL;
	}
	if (dl_nccl(e) == NULL) {
		*code = "nccl_missing";
		return NULL;
	}
	x = calloc(1, sizeof(*x));
	if (x == NULL) {
		*code = LIMIT_MEMORY;
		err_set(e, ENOMEM, "no memory for a transport");
		return NULL;
	}
	x->self = *self;
	x->log_fd = -1;
	x->nccl = dl_nccl(e);
	set_up_environment(x);
	if (check_ports(x, code, e) < 0) {
		goto shut_down;
	}
	/* the NCCL that jobs use: one rank of a node looks for it while the
	 * GPU is opened, unless the user has chosen a library */
	if ((x->self.pretend ? x->self.rank : x->self.local_rank) == 0 &&
	    getenv("GPUCHECK_NCCL_LIB") == NULL) {
		x->torch = calloc(1, sizeof(*x->torch));
		if (x->torch != NULL && nccl_torch_begin(x->torch, NULL) < 0) {
			free(x->torch);
			x->torch = NULL;
		}
	}
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
	struct str also = STR_INIT;
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
		nccl_also(x->nccl, &also);
		facts_add(facts, "node", "nccl_in", x->nccl->in, "", "dlopen");
		if (also.len > 0) {
			facts_add(facts, "node", "nccl_also", str_text(&also),
				  "", "glob");
		}
		torch_facts(x->torch, clock_now_ns() + TORCH_NS, facts);
		free(x->torch);
		x->torch = NULL;
		str_release(&also);
	}
	if (x->has_plan) {
		facts_add(facts, gpu, "nccl_ib_hca", getenv("NCCL_IB_HCA"), "",
			  "worker");
	}
	if (x->ifname_set) {
		facts_add(facts, gpu, "nccl_socket_ifname",
			  getenv("NCCL_SOCKET_IFNAME"), "", "worker");
	}
	json_object_foreach(x->env, key, value) {
		if (strcmp(key, NCCL_FAILOVER) == 0) {
			facts_add(facts, gpu, "port_failover", "off", "",
				  "worker");
		}
		facts_add(facts, "run", key,
			  json_is_string(value) ? json_string_value(value) :
						  "unset",
			  "", "worker");
	}
}

static int nccl_ticket(struct xport *x, char ticket[XPORT_TICKET_MAX],
		       struct err *e)
{
	off_t log_from = nccl_log_end(x->log_fd);
	ncclUniqueId id;
	ncclResult_t rc;

	worker_step(x->self.worker, "ncclGetUniqueId");
	rc = x->nccl->ncclGetUniqueId(&id);
	if (rc != ncclSuccess) {
		char says[NCCL_LOG_SAYS];

		nccl_log_explain(x->log_fd, log_from, "", says);
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
	l->end = (struct p2p_end){ .way = &by_nccl, .gpu = &x->gpu,
				   .worker = x->self.worker, .peer = peer };
	l->x = x;
	l->seat = seat;
	l->me = seat.me == 0 ? 0 : 1;
	l->id = id;
	l->log_from = nccl_log_end(x->log_fd);
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
