/* SPDX-License-Identifier: BSD-3-Clause */
/* --gentle: how much goes from leaf to leaf at a time. */
#include "probes/engine/coord/pairs.h"

#include <math.h>

#include "probes/plan/time.h"

void pace_begin(struct pairs_work *w, struct active *a)
{
	a->paid_B = layout_cross_leaves(&w->ranks.layout, a->task.a,
					a->task.b) ?
			    plan_pair_bytes(&w->c->spec, w->ranks.ops) : 0;
	pace_spend(&w->pace, a->start_ns, a->paid_B);
	dispatch_hold(w->dispatch, !pace_is_open(&w->pace, a->start_ns));
}

/* What was sent in direction @dir at @size_B, latency not counted; NAN where
 * its ends do not say. */
static double sent_B(const struct pairs_work *w, const struct active *a,
		     int dir, int64_t size_B)
{
	double iters = 0;

	for (int end = 0; end < 2; end++) {
		const struct xport_result *r =
			rows_result(&a->ends[end], dir, size_B);

		iters = fmax(iters, (double)r->iters);
	}
	return iters > 0 ? (double)size_B *
				   (iters + (double)w->c->spec.warmup) *
				   (w->c->spec.bidi ? 2 : 1) : NAN;
}

void pace_end(struct pairs_work *w, const struct active *a)
{
	double bytes = 0;

	if (a->paid_B <= 0) {
		return;
	}
	for (int i = 0; i < 2 * w->how.n_sizes; i++) {
		if (a->task.dirs & 1 << i % 2) {
			bytes += sent_B(w, a, i % 2, w->how.sizes[i / 2]);
		}
	}
	pace_spend(&w->pace, clock_now_ns(), bytes - a->paid_B);
}

void pace_tick(struct pairs_work *w, int64_t now_ns)
{
	dispatch_hold(w->dispatch, !pace_is_open(&w->pace, now_ns));
}
