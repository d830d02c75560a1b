/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/effect_found.h"

#include <math.h>

#include "report/base/grow.h"

/** With fewer partner nodes one bad link is as much as all of a part. */
#define LEAST_PARTNERS 3
/** Of these so many must count. */
#define LEAST_SOUND 2

int effect_way(const struct effect_peers *x, size_t i)
{
	double tx = x->mean[TX][i], rx = x->mean[RX][i];

	return !(rx < tx / 2) ? TX : !(tx < rx / 2) ? RX : BOTH;
}

enum part_direction effect_direction(int way)
{
	return way == TX ? PART_TX : way == RX ? PART_RX : PART_BOTH;
}

bool effect_is_worse(const struct effect_work *w, const struct effect_peers *x,
		     size_t i, int way, double z, struct effect_estimate *e)
{
	/* most are not: a look at the mean will do */
	return x->n >= EFFECT_LEAST_PEERS && x->mean[way][i] < -w->least / 2 &&
	       effect_estimate(x, i, way, z, e) == 0 &&
	       e->partners >= LEAST_SOUND &&
	       e->partners + x->aside >= LEAST_PARTNERS &&
	       e->by <= -w->least && e->by + e->half < 0;
}

int effect_add(struct effect_work *w, const struct part *p,
	       const struct part *also, const struct effect_estimate *e,
	       size_t tests)
{
	const struct effect x = {
		.part = *p, .also = also ? *also : *p, .tests = tests,
		.partners = e->partners, .inside = e->inside, .ratio = e->by,
		.low = e->by - e->half, .high = e->by + e->half,
		.bound = e->by + e->half_alone,
	};

	return grow_add(&w->out.list, &w->out.n, &x, sizeof(x)) ? 0 : -1;
}

bool effect_is_in(const struct effect_work *w, const struct part *p)
{
	for (size_t i = 0; i < w->out.n; i++) {
		if (part_same_place(&w->out.list[i].part, p)) {
			return true;
		}
	}
	return false;
}
