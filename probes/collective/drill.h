/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_COLLECTIVE_DRILL_H
#define PROBES_COLLECTIVE_DRILL_H

#include <stdbool.h>
#include <stdint.h>

#include "probes/plan/drill.h"
#include "probes/plan/layout.h"
#include "probes/transport/xport.h"

/** What a drill makes one member of a collective do. */
struct collective_act {
	enum xport_drill drill;
	bool silent;	/* the way hangs, not the rank: all have arrived */
	double wrong;	/* so often it spoils what it sends; 0 = never */
};

/**
 * What @d does to a collective of @n ranks (@members, rising): a fault of a
 * node, GPU or rank makes those act; one of a way (pair, NIC, rail) that is
 * between any two of them makes one of them hang, and nobody knows which.  A
 * fault "wrong" makes a member, of a way one of its two, spoil now and then
 * what it sends.  Into @acts[n]; returns the factor by which the slowest way
 * slows all, 1 = none.  @attempt as drill_effect().
 */
double collective_drill(const struct drill *d, const struct layout *l,
			const int *members, int n, int attempt, uint64_t seed,
			struct collective_act *acts);

#endif
