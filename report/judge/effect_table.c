/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Table of the means of each rank with each partner node, from which the usual
 * values of a class, a partner and a GPU index are subtracted.
 */
#include <math.h>
#include <stdlib.h>

#include "lib/base/stats.h"
#include "report/judge/effects.h"
#include "report/model/run.h"

/* ---- effect speed -------------------------------------------------------- */

/*
 * Values of cells as the search for effects uses them.  HCA ports of one run
 * may have different rates, such as storage and compute ports or old and new
 * nodes.  A pair is compared with pairs of the same rate, which is that of the
 * slower port.
 */

static float measured_log(const struct effect_work *w, size_t at)
{
	const struct cell *c = &w->run->cells[at];
	float v = w->of == EFFECTS_LATENCY ? 1 / c->lat_us : c->bw_GB_s;

	return run_good(c->class) && v > 0 && v < INFINITY &&
			       !(w->skip && (w->skip[at] & EFFECTS_SKIP)) ?
		       logf(v) : NAN;
}

/** Returns the number of the rate of the cell at @at; w->n_speeds: it is not
 *  listed. */
static size_t speed_of(const struct effect_work *w, size_t at)
{
	double rate = run_rate(w->run, at);
	size_t i = 0;

	while (i < w->n_speeds && !(w->speed_GB_s[i] >= rate &&
				    w->speed_GB_s[i] <= rate)) {
		i++;
	}
	return i;
}

/** Returns the number of its usual value; the last one is that of all rates
 *  that do not fit. */
static size_t usual_speed_of(const struct effect_work *w, size_t at)
{
	size_t i = speed_of(w, at);

	return i < w->n_speeds ? i : w->n_speeds - 1;
}

int effect_speeds_learn(struct effect_work *w)
{
	double *room;

	w->n_speeds = 0;
	if (!w->run->ports) {
		return 0;
	}
	room = calloc(run_n_cells(w->run) + 1, sizeof(*room));
	if (!room) {
		return -1;
	}
	run_foreach_cell(w->run, at) {
		if (run_good(w->run->cells[at].class) &&
		    w->n_speeds < EFFECT_SPEEDS &&
		    speed_of(w, at) == w->n_speeds) {
			w->speed_GB_s[w->n_speeds++] = run_rate(w->run, at);
		}
	}
	for (size_t i = 0; i < w->n_speeds * PATH_CLASSES; i++) {
		size_t n = 0;

		run_foreach_cell(w->run, at) {
			float v = measured_log(w, at);

			if (isfinite(v) &&
			    w->run->cells[at].path == i % PATH_CLASSES &&
			    usual_speed_of(w, at) == i / PATH_CLASSES) {
				room[n++] = (double)v;
			}
		}
		w->speed_usual[i / PATH_CLASSES][i % PATH_CLASSES] =
			n ? stats_select(room, n, n / 2) : 0;
	}
	free(room);
	return 0;
}

float effect_log(const struct effect_work *w, size_t at)
{
	float v = measured_log(w, at);

	return w->n_speeds == 0 ? v :
	       v - (float)w->speed_usual[usual_speed_of(w, at)]
					[w->run->cells[at].path];
}

/* ---- effect sample ------------------------------------------------------- */

/*
 * The table of a sample.  A rank has a few tests with other nodes, each with
 * another one, so a column is not a node but the next partner of each rank.
 * The usual value is that of tests of the same type, of which there are many:
 * same rail or not, same leaf switch or not; inside nodes, tests of the same
 * two GPU numbers.
 */

/** Partners of a rank that count: a sample is of fewer. */
#define MOST_PARTNERS 64
/** Minimum nodes for the usual value of two GPU numbers inside nodes; with
 *  fewer, all tests inside nodes are used if they are alike, and below
 *  LEAST_ALIKE none. */
#define WELL_KNOWN  8
#define LEAST_ALIKE 3
/** Tests inside nodes are alike if they deviate by no more (a logarithm). */
#define ALIKE 0.05
/** Sorts of tests between nodes: rails, leaf switches. */
#define SORTS 4



static bool is_inside(const struct run *run, size_t at)
{
	return run->ranks[run_src(run, at)].node ==
	       run->ranks[run_dst(run, at)].node;
}

/** Subtracts the usual value from the @n values of @v at places @at, which are
 *  of one type: their median; of a few tests @others, if it is known, and NAN
 *  of fewer than @least. */
static void level_group(double *v, const size_t *at, size_t n, double others,
			size_t least, double *room)
{
	double usual = others;

	for (size_t i = 0; i < n; i++) {
		room[i] = v[at[i]];
	}
	if (n >= WELL_KNOWN || isnan(others)) {
		usual = n >= least ? stats_select(room, n, n / 2) :
				     (double)NAN;
	}
	for (size_t i = 0; i < n; i++) {
		v[at[i]] -= usual;
	}
}

/** Levels the values of cells inside nodes: each is compared with those of the
 *  same two GPU numbers of all nodes, or with all where these are few and all
 *  are alike. */
static void level_inside(const struct run *run, double *v, size_t *at,
			 double *room)
{
	int gpus = cluster_most_gpus(&run->cluster);
	double all = NAN;
	size_t n = 0;

	for (size_t i = 0; i < run_n_cells(run); i++) {
		if (isfinite(v[i]) && is_inside(run, i)) {
			room[n++] = v[i];
		}
	}
	if (n > 0) {
		all = stats_select(room, n, n / 2);
		all = stats_deviation(room, n) <= ALIKE ? all : (double)NAN;
	}
	for (int pair = 0; pair < gpus * gpus; pair++) {
		int from = pair / gpus, to = pair % gpus;

		n = 0;
		for (int i = 0; i < run->n_nodes; i++) {
			const struct cluster_node *node = &run->nodes[i];
			size_t k = run_n_cells(run);

			if (from != to && from < node->gpus &&
			    to < node->gpus) {
				k = run_at(run, node->first_rank + from,
					   node->first_rank + to);
			}
			if (k < run_n_cells(run) && isfinite(v[k])) {
				at[n++] = k;
			}
		}
		level_group(v, at, n, all, LEAST_ALIKE, room);
	}
}

/** Levels the values of cells between nodes, by type: same or other rail, same
 *  or other leaf switch. */
static void level_between(const struct run *run, double *v, size_t *at,
			  double *room)
{
	for (int sort = 0; sort < SORTS; sort++) {
		size_t n = 0;

		for (size_t i = 0; i < run_n_cells(run); i++) {
			const struct cluster_rank *s, *d;
			bool far;

			s = &run->ranks[run_src(run, i)];
			d = &run->ranks[run_dst(run, i)];
			far = run->n_leaves > 0 && run->nodes[s->node].leaf !=
						   run->nodes[d->node].leaf;
			if (isfinite(v[i]) && s->node != d->node &&
			    (s->nic != d->nic) + 2 * far == sort) {
				at[n++] = i;
			}
		}
		level_group(v, at, n, NAN, 1, room);
	}
}

/** Returns true if the cell at @at is one of its sender's columns: between
 *  nodes, and not of the follow-up. */
static bool is_column(const struct run *run, size_t at)
{
	return !is_inside(run, at) && !follow_has(run, at);
}

/** Fills in the columns of rank @r, and its value inside its node, from the
 *  values @of of the cells. */
static void put_rank(struct effect_work *w, const double *of, int r)
{
	const struct run *run = w->run;
	size_t row = (size_t)r * w->width, used = 0, inside[2] = { 0 };
	double sum[2] = { 0 };

	for (size_t p = 0; p < w->width; p++) {
		w->means[TX][row + p] = w->means[RX][row + p] = NAN;
	}
	for (size_t at = run_first(run, r); at < run_first(run, r + 1); at++) {
		double v[2] = { of[at], of[run_back(run, at)] };
		bool column = is_column(run, at) && used < w->width;
		int peer = run->ranks[run_dst(run, at)].node;

		for (int k = 0; k < 2; k++) {
			bool hidden = w->aside[k == TX ? RX : TX][peer];

			if (!isfinite(v[k])) {
				continue;
			}
			if (is_inside(run, at)) {
				sum[k] += v[k];
				inside[k]++;
			} else if (column && !hidden) {
				w->means[k][row + used] = (float)v[k];
				w->tests[k][r]++;
			}
		}
		used += column;
	}
	for (int k = 0; k < 2; k++) {
		w->inside[k][r] = inside[k] > 0 ?
			(float)(sum[k] / (double)inside[k]) : NAN;
	}
}

/** Fills the table of a sample. */
static int fill_sample(struct effect_work *w)
{
	size_t n = run_n_cells(w->run), *at = calloc(n + 1, sizeof(*at));
	double *v = calloc(n + 1, sizeof(*v));	/* NAN: it does not count */
	double *room = calloc(n + 1, sizeof(*room));
	int rc = at && v && room ? 0 : -1;

	w->crossed = true;
	if (rc == 0) {
		for (size_t i = 0; i < n; i++) {
			v[i] = (double)effect_log(w, i);
		}
		level_between(w->run, v, at, room);
		level_inside(w->run, v, at, room);
		v[n] = NAN;	/* no way back */
	}
	for (int r = 0; rc == 0 && r < w->run->n_ranks; r++) {
		put_rank(w, v, r);
	}
	free(at);
	free(v);
	free(room);
	return rc;
}

/* ---- effect table -------------------------------------------------------- */

/** Fewer nodes have no usual index. */
#define LEAST_NODES 4

void effect_table_release(struct effect_work *w)
{
	for (int k = 0; k < 2; k++) {
		free(w->means[k]);
		free(w->inside[k]);
		free(w->tests[k]);
		w->means[k] = w->inside[k] = NULL;
		w->tests[k] = NULL;
	}
}

static bool is_crossed(const struct run *run, size_t at)
{
	return run->cells[at].path == PATH_INTER &&
	       run->ranks[run_src(run, at)].nic !=
		       run->ranks[run_dst(run, at)].nic;
}

/** The means of rank @i, as sender or receiver, from its sums and counts, and
 *  how much is in them; what a worse node hides is not known. */
static void put_means(struct effect_work *w, const uint16_t *counts, int k,
		      size_t i)
{
	const struct cluster_rank *own = &w->run->ranks[i];
	size_t cells = w->ranks * w->nodes;
	size_t n = counts[2 * cells + (size_t)k * w->ranks + i];

	w->inside[k][i] = n > 0 ? w->inside[k][i] / (float)n : NAN;
	for (size_t p = 0; p < w->nodes; p++) {
		const struct cluster_node *node = &w->run->nodes[p];
		int end = node->first_rank + node->gpus;
		bool hidden = w->aside[k == TX ? RX : TX][p];
		float *of = &w->means[k][i * w->nodes + p];
		size_t all = 0;

		n = hidden ? 0 :
			     counts[(size_t)k * cells + i * w->nodes + p];
		/* ranks of node @p that it is tested with: those of its rail,
		 * unless rails are crossed, and of its fabric */
		for (int r = node->first_rank; n > 0 && r < end; r++) {
			all += w->run->ranks[r].group == own->group &&
			       (w->crossed ||
				w->run->ranks[r].nic == own->nic);
		}
		w->tests[k][i] += (uint32_t)n;
		/* a mean of a few of many is another one */
		*of = n > 0 && 2 * n > all ? *of / (float)n : NAN;
	}
}

/** Means of what counts.  Pairs across rails count if some were planned, and
 *  any counts: none does if all traffic across rails is slow.  Of one rail
 *  nothing else is known. */
static int fill(struct effect_work *w)
{
	const struct run *run = w->run;
	size_t cells = w->ranks * w->nodes;
	/* of each direction a number a rank and node, then one a rank for what
	 * is inside its node */
	uint16_t *n = calloc(2 * cells + 2 * w->ranks + 1, sizeof(*n));

	if (!n) {
		return -1;
	}
	w->crossed = w->ranks <= w->nodes;
	for (size_t at = 0; !w->crossed && at < run_n_cells(run); at++) {
		w->crossed = is_crossed(run, at) && !follow_has(run, at) &&
			     isfinite(effect_log(w, at));
	}
	run_foreach_cell(run, at) {
		size_t s = (size_t)run_src(run, at);
		size_t d = (size_t)run_dst(run, at);
		size_t from = (size_t)run->ranks[s].node;
		size_t to = (size_t)run->ranks[d].node;
		float v = effect_log(w, at);

		if (!isfinite(v) || (!w->crossed && is_crossed(run, at))) {
			continue;
		}
		if (from == to) {
			w->inside[TX][s] += v;
			w->inside[RX][d] += v;
			n[2 * cells + TX * w->ranks + s]++;
			n[2 * cells + RX * w->ranks + d]++;
			continue;
		}
		w->means[TX][s * w->nodes + to] += v;
		w->means[RX][d * w->nodes + from] += v;
		n[TX * cells + s * w->nodes + to]++;
		n[RX * cells + d * w->nodes + from]++;
	}
	for (int k = 0; k < 2; k++) {
		for (size_t i = 0; i < w->ranks; i++) {
			put_means(w, n, k, i);
		}
	}
	free(n);
	return 0;
}

size_t effect_known(const float *v, size_t n, size_t step, double *room)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++) {
		if (isfinite(v[i * step])) {
			room[known++] = (double)v[i * step];
		}
	}
	return known;
}

double effect_median(const struct effect_work *w, const float *v, size_t n,
		     size_t step)
{
	size_t known = effect_known(v, n, step, w->room);

	return known ? stats_select(w->room, known, known / 2) : 0;
}

void effect_lower(float *v, size_t n, size_t step, double by)
{
	for (size_t i = 0; i < n; i++) {
		v[i * step] -= (float)by;
	}
}

/** Which of @n sorted values is what nothing wrong would be: as each test is as
 *  slow as its worse end, more of them than of the parts are slow. */
static size_t level_of(size_t n)
{
	return (3 * n + 1) / 5;
}

/** Returns true if partner node @p is on another leaf switch than rank @i. */
static bool is_far(const struct effect_work *w, size_t i, size_t p)
{
	const struct cluster_node *nodes = w->run->nodes;

	return nodes[p].leaf != nodes[w->run->ranks[i].node].leaf;
}

/** Returns true if the node of rank @i was not found to be worse, so that it
 *  counts for usual values. */
static bool is_usual(const struct effect_work *w, size_t i)
{
	int node = w->run->ranks[i].node;

	return !w->aside[TX][node] && !w->aside[RX][node];
}

/** Subtracts the usual value on one leaf switch, or with @far between leaf
 *  switches, from the samples, and returns it.  Returns NAN, and makes these
 *  samples NAN, if it is not known. */
static double level_distance(const struct effect_work *w, float *of, bool far)
{
	double *room = w->room + w->ranks;	/* of one rank */
	size_t known = 0;
	double level;

	for (size_t i = 0; i < w->ranks; i++) {
		size_t n = 0;

		for (size_t p = 0; is_usual(w, i) && p < w->nodes; p++) {
			if (isfinite(of[i * w->nodes + p]) &&
			    is_far(w, i, p) == far) {
				room[n++] = (double)of[i * w->nodes + p];
			}
		}
		if (n > 0) {
			w->room[known++] = stats_select(room, n, level_of(n));
		}
	}
	level = known ? stats_select(w->room, known, level_of(known)) :
			(double)NAN;
	for (size_t i = 0; i < w->ranks; i++) {
		for (size_t p = 0; p < w->nodes; p++) {
			of[i * w->nodes + p] -=
				is_far(w, i, p) == far ? (float)level : 0;
		}
	}
	return level;
}

/** Take away what partner nodes add, and what the index of a rank does. */
static void polish(struct effect_work *w, int k)
{
	float *of = w->means[k];

	if (w->run->n_leaves > 0) {
		double near = level_distance(w, of, false);
		double far = level_distance(w, of, true);

		w->far[k] = isfinite(near) && isfinite(far) ? far - near : 0;
	}
	for (size_t p = 0; p < w->nodes; p++) {
		size_t known = 0;

		for (size_t i = 0; i < w->ranks; i++) {
			float v = of[i * w->nodes + p];

			if (isfinite(v) && is_usual(w, i)) {
				w->room[known++] = (double)v;
			}
		}
		effect_lower(&of[p], w->ranks, w->nodes, known ?
			     stats_select(w->room, known, level_of(known)) : 0);
	}
}

/** Returns the median of the values of ranks whose GPU is number @gpu, or any
 *  (-1), without those of node @but_node; 0 without any. */
static double usual_at(const struct effect_work *w, const double *of, int gpu,
		       int but_node)
{
	size_t n = 0;

	for (size_t i = 0; i < w->ranks; i++) {
		const struct cluster_rank *r = &w->run->ranks[i];

		if ((gpu < 0 || r->gpu == gpu) && r->node != but_node &&
		    isfinite(of[i]) && is_usual(w, i)) {
			w->room[n++] = of[i];
		}
	}
	return n ? stats_select(w->room, n, n / 2) : 0;
}

/** Subtracts the usual value of the ranks of each index.  That of a rank is the
 *  mean of its values, or the median if one bad partner of a few would weigh
 *  much. */
static void level_index(const struct effect_work *w, float *samples,
			size_t width)
{
	double *of = calloc(2 * w->ranks + 1, sizeof(*of));
	double *usual = of + w->ranks;
	bool alike = w->nodes >= LEAST_NODES;	/* all of an index */

	for (size_t i = 0; of && i < w->ranks; i++) {
		size_t n = effect_known(&samples[i * width], width, 1, w->room);
		double sum = 0;

		for (size_t k = 0; k < n; k++) {
			sum += w->room[k];
		}
		of[i] = n == 0     ? NAN :
			w->crossed ? sum / (double)n :
				     stats_select(w->room, n, n / 2);
		usual[i] = NAN;
	}
	for (size_t i = 0; of && i < w->ranks; i++) {
		const struct cluster_rank *r = &w->run->ranks[i];
		double *known = &usual[alike ? (size_t)r->gpu : i];

		/* of a few nodes the ranks of an index are no better known
		 * than all: the lower of the two medians */
		if (isnan(*known)) {
			*known = alike ? usual_at(w, of, r->gpu, -1) :
				 fmin(usual_at(w, of, r->gpu, r->node),
				      usual_at(w, of, -1, -1));
		}
		effect_lower(&samples[i * width], width, 1, *known);
	}
	free(of);
}

void effect_table_level_inside(const struct effect_work *w)
{
	for (int k = 0; k < 2; k++) {
		for (size_t n = 0; n < w->nodes; n++) {
			const struct cluster_node *node = &w->run->nodes[n];
			float *of = &w->inside[k][node->first_rank];
			size_t gpus = (size_t)node->gpus;

			effect_lower(of, gpus, 1,
				     effect_median(w, of, gpus, 1));
		}
		level_index(w, w->inside[k], 1);
	}
}

int effect_table_make(struct effect_work *w)
{
	const struct run *run = w->run;
	bool whole = true;

	/* a column a node; of a sample one a partner, of the rank with most */
	w->width = w->sample ? 1 : w->nodes;
	for (int r = 0; w->sample && r < run->n_ranks; r++) {
		size_t n = 0;

		for (size_t at = run_first(run, r);
		     at < run_first(run, r + 1) && n < MOST_PARTNERS; at++) {
			n += is_column(run, at);
		}
		w->width = n > w->width ? n : w->width;
	}
	for (int k = 0; k < 2; k++) {
		w->means[k] = calloc(w->ranks * w->width + 1, sizeof(float));
		w->inside[k] = calloc(w->ranks + 1, sizeof(float));
		w->tests[k] = calloc(w->ranks + 1, sizeof(uint32_t));
		whole = whole && w->means[k] && w->inside[k] && w->tests[k];
	}
	if (!whole || (w->sample ? fill_sample(w) : fill(w)) < 0) {
		return -1;
	}
	for (int k = 0; k < 2; k++) {
		if (!w->sample) {
			polish(w, k);
		}
		level_index(w, w->means[k], w->width);
	}
	return 0;
}
