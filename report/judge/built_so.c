/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is slower on every node is built so: the GPUs far from the NICs, a slot
 * of fewer lanes.  No part of it is worse than its peers, and that is no
 * finding; but who compares nodes with what they were sold as wants to know.
 */
#include "report/judge/caption.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/stats.h"

/** By less than this, or on fewer nodes, or of fewer GPUs, it is chance. */
#define LEAST_SLOWER 0.03
#define LEAST_NODES  4
#define LEAST_GPUS   4
/** Of a node; more are not compared. */
#define MOST_GPUS    64

/** What each rank reaches with other nodes, in the mean, to @of; @n: room for
 *  as many counts. */
static void add_up(const struct run *run, double *of, uint32_t *n)
{
	for (size_t at = 0; at < run_n_cells(run); at++) {
		const struct cell *c = &run->cells[at];
		int ends[] = { run_src(run, at), run_dst(run, at) };

		for (int k = 0; k < 2 && c->path == PATH_INTER &&
				run_good(c->class) && c->bw_GB_s > 0; k++) {
			of[ends[k]] += (double)c->bw_GB_s;
			n[ends[k]]++;
		}
	}
	for (int r = 0; r < run->n_ranks; r++) {
		of[r] = n[r] ? of[r] / n[r] : NAN;
	}
}

/** The best that GPU @gpu reaches of what is usual in its node, on any; NAN
 *  where some node has none, or not enough to compare. */
static double best_share(const struct run *run, const double *of, int gpu)
{
	double best = NAN;

	for (int i = 0; i < run->n_nodes; i++) {
		const struct run_node *n = &run->nodes[i];
		double room[MOST_GPUS], usual;
		size_t known = 0;

		for (int k = 0; k < n->gpus && k < MOST_GPUS; k++) {
			if (isfinite(of[n->first_rank + k])) {
				room[known++] = of[n->first_rank + k];
			}
		}
		if (known < LEAST_GPUS || gpu >= n->gpus ||
		    isnan(of[n->first_rank + gpu])) {
			return NAN;
		}
		usual = stats_select(room, known, known / 2);
		best = fmax(best, of[n->first_rank + gpu] / usual);
	}
	return best;
}

void note_built_so(const struct run *run, struct str *out)
{
	double *of = calloc((size_t)run->n_ranks + 1, sizeof(*of));
	uint32_t *n = calloc((size_t)run->n_ranks + 1, sizeof(*n));
	double least = 1;
	int gpus = 0;

	if (of && n && run->n_nodes >= LEAST_NODES && !run->mesh &&
	    !run->ports && !run->shared_cores) {
		add_up(run, of, n);
		for (int g = 0; g < run->nodes[0].gpus; g++) {
			double share = best_share(run, of, g);

			if (share <= 1 - LEAST_SLOWER) {
				str_addf(out, "%s%d", gpus++ ? ", " : "GPU ",
					 g);
				least = fmin(least, share);
			}
		}
	}
	if (gpus > 0) {
		str_addf(out, " of every node: at most %.0f %% of what is "
			 "usual in its node, between nodes; built so, and no "
			 "finding", 100 * least);
	}
	free(of);
	free(n);
}
