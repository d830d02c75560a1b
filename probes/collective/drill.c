/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/collective/collective.h"

#include <math.h>

/** Return true if @f is a fault of @rank itself, with any partner. */
static bool is_of_rank(const struct drill_fault *f, const struct layout *l,
		       int rank)
{
	return (f->part == DRILL_NODE || f->part == DRILL_GPU ||
		f->part == DRILL_RANK) && drill_has_end(f, l, rank);
}

static enum xport_drill act_of_rank(const struct drill *d,
				    const struct layout *l, int rank)
{
	for (size_t i = 0; i < d->n; i++) {
		enum xport_drill act = drill_act(d->faults[i].kind);

		if (act != XPORT_DRILL_NONE &&
		    is_of_rank(&d->faults[i], l, rank)) {
			return act;
		}
	}
	return XPORT_DRILL_NONE;
}

/** How often @rank itself is wrong. */
static double wrong_of_rank(const struct drill *d, const struct layout *l,
			    int rank)
{
	double rate = 0;

	for (size_t i = 0; i < d->n; i++) {
		if (d->faults[i].kind == DRILL_WRONG &&
		    is_of_rank(&d->faults[i], l, rank)) {
			rate = fmax(rate, d->faults[i].value);
		}
	}
	return rate;
}

double collective_drill(const struct drill *d, const struct layout *l,
			const int *members, int n, int attempt, uint64_t seed,
			struct collective_act *acts)
{
	double factor = 1;

	for (int i = 0; i < n; i++) {
		acts[i] = (struct collective_act){
			.drill = act_of_rank(d, l, members[i]),
			.wrong = wrong_of_rank(d, l, members[i]),
		};
	}
	for (int i = 0; d->n > 0 && i < n * n; i++) {
		int src = i / n, dst = i % n, end;
		struct drill_effect f;

		if (src == dst || acts[src].drill != XPORT_DRILL_NONE ||
		    acts[dst].drill != XPORT_DRILL_NONE) {
			continue;
		}
		f = drill_effect(d, l, members[src], members[dst], attempt,
				 seed);
		factor = fmin(factor, f.factor);
		end = f.wrong_end == members[src] ? src : dst;
		acts[end].wrong = fmax(acts[end].wrong, f.wrong);
		if (f.kind == DRILL_CORRUPT) {
			acts[dst].drill = XPORT_DRILL_CORRUPT;
		} else if (f.kind == DRILL_DEAD || f.kind == DRILL_HANG) {
			acts[dst].drill = XPORT_DRILL_HANG;
			acts[dst].silent = true;
		}
	}
	return factor;
}
