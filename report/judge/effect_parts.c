/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes, NICs, GPUs and their NVLinks that are worse than their peers.
 */
#include "report/judge/effect_parts.h"

#include <math.h>
#include <string.h>

#include "lib/base/stats.h"
#include "report/base/grow.h"

/** With fewer partner nodes one bad link is as much as all of a part. */
#define LEAST_PARTNERS 3
/** Of these so many must count. */
#define LEAST_SOUND 2
/** Standard errors that the tests of a GPU with other nodes may be off: flows
 *  that meet hide what is slower in a node. */
#define OUTSIDE_ERRORS 5.0

/** Both ways, or one if the other is less than half as bad. */
static int way_of(const struct effect_peers *x, size_t i)
{
	double tx = x->mean[TX][i], rx = x->mean[RX][i];

	return !(rx < tx / 2) ? TX : !(tx < rx / 2) ? RX : BOTH;
}

static enum part_direction direction_of(int way)
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
		.partners = e->partners, .ratio = e->by,
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

/** Of @n ranks from @first on. */
static size_t tests_of(const struct effect_work *w, int first, int n, int way)
{
	size_t tests = 0;

	for (int i = first; i < first + n; i++) {
		tests += (way != RX ? w->t.count[TX][i] : 0) +
			 (way != TX ? w->t.count[RX][i] : 0);
	}
	return tests;
}

/** The value of the ranks of node @n with partner @p: the median, and of two
 *  the better one, as one bad NIC of two is no node. */
static float together(const struct effect_work *w, const float *of, size_t n,
		      size_t p)
{
	const struct run_node *node = &w->run->nodes[n];
	size_t known = 0;

	for (int i = node->first_rank; i < node->first_rank + node->gpus; i++) {
		float v = of[(size_t)i * w->t.width + p];

		if (isfinite(v)) {
			w->room[known++] = (double)v;
		}
	}
	return known == 2 ? (float)fmax(w->room[0], w->room[1]) :
	       known	  ? (float)stats_median(w->room, known) : NAN;
}

/** Each node as its ranks are together. */
static void fill_nodes(const struct effect_work *w, struct effect_peers *x)
{
	for (int k = 0; k < 2; k++) {
		for (size_t n = 0; n < w->nodes; n++) {
			for (size_t p = 0; p < x->width; p++) {
				x->samples[k][n * x->width + p] =
					together(w, w->t.of[k], n, p);
			}
		}
	}
}

/** What node @n adds, @with each of its partners or in the mean, is none of its
 *  ranks' doing. */
static void lower_ranks(struct effect_work *w, const struct effect_peers *x,
			size_t n, bool with)
{
	const struct run_node *node = &w->run->nodes[n];
	size_t first = (size_t)node->first_rank * x->width;

	for (int k = 0; k < 2; k++) {
		for (size_t p = 0; p < x->width; p++) {
			double by = with ?
				(double)x->samples[k][n * x->width + p] :
				x->mean[k][n];

			effect_lower(&w->t.of[k][first + p],
				     (size_t)node->gpus, x->width,
				     isfinite(by) ? by : 0);
		}
	}
}

/** Is node @n as bad as @by with others, but not with one that is bad as well?
 *  Then both are far from the others, maybe behind one switch. */
static bool is_apart(const struct effect_peers *x, size_t n, double by)
{
	for (size_t p = 0; p < x->width; p++) {
		size_t at = n * x->width + p;

		if (x->mean[BOTH][p] < by / 2 &&
		    (double)(x->samples[TX][at] + x->samples[RX][at]) / 2 >
			    -by / 2) {
			return true;
		}
	}
	return false;
}

/** Are three quarters of the ranks of node @n at least half as bad as @by?
 *  Half of a node is a socket. */
static bool most_are(const struct effect_work *w, size_t n, int way, double by)
{
	const struct run_node *node = &w->run->nodes[n];
	int bad = 0;

	for (int i = node->first_rank; i < node->first_rank + node->gpus; i++) {
		size_t row = (size_t)i * w->t.width;
		double v[2];

		for (int k = 0; k < 2; k++) {
			v[k] = effect_median(w, &w->t.of[k][row],
					     w->t.width, 1);
		}
		bad += (way == BOTH ? (v[TX] + v[RX]) / 2 : v[way]) < by / 2;
	}
	return 4 * bad >= 3 * node->gpus;
}

/** Are the ranks of node @n with each other not half as bad as @by?  Then it is
 *  its network. */
static bool is_network(const struct effect_work *w, size_t n, double by)
{
	const struct run_node *node = &w->run->nodes[n];
	const float *all = w->t.inside[TX], *of = &all[node->first_rank];

	return isfinite(of[0]) && effect_median(w, of, (size_t)node->gpus, 1) -
		       effect_median(w, all, w->ranks, 1) > by / 2;
}

int effect_find_nodes(struct effect_work *w, double z)
{
	struct effect_peers x;
	int rc = effect_peers_init(&x, w->nodes, w->t.width);

	x.aside = w->n_aside;
	if (rc == 0) {
		fill_nodes(w, &x);
		effect_peers_learn(w, &x);
	}
	for (size_t n = 0; rc == 0 && n < w->nodes; n++) {
		const struct run_node *node = &w->run->nodes[n];
		struct part p = part_at(PART_NODE, (int)n, -1);
		int way = way_of(&x, n);
		struct effect_estimate e;
		bool worse = effect_is_worse(w, &x, n, way, z, &e);
		bool apart = worse && !w->sample &&
			     is_apart(&x, n, e.by);

		if (worse && !most_are(w, n, way, e.by)) {
			continue;
		}
		if (worse && !apart) {
			p.direction = direction_of(way);
			p.kind = is_network(w, n, e.by) ? PART_NODE_NETWORK :
							  PART_NODE;
			rc = effect_add(w, &p, NULL, &e,
					tests_of(w, node->first_rank,
						 node->gpus, way));
		}
		if (worse || node->gpus >= EFFECT_LEAST_PEERS) {
			lower_ranks(w, &x, n, apart);
		}
	}
	effect_peers_release(&x);
	return rc;
}

/** What rank @i is inside its node, beside @inter that it is outside, and is
 *  that as bad? */
static bool bad_inside(const struct effect_work *w, size_t i, int way,
		       double inter)
{
	double a = (double)w->t.inside[TX][i], b = (double)w->t.inside[RX][i];
	double in = way == TX ? a : way == RX ? b : (a + b) / 2;

	return in < inter / 2;
}

static int add_rank(struct effect_work *w, size_t i, int way,
		    const struct effect_estimate *e, bool alone)
{
	const struct run_rank *r = &w->run->ranks[i];
	struct part nic = part_at(PART_NIC, r->node, r->nic);
	struct part gpu = part_at(PART_GPU, r->node, r->gpu);
	bool known = isfinite(w->t.inside[TX][i]);
	size_t tests = tests_of(w, (int)i, 1, way);

	nic.direction = gpu.direction = direction_of(way);
	if (!alone || (known && bad_inside(w, i, way, e->by))) {
		return effect_add(w, &gpu, NULL, e, tests);
	}
	return effect_add(w, &nic, known ? NULL : &gpu, e, tests);
}

/** How many ranks of its node use the NIC of rank @i. */
static size_t sharers(const struct effect_work *w, size_t i)
{
	const struct run_node *n = &w->run->nodes[w->run->ranks[i].node];
	size_t same = 0;

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		same += w->run->ranks[r].nic == w->run->ranks[i].nic;
	}
	return same;
}

/** Have all ranks that share the NIC of @i lost about as much? */
static bool all_share(const struct effect_work *w,
		      const struct effect_peers *x, size_t i, int way)
{
	const struct run_node *n = &w->run->nodes[w->run->ranks[i].node];

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		if (w->run->ranks[r].nic == w->run->ranks[i].nic &&
		    !(x->mean[way][r] < x->mean[way][i] / 2)) {
			return false;
		}
	}
	return true;
}

int effect_find_ranks(struct effect_work *w, double z)
{
	struct effect_peers x;
	int rc = effect_peers_init(&x, w->ranks, w->t.width);

	x.aside = w->n_aside;
	if (rc == 0) {
		for (int k = 0; k < 2; k++) {
			memcpy(x.samples[k], w->t.of[k],
			       w->ranks * w->t.width * sizeof(float));
		}
		effect_peers_learn(w, &x);
		effect_table_level_inside(w);
	}
	for (size_t i = 0; rc == 0 && i < w->ranks; i++) {
		int way = way_of(&x, i);
		size_t shared = sharers(w, i);
		const struct run_rank *r = &w->run->ranks[i];
		bool first = i == 0 || r[-1].node != r->node ||
			     r[-1].nic != r->nic;
		struct effect_estimate e;

		if (!effect_is_worse(w, &x, i, way, z, &e)) {
			continue;
		}
		if (shared > 1 && all_share(w, &x, i, way)) {
			struct part p = part_at(PART_NIC, r->node, r->nic);

			p.direction = direction_of(way);
			rc = first ? effect_add(w, &p, NULL, &e,
						tests_of(w, (int)i, (int)shared,
							 way)) : 0;
		} else {
			rc = add_rank(w, i, way, &e, shared == 1);
		}
	}
	effect_peers_release(&x);
	return rc;
}

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
	return fmax(effect_deviation(w->room, known), x->usual[way]);
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
	*half = OUTSIDE_ERRORS * effect_deviation(w->room, known) /
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

int effect_find_nvlinks(struct effect_work *w, double z)
{
	struct effect_peers x;
	int most = 0, rc;

	for (size_t n = 0; n < w->nodes; n++) {
		most = w->run->nodes[n].gpus > most ? w->run->nodes[n].gpus :
						      most;
	}
	rc = effect_peers_init(&x, w->ranks, (size_t)most);
	for (int k = 0; rc == 0 && k < 2; k++) {
		if (k == 0) {
			fill_nvlinks(w, &x);
		}
		for (int i = 0; i < most * most; i++) {
			level_peer(w, &x, x.samples[k], i / most, i % most);
		}
		for (size_t n = 0; n < w->nodes; n++) {
			level_node(w, &x, x.samples[k], &w->run->nodes[n]);
		}
	}
	if (rc == 0) {
		effect_peers_learn(w, &x);
	}
	for (size_t i = 0; rc == 0 && i < w->ranks; i++) {
		const struct run_rank *r = &w->run->ranks[i];
		struct part p = part_at(PART_GPU_NVLINK, r->node, r->gpu);
		int way = way_of(&x, i);
		struct effect_estimate e;

		if (!effect_is_worse(w, &x, i, way, z, &e) || is_found(w, r)) {
			continue;
		}
		e.half = hypot(e.half, z * unrest(w, &x, r, way));
		e.half_alone = e.half;
		if (e.by + e.half < 0) {
			p.direction = direction_of(way);
			rc = add_nvlink(w, i, way, &p, &e);
		}
	}
	effect_peers_release(&x);
	return rc;
}
