/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of a sample.  A rank has a few tests with other nodes, each with
 * another one, so that a column is no node: it is the next partner of each
 * rank.  What is usual is that of tests of the same sort, of which there are
 * many: on a rail, between rails, on a leaf switch or not; inside nodes that of
 * the same two GPUs.
 */
#include "report/judge/effect_table.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/stats.h"
#include "report/model/follow.h"

/** Partners of a rank that count: a sample is of fewer. */
#define MOST_PARTNERS 64
/** So many nodes say what two GPUs inside one usually have; fewer do not, where
 *  all tests inside nodes are alike, and still fewer say nothing. */
#define WELL_KNOWN  8
#define LEAST_ALIKE 3
/** They are where most differ by no more, as a logarithm. */
#define ALIKE 0.05
/** Sorts of tests between nodes: rails, leaf switches. */
#define SORTS 4

/** What is known of each cell: how it compares, and of which sort it is. */
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

/** Of a cell between nodes. */
static int sort_of(const struct run *run, size_t at)
{
	const struct run_rank *s = &run->ranks[run_src(run, at)];
	const struct run_rank *d = &run->ranks[run_dst(run, at)];
	bool far = run->n_leaves > 0 &&
		   run->nodes[s->node].leaf != run->nodes[d->node].leaf;

	return (s->nic != d->nic) + 2 * far;
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

	for (int sort = 0; sort < SORTS; sort++) {
		size_t n = 0;

		for (size_t i = 0; i < run_n_cells(run); i++) {
			if (isfinite(c->v[i]) && !is_inside(run, i) &&
			    sort_of(run, i) == sort) {
				at[n++] = i;
			}
		}
		collect(c, at, n);
		lower(c, at, n, n > 0 ? stats_select(c->room, n, n / 2) : 0);
	}
}

static int most_gpus(const struct run *run)
{
	int most = 0;

	for (int i = 0; i < run->n_nodes; i++) {
		most = run->nodes[i].gpus > most ? run->nodes[i].gpus : most;
	}
	return most;
}

/** What is usual of all cells inside nodes; NAN: they differ by much. */
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

/** What is usual of @n cells of the same two GPUs, of as many nodes, whose
 *  values are in room. */
static double usual_pair(struct cells *c, size_t n, double inside)
{
	if (n < WELL_KNOWN && isfinite(inside)) {
		return inside;
	}
	return n >= LEAST_ALIKE ? stats_select(c->room, n, n / 2) :
				  (double)NAN;
}

/** Cells inside nodes.  @gpus: that a node has at most. */
static void level_inside(struct cells *c, size_t *at, int gpus)
{
	const struct run *run = c->w->run;
	double inside = usual_inside(c);

	for (int pair = 0; pair < gpus * gpus; pair++) {
		int from = pair / gpus, to = pair % gpus;
		size_t n = 0;

		for (int i = 0; i < run->n_nodes; i++) {
			const struct run_node *node = &run->nodes[i];
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
		lower(c, at, n, usual_pair(c, n, inside));
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
	level_inside(c, at, most_gpus(c->w->run));
	free(at);
	return 0;
}

/** Is the cell at @at one of the columns of its sender? */
static bool is_column(const struct run *run, size_t at)
{
	return !is_inside(run, at) && !follow_has(run, at);
}

size_t effect_sample_width(const struct run *run)
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

/** The columns of rank @r, and what it has inside its node. */
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

int effect_sample_fill(struct effect_work *w)
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
