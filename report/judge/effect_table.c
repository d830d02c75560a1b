/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Means of each rank with each partner node, and what is usual taken from them:
 * for a class, for a partner and for an index.
 */
#include "report/judge/effect_table.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/stats.h"
#include "report/model/follow.h"

/** Fewer nodes have no usual index. */
#define LEAST_NODES 4

static int table_init(struct effect_table *t, size_t ranks)
{
	bool whole = true;

	for (int w = 0; w < 2; w++) {
		t->of[w] = calloc(ranks * t->width + 1, sizeof(float));
		t->inside[w] = calloc(ranks + 1, sizeof(float));
		t->count[w] = calloc(ranks + 1, sizeof(uint32_t));
		whole = whole && t->of[w] && t->inside[w] && t->count[w];
	}
	return whole ? 0 : -1;
}

void effect_table_release(struct effect_table *t)
{
	for (int w = 0; w < 2; w++) {
		free(t->of[w]);
		free(t->inside[w]);
		free(t->count[w]);
	}
}

/** Sums of what counts with each partner node, by node and by rank. */
struct sums {
	float *of[2], *inside[2];
	uint16_t *n[2], *n_inside[2];
};

static int sums_init(struct sums *s, size_t ranks, size_t nodes)
{
	bool whole = true;

	for (int k = 0; k < 2; k++) {
		s->of[k] = calloc(nodes * ranks + 1, sizeof(float));
		s->n[k] = calloc(nodes * ranks + 1, sizeof(uint16_t));
		s->inside[k] = calloc(ranks + 1, sizeof(float));
		s->n_inside[k] = calloc(ranks + 1, sizeof(uint16_t));
		whole = whole && s->of[k] && s->n[k] && s->inside[k] &&
			s->n_inside[k];
	}
	return whole ? 0 : -1;
}

static void sums_release(struct sums *s)
{
	for (int k = 0; k < 2; k++) {
		free(s->of[k]);
		free(s->n[k]);
		free(s->inside[k]);
		free(s->n_inside[k]);
	}
}

static void add_cell(const struct effect_work *w, struct sums *sums, size_t s,
		     size_t d, float v)
{
	size_t from = (size_t)w->run->ranks[s].node;
	size_t to = (size_t)w->run->ranks[d].node;

	if (from == to) {
		sums->inside[TX][s] += v;
		sums->inside[RX][d] += v;
		sums->n_inside[TX][s]++;
		sums->n_inside[RX][d]++;
		return;
	}
	sums->of[TX][to * w->ranks + s] += v;
	sums->of[RX][from * w->ranks + d] += v;
	sums->n[TX][to * w->ranks + s]++;
	sums->n[RX][from * w->ranks + d]++;
}

static bool is_crossed(const struct run *run, size_t at)
{
	return run->cells[at].path == PATH_INTER &&
	       run->ranks[run_src(run, at)].nic !=
		       run->ranks[run_dst(run, at)].nic;
}

/** Were pairs planned whose NICs are of different index, and does any of them
 *  count?  They do not where all that crosses rails is slow. */
static bool any_crossed(const struct effect_work *w)
{
	/* of one rail nothing else is known */
	if (w->ranks <= w->nodes) {
		return true;
	}
	for (size_t at = 0; at < run_n_cells(w->run); at++) {
		if (is_crossed(w->run, at) && !follow_has(w->run, at) &&
		    isfinite(effect_log(w, at))) {
			return true;
		}
	}
	return false;
}

static void add_cells(const struct effect_work *w, struct sums *sums)
{
	bool crossed = w->t.crossed;

	for (size_t at = 0; at < run_n_cells(w->run); at++) {
		float v = effect_log(w, at);

		if (isfinite(v) && (crossed || !is_crossed(w->run, at))) {
			add_cell(w, sums, (size_t)run_src(w->run, at),
				 (size_t)run_dst(w->run, at), v);
		}
	}
}

/** Ranks of node @p that rank @i is tested with: those of its rail, unless
 *  rails are @crossed, and of its fabric. */
static size_t peers_on(const struct run *run, size_t i, size_t p, bool crossed)
{
	const struct run_node *n = &run->nodes[p];
	const struct run_rank *own = &run->ranks[i];
	size_t peers = 0;

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		peers += run->ranks[r].group == own->group &&
			 (crossed || run->ranks[r].nic == own->nic);
	}
	return peers;
}

/** The means of rank @i, as sender or receiver, and how much is in them; what
 *  a worse node hides is not known. */
static void put_means(struct effect_work *w, const struct sums *sums, int k,
		      size_t i)
{
	for (size_t p = 0; p < w->nodes; p++) {
		bool hidden = w->aside[k == TX ? RX : TX][p];
		size_t n = hidden ? 0 : sums->n[k][p * w->ranks + i];
		size_t all = n ? peers_on(w->run, i, p, w->t.crossed) : 0;

		w->t.count[k][i] += (uint32_t)n;
		/* a mean of a few of many is another one */
		w->t.of[k][i * w->nodes + p] = n > 0 && 2 * n > all ?
			sums->of[k][p * w->ranks + i] / (float)n : NAN;
	}
	w->t.inside[k][i] = sums->n_inside[k][i] > 0 ?
		sums->inside[k][i] / sums->n_inside[k][i] : NAN;
}

/** Means of what counts. */
static int fill(struct effect_work *w)
{
	struct sums sums = { 0 };
	int rc = sums_init(&sums, w->ranks, w->nodes);

	w->t.crossed = any_crossed(w);
	if (rc == 0) {
		add_cells(w, &sums);
	}
	for (int k = 0; rc == 0 && k < 2; k++) {
		for (size_t i = 0; i < w->ranks; i++) {
			put_means(w, &sums, k, i);
		}
	}
	sums_release(&sums);
	return rc;
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

/** The mean of what is known of @n values, or the median where one bad partner
 *  of a few counts for much; NAN without any. */
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

/** Is partner node @p on another leaf switch than rank @i? */
static bool is_far(const struct effect_work *w, size_t i, size_t p)
{
	const struct run_node *nodes = w->run->nodes;

	return nodes[p].leaf != nodes[w->run->ranks[i].node].leaf;
}

/** What rank @i usually has on its own switch, or with @far ones, the better of
 *  two; NAN. */
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

/** Was the node of rank @i not found to be worse?  Then it says what is usual.
 */
static bool is_usual(const struct effect_work *w, size_t i)
{
	int node = w->run->ranks[i].node;

	return !w->aside[TX][node] && !w->aside[RX][node];
}

/** What is usual on one leaf switch, or from one to @far ones: taken away, and
 *  returned; NAN: nobody knows it, nor what to think of these tests. */
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

/** What is usual with a partner node, of which rank @i has of[i * nodes]. */
static double usual_with(const struct effect_work *w, const float *of)
{
	size_t known = 0;

	for (size_t i = 0; i < w->ranks; i++) {
		if (isfinite(of[i * w->nodes]) && is_usual(w, i)) {
			w->room[known++] = (double)of[i * w->nodes];
		}
	}
	return known ? stats_select(w->room, known, level_of(known)) : 0;
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
		effect_lower(&of[p], w->ranks, w->nodes,
			     usual_with(w, &of[p]));
	}
}

/** The median of the values of ranks whose GPU is number @gpu, or any (-1), but
 *  for those of one node. */
static double usual_at(const struct effect_work *w, const double *of, int gpu,
		       int but_node)
{
	size_t n = 0;

	for (size_t i = 0; i < w->ranks; i++) {
		const struct run_rank *r = &w->run->ranks[i];

		if ((gpu < 0 || r->gpu == gpu) && r->node != but_node &&
		    isfinite(of[i]) && is_usual(w, i)) {
			w->room[n++] = of[i];
		}
	}
	return n ? stats_select(w->room, n, n / 2) : 0;
}

/** What is usual for rank @r, of means @of.  Of a few nodes the ranks of one
 *  index are no better known than all: it is as slow as the better of both
 *  makes it. */
static double usual_of(const struct effect_work *w, const double *of,
		       const struct run_rank *r)
{
	return w->nodes >= LEAST_NODES ? usual_at(w, of, r->gpu, -1) :
	       fmin(usual_at(w, of, r->gpu, r->node), usual_at(w, of, -1, -1));
}

/** The ranks of each index beside each other. */
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
		const struct run_rank *r = &w->run->ranks[i];
		double *known = &usual[alike ? (size_t)r->gpu : i];

		if (isnan(*known)) {
			*known = usual_of(w, of, r);
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
	w->t.width = w->sample ? effect_sample_width(w->run) : w->nodes;
	if (table_init(&w->t, w->ranks) < 0 ||
	    (w->sample ? effect_sample_fill(w) : fill(w)) < 0) {
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
