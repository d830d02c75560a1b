/* SPDX-License-Identifier: BSD-3-Clause */
/* Find parts that are slightly worse than their peers. */
#include "report/judge/effects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"

/* ---- effect links -------------------------------------------------------- */

/*
 * Links between two nodes that are worse than the others.
 */

/** Writes the values of node @a sending to node @b, relative to what is usual
 *  for each rank, to @v; returns how many there are. */
static size_t add_way(const struct effect_work *w, const double *usual,
		      size_t a, size_t b, double *v)
{
	const struct cluster_node *n = &w->run->nodes[a];
	size_t known = 0;

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		double one = (double)w->means[TX][(size_t)r * w->nodes + b] -
			     usual[r];

		if (isfinite(one)) {
			v[known++] = one;
		}
	}
	return known;
}

/* Finds links between two nodes that are worse than all others. */
static int effect_find_links(struct effect_work *w, double z)
{
	size_t n = 0, links = w->nodes * (w->nodes - 1) / 2;
	double *by = calloc(2 * links + w->ranks + 1, sizeof(*by));
	double *copy = by + links, *usual = copy + links, off;
	int rc = by ? 0 : -1;

	for (size_t i = 0; by && i < w->ranks; i++) {
		usual[i] = effect_median(w, &w->means[TX][i * w->nodes],
					 w->nodes, 1);
	}
	for (size_t a = 0; by && a < w->nodes; a++) {
		for (size_t b = a + 1; b < w->nodes; b++) {
			size_t known = add_way(w, usual, a, b, w->room);

			known += add_way(w, usual, b, a, w->room + known);
			by[n] = known ? stats_select(w->room, known,
						     known / 2) : NAN;
			copy[n] = isfinite(by[n]) ? by[n] : 0;
			n++;
		}
	}
	off = by ? stats_deviation(copy, n) : 0;
	n = 0;
	for (size_t a = 0; rc == 0 && a < w->nodes; a++) {
		for (size_t b = a + 1; rc == 0 && b < w->nodes; b++) {
			struct part p = part_at(PART_NODE_PAIR, (int)a, -1);
			const struct effect e = {
				.ratio = by[n], .low = by[n] - z * off,
				.high = by[n] + z * off,
				.bound = by[n] + z * off, .partners = 2,
			};

			p.peer_node = (int)b;
			n++;
			if (e.ratio <= -w->least && e.high < 0) {
				rc = effect_add(w, &p, NULL, &e,
						part_measured(w->run, &p));
			}
		}
	}
	free(by);
	return rc;
}

/* ---- effect join --------------------------------------------------------- */

/** Returns the effect in @e that names the NIC of @rank; NULL: none. */
static struct effect *nic_of(const struct run *run, const struct effects *e,
			     int rank)
{
	struct part p = part_at(PART_NIC, run->ranks[rank].node,
				run->ranks[rank].nic);

	for (size_t i = 0; i < e->n; i++) {
		if (part_compare(&e->list[i].part, &p) == 0) {
			return &e->list[i];
		}
	}
	return NULL;
}

/** Combines the effects of all NICs of @whole into @out.  Returns false if one
 *  of them is not in @e or is less than half as bad as another, or if there is
 *  only one. */
static bool sum_up(const struct run *run, const struct effects *e,
		   const struct part *whole, struct effect *out)
{
	const struct effect *last = NULL;
	double worst = 0, least = -INFINITY;
	size_t n = 0;

	*out = (struct effect){ .part = *whole, .also = *whole,
				.low = 0, .high = -INFINITY,
				.bound = -INFINITY };
	for (int r = 0; r < run->n_ranks; r++) {
		const struct effect *x;

		if (!part_has(&run->cluster, whole, r)) {
			continue;
		}
		x = nic_of(run, e, r);
		if (!x) {
			return false;
		}
		if (x == last) {
			continue;	/* of two GPUs */
		}
		last = x;
		worst = fmin(worst, x->ratio);
		least = fmax(least, x->ratio);
		out->ratio += (x->ratio - out->ratio) / (double)++n;
		out->low = fmin(out->low, x->low);
		out->high = fmax(out->high, x->high);
		out->bound = fmax(out->bound, x->bound);
		out->partners = x->partners > out->partners ? x->partners :
							      out->partners;
	}
	return n > 1 && least <= worst / 2;
}

/** Replaces NIC @p and others of @e by a larger part if they make up one.
 *  Returns true if so. */
static bool join(const struct run *run, const struct part *p,
		 struct effects *e)
{
	int rank = run->nodes[p->node].first_rank;
	struct part wholes[2] = { part_at(PART_RAIL_LEAF, -1, p->index) };
	int n = run->ports ? 1 : 2;	/* the socket of a port is not known */

	while (run->ranks[rank].nic != p->index) {
		rank++;
	}
	wholes[0].peer_index = run->nodes[p->node].leaf - 1;
	wholes[1] = part_at(PART_SOCKET, p->node,
			    cluster_socket(&run->cluster, rank));
	for (int i = wholes[0].peer_index < 0; i < n; i++) {
		struct effect whole;
		size_t kept = 0;

		if (!sum_up(run, e, &wholes[i], &whole)) {
			continue;
		}
		whole.tests = part_measured(run, &wholes[i]);
		/* it takes the place of its NICs */
		for (int r = 0; r < run->n_ranks; r++) {
			struct effect *x = part_has(&run->cluster, &wholes[i],
						    r) ?
						   nic_of(run, e, r) : NULL;

			if (x) {
				x->part.kind = PART_KINDS;
			}
		}
		for (size_t k = 0; k < e->n; k++) {
			if (e->list[k].part.kind != PART_KINDS) {
				e->list[kept++] = e->list[k];
			}
		}
		e->list[kept++] = whole;
		e->n = kept;
		return true;
	}
	return false;
}

/* ---- effect parts -------------------------------------------------------- */

/*
 * Nodes, NICs and GPUs that are worse than their peers.
 */

/** Returns the tests of @n ranks from @first on in direction @way. */
static size_t tests_of(const struct effect_work *w, int first, int n, int way)
{
	size_t tests = 0;

	for (int i = first; i < first + n; i++) {
		tests += (way != RX ? w->tests[TX][i] : 0) +
			 (way != TX ? w->tests[RX][i] : 0);
	}
	return tests;
}

/** Subtracts the effect of node @n from the samples of its ranks: the mean, or
 *  @with each partner its own. */
static void lower_ranks(struct effect_work *w, const struct effect_peers *x,
			size_t n, bool with)
{
	const struct cluster_node *node = &w->run->nodes[n];
	size_t first = (size_t)node->first_rank * x->width;

	for (int k = 0; k < 2; k++) {
		for (size_t p = 0; p < x->width; p++) {
			double by = with ?
				(double)x->samples[k][n * x->width + p] :
				x->mean[k][n];

			effect_lower(&w->means[k][first + p],
				     (size_t)node->gpus, x->width,
				     isfinite(by) ? by : 0);
		}
	}
}

/** Returns true if node @n is as bad as @by with others, but not with
 *  another bad node.  Then both are far from the others, for example behind
 *  one switch. */
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

/** Returns true if three quarters of the ranks of node @n are at least half as
 *  bad as @by.  Half of the ranks would be a socket. */
static bool most_are(const struct effect_work *w, size_t n, int way, double by)
{
	const struct cluster_node *node = &w->run->nodes[n];
	int bad = 0;

	for (int i = node->first_rank; i < node->first_rank + node->gpus; i++) {
		size_t row = (size_t)i * w->width;
		double v[2];

		for (int k = 0; k < 2; k++) {
			v[k] = effect_median(w, &w->means[k][row], w->width,
					     1);
		}
		bad += (way == BOTH ? (v[TX] + v[RX]) / 2 : v[way]) < by / 2;
	}
	return 4 * bad >= 3 * node->gpus;
}

/** Returns true if the ranks of node @n are not half as bad as @by with each
 *  other, so that its network is at fault. */
static bool is_network(const struct effect_work *w, size_t n, double by)
{
	const struct cluster_node *node = &w->run->nodes[n];
	const float *all = w->inside[TX], *of = &all[node->first_rank];

	return isfinite(of[0]) && effect_median(w, of, (size_t)node->gpus, 1) -
		       effect_median(w, all, w->ranks, 1) > by / 2;
}

/** Returns true if node @n is on one leaf switch and all others are on another.
 *  Then all traffic between the switches is that of @n, so its usual value
 *  hides the effect of @n. */
static bool is_alone(const struct effect_work *w, size_t n)
{
	const struct cluster_node *nodes = w->run->nodes;
	int leaf = nodes[n == 0].leaf;

	for (size_t i = 0; i < w->nodes; i++) {
		if ((nodes[i].leaf != leaf) != (i == n)) {
			return false;
		}
	}
	return leaf > 0 && !w->sample;
}

/** Samples of all nodes, and the confidence that a finding needs. */
struct nodes {
	struct effect_peers x;		/* with other nodes */
	struct effect_peers gpus, inside;	/* effect_inside_learn() */
	double z;			/* deviations of one of these, */
	double both;			/* or of each of the two */
};

/** Returns true if node @n is also worse with other nodes, at least half as bad
 *  as @e is inside, and with @sure beyond doubt. */
static bool is_whole(const struct effect_work *w, const struct nodes *all,
		     size_t n, const struct effect *e, bool sure)
{
	const struct effect_peers *x = &all->x;
	double by = x->mean[BOTH][n];

	if (w->aside[TX][n] || w->aside[RX][n]) {
		return true;	/* it was found to be */
	}
	by += is_alone(w, n) ? (w->far[TX] + w->far[RX]) / 2 : 0;
	return by < e->ratio / 2 && (!sure || by < -all->both * x->usual[BOTH]);
}

/** Judges node @n by its tests with others, or else inside: if these are
 *  certain, or nearly, and it is as bad with other nodes, which are independent
 *  tests. */
static int find_node(struct effect_work *w, const struct nodes *all, size_t n)
{
	const struct cluster_node *node = &w->run->nodes[n];
	const struct effect_peers *x = &all->x;
	struct part p = part_at(PART_NODE, (int)n, -1);
	int way = effect_way(x, n), rc = 0;
	struct effect e;
	bool worse = !is_alone(w, n) &&
		     effect_is_worse(w, x, n, way, all->z, &e);
	bool apart = worse && !w->sample && is_apart(x, n, e.ratio);
	bool most = !worse || most_are(w, n, way, e.ratio);

	if (worse && most && !apart) {
		p.direction = effect_direction(way);
		p.kind = is_network(w, n, e.ratio) ? PART_NODE_NETWORK :
						     PART_NODE;
		rc = effect_add(w, &p, NULL, &e,
				tests_of(w, node->first_rank, node->gpus, way));
	} else if (effect_inside_is_worse(w, &all->gpus, &all->inside, n,
					  all->z, &e)) {
		p.kind = is_whole(w, all, n, &e, false) ? PART_NODE :
							  PART_INTRA_NODE;
		rc = effect_add(w, &p, NULL, &e, part_measured(w->run, &p));
	} else if (effect_inside_is_worse(w, &all->gpus, &all->inside, n,
					  all->both, &e) &&
		   is_whole(w, all, n, &e, true)) {
		rc = effect_add(w, &p, NULL, &e, part_measured(w->run, &p));
	}
	if (most && (worse || node->gpus >= EFFECT_LEAST_PEERS)) {
		lower_ranks(w, x, n, apart);
	}
	return rc;
}

/* Nodes, by their tests with others and by those inside.  What they add is
 * taken from their ranks in the table, and, of nodes with enough of these,
 * what any node does. */
static int effect_find_nodes(struct effect_work *w, double z)
{
	struct nodes all = {
		.z = z, .both = effect_deviations(sqrt(effect_tail(z))),
	};
	struct effect_peers *x = &all.x;
	int rc = effect_inside_learn(w, &all.gpus, &all.inside);

	rc = effect_peers_init(x, w->nodes, w->width) < 0 ? -1 : rc;
	/* the value of its ranks with each partner: the median, of an even
	 * number the better one, since a bad half does not make a bad node */
	for (size_t i = 0; rc == 0 && i < 2 * w->nodes * x->width; i++) {
		size_t k = i / (w->nodes * x->width);
		size_t at = i % (w->nodes * x->width);
		const struct cluster_node *node = &w->run->nodes[at / x->width];
		size_t first = (size_t)node->first_rank * x->width;
		size_t known = effect_known(
			&w->means[k][first + at % x->width],
			(size_t)node->gpus, x->width, w->room);

		x->samples[k][at] = known == 0 ? NAN :
			(float)stats_select(w->room, known, known / 2);
	}
	if (rc == 0) {
		effect_peers_learn(w, x);
	}
	for (size_t n = 0; rc == 0 && n < w->nodes; n++) {
		rc = find_node(w, &all, n);
	}
	effect_peers_release(x);
	effect_peers_release(&all.gpus);
	effect_peers_release(&all.inside);
	return rc;
}

static int add_rank(struct effect_work *w, size_t i, int way,
		    const struct effect *e, bool alone)
{
	const struct cluster_rank *r = &w->run->ranks[i];
	struct part nic = part_at(PART_NIC, r->node, r->nic);
	struct part gpu = part_at(PART_GPU, r->node, r->gpu);
	double in = effect_of_way((double)w->inside[TX][i],
				  (double)w->inside[RX][i], way);
	bool known = isfinite(w->inside[TX][i]);
	size_t tests = tests_of(w, (int)i, 1, way);

	nic.direction = gpu.direction = effect_direction(way);
	/* at least half as bad inside its node: no NIC */
	if (!alone || (known && in < e->ratio / 2)) {
		return effect_add(w, &gpu, NULL, e, tests);
	}
	return effect_add(w, &nic, known ? NULL : &gpu, e, tests);
}

/* NICs and GPUs. */
static int effect_find_ranks(struct effect_work *w, double z)
{
	const struct cluster_rank *ranks = w->run->ranks;
	struct effect_peers x;
	int rc = effect_peers_init(&x, w->ranks, w->width);

	if (rc == 0) {
		for (int k = 0; k < 2; k++) {
			memcpy(x.samples[k], w->means[k],
			       w->ranks * w->width * sizeof(float));
		}
		effect_peers_learn(w, &x);
		effect_table_level_inside(w);
	}
	for (int i = 0; rc == 0 && i < w->run->n_ranks; i++) {
		int way = effect_way(&x, (size_t)i), sharers = 0;
		size_t tests = 0;	/* of these */
		bool first = true;
		const struct cluster_node *n = &w->run->nodes[ranks[i].node];
		struct part p = part_at(PART_NIC, ranks[i].node, ranks[i].nic);
		struct effect e;
		bool all = true;	/* have lost about as much as it */

		if (!effect_is_worse(w, &x, (size_t)i, way, z, &e)) {
			continue;
		}
		/* the ranks of its node that use its NIC */
		for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
			if (ranks[r].nic == ranks[i].nic) {
				all = all && x.mean[way][r] <
						     x.mean[way][i] / 2;
				tests += tests_of(w, r, 1, way);
				first &= r >= i;
				sharers++;
			}
		}
		if (sharers == 1 || !all) {
			rc = add_rank(w, (size_t)i, way, &e, sharers == 1);
		} else if (first) {
			p.direction = effect_direction(way);
			rc = effect_add(w, &p, NULL, &e, tests);
		}
	}
	effect_peers_release(&x);
	return rc;
}

/* ---- effects ------------------------------------------------------------- */

/** Wrong ones among all intervals of a run. */
#define ALPHA 0.01
/** Means of each rank with each node. */
#define TABLE_MOST ((size_t)1 << 25)
/** Fewer nodes have no usual link, nor GPUs with a usual peer. */
#define LEAST_NODES 4

/** Logarithms into what the caller asked for. */
static void finish(struct effects *out, enum effects_of of)
{
	for (size_t i = 0; i < out->n; i++) {
		struct effect *e = &out->list[i];
		double low = e->low;

		if (of == EFFECTS_LATENCY) {
			e->ratio = exp(-e->ratio);
			e->bound = exp(-e->bound);
			e->low = exp(-e->high);
			e->high = exp(-low);
		} else {
			e->ratio = exp(e->ratio);
			e->bound = exp(e->bound);
			e->low = exp(e->low);
			e->high = exp(e->high);
		}
	}
}

/** Finds all parts that are worse, with intervals for @family parts and
 *  directions. */
static int find(struct effect_work *w, size_t family)
{
	const double z = effect_deviations(ALPHA / 2 / (double)family);
	int rc = -1;

	w->out = (struct effects){ 0 };
	if (effect_table_make(w) == 0 && effect_find_nodes(w, z) == 0 &&
	    effect_find_ranks(w, z) == 0) {
		rc = w->nodes < LEAST_NODES || w->run->ports ? 0 :
			effect_find_nvlinks(w, z);
	}
	/* of a sample no two nodes have met often enough */
	if (rc == 0 && w->of == EFFECTS_BANDWIDTH && !w->sample &&
	    w->run->n_leaves > 2 && !w->run->leaves_inferred) {
		rc = effect_find_paths(w, z);
	}
	/* flows that meet change the bandwidth of a link, not its latency */
	if (rc == 0 && w->of == EFFECTS_LATENCY && !w->sample &&
	    w->nodes >= LEAST_NODES) {
		rc = effect_find_links(w, z);
	}
	effect_table_release(w);
	return rc;
}

/** All that is found with intervals for @family parts and ways, and what that
 *  hid; each that is found leaves fewer for chance to find. */
static int find_all(struct effect_work *w, size_t family)
{
	struct effects before = { 0 };
	int rc = find(w, family);

	while (rc == 0 && w->out.n > before.n) {
		effects_release(&before);
		before = w->out;
		/* Nodes that were found hide what their partners are: bandwidth
		 * is that of the narrowest part, while latencies add up. */
		for (size_t i = 0; w->of == EFFECTS_BANDWIDTH && i < before.n;
		     i++) {
			const struct part *p = &before.list[i].part;

			if (!part_is(p, KIND(NODE) | KIND(NODE_NETWORK))) {
				continue;
			}
			w->aside[TX][p->node] |= p->direction != PART_RX;
			w->aside[RX][p->node] |= p->direction != PART_TX;
		}
		rc = find(w, family - before.n);
	}
	if (w->out.n < before.n) {
		effects_release(&w->out);
		w->out = before;
	} else {
		effects_release(&before);
	}
	return rc;
}

int effects_find(const struct run *run, const uint8_t *skip,
		 enum effects_of of, double least, struct effects *out)
{
	struct effect_work w = {
		.run = run, .skip = skip, .of = of,
		.nodes = (size_t)run->n_nodes,
		.ranks = (size_t)run->n_ranks,
		.sample = run->grid.first && !run->mesh,
		.least = of == EFFECTS_LATENCY ? log1p(least) : -log1p(-least),
	};
	/* nodes inside as well, GPUs, NICs and NVLinks */
	size_t family = w.nodes + WAYS * (w.nodes + 3 * w.ranks);
	size_t leaves = (size_t)run->n_leaves;
	int rc = -1;

	*out = (struct effects){ 0 };
	if (w.nodes < 2 || w.ranks < EFFECT_LEAST_PEERS ||
	    (!w.sample && w.ranks > TABLE_MOST / w.nodes)) {
		return 0;
	}
	w.room = calloc(2 * w.ranks + w.nodes + leaves * leaves + 1,
			sizeof(*w.room));
	w.aside[TX] = calloc(2 * w.nodes, sizeof(*w.aside[TX]));
	w.aside[RX] = w.aside[TX] + w.nodes;
	rc = w.room && w.aside[TX] ? effect_speeds_learn(&w) : -1;
	rc = rc == 0 ? find_all(&w, family) : rc;
	free(w.aside[TX]);
	free(w.room);
	if (rc < 0) {
		effects_release(&w.out);
		return -1;
	}
	*out = w.out;
	/* NICs that are all there are behind one socket, or all of one rail on
	 * the nodes of a leaf switch, two at least, and about as bad as each
	 * other both ways: it is the socket, or what they have at the switch,
	 * and no NIC.  It takes their place, while ratios are logarithms. */
	for (size_t i = 0; i < out->n;) {
		const struct part p = out->list[i].part;

		/* those that follow take the place of what has joined */
		i += !(p.kind == PART_NIC && join(run, &p, out));
	}
	finish(out, of);
	return 0;
}

void effects_release(struct effects *e)
{
	free(e->list);
	*e = (struct effects){ 0 };
}
