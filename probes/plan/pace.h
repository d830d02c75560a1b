/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PLAN_PACE_H
#define PROBES_PLAN_PACE_H

#include <stdbool.h>
#include <stdint.h>

/**
 * --gentle: no more than so many bytes a second, for the sake of those who
 * share the fabric.  What begins is paid for at once, and nothing else begins
 * until it is: in any t seconds no more is sent than the cap allows in t + 0.1,
 * and one test besides.  Pure; times in nanoseconds of one clock.
 */
struct pace {
	double bytes_s;		/* the cap; 0 = none */
	int64_t open_ns;	/* from then on all is paid for */
};

/** Who asks ten times a second may begin as much ahead. */
#define PACE_AHEAD_NS 100000000

/** How long nothing may begin from @now_ns on; 0 = it may now. */
int64_t pace_left_ns(const struct pace *p, int64_t now_ns);
static inline bool pace_is_open(const struct pace *p, int64_t now_ns)
{
	return pace_left_ns(p, now_ns) == 0;
}

/** @bytes are sent from @now_ns on; less than 0: so many that were paid for
 *  were not.  NAN counts for nothing. */
void pace_spend(struct pace *p, int64_t now_ns, double bytes);

#endif
