/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/pace.h"

#include <math.h>

/* No single test is waited for longer, however low the cap. */
#define LONGEST_NS (7 * 24 * 3600 * 1e9)

int64_t pace_left_ns(const struct pace *p, int64_t now_ns)
{
	int64_t left_ns = p->open_ns - now_ns - PACE_AHEAD_NS;

	return p->bytes_s > 0 && left_ns > 0 ? left_ns : 0;
}

void pace_spend(struct pace *p, int64_t now_ns, double bytes)
{
	double wait_ns = bytes / p->bytes_s * 1e9;

	if (p->bytes_s <= 0 || isnan(wait_ns)) {
		return;
	}
	/* what nobody used is not kept for later */
	if (wait_ns > 0 && p->open_ns < now_ns) {
		p->open_ns = now_ns;
	}
	p->open_ns += (int64_t)fmax(-LONGEST_NS, fmin(wait_ns, LONGEST_NS));
}
