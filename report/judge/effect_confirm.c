/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/effect_confirm.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/stats.h"

/** Logarithms of tests, above 0 = better. */
struct sample {
	double *v;
	size_t n;
	int partner[2];		/* the first two nodes that they were with */
};

static void add(struct sample *s, double v, int partner)
{
	s->v[s->n++] = v;
	if (s->partner[0] < 0) {
		s->partner[0] = partner;
	} else if (s->partner[0] != partner) {
		s->partner[1] = partner;
	}
}

static bool touches_any(const struct run *run, const struct effects *all,
			size_t at)
{
	for (size_t i = 0; i < all->n; i++) {
		if (part_touches_at(run, &all->list[i].part, at) ||
		    part_touches_at(run, &all->list[i].also, at)) {
			return true;
		}
	}
	return false;
}

/** The other end of a test of @p. */
static int partner_of(const struct run *run, const struct part *p, size_t at)
{
	int from = run->ranks[run_src(run, at)].node;
	int to = run->ranks[run_dst(run, at)].node;

	return from == p->node ? to : from;
}

/** Are all of its tests inside a node? */
static bool is_inside(const struct part *p)
{
	return p->kind == PART_GPU_NVLINK;
}

static void collect(const struct run *run, const struct effects *all, size_t i,
		    enum effects_of of, struct sample *tests,
		    struct sample *controls)
{
	const struct part *p = &all->list[i].part;
	unsigned path = is_inside(p) ? PATH_INTRA : PATH_INTER;

	for (size_t k = 0; k < run->n_follow; k++) {
		const struct run_follow *f = &run->follow[k];
		double v = of == EFFECTS_LATENCY ? 1 / (double)f->lat_us :
						   (double)f->bw_GB_s;

		if (f->outcome != OUTCOME_OK || !(v > 0 && v < INFINITY) ||
		    run->cells[f->at].path != path) {
			continue;
		}
		if (part_touches_at(run, p, f->at)) {
			add(tests, log(v), partner_of(run, p, f->at));
		} else if (!touches_any(run, all, f->at)) {
			add(controls, log(v), -1);
		}
	}
}

/** What the main pass says of @e, as such a logarithm. */
static double log_of(const struct effect *e, enum effects_of of)
{
	return of == EFFECTS_LATENCY ? -log(e->ratio) : log(e->ratio);
}

double effect_again(const struct run *run, const struct effects *all, size_t i,
		    enum effects_of of)
{
	const struct effect *e = &all->list[i];
	double *room = calloc(2 * run->n_follow + 1, sizeof(*room));
	struct sample tests = { .v = room, .partner = { -1, -1 } };
	struct sample controls = { .v = room ? room + run->n_follow : NULL,
				   .partner = { -1, -1 } };
	double share = NAN;

	if (room) {
		collect(run, all, i, of, &tests, &controls);
	}
	if (tests.n >= EFFECT_CONFIRM_TESTS &&
	    controls.n >= EFFECT_CONFIRM_TESTS &&
	    (tests.partner[1] >= 0 || is_inside(&e->part) ||
	     e->part.kind == PART_NODE_PAIR)) {
		share = (stats_median(tests.v, tests.n) -
			 stats_median(controls.v, controls.n)) / log_of(e, of);
	}
	free(room);
	return share;
}
