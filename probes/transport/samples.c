/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/transport/samples.h"

#include <string.h>

#include "lib/base/stats.h"

#define SAMPLES_MIN	3
#define SAMPLES_FIXED	8	/* with a given number of iterations */
#define STEADY_SPREAD	0.01	/* agree: to this share of their median */

static int fixed_samples(int iters)
{
	int n = (iters + SAMPLE_BATCH - 1) / SAMPLE_BATCH;

	n = n < SAMPLES_FIXED ? SAMPLES_FIXED : n;
	n = n > SAMPLES_MAX ? SAMPLES_MAX : n;
	return n < iters ? n : iters;
}

int samples_batch(const struct samples *s, const struct xport_cell *c)
{
	double want = s->sample_s / s->one_s;

	if (c->iters > 0) {
		int64_t of = fixed_samples(c->iters);

		return (int)(c->iters * (s->n + 1) / of - c->iters * s->n / of);
	}
	return want < 1 ? 1 : want > SAMPLE_BATCH ? SAMPLE_BATCH : (int)want;
}

void samples_add(struct samples *s, const struct xport_cell *c, int count,
		 double seconds)
{
	s->bw_GB_s[s->n++] =
		(double)count * (double)c->size_bytes / seconds / 1e9;
	s->total_s += seconds;
	s->iters += count;
}

/* Do the last samples agree? */
static bool steady(const struct samples *s)
{
	double spread = s->spread > 0 ? s->spread : STEADY_SPREAD;
	double v[SAMPLES_STEADY], median;

	if (s->n < SAMPLES_STEADY) {
		return false;
	}
	memcpy(v, s->bw_GB_s + s->n - SAMPLES_STEADY, sizeof(v));
	median = stats_median(v, SAMPLES_STEADY);	/* sorts */
	return v[SAMPLES_STEADY - 1] - v[0] <= spread * median;
}

bool samples_enough(const struct samples *s, const struct xport_cell *c)
{
	if (c->iters > 0) {
		return s->n >= fixed_samples(c->iters);
	}
	return s->n >= SAMPLES_MAX || steady(s) ||
	       (s->n >= SAMPLES_MIN &&
		s->total_s > SAMPLES_ENOUGH * s->sample_s);
}

void samples_result(struct samples *s, struct xport_result *r)
{
	r->iters = s->iters;
	r->bw_GB_s = stats_median(s->bw_GB_s, (size_t)s->n);	/* sorts */
	r->bw_min_GB_s = s->bw_GB_s[0];
	r->bw_max_GB_s = s->bw_GB_s[s->n - 1];
}
