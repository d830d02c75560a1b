/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/effects.h"

#include <math.h>
#include <stdlib.h>

#include "report/judge/effect_found.h"
#include "report/judge/effect_join.h"
#include "report/judge/effect_parts.h"

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

/** All that is found with intervals for so many parts and ways. */
static int find(struct effect_work *w, size_t family)
{
	const double z = effect_deviations(ALPHA / 2 / (double)family);
	int rc = -1;

	w->t = (struct effect_table){ 0 };
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
	effect_table_release(&w->t);
	return rc;
}

/** Nodes that are in @found hide what their partners are: bandwidth is that of
 *  the narrowest part, while latencies add up. */
static void set_aside(struct effect_work *w, const struct effects *found)
{
	for (size_t i = 0; w->of == EFFECTS_BANDWIDTH && i < found->n; i++) {
		const struct part *p = &found->list[i].part;

		if (part_is(p, KIND(NODE) | KIND(NODE_NETWORK))) {
			w->n_aside += !w->aside[TX][p->node] &&
				      !w->aside[RX][p->node];
			w->aside[TX][p->node] |= p->direction != PART_RX;
			w->aside[RX][p->node] |= p->direction != PART_TX;
		}
	}
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
		set_aside(w, &before);
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
	effects_join(run, out);
	finish(out, of);
	return 0;
}

void effects_release(struct effects *e)
{
	free(e->list);
	*e = (struct effects){ 0 };
}
