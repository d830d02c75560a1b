/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What GPUs do inside their node: NVLinks that are worse than those of the
 * other GPUs there, and nodes all of which are.
 */
#include "report/judge/effect_parts.h"

#include <math.h>

#include "lib/base/stats.h"
#include "report/judge/effect_found.h"

/** Standard errors that the tests of a GPU with other nodes may be off: flows
 *  that meet hide what is slower in a node. */
#define OUTSIDE_ERRORS 5.0
/** A node that is slower inside by less, as a logarithm, may have had a bad
 *  moment: its tests there are made in a few, all GPUs at once. */
#define LEAST_INSIDE 0.05

/** What each rank has with each of the others in its node, beside the same two
 *  of other nodes, and its own node. */
static void fill_nvlinks(const struct effect_work *w, struct effect_peers *x)
{
	const struct run *run = w->run;

	for (size_t i = 0; i < w->ranks * x->width; i++) {
		x->samples[TX][i] = x->samples[RX][i] = NAN;
	}
	for (int i = 0; i < run->n_ranks; i++) {
		const struct run_node *n = &run->nodes[run->ranks[i].node];

		for (int p = 0; p < n->gpus; p++) {
			size_t to = (size_t)i * x->width + (size_t)p;
			int peer = n->first_rank + p;

			if (peer == i) {
				continue;
			}
			x->samples[TX][to] =
				effect_log(w, run_at(run, i, peer));
			x->samples[RX][to] =
				effect_log(w, run_at(run, peer, i));
		}
	}
}

/** Take away what is usual of GPU @gpu with its peer number @peer. */
static void level_peer(const struct effect_work *w,
		       const struct effect_peers *x, float *of, int gpu,
		       int peer)
{
	const struct run_node *nodes = w->run->nodes;
	size_t known = 0;
	double usual;

	for (size_t n = 0; n < w->nodes; n++) {
		size_t i = (size_t)(nodes[n].first_rank + gpu);
		float v = gpu < nodes[n].gpus ?
				  of[i * x->width + (size_t)peer] : NAN;

		if (isfinite(v)) {
			w->room[known++] = (double)v;
		}
	}
	usual = known ? stats_select(w->room, known, known / 2) : 0;
	for (size_t n = 0; n < w->nodes; n++) {
		size_t i = (size_t)(nodes[n].first_rank + gpu);

		if (gpu < nodes[n].gpus) {
			of[i * x->width + (size_t)peer] -= (float)usual;
		}
	}
}

/** Take away what is usual in a node. */
static void level_node(const struct effect_work *w,
		       const struct effect_peers *x, float *of,
		       const struct run_node *n)
{
	size_t gpus = (size_t)n->gpus, first = (size_t)n->first_rank * x->width;
	double *usual = w->room + w->ranks;

	for (size_t i = 0; i < gpus; i++) {
		usual[i] = effect_median(w, &of[first + i * x->width],
					 x->width, 1);
	}
	effect_lower(&of[first], gpus * x->width, 1,
		     gpus ? stats_median(usual, gpus) : 0);
}

/** Is GPU @r in what was found, or its node? */
static bool is_found(const struct effect_work *w, const struct run_rank *r)
{
	const struct part gpu = part_at(PART_GPU, r->node, r->gpu);
	const struct part node = part_at(PART_NODE, r->node, -1);

	return effect_is_in(w, &gpu) || effect_is_in(w, &node);
}

/** What the GPUs of the node of @r differ by: the tests inside a node are made
 *  in a few moments, each of which it may spoil. */
static double unrest(const struct effect_work *w, const struct effect_peers *x,
		     const struct run_rank *r, int way)
{
	const struct run_node *n = &w->run->nodes[r->node];
	size_t known = 0;

	for (int i = n->first_rank; i < n->first_rank + n->gpus; i++) {
		if (isfinite(x->mean[way][i])) {
			w->room[known++] = x->mean[way][i];
		}
	}
	return fmax(stats_deviation(w->room, known), x->usual[way]);
}

/** How bad rank @i is with other nodes, and how well that is known: @half;
 *  INFINITY where nobody knows. */
static double outside(const struct effect_work *w, size_t i, int way,
		      double *half)
{
	size_t known = 0;
	double v;

	for (size_t p = 0; p < w->t.width; p++) {
		double tx = (double)w->t.of[TX][i * w->t.width + p];
		double rx = (double)w->t.of[RX][i * w->t.width + p];
		double of = way == TX ? tx : way == RX ? rx : (tx + rx) / 2;

		if (isfinite(of)) {
			w->room[known++] = of;
		}
	}
	if (known == 0) {
		*half = INFINITY;
		return 0;
	}
	v = stats_select(w->room, known, known / 2);
	*half = OUTSIDE_ERRORS * stats_deviation(w->room, known) /
		sqrt((double)known);
	return v;
}

/** The GPU @nvlink is of is slower by @e inside its node.  With others it may
 *  be half as bad, if not as surely: then it may be all of the GPU. */
static int add_nvlink(struct effect_work *w, size_t i, int way,
		      const struct part *nvlink,
		      const struct effect_estimate *e)
{
	struct part gpu = part_at(PART_GPU, nvlink->node, nvlink->index);
	size_t tests = part_measured(w->run, nvlink);
	double half, v = outside(w, i, way, &half);

	gpu.direction = nvlink->direction;
	if (v < e->by / 2 || half == (double)INFINITY) {
		return effect_add(w, &gpu, nvlink, e, tests);
	}
	return effect_add(w, nvlink, v - half < e->by / 2 ? &gpu : NULL, e,
			  tests);
}

/** What all pairs of GPUs inside nodes are beside the same two of other nodes:
 *  each rank with each of its node.  0, or -1 when memory runs out. */
static int fill(const struct effect_work *w, struct effect_peers *x)
{
	int most = 0, rc;

	for (size_t n = 0; n < w->nodes; n++) {
		most = w->run->nodes[n].gpus > most ? w->run->nodes[n].gpus :
						      most;
	}
	rc = effect_peers_init(x, w->ranks, (size_t)most);
	x->inside = true;
	if (rc == 0) {
		fill_nvlinks(w, x);
	}
	for (int k = 0; rc == 0 && k < 2; k++) {
		for (int i = 0; i < most * most; i++) {
			level_peer(w, x, x->samples[k], i / most, i % most);
		}
	}
	return rc;
}

/** The median of what is known of @n values, one of which may be bad; NAN
 *  without any. */
static float middle(const struct effect_work *w, const float *v, size_t n)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++) {
		if (isfinite(v[i])) {
			w->room[known++] = (double)v[i];
		}
	}
	return known ? (float)stats_median(w->room, known) : NAN;
}

/** Each node as its GPUs are: what these are with each other, in the median. */
static void sum_up(const struct effect_work *w, const struct effect_peers *gpus,
		   struct effect_peers *nodes)
{
	for (size_t i = 0; i < nodes->n * nodes->width; i++) {
		const struct run_node *n = &w->run->nodes[i / nodes->width];
		size_t gpu = i % nodes->width;
		bool has = gpu < (size_t)n->gpus;

		gpu += (size_t)n->first_rank;
		for (int k = 0; k < 2; k++) {
			nodes->samples[k][i] = !has ? NAN : middle(w,
				&gpus->samples[k][gpu * gpus->width],
				gpus->width);
		}
	}
}

int effect_insides_learn(const struct effect_work *w, struct effect_insides *x)
{
	int rc = fill(w, &x->gpus);

	if (effect_peers_init(&x->nodes, w->nodes, x->gpus.width) < 0) {
		rc = -1;
	}
	x->nodes.inside = true;
	if (rc == 0) {
		sum_up(w, &x->gpus, &x->nodes);
		effect_peers_learn(w, &x->nodes);
	}
	return rc;
}

void effect_insides_release(struct effect_insides *x)
{
	effect_peers_release(&x->gpus);
	effect_peers_release(&x->nodes);
}

bool effect_insides_worse(const struct effect_work *w,
			  const struct effect_insides *x, size_t n, double z,
			  struct effect_estimate *e)
{
	const struct run_node *node = &w->run->nodes[n];
	size_t width = x->gpus.width, bad = 0, known = 0;
	const float *v = &x->gpus.samples[TX][(size_t)node->first_rank * width];

	/* ports have no other way to each other than outside */
	if (w->run->ports ||
	    !effect_is_worse(w, &x->nodes, n, BOTH, z, e) ||
	    e->by > -LEAST_INSIDE) {
		return false;
	}
	for (size_t i = 0; i < (size_t)node->gpus * width; i++) {
		known += isfinite(v[i]);
		bad += isfinite(v[i]) && (double)v[i] < e->by / 2;
	}
	return 4 * bad >= 3 * known;
}

int effect_find_nvlinks(struct effect_work *w, double z)
{
	struct effect_peers x;
	int rc = fill(w, &x);

	for (size_t n = 0; rc == 0 && n < 2 * w->nodes; n++) {
		level_node(w, &x, x.samples[n % 2], &w->run->nodes[n / 2]);
	}
	if (rc == 0) {
		effect_peers_learn(w, &x);
	}
	for (size_t i = 0; rc == 0 && i < w->ranks; i++) {
		const struct run_rank *r = &w->run->ranks[i];
		struct part p = part_at(PART_GPU_NVLINK, r->node, r->gpu);
		int way = effect_way(&x, i);
		struct effect_estimate e;

		if (!effect_is_worse(w, &x, i, way, z, &e) || is_found(w, r)) {
			continue;
		}
		e.half = hypot(e.half, z * unrest(w, &x, r, way));
		e.half_alone = e.half;
		if (e.by + e.half < 0) {
			p.direction = effect_direction(way);
			rc = add_nvlink(w, i, way, &p, &e);
		}
	}
	effect_peers_release(&x);
	return rc;
}
