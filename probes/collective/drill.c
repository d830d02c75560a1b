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

double collective_drill(const struct drill *d, const struct layout *l,
			const int *members, int n, int attempt, uint64_t seed,
			struct collective_act *acts)
{
	double factor = 1;

	for (int i = 0; i < n; i++) {
		struct collective_act *act = &acts[i];

		*act = (struct collective_act){ .drill = XPORT_DRILL_NONE };
		for (size_t k = 0; k < d->n; k++) {
			const struct drill_fault *f = &d->faults[k];

			if (!is_of_rank(f, l, members[i])) {
				continue;
			}
			if (act->drill == XPORT_DRILL_NONE) {
				act->drill = drill_act(f->kind);
			}
			if (f->kind == DRILL_WRONG) {
				act->wrong = fmax(act->wrong, f->value);
			}
		}
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
