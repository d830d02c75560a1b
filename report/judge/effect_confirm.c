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
	return part_is(p, KIND(GPU_NVLINK) | KIND(INTRA_NODE));
}

/** Of fewer pairs of sound ports nobody knows what is usual. */
#define LEAST_ALIKE 3
/** More of them say no more. */
#define MOST_ALIKE  256

static double log_value(double bw_GB_s, double lat_us, enum effects_of of)
{
	return log(of == EFFECTS_LATENCY ? 1 / lat_us : bw_GB_s);
}

/** What is usual of the two ports of the cell at @at on other nodes, at the
 *  same rate, but for parts of @all; NAN.  @room: for a value of each two
 *  nodes. */
static double usual_of(const struct run *run, const struct effects *all,
		       size_t at, enum effects_of of, double *room)
{
	const struct run_rank *s = &run->ranks[run_src(run, at)];
	const struct run_rank *d = &run->ranks[run_dst(run, at)];
	double rate = run_rate(run, at);
	int nodes = run->n_nodes, step = (nodes * nodes / MOST_ALIKE) | 1;
	size_t n = 0;

	for (int i = 0; i < nodes * nodes; i += step) {
		const struct run_node *from = &run->nodes[i / nodes];
		const struct run_node *to = &run->nodes[i % nodes];
		size_t k;
		double v;

		if (s->gpu >= from->gpus || d->gpu >= to->gpus) {
			continue;
		}
		k = run_at(run, from->first_rank + s->gpu,
			   to->first_rank + d->gpu);
		v = log_value((double)run->cells[k].bw_GB_s,
			      (double)run->cells[k].lat_us, of);
		if (run_good(run->cells[k].class) && isfinite(v) &&
		    run->cells[k].path == run->cells[at].path &&
		    run_rate(run, k) >= rate && run_rate(run, k) <= rate &&
		    !touches_any(run, all, k)) {
			room[n++] = v;
		}
	}
	return n >= LEAST_ALIKE ? stats_select(room, n, n / 2) : NAN;
}

/** @room: for a value of each two nodes, of ports. */
static void collect(const struct run *run, const struct effects *all, size_t i,
		    enum effects_of of, double *room, struct sample *tests,
		    struct sample *controls)
{
	const struct part *p = &all->list[i].part;
	unsigned path = is_inside(p) ? PATH_INTRA : PATH_INTER;

	for (size_t k = 0; k < run->n_follow; k++) {
		const struct run_follow *f = &run->follow[k];
		double v = log_value((double)f->bw_GB_s, (double)f->lat_us,
				     of);

		/* ports of one run may be built for different rates */
		if (run->ports) {
			v -= usual_of(run, all, f->at, of, room);
		}
		if (f->outcome != OUTCOME_OK || !isfinite(v) ||
		    run->cells[f->at].path != path) {
			continue;
		}
		if (part_touches_at(run, p, f->at)) {
			add(tests, v, partner_of(run, p, f->at));
		} else if (!touches_any(run, all, f->at)) {
			add(controls, v, -1);
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
	size_t nodes = run->ports ? (size_t)run->n_nodes : 0;
	double *room = calloc(2 * run->n_follow + nodes * nodes + 1,
			      sizeof(*room));
	struct sample tests = { .v = room, .partner = { -1, -1 } };
	struct sample controls = { .v = room ? room + run->n_follow : NULL,
				   .partner = { -1, -1 } };
	double share = NAN;

	if (room) {
		collect(run, all, i, of, room + 2 * run->n_follow, &tests,
			&controls);
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
