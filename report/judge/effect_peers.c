/* SPDX-License-Identifier: BSD-3-Clause */
/* How much worse a part is than its peers, with a confidence interval. */
#include <math.h>
#include <stdlib.h>

#include "lib/base/grow.h"
#include "lib/base/stats.h"
#include "report/judge/effects.h"

/* ---- effect found -------------------------------------------------------- */



int effect_way(const struct effect_peers *x, size_t i)
{
	double tx = x->mean[TX][i], rx = x->mean[RX][i];

	return !(rx < tx / 2) ? TX : !(tx < rx / 2) ? RX : BOTH;
}

enum part_direction effect_direction(int way)
{
	return way == TX ? PART_TX : way == RX ? PART_RX : PART_BOTH;
}

int effect_add(struct effect_work *w, const struct part *p,
	       const struct part *also, const struct effect *e, size_t tests)
{
	struct effect x = *e;

	x.part = *p;
	x.also = also ? *also : *p;
	x.tests = tests;
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

/* ---- effect nvlinks ------------------------------------------------------ */

/*
 * Tests inside a node: NVLinks that are worse than those of the other GPUs
 * there, and nodes in which all are.
 */

/** Standard errors within which the tests of a GPU with other nodes may be off:
 *  flows that meet hide what is slower inside a node. */
#define OUTSIDE_ERRORS 5.0
/** A node that is slower inside by less, as a logarithm, may have had a bad
 *  moment: its tests there are made in a few, all GPUs at once. */
#define LEAST_INSIDE 0.05

/** Subtracts the usual value of GPU @gpu with its peer number @peer. */
static void level_peer(const struct effect_work *w,
		       const struct effect_peers *x, float *of, int gpu,
		       int peer)
{
	const struct cluster_node *nodes = w->run->nodes;
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

/** Adds NVLink @nvlink of rank @i, whose GPU is slower by @e inside its node.
 *  With other nodes it may be half as bad, if not as surely: then it may be all
 *  of the GPU. */
static int add_nvlink(struct effect_work *w, size_t i, int way,
		      const struct part *nvlink, const struct effect *e)
{
	struct part gpu = part_at(PART_GPU, nvlink->node, nvlink->index);
	size_t tests = part_measured(w->run, nvlink), known = 0;
	double half, v;		/* with other nodes */

	gpu.direction = nvlink->direction;
	for (size_t p = 0; p < w->width; p++) {
		double of = effect_of_way(
			(double)w->means[TX][i * w->width + p],
			(double)w->means[RX][i * w->width + p], way);

		if (isfinite(of)) {
			w->room[known++] = of;
		}
	}
	v = known ? stats_select(w->room, known, known / 2) : 0;
	if (known == 0 || v < e->ratio / 2) {
		return effect_add(w, &gpu, nvlink, e, tests);
	}
	half = OUTSIDE_ERRORS * stats_deviation(w->room, known) /
	       sqrt((double)known);
	return effect_add(w, nvlink, v - half < e->ratio / 2 ? &gpu : NULL, e,
			  tests);
}

/** Fills @x with the tests inside nodes, each pair compared with the same two
 *  GPU numbers of other nodes: each rank with each other GPU of its node, as
 *  sender and as receiver.  Returns 0, or -1 when memory runs out. */
static int fill(const struct effect_work *w, struct effect_peers *x)
{
	const struct run *run = w->run;
	int most = cluster_most_gpus(&run->cluster);

	if (effect_peers_init(x, w->ranks, (size_t)most) < 0) {
		return -1;
	}
	x->inside = true;
	for (int i = 0; i < run->n_ranks; i++) {
		const struct cluster_node *n = &run->nodes[run->ranks[i].node];

		for (int p = 0; p < most; p++) {
			size_t to = (size_t)i * x->width + (size_t)p;
			int peer = n->first_rank + p;
			bool has = p < n->gpus && peer != i;

			x->samples[TX][to] = !has ? NAN :
				effect_log(w, run_at(run, i, peer));
			x->samples[RX][to] = !has ? NAN :
				effect_log(w, run_at(run, peer, i));
		}
	}
	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < most * most; i++) {
			level_peer(w, x, x->samples[k], i / most, i % most);
		}
	}
	return 0;
}

int effect_inside_learn(const struct effect_work *w, struct effect_peers *gpus,
			struct effect_peers *nodes)
{
	int rc = fill(w, gpus);

	if (effect_peers_init(nodes, w->nodes, gpus->width) < 0) {
		rc = -1;
	}
	nodes->inside = true;
	/* each node as its GPUs are with each other: the median of the known
	 * ones, one of which may be bad */
	for (size_t i = 0; rc == 0 && i < w->nodes * nodes->width; i++) {
		const struct cluster_node *n = &w->run->nodes[i / nodes->width];
		size_t gpu = i % nodes->width;
		size_t row = ((size_t)n->first_rank + gpu) * gpus->width;

		for (int k = 0; k < 2; k++) {
			nodes->samples[k][i] = gpu >= (size_t)n->gpus ? NAN :
				(float)stats_median(w->room, effect_known(
					&gpus->samples[k][row], gpus->width, 1,
					w->room));
		}
	}
	if (rc == 0) {
		effect_peers_learn(w, nodes);
	}
	return rc;
}

bool effect_inside_is_worse(const struct effect_work *w,
			    const struct effect_peers *gpus,
			    const struct effect_peers *nodes, size_t n,
			    double z, struct effect *e)
{
	const struct cluster_node *node = &w->run->nodes[n];
	size_t width = gpus->width, bad = 0, known = 0;
	const float *v = &gpus->samples[TX][(size_t)node->first_rank * width];

	/* ports have no other way to each other than outside */
	if (w->run->ports || !effect_is_worse(w, nodes, n, BOTH, z, e) ||
	    e->ratio > -LEAST_INSIDE) {
		return false;
	}
	for (size_t i = 0; i < (size_t)node->gpus * width; i++) {
		known += isfinite(v[i]);
		bad += isfinite(v[i]) && (double)v[i] < e->ratio / 2;
	}
	return 4 * bad >= 3 * known;
}

/** Those of @v that are known, to @room; returns how many. */
static size_t known_of(const double *v, size_t n, double *room)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++) {
		if (isfinite(v[i])) {
			room[known++] = v[i];
		}
	}
	return known;
}

int effect_find_nvlinks(struct effect_work *w, double z)
{
	struct effect_peers x;
	int rc = fill(w, &x);

	for (size_t n = 0; rc == 0 && n < 2 * w->nodes; n++) {
		const struct cluster_node *node = &w->run->nodes[n / 2];
		float *of = x.samples[n % 2] +
			    (size_t)node->first_rank * x.width;
		size_t gpus = (size_t)node->gpus;
		double *usual = w->room + w->ranks;

		for (size_t i = 0; i < gpus; i++) {
			usual[i] = effect_median(w, &of[i * x.width], x.width,
						 1);
		}
		/* subtract the usual value in the node */
		effect_lower(of, gpus * x.width, 1,
			     gpus ? stats_median(usual, gpus) : 0);
	}
	if (rc == 0) {
		effect_peers_learn(w, &x);
	}
	for (size_t i = 0; rc == 0 && i < w->ranks; i++) {
		const struct cluster_rank *r = &w->run->ranks[i];
		struct part p = part_at(PART_GPU_NVLINK, r->node, r->gpu);
		const struct part gpu = part_at(PART_GPU, r->node, r->gpu);
		const struct part node = part_at(PART_NODE, r->node, -1);
		int way = effect_way(&x, i);
		struct effect e;
		size_t known;
		double off, half;

		if (!effect_is_worse(w, &x, i, way, z, &e) ||
		    effect_is_in(w, &gpu) || effect_is_in(w, &node)) {
			continue;
		}
		/* The tests inside a node take only a moment, in which a
		 * disturbance affects all of them: its GPUs deviate by that, or
		 * by the usual error if that is larger. */
		known = known_of(&x.mean[way][w->run->nodes[r->node]
						      .first_rank],
				 (size_t)w->run->nodes[r->node].gpus, w->room);
		off = fmax(stats_deviation(w->room, known), x.usual[way]);
		half = hypot(e.high - e.ratio, z * off);
		e.low = e.ratio - half;
		e.high = e.bound = e.ratio + half;
		if (e.high < 0) {
			p.direction = effect_direction(way);
			rc = add_nvlink(w, i, way, &p, &e);
		}
	}
	effect_peers_release(&x);
	return rc;
}

/* ---- effect peers -------------------------------------------------------- */

/** Minimum number of partners with known values.  GPUs inside a node have few
 *  tests and need LEAST_INSIDE_PARTNERS. */
#define LEAST_SOUND 2
#define LEAST_INSIDE_PARTNERS 3
/** A part of its partner nodes that is trimmed at either end. */
#define TRIM 0.25
/** The MAD of a sample is as sure as the deviation of this share of it. */
#define MAD_AS_SURE 0.37
/** Factor by which the error of a median is larger than that of a mean. */
#define MEDIAN_ERROR 1.2533
/** Minimum degrees of freedom; with fewer parts the interval would be too wide
 *  to be useful. */
#define LEAST_FREEDOM 5
/** Number of deviations for an error of one in a hundred (normal,
 *  two-sided). */
#define ALONE 2.576

double effect_tail(double z)
{
	return erfc(z / sqrt(2)) / 2;
}

double effect_deviations(double tail)
{
	double low = 0, high = 40;

	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (effect_tail(middle) > tail) {
			low = middle;
		} else {
			high = middle;
		}
	}
	return low;
}

/** Returns the quantile of Student's distribution for the normal quantile @z
 *  (D.  Wallace, Ann.  Math.  Statist. 30, 1959). */
static double student_quantile(double z, double freedom)
{
	double u = z * (8 * freedom + 3) / (8 * freedom + 1);

	return sqrt(freedom * expm1(fmin(u * u / freedom, 700)));
}

int effect_peers_init(struct effect_peers *x, size_t n, size_t width)
{
	bool whole = true;

	*x = (struct effect_peers){ .n = n, .width = width };
	for (int k = 0; k < 2; k++) {
		x->samples[k] = calloc(n * width + 1, sizeof(float));
		whole = whole && x->samples[k];
	}
	for (int k = 0; k < WAYS; k++) {
		x->mean[k] = calloc(n + 1, sizeof(double));
		x->error[k] = calloc(n + 1, sizeof(double));
		whole = whole && x->mean[k] && x->error[k];
	}
	return whole ? 0 : -1;
}

void effect_peers_release(struct effect_peers *x)
{
	for (int k = 0; k < WAYS; k++) {
		free(x->mean[k]);
		free(x->error[k]);
		if (k < 2) {
			free(x->samples[k]);
		}
	}
}

/** Returns the sample of part @i with partner @p for direction @way. */
static double sample(const struct effect_peers *x, size_t i, int way, size_t p)
{
	return effect_of_way((double)x->samples[TX][i * x->width + p],
			     (double)x->samples[RX][i * x->width + p], way);
}

void effect_peers_learn(const struct effect_work *w, struct effect_peers *x)
{
	double more = w->crossed ? 1 : MEDIAN_ERROR;

	for (int way = 0; way < WAYS; way++) {
		double usual, all;
		size_t known;

		/* the mean of each part, and its error; the median takes the
		 * place of the mean where rails are not crossed, as one bad
		 * partner of a few moves that */
		for (size_t i = 0; i < x->n; i++) {
			double sum = 0, squares = 0;
			size_t n = 0;

			for (size_t p = 0; p < x->width; p++) {
				double v = sample(x, i, way, p);

				if (isfinite(v)) {
					sum += v;
					squares += v * v;
					w->room[n++] = v;
				}
			}
			x->mean[way][i] = n == 0 ? NAN :
				w->crossed ? sum / (double)n :
					     stats_median(w->room, n);
			x->error[way][i] = n > 1 ?
				sqrt(fmax(squares - sum * sum / (double)n, 0) /
				     (double)(n * (n - 1))) : NAN;
		}
		known = known_of(x->error[way], x->n, w->room);
		usual = known ? stats_select(w->room, known, known / 2) : 0;
		known = known_of(x->mean[way], x->n, w->room);
		all = stats_deviation(w->room, known);
		x->usual[way] = usual;
		x->between[way] = sqrt(fmax(all * all - more * more * usual *
							usual, 0));
	}
}

/** Returns the mean of the middle half of @n sorted values without number @out.
 *  The values at its ends count in proportion to how much of them is inside. */
static double middle_mean(const double *v, const double *sums, size_t n,
			  size_t out)
{
	size_t left = n - (out < n), cut = (size_t)(TRIM * (double)left);
	size_t from = cut + (out < n && out <= cut);
	size_t to = from + left - 2 * cut;	/* of the whole list */
	bool holds = out < n && out >= from && out < to;
	double off = TRIM * (double)left - (double)cut, ends;

	to += holds;
	ends = v[from] + v[to - 1];
	return (sums[to] - sums[from] - (holds ? v[out] : 0) - off * ends) /
	       ((1 - 2 * TRIM) * (double)left);
}

/** The deviation of the mean of @n sorted values by leaving out one at a time.
 */
static double jackknife(const double *v, const double *sums, size_t n)
{
	double mean = 0, squares = 0;

	if (n < 2) {
		return 0;
	}
	for (size_t k = 0; k < n; k++) {
		mean += middle_mean(v, sums, n, k) / (double)n;
	}
	for (size_t k = 0; k < n; k++) {
		double off = middle_mean(v, sums, n, k) - mean;

		squares += off * off;
	}
	return sqrt(squares * (double)(n - 1) / (double)n);
}

bool effect_is_worse(const struct effect_work *w, const struct effect_peers *x,
		     size_t i, int way, double z, struct effect *e)
{
	double freedom = fmax(MAD_AS_SURE * (double)(x->n - 1),
			      LEAST_FREEDOM);
	double *v, *sums, error, by, half, between = x->between[way];
	size_t n = 0;

	/* most are not: a look at the mean will do */
	if (x->n < EFFECT_LEAST_PEERS || !(x->mean[way][i] < -w->least / 2)) {
		return false;
	}
	v = calloc(2 * x->width + 2, sizeof(*v));
	if (!v) {
		return false;
	}
	sums = v + x->width;
	for (size_t p = 0; p < x->width; p++) {
		double s = sample(x, i, way, p);

		if (isfinite(s)) {
			v[n++] = s;
		}
	}
	qsort(v, n, sizeof(*v), stats_order);
	for (size_t k = 0; k < n; k++) {
		sums[k + 1] = sums[k] + v[k];
	}
	error = fmax(jackknife(v, sums, n),
		     x->usual[way] *
			     (n == LEAST_SOUND ? STATS_MAD_SIGMAS : 1));
	/* intervals as wide as a normal one of @z deviations */
	by = middle_mean(v, sums, n, n);
	half = hypot(z * error, student_quantile(z, freedom) * between);
	*e = (struct effect){
		.ratio = by, .low = by - half, .high = by + half,
		.bound = by + hypot(ALONE * error,
				    student_quantile(ALONE, freedom) * between),
		.partners = n, .inside = x->inside,
	};
	free(v);
	return n >= LEAST_SOUND &&
	       (!x->inside || n >= LEAST_INSIDE_PARTNERS) &&
	       by <= -w->least && e->high < 0;
}
