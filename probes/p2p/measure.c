/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples are taken until they agree (samples.h); the end that receives poisons
 * its buffer before each and looks at it afterwards.
 */
#include "probes/p2p/measure.h"

#include "probes/transport/xport.h"

#define SPOIL_BYTES 64

/** One direction at work. */
struct direction {
	const struct p2p_way *way;
	struct xport_link *l;
	struct gpu *gpu;
	const struct xport_cell *c;
	int64_t deadline_ns;
	struct xport_result *r;
};

static int fill(const struct direction *d, enum gpu_buffer b, uint64_t bytes)
{
	return d->way->cuda(d->l, gpu_fill(d->gpu, b, bytes,
					   d->c->pattern_seed, b == GPU_RECV,
					   d->deadline_ns));
}

/* Look at what the last transfer of a sample has left. */
static int check(const struct direction *d)
{
	uint64_t size = d->c->size_bytes;

	if (d->c->drill == XPORT_DRILL_CORRUPT &&
	    fill(d, GPU_RECV, size < SPOIL_BYTES ? size : SPOIL_BYTES) < 0) {
		return -1;
	}
	return d->way->cuda(d->l, gpu_check(d->gpu, size, d->c->pattern_seed,
					    d->deadline_ns));
}

/* One sample of @count transfers. */
static int sample(const struct direction *d, int count, double one_s, double *s)
{
	/* on the host it takes seconds: the first sample has to do */
	bool checks = d->c->check && !d->c->sender &&
		      (d->gpu->check != NULL || one_s <= 0);

	if ((checks && fill(d, GPU_RECV, d->c->size_bytes) < 0) ||
	    d->way->sample(d->l, d->c, count, one_s, s) < 0 ||
	    (checks && check(d) < 0)) {
		return -1;
	}
	return d->way->agree != NULL ? d->way->agree(d->l, s) : 0;
}

static int measure(const struct direction *d)
{
	const struct xport_cell *c = d->c;
	struct samples samples = { .sample_s = d->way->sample_s };
	bool checks = c->check && !c->sender;
	uint64_t wrong = 0;
	double s;

	if (d->way->reserve(d->l, c->size_bytes) < 0 ||
	    (c->sender && fill(d, GPU_SEND, c->size_bytes) < 0) ||
	    (checks && d->way->cuda(d->l, gpu_check_begin(d->gpu)) < 0)) {
		return -1;
	}
	d->way->doing(d->l, "warm-up");
	if (d->way->move(d->l, c, c->warmup) < 0 ||
	    sample(d, 1, 0, &samples.one_s) < 0) {
		return -1;
	}
	d->way->doing(d->l, c->sender ? d->way->sending : d->way->receiving);
	while (!samples_enough(&samples, c)) {
		int count = samples_batch(&samples, c);

		if (sample(d, count, samples.one_s, &s) < 0) {
			return -1;
		}
		samples_add(&samples, c, count, s);
	}
	samples_result(&samples, d->r);
	if (checks) {
		if (d->way->cuda(d->l, gpu_check_end(d->gpu, &wrong,
						     d->deadline_ns)) < 0) {
			return -1;
		}
		d->r->wrong = (int64_t)wrong;
	}
	return c->latency ? d->way->latency(d->l, c) : 0;
}

bool p2p_measure(const struct p2p_way *way, struct xport_link *l,
		 struct gpu *g, struct worker *w, const struct xport_cell *c,
		 int64_t deadline_ns, struct xport_result *r)
{
	const struct direction d = {
		.way = way, .l = l, .gpu = g, .c = c,
		.deadline_ns = deadline_ns, .r = r,
	};

	if (xport_act_drill(w, c, deadline_ns, r)) {
		if (c->drill == XPORT_DRILL_STAY_AWAY) {
			r->outcome = way->away;
		}
		return false;
	}
	if (measure(&d) < 0) {
		return true;
	}
	if (r->wrong != RECORD_NONE && r->wrong > 0) {
		xport_fail(r, OUTCOME_CORRUPT, "data_corrupt",
			   "%lld bytes arrived with a wrong value in %s of "
			   "%llu",
			   (long long)r->wrong, way->transfers,
			   (unsigned long long)c->size_bytes);
	} else {
		r->outcome = OUTCOME_OK;
	}
	return true;
}
