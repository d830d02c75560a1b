/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links between two nodes that are worse than the others.
 */
#include "report/judge/effect_parts.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/stats.h"
#include "report/judge/effect_found.h"

/** What the ranks of node @a send to node @b adds to what is usual for them, to
 *  @v; returns how many there are. */
static size_t add_way(const struct effect_work *w, const double *usual,
		      size_t a, size_t b, double *v)
{
	const struct run_node *n = &w->run->nodes[a];
	size_t known = 0;

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		double one = (double)w->t.of[TX][(size_t)r * w->nodes + b] -
			     usual[r];

		if (isfinite(one)) {
			v[known++] = one;
		}
	}
	return known;
}

/** The link between two nodes, both ways; NAN. */
static double link_of(const struct effect_work *w, const double *usual,
		      size_t a, size_t b)
{
	size_t n = add_way(w, usual, a, b, w->room);

	n += add_way(w, usual, b, a, w->room + n);
	return n ? stats_select(w->room, n, n / 2) : NAN;
}

static int add_link(struct effect_work *w, size_t a, size_t b, double by,
		    double half)
{
	struct part p = part_at(PART_NODE_PAIR, (int)a, -1);
	const struct effect_estimate e = { .by = by, .half = half,
					   .half_alone = half,
					   .partners = 2 };

	p.peer_node = (int)b;
	if (!(by <= -w->least && by + half < 0)) {
		return 0;
	}
	return effect_add(w, &p, NULL, &e, part_measured(w->run, &p));
}

int effect_find_links(struct effect_work *w, double z)
{
	size_t n = 0, links = w->nodes * (w->nodes - 1) / 2;
	double *by = calloc(2 * links + w->ranks + 1, sizeof(*by));
	double *copy = by + links, *usual = copy + links, off;
	int rc = by ? 0 : -1;

	for (size_t i = 0; by && i < w->ranks; i++) {
		usual[i] = effect_median(w, &w->t.of[TX][i * w->nodes],
					 w->nodes,
				     1);
	}
	for (size_t a = 0; by && a < w->nodes; a++) {
		for (size_t b = a + 1; b < w->nodes; b++) {
			by[n] = link_of(w, usual, a, b);
			copy[n] = isfinite(by[n]) ? by[n] : 0;
			n++;
		}
	}
	off = by ? stats_deviation(copy, n) : 0;
	n = 0;
	for (size_t a = 0; rc == 0 && a < w->nodes; a++) {
		for (size_t b = a + 1; rc == 0 && b < w->nodes; b++) {
			rc = add_link(w, a, b, by[n++], z * off);
		}
	}
	free(by);
	return rc;
}
