/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sample is a batch of transfers between two time stamps on the stream,
 * right after both GPUs have met there: a pair that starts apart measures how
 * long one waited for the other.  The stream is held until all of it is queued:
 * a communicator that does not block queues slowly, 30 us an operation, and a
 * GPU that starves meanwhile would measure that.  After each sample the ends
 * tell each other what their clocks say and both take the longer time, so that
 * both know the same numbers and stop at the same sample (samples.h).
 */
#include "probes/p2p/nccl_link.h"

#include "lib/base/clock.h"
#include "lib/base/stats.h"
#include "lib/base/str.h"
#include "probes/p2p/measure.h"
#include "probes/transport/samples.h"

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
	return c->sender ? link_send(l, buf[GPU_SEND], c->size_bytes) :
			   link_recv(l, buf[GPU_RECV], c->size_bytes);
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

/* Queue a sample, and let it go when all of it is there. */
static int queue_sample(struct xport_link *l, const struct xport_cell *c,
			int count, double one_s)
{
	/* what a slowed sender queues comes late on purpose */
	bool hold = count <= GPU_HOLD_MAX && !(c->sender && c->slow_factor < 1);

	if ((hold && link_cuda(l, gpu_hold(&l->x->gpu)) < 0) ||
	    link_meet(l) < 0 || link_stamp(l, STAMP_START) < 0 ||
	    transfer(l, c, count, one_s) < 0 ||
	    link_stamp(l, STAMP_STOP) < 0) {
		return -1;
	}
	gpu_release(&l->x->gpu);
	return 0;
}

static int sample(struct xport_link *l, const struct xport_cell *c, int count,
		  double one_s, double *s)
{
	if (queue_sample(l, c, count, one_s) < 0 ||
	    link_wait(l, STAMP_STOP) < 0) {
		return -1;
	}
	return link_cuda(l, gpu_seconds(&l->x->gpu, STAMP_START, STAMP_STOP,
					s));
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
	link_doing(l, "allocating buffers for");
	return link_cuda(l, gpu_reserve(&l->x->gpu, bytes));
}

/* ---- latency ---------------------------------------------------------- */

/* Queue @count trips at once, stamped before each and after the last. */
static int queue_trips(struct xport_link *l, bool sender, int count)
{
	CUdeviceptr there = gpu_word_at(&l->x->gpu, GPU_WORD_MINE);
	CUdeviceptr back = gpu_word_at(&l->x->gpu, GPU_WORD_THEIRS);
	int i;

	if (link_cuda(l, gpu_hold(&l->x->gpu)) < 0 || link_meet(l) < 0) {
		return -1;
	}
	for (i = 0; i < count; i++) {
		if (link_stamp(l, i) < 0) {
			return -1;
		}
		if (sender ? link_send(l, there, sizeof(uint64_t)) < 0 ||
				     link_recv(l, back, sizeof(uint64_t)) < 0 :
			     link_recv(l, back, sizeof(uint64_t)) < 0 ||
				     link_send(l, there, sizeof(uint64_t)) <
					     0) {
			return -1;
		}
	}
	if (link_stamp(l, count) < 0) {
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

			if (link_cuda(l, gpu_seconds(&l->x->gpu, i, i + 1,
						     &s)) < 0) {
				return -1;
			}
			us[done + i] = s * 1e6 / 2;
		}
	}
	return 0;
}

/* How many trips to take, the same at both ends; -1 on failure. */
static int trips_wanted(struct xport_link *l, bool sender)
{
	double us[TRIPS_FIRST];
	uint64_t mine, theirs;
	double fit;

	if (trips(l, sender, TRIPS_FIRST, us) < 0) {
		return -1;
	}
	mine = (uint64_t)(2e3 * stats_median(us, TRIPS_FIRST)) + 1;
	if (link_exchange(l, mine, &theirs) < 0) {
		return -1;
	}
	fit = TRIPS_S * 1e9 / (double)(mine > theirs ? mine : theirs);
	return fit > TRIPS_MAX ? TRIPS_MAX :
	       fit < TRIPS_MIN ? TRIPS_MIN :
				 (int)fit;
}

static int latency(struct xport_link *l, const struct xport_cell *c)
{
	double us[TRIPS_MAX];
	int n;

	link_doing(l, "latency");
	n = trips_wanted(l, c->sender);
	if (n < 0 || trips(l, c->sender, n, us) < 0) {
		return -1;
	}
	if (c->sender) {
		l->r->lat_us = stats_median(us, (size_t)n) / c->slow_factor;
		l->r->lat_p99_us = stats_percentile(us, (size_t)n, 99) /
				   c->slow_factor;
	}
	return 0;
}

bool nccl_measure(struct xport_link *l, const struct xport_cell *c,
		  int64_t deadline_ns, struct xport_result *r)
{
	static const struct p2p_way by_nccl = {
		.sending = "sending",
		.receiving = "receiving",
		.transfers = "transfers",
		.sample_s = NCCL_SAMPLE_S,
		.away = OUTCOME_TIMEOUT,
		.doing = link_doing,
		.cuda = link_cuda,
		.reserve = reserve,
		.move = warm_up,
		.sample = sample,
		.agree = agree,
		.latency = latency,
	};
	const struct link_way *way = c->sender ? &l->out : &l->in;

	STR_COPY(r->path, way->path);
	STR_COPY(r->nic, way->nic);
	link_begin(l, deadline_ns, r);
	if (!p2p_measure(&by_nccl, l, &l->x->gpu, l->x->self.worker, c,
			 deadline_ns, r)) {
		l->dead = true;
	}
	return !l->dead;
}
