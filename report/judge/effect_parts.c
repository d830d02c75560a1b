/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes, NICs and GPUs that are worse than their peers.
 */
#include "report/judge/effect_parts.h"

#include <math.h>
#include <string.h>

#include "lib/base/stats.h"
#include "report/judge/effect_found.h"

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

/** Are all nodes but @n on one leaf switch, and it is not?  Then all that
 *  crosses switches is its own: what is usual of that is what it is. */
static bool is_alone(const struct effect_work *w, size_t n)
{
	const struct run_node *nodes = w->run->nodes;
	int leaf = nodes[n == 0].leaf;

	for (size_t i = 0; i < w->nodes; i++) {
		if ((nodes[i].leaf != leaf) != (i == n)) {
			return false;
		}
	}
	return leaf > 0 && !w->sample;
}

/** What all nodes are, and how sure that has to be. */
struct nodes {
	struct effect_peers x;		/* with other nodes */
	struct effect_insides inside;
	double z;			/* deviations of one of these, */
	double both;			/* or of each of the two */
};

/** Is node @n worse with others as well, at least half as bad as by @e inside,
 *  and @sure to be? */
static bool is_whole(const struct effect_work *w, const struct nodes *all,
		     size_t n, const struct effect_estimate *e, bool sure)
{
	const struct effect_peers *x = &all->x;
	double by = x->mean[BOTH][n];

	if (w->aside[TX][n] || w->aside[RX][n]) {
		return true;	/* it was found to be */
	}
	by += is_alone(w, n) ? (w->t.far[TX] + w->t.far[RX]) / 2 : 0;
	return by < e->by / 2 && (!sure || by < -all->both * x->usual[BOTH]);
}

/** Node @n by what it is inside, where that is sure, or not quite, but it is as
 *  bad with others, which are other tests. */
static int find_inside(struct effect_work *w, const struct nodes *all, size_t n)
{
	struct part p = part_at(PART_NODE, (int)n, -1);
	struct effect_estimate e;

	if (effect_insides_worse(w, &all->inside, n, all->z, &e)) {
		p.kind = is_whole(w, all, n, &e, false) ? PART_NODE :
							  PART_INTRA_NODE;
	} else if (!effect_insides_worse(w, &all->inside, n, all->both, &e) ||
		   !is_whole(w, all, n, &e, true)) {
		return 0;
	}
	return effect_add(w, &p, NULL, &e, part_measured(w->run, &p));
}

/** Node @n, by what it is with others, or else inside. */
static int find_node(struct effect_work *w, const struct nodes *all, size_t n)
{
	const struct run_node *node = &w->run->nodes[n];
	const struct effect_peers *x = &all->x;
	struct part p = part_at(PART_NODE, (int)n, -1);
	int way = effect_way(x, n), rc = 0;
	struct effect_estimate e;
	bool worse = !is_alone(w, n) &&
		     effect_is_worse(w, x, n, way, all->z, &e);
	bool apart = worse && !w->sample && is_apart(x, n, e.by);
	bool most = !worse || most_are(w, n, way, e.by);

	if (worse && most && !apart) {
		p.direction = effect_direction(way);
		p.kind = is_network(w, n, e.by) ? PART_NODE_NETWORK : PART_NODE;
		rc = effect_add(w, &p, NULL, &e,
				tests_of(w, node->first_rank, node->gpus, way));
	} else {
		rc = find_inside(w, all, n);
	}
	if (most && (worse || node->gpus >= EFFECT_LEAST_PEERS)) {
		lower_ranks(w, x, n, apart);
	}
	return rc;
}

int effect_find_nodes(struct effect_work *w, double z)
{
	struct nodes all = {
		.z = z, .both = effect_deviations(sqrt(effect_tail(z))),
	};
	int rc = effect_insides_learn(w, &all.inside);

	rc = effect_peers_init(&all.x, w->nodes, w->t.width) < 0 ? -1 : rc;
	all.x.aside = w->n_aside;
	if (rc == 0) {
		fill_nodes(w, &all.x);
		effect_peers_learn(w, &all.x);
	}
	for (size_t n = 0; rc == 0 && n < w->nodes; n++) {
		rc = find_node(w, &all, n);
	}
	effect_peers_release(&all.x);
	effect_insides_release(&all.inside);
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

	nic.direction = gpu.direction = effect_direction(way);
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
		int way = effect_way(&x, i);
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

			p.direction = effect_direction(way);
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
