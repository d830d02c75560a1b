/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PING_MTU_H
#define PROBES_PING_MTU_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Looking for the largest packet that passes whole, one try after the other.
 * Pure.  Sizes are of the whole packet, in bytes, IP header included.
 */
struct ping_mtu {
	int32_t passes, fails;	/* largest known to pass, smallest to fail */
	int32_t limit, peer;	/* of the interfaces at both ends; 0 =
				 * unknown */
	int32_t size;		/* being tried; 0 = none */
	bool check;		/* does the limit pass? if not, how much about,
				 * by the usual sizes alone */
	bool sure;		/* the limit failed again after that */
};

/** @passes is known to.  */
void ping_mtu_init(struct ping_mtu *m, int32_t passes, int32_t limit,
		   int32_t peer);
/** The next size to try, or 0: m->passes is the answer. */
int32_t ping_mtu_next(struct ping_mtu *m);
/** What became of it. */
void ping_mtu_result(struct ping_mtu *m, bool passed);

#endif
