/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Table of the means of each rank with each partner node, from which the usual
 * values of a class, a partner and a GPU index are subtracted.
 */
#include <math.h>
#include <stdlib.h>

#include "lib/base/stats.h"
#include "report/judge/effects.h"
#include "report/model/run_read.h"

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

static bool is_rate(const struct effect_speeds *s, size_t i, double rate)
{
	return s->GB_s[i] >= rate && s->GB_s[i] <= rate;
}

/** Returns the number of its rate; the last one collects all that do not
 *  fit. */
static size_t speed_of(const struct effect_work *w, size_t at)
{
	double rate = run_rate(w->run, at);
	size_t i = 0;

	while (i + 1 < w->speeds.n && !is_rate(&w->speeds, i, rate)) {
		i++;
	}
	return i;
}

static void list_speeds(struct effect_work *w)
{
	struct effect_speeds *s = &w->speeds;

	run_foreach_cell(w->run, at) {
		double rate = run_rate(w->run, at);
		size_t i = 0;

		if (!run_good(w->run->cells[at].class)) {
			continue;
		}
		while (i < s->n && !is_rate(s, i, rate)) {
			i++;
		}
		if (i == s->n && s->n < EFFECT_SPEEDS) {
			s->GB_s[s->n++] = rate;
		}
	}
}

int effect_speeds_learn(struct effect_work *w)
{
	double *room;

	w->speeds = (struct effect_speeds){ 0 };
	if (!w->run->ports) {
		return 0;
	}
	room = calloc(run_n_cells(w->run) + 1, sizeof(*room));
	if (!room) {
		return -1;
	}
	list_speeds(w);
	for (size_t i = 0; i < w->speeds.n * PATH_CLASSES; i++) {
		size_t n = 0;

		run_foreach_cell(w->run, at) {
			float v = measured_log(w, at);

			if (isfinite(v) &&
			    w->run->cells[at].path == i % PATH_CLASSES &&
			    speed_of(w, at) == i / PATH_CLASSES) {
				room[n++] = (double)v;
			}
		}
		w->speeds.usual[i / PATH_CLASSES][i % PATH_CLASSES] =
			n ? stats_select(room, n, n / 2) : 0;
	}
	free(room);
	return 0;
}

float effect_log(const struct effect_work *w, size_t at)
{
	float v = measured_log(w, at);

	return w->speeds.n == 0 ? v :
	       v - (float)w->speeds.usual[speed_of(w, at)]
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

/** The values of the cells relative to others of their class, while the table
 *  is made. */
struct cells {
	const struct effect_work *w;
	double *v;	/* NAN: it does not count */
	double *room;	/* for as many */
};

static bool is_inside(const struct run *run, size_t at)
{
	return run->ranks[run_src(run, at)].node ==
	       run->ranks[run_dst(run, at)].node;
}

/** The @n values at places @at, to room. */
static void collect(struct cells *c, const size_t *at, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		c->room[i] = c->v[at[i]];
	}
}

static void lower(struct cells *c, const size_t *at, size_t n, double by)
{
	for (size_t i = 0; i < n; i++) {
		c->v[at[i]] -= by;
	}
}

/** Cells between nodes, sort by sort. */
static void level_between(struct cells *c, size_t *at)
{
	const struct run *run = c->w->run;

	/* same or other rail, same or other leaf switch */
	for (int sort = 0; sort < SORTS; sort++) {
		size_t n = 0;

		for (size_t i = 0; i < run_n_cells(run); i++) {
			const struct cluster_rank *s, *d;
			bool far;

			s = &run->ranks[run_src(run, i)];
			d = &run->ranks[run_dst(run, i)];
			far = run->n_leaves > 0 && run->nodes[s->node].leaf !=
						   run->nodes[d->node].leaf;
			if (isfinite(c->v[i]) && s->node != d->node &&
			    (s->nic != d->nic) + 2 * far == sort) {
				at[n++] = i;
			}
		}
		collect(c, at, n);
		lower(c, at, n, n > 0 ? stats_select(c->room, n, n / 2) : 0);
	}
}

/** Returns the median of all cells inside nodes; NAN if they differ too
 *  much. */
static double usual_inside(struct cells *c)
{
	const struct run *run = c->w->run;
	double usual;
	size_t n = 0;

	for (size_t i = 0; i < run_n_cells(run); i++) {
		if (isfinite(c->v[i]) && is_inside(run, i)) {
			c->room[n++] = c->v[i];
		}
	}
	if (n == 0) {
		return NAN;
	}
	usual = stats_select(c->room, n, n / 2);
	return stats_deviation(c->room, n) <= ALIKE ? usual : (double)NAN;
}

/** Cells inside nodes.  @gpus: that a node has at most. */
static void level_inside(struct cells *c, size_t *at, int gpus)
{
	const struct run *run = c->w->run;
	double inside = usual_inside(c), usual;

	for (int pair = 0; pair < gpus * gpus; pair++) {
		int from = pair / gpus, to = pair % gpus;
		size_t n = 0;

		for (int i = 0; i < run->n_nodes; i++) {
			const struct cluster_node *node = &run->nodes[i];
			size_t k = run_n_cells(run);

			if (from != to && from < node->gpus &&
			    to < node->gpus) {
				k = run_at(run, node->first_rank + from,
					   node->first_rank + to);
			}
			if (k < run_n_cells(run) && isfinite(c->v[k])) {
				at[n++] = k;
			}
		}
		collect(c, at, n);
		/* that of the same two of all nodes, or of all, where these are
		 * few; NAN of fewer still */
		if (n < WELL_KNOWN && isfinite(inside)) {
			usual = inside;
		} else {
			usual = n >= LEAST_ALIKE ?
					stats_select(c->room, n, n / 2) :
					(double)NAN;
		}
		lower(c, at, n, usual);
	}
}

static int cells_init(struct cells *c)
{
	size_t n = run_n_cells(c->w->run), *at = calloc(n + 1, sizeof(*at));

	c->v = calloc(n + 1, sizeof(*c->v));
	c->room = calloc(n + 1, sizeof(*c->room));
	if (!at || !c->v || !c->room) {
		free(at);
		return -1;
	}
	for (size_t i = 0; i < n; i++) {
		c->v[i] = (double)effect_log(c->w, i);
	}
	level_between(c, at);
	level_inside(c, at, cluster_most_gpus(&c->w->run->cluster));
	free(at);
	return 0;
}

/** Returns true if the cell at @at is one of its sender's columns: between
 *  nodes, and not of the follow-up. */
static bool is_column(const struct run *run, size_t at)
{
	return !is_inside(run, at) && !follow_has(run, at);
}

static size_t effect_sample_width(const struct run *run)
{
	size_t most = 1;

	for (int r = 0; r < run->n_ranks; r++) {
		size_t n = 0;

		for (size_t at = run_first(run, r);
		     at < run_first(run, r + 1) && n < MOST_PARTNERS; at++) {
			n += is_column(run, at);
		}
		most = n > most ? n : most;
	}
	return most;
}

/** Fills in the columns of rank @r, and its value inside its node. */
static void put_rank(struct effect_work *w, const struct cells *c, int r)
{
	const struct run *run = w->run;
	size_t row = (size_t)r * w->t.width, used = 0, inside[2] = { 0 };
	double sum[2] = { 0 };

	for (size_t p = 0; p < w->t.width; p++) {
		w->t.of[TX][row + p] = w->t.of[RX][row + p] = NAN;
	}
	for (size_t at = run_first(run, r); at < run_first(run, r + 1); at++) {
		double v[2] = { c->v[at], c->v[run_back(run, at)] };
		bool column = is_column(run, at) && used < w->t.width;
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
				w->t.of[k][row + used] = (float)v[k];
				w->t.count[k][r]++;
			}
		}
		used += column;
	}
	for (int k = 0; k < 2; k++) {
		w->t.inside[k][r] = inside[k] > 0 ?
			(float)(sum[k] / (double)inside[k]) : NAN;
	}
}

/* Fills the table of a sample, with that many columns. */
static int effect_sample_fill(struct effect_work *w)
{
	struct cells c = { .w = w };
	int rc = cells_init(&c);

	w->t.crossed = true;
	if (rc == 0) {
		c.v[run_n_cells(w->run)] = NAN;
	}
	for (int r = 0; rc == 0 && r < w->run->n_ranks; r++) {
		put_rank(w, &c, r);
	}
	free(c.v);
	free(c.room);
	return rc;
}

/* ---- effect table -------------------------------------------------------- */

/** Fewer nodes have no usual index. */
#define LEAST_NODES 4

void effect_table_release(struct effect_table *t)
{
	for (int w = 0; w < 2; w++) {
		free(t->of[w]);
		free(t->inside[w]);
		free(t->count[w]);
	}
}

/** Adds @v to the sums of the ranks @s and @d, which w->t has, and counts it in
 *  @n: for each direction a number a rank and node, and then one a rank for
 *  what is inside its node. */
static void add_cell(struct effect_work *w, uint16_t *n, size_t s, size_t d,
		     float v)
{
	size_t from = (size_t)w->run->ranks[s].node;
	size_t to = (size_t)w->run->ranks[d].node;
	size_t cells = w->ranks * w->nodes;

	if (from == to) {
		n += 2 * cells;
		w->t.inside[TX][s] += v;
		w->t.inside[RX][d] += v;
		n[TX * w->ranks + s]++;
		n[RX * w->ranks + d]++;
		return;
	}
	w->t.of[TX][s * w->nodes + to] += v;
	w->t.of[RX][d * w->nodes + from] += v;
	n[TX * cells + s * w->nodes + to]++;
	n[RX * cells + d * w->nodes + from]++;
}

static bool is_crossed(const struct run *run, size_t at)
{
	return run->cells[at].path == PATH_INTER &&
	       run->ranks[run_src(run, at)].nic !=
		       run->ranks[run_dst(run, at)].nic;
}

/** Returns true if pairs across rails were planned and at least one counts.
 *  None counts if all cross-rail traffic is slow. */
static bool any_crossed(const struct effect_work *w)
{
	/* of one rail nothing else is known */
	if (w->ranks <= w->nodes) {
		return true;
	}
	run_foreach_cell(w->run, at) {
		if (is_crossed(w->run, at) && !follow_has(w->run, at) &&
		    isfinite(effect_log(w, at))) {
			return true;
		}
	}
	return false;
}

/** Ranks of node @p that rank @i is tested with: those of its rail, unless
 *  rails are @crossed, and of its fabric. */
static size_t peers_on(const struct run *run, size_t i, size_t p, bool crossed)
{
	const struct cluster_node *n = &run->nodes[p];
	const struct cluster_rank *own = &run->ranks[i];
	size_t peers = 0;

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		peers += run->ranks[r].group == own->group &&
			 (crossed || run->ranks[r].nic == own->nic);
	}
	return peers;
}

/** The means of rank @i, as sender or receiver, from its sums and counts, and
 *  how much is in them; what a worse node hides is not known. */
static void put_means(struct effect_work *w, const uint16_t *counts, int k,
		      size_t i)
{
	size_t cells = w->ranks * w->nodes;
	size_t n = counts[2 * cells + (size_t)k * w->ranks + i];

	w->t.inside[k][i] = n > 0 ? w->t.inside[k][i] / (float)n : NAN;
	for (size_t p = 0; p < w->nodes; p++) {
		bool hidden = w->aside[k == TX ? RX : TX][p];
		float *of = &w->t.of[k][i * w->nodes + p];
		size_t all;

		n = hidden ? 0 :
			     counts[(size_t)k * cells + i * w->nodes + p];
		all = n ? peers_on(w->run, i, p, w->t.crossed) : 0;
		w->t.count[k][i] += (uint32_t)n;
		/* a mean of a few of many is another one */
		*of = n > 0 && 2 * n > all ? *of / (float)n : NAN;
	}
}

/** Means of what counts. */
static int fill(struct effect_work *w)
{
	uint16_t *n = calloc(2 * w->ranks * (w->nodes + 1) + 1, sizeof(*n));

	if (!n) {
		return -1;
	}
	w->t.crossed = any_crossed(w);
	run_foreach_cell(w->run, at) {
		float v = effect_log(w, at);

		if (isfinite(v) &&
		    (w->t.crossed || !is_crossed(w->run, at))) {
			add_cell(w, n, (size_t)run_src(w->run, at),
				 (size_t)run_dst(w->run, at), v);
		}
	}
	for (int k = 0; k < 2; k++) {
		for (size_t i = 0; i < w->ranks; i++) {
			put_means(w, n, k, i);
		}
	}
	free(n);
	return 0;
}

double effect_median(const struct effect_work *w, const float *v, size_t n,
			size_t step)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++) {
		if (isfinite(v[i * step])) {
			w->room[known++] = (double)v[i * step];
		}
	}
	return known ? stats_select(w->room, known, known / 2) : 0;
}

void effect_lower(float *v, size_t n, size_t step, double by)
{
	for (size_t i = 0; i < n; i++) {
		v[i * step] -= (float)by;
	}
}

/** Returns the mean of the known ones of @n values, or the median if one bad
 *  partner of a few would weigh much; NAN without any. */
static double middle_of(const struct effect_work *w, const float *v, size_t n)
{
	size_t known = 0;
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (isfinite(v[i])) {
			w->room[known++] = (double)v[i];
			sum += (double)v[i];
		}
	}
	if (known > 0 && w->t.crossed) {
		return sum / (double)known;
	}
	return known ? stats_select(w->room, known, known / 2) : NAN;
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

/** Returns the usual value of rank @i with nodes on its own leaf switch, or
 *  with @far on others; NAN without any. */
static double usual_far(const struct effect_work *w, const float *of, size_t i,
			bool far)
{
	double *room = w->room + w->ranks;
	size_t n = 0;

	for (size_t p = 0; p < w->nodes; p++) {
		if (isfinite(of[p]) && is_far(w, i, p) == far) {
			room[n++] = (double)of[p];
		}
	}
	return n ? stats_select(room, n, level_of(n)) : NAN;
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
	size_t known = 0;
	double level;

	for (size_t i = 0; i < w->ranks; i++) {
		double usual = usual_far(w, &of[i * w->nodes], i, far);

		if (isfinite(usual) && is_usual(w, i)) {
			w->room[known++] = usual;
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
	float *of = w->t.of[k];

	if (w->run->n_leaves > 0) {
		double near = level_distance(w, of, false);
		double far = level_distance(w, of, true);

		w->t.far[k] = isfinite(near) && isfinite(far) ? far - near : 0;
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

/** Subtracts the usual value of the ranks of each index. */
static void level_index(const struct effect_work *w, float *samples,
			size_t width)
{
	double *of = calloc(2 * w->ranks + 1, sizeof(*of));
	double *usual = of + w->ranks;
	bool alike = w->nodes >= LEAST_NODES;	/* all of an index */

	for (size_t i = 0; of && i < w->ranks; i++) {
		of[i] = middle_of(w, &samples[i * width], width);
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
			float *of =
				&w->t.inside[k][w->run->nodes[n].first_rank];
			size_t gpus = (size_t)w->run->nodes[n].gpus;

			effect_lower(of, gpus, 1,
				     effect_median(w, of, gpus, 1));
		}
		level_index(w, w->t.inside[k], 1);
	}
}

int effect_table_make(struct effect_work *w)
{
	struct effect_table *t = &w->t;
	bool whole = true;

	t->width = w->sample ? effect_sample_width(w->run) : w->nodes;
	for (int k = 0; k < 2; k++) {
		t->of[k] = calloc(w->ranks * t->width + 1, sizeof(float));
		t->inside[k] = calloc(w->ranks + 1, sizeof(float));
		t->count[k] = calloc(w->ranks + 1, sizeof(uint32_t));
		whole = whole && t->of[k] && t->inside[k] && t->count[k];
	}
	if (!whole || (w->sample ? effect_sample_fill(w) : fill(w)) < 0) {
		return -1;
	}
	for (int k = 0; k < 2; k++) {
		if (!w->sample) {
			polish(w, k);
		}
		level_index(w, w->t.of[k], w->t.width);
	}
	return 0;
}
