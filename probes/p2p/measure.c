/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples are taken until they agree (samples.h); the end that receives poisons
 * its buffer before each and looks at it afterwards.
 */
#include "probes/p2p/measure.h"

#include <stdarg.h>
#include <stdio.h>

#include "lib/base/clock.h"

#define SPOIL_BYTES 64
#define POLL_SPINS  2000	/* then sleep between looks */

/* ---- one end of a pair of GPUs ------------------------------------------- */

static struct xport_link *link_of(struct p2p_end *end)
{
	return (struct xport_link *)end;
}

void p2p_begin(struct p2p_end *end, int64_t deadline_ns,
	       struct xport_result *r)
{
	end->began_ns = clock_now_ns();
	end->deadline_ns = deadline_ns;
	end->r = r;
}

void p2p_doing(struct p2p_end *end, const char *doing)
{
	end->doing = doing;
	worker_step(end->worker, "%s with rank %d", doing, end->peer);
}

int p2p_fail(struct p2p_end *end, enum outcome outcome, const char *code,
	     const char *fmt, ...)
{
	char text[sizeof(end->r->detail)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	xport_fail(end->r, outcome, code, "%s", text);
	end->way->failed(link_of(end));
	return -1;
}

int p2p_cuda(struct p2p_end *end, CUresult rc)
{
	char code[DL_CUDA_CODE];
	struct err e;

	if (rc == CUDA_SUCCESS) {
		return 0;
	}
	if (rc == CUDA_ERROR_NOT_READY) {
		return p2p_fail(end, OUTCOME_TIMEOUT, "cuda_timeout",
				"%s: the GPU did not respond in time",
				end->doing);
	}
	gpu_trouble(end->gpu, rc, code, &e);
	return p2p_fail(end, OUTCOME_ERROR, code, "%s: %s", end->doing, e.text);
}

int p2p_stamp(struct p2p_end *end, int i)
{
	struct gpu *g = end->gpu;

	return p2p_cuda(end, g->cu->event_record(g->stamps[i], g->stream));
}

int p2p_pause(struct p2p_end *end, unsigned looks)
{
	if (looks < POLL_SPINS) {
		return 0;
	}
	clock_sleep(P2P_POLL_NS);
	if (!worker_cancelled(end->worker)) {
		return 0;
	}
	end->r->echo = true;
	return p2p_fail(end, OUTCOME_ERROR, "cancelled",
			"%s: cancelled, rank %d failed", end->doing, end->peer);
}

/* ---- measure ------------------------------------------------------------- */

static int fill(struct p2p_end *end, enum gpu_buffer b, uint64_t bytes)
{
	return p2p_cuda(end, gpu_fill(end->gpu, b, bytes, end->c->pattern_seed,
				      b == GPU_RECV, end->deadline_ns));
}

/* Look at what the last transfer of a sample has left. */
static int check(struct p2p_end *end)
{
	uint64_t size = end->c->size_bytes;

	if (end->c->drill == XPORT_DRILL_CORRUPT &&
	    fill(end, GPU_RECV, size < SPOIL_BYTES ? size : SPOIL_BYTES) < 0) {
		return -1;
	}
	return p2p_cuda(end, gpu_check(end->gpu, size, end->c->pattern_seed,
				       end->deadline_ns));
}

/* One sample of @count transfers. */
static int sample(struct p2p_end *end, int count, double one_s, double *s)
{
	/* on the host it takes seconds: the first sample has to do */
	bool checks = end->c->check && !end->c->sender &&
		      (end->gpu->check != NULL || one_s <= 0);

	if ((checks && fill(end, GPU_RECV, end->c->size_bytes) < 0) ||
	    end->way->sample(link_of(end), end->c, count, one_s, s) < 0 ||
	    (checks && check(end) < 0)) {
		return -1;
	}
	return end->way->agree != NULL ? end->way->agree(link_of(end), s) : 0;
}

static int measure(struct p2p_end *end)
{
	const struct xport_cell *c = end->c;
	struct samples samples = { .sample_s = end->way->sample_s };
	bool checks = c->check && !c->sender;
	uint64_t wrong = 0;
	double s;

	if (end->way->reserve(link_of(end), c->size_bytes) < 0 ||
	    (c->sender && fill(end, GPU_SEND, c->size_bytes) < 0) ||
	    (checks && p2p_cuda(end, gpu_check_begin(end->gpu)) < 0)) {
		return -1;
	}
	p2p_doing(end, "warm-up");
	if (end->way->move(link_of(end), c, c->warmup) < 0 ||
	    sample(end, 1, 0, &samples.one_s) < 0) {
		return -1;
	}
	p2p_doing(end, c->sender ? end->way->sending : end->way->receiving);
	while (!samples_enough(&samples, c)) {
		int count = samples_batch(&samples, c);

		if (sample(end, count, samples.one_s, &s) < 0) {
			return -1;
		}
		samples_add(&samples, c, count, s);
	}
	samples_result(&samples, end->r);
	if (checks) {
		if (p2p_cuda(end, gpu_check_end(end->gpu, &wrong,
						end->deadline_ns)) < 0) {
			return -1;
		}
		end->r->wrong = (int64_t)wrong;
	}
	return c->latency ? end->way->latency(link_of(end), c) : 0;
}

bool p2p_measure(struct p2p_end *end, const struct xport_cell *c)
{
	struct xport_result *r = end->r;

	end->c = c;
	if (xport_act_drill(end->worker, c, end->deadline_ns, r)) {
		if (c->drill == XPORT_DRILL_STAY_AWAY) {
			r->outcome = end->way->away;
		}
		end->dead = true;
		return false;
	}
	if (measure(end) < 0) {
		return !end->dead;
	}
	if (r->wrong != RECORD_NONE && r->wrong > 0) {
		xport_fail(r, OUTCOME_CORRUPT, "data_corrupt",
			   "%lld bytes arrived with a wrong value in %s of "
			   "%llu",
			   (long long)r->wrong, end->way->transfers,
			   (unsigned long long)c->size_bytes);
	} else {
		r->outcome = OUTCOME_OK;
	}
	return !end->dead;
}
