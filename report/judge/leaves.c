/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/leaves.h"

#include <stdlib.h>
#include <string.h>

#include "report/model/run_read.h"

/** Fewer nodes are no leaf switch, or any two of them could be one. */
#define LEAST_NODES 2
#define LEAST_RAIL  3
/** A GPU that is bad with so many of all nodes is so by itself, in percent. */
#define OWN_PERCENT 75
/** Of the pairs of nodes between two sets that must have a bad cell, and how
 *  many these are at least. */
#define BETWEEN_PERCENT 60
#define LEAST_LINKS	4
#define LINKS_EACH	2	/* of a node of a sample, on average */
#define MOST_LEAVES	26	/* A to Z */

struct work {
	struct run *run;
	size_t nodes;
	uint8_t *own;		/* ranks that are bad by themselves */
	uint8_t *link;		/* nodes x nodes: a bad cell of other ranks */
	int *side;		/* of each node: 0 = none */
	size_t *queue, queued;	/* nodes that hang together */
};

static bool is_bad(const struct run *run, size_t at)
{
	unsigned class = run->cells[at].class;

	return run->cells[at].path == PATH_INTER &&
	       (run_bad(class) || class == CELL_SLOW);
}

/** Which ranks are bad with most of the nodes that they have cells with, of a
 *  square all others.  False: no cell is bad. */
static bool find_own(struct work *w)
{
	const struct run *run = w->run;
	bool any = false;

	for (int r = 0; r < run->n_ranks; r++) {
		size_t nodes = 0, n = 0;
		int last = run->ranks[r].node;
		bool counted = false;

		for (size_t at = run_first(run, r); at < run_first(run, r + 1);
		     at++) {
			int node = run->ranks[run_dst(run, at)].node;

			if (node == run->ranks[r].node) {
				continue;
			}
			nodes += node != last;
			counted = counted && node == last;
			last = node;
			if (!counted && (is_bad(run, at) ||
					 is_bad(run, run_back(run, at)))) {
				counted = true;
				n++;
			}
		}
		any = any || n > 0;
		w->own[r] = n > 0 && n * 100 >= nodes * OWN_PERCENT;
	}
	return any;
}

static void find_links(struct work *w)
{
	const struct run *run = w->run;

	for (size_t at = 0; at < run_n_cells(run); at++) {
		int s = run_src(run, at), d = run_dst(run, at);

		if (is_bad(run, at) && !w->own[s] && !w->own[d]) {
			size_t a = (size_t)run->ranks[s].node;
			size_t b = (size_t)run->ranks[d].node;

			w->link[a * w->nodes + b] = 1;
			w->link[b * w->nodes + a] = 1;
		}
	}
}

/** Put what hangs together with @node, to the queue, on two sides, 1 and 2, by
 *  turns; false: there is a link inside one of them. */
static bool part_sides(struct work *w, size_t node)
{
	bool two = true;

	w->queued = 0;
	w->queue[w->queued++] = node;
	w->side[node] = 1;
	for (size_t i = 0; i < w->queued; i++) {
		size_t a = w->queue[i];

		for (size_t b = 0; b < w->nodes; b++) {
			if (!w->link[a * w->nodes + b]) {
				continue;
			}
			if (!w->side[b]) {
				w->side[b] = 3 - w->side[a];
				w->queue[w->queued++] = b;
			}
			two = two && w->side[b] != w->side[a];
		}
	}
	return two;
}

/** Of pairs of nodes between the sides of the queue those that were measured,
 *  of which a sample has few. */
static size_t count_met(const struct work *w)
{
	const struct run *run = w->run;
	size_t *last = calloc(w->nodes + 1, sizeof(*last)), met = 0;

	for (size_t i = 0; last && i < w->queued; i++) {
		size_t a = w->queue[i];
		const struct run_node *n = &run->nodes[a];
		size_t at = run_first(run, n->first_rank);
		size_t end = run_first(run, n->first_rank + n->gpus);

		for (; w->side[a] == 1 && at < end; at++) {
			size_t b = (size_t)run->ranks[run_dst(run, at)].node;

			met += w->side[b] == 2 && last[b] != a + 1;
			last[b] = a + 1;
		}
	}
	free(last);
	return met;
}

/** Are there enough on both sides of the queue, and links between them?  Of a
 *  sample chance makes threads of them, in which most nodes have one. */
static bool are_leaves(const struct work *w)
{
	size_t n[3] = { 0 }, links = 0, all;
	bool sample = w->run->grid.first != NULL;

	for (size_t i = 0; i < w->queued; i++) {
		size_t a = w->queue[i];

		n[w->side[a]]++;
		for (size_t b = 0; w->side[a] == 1 && b < w->nodes; b++) {
			links += w->link[a * w->nodes + b];
		}
	}
	all = sample ? count_met(w) : n[1] * n[2];
	return n[1] >= LEAST_NODES && n[2] >= LEAST_NODES &&
	       links >= LEAST_LINKS && links * 100 >= all * BETWEEN_PERCENT &&
	       (!sample || links >= LINKS_EACH * (n[1] + n[2]));
}

/** Make a leaf switch of the nodes of the queue on @side. */
static int join(struct work *w, int side)
{
	const char name[] = { (char)('A' + w->run->n_leaves), '\0' };

	for (size_t i = 0; i < w->queued; i++) {
		size_t node = w->queue[i];

		if (w->side[node] == side &&
		    run_join_leaf(w->run, (int)node, name) < 0) {
			return -1;
		}
	}
	w->run->leaves_inferred = true;
	return 0;
}

/** Two sets of nodes with bad cells between them, as often as there are. */
static int find_sets(struct work *w)
{
	for (size_t i = 0; i < w->nodes * w->nodes; i++) {
		size_t node = i / w->nodes;

		if (w->link[i] && !w->side[node] &&
		    w->run->n_leaves < MOST_LEAVES && part_sides(w, node) &&
		    are_leaves(w) && (join(w, 1) < 0 || join(w, 2) < 0)) {
			return -1;
		}
	}
	return 0;
}

/** Is NIC @nic of @node bad by itself, and not all of the node? */
static bool is_bad_nic(const struct work *w, size_t node, int nic)
{
	const struct run_node *n = &w->run->nodes[node];
	int of_nic = 0, bad = 0, all = 0;

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		bool here = w->run->ranks[r].nic == nic;

		of_nic += here;
		bad += here && w->own[r];
		all += w->own[r];
	}
	return of_nic > 0 && bad == of_nic && all < n->gpus;
}

/** Nodes whose NICs of one index are bad, but not those of all nodes. */
static int find_rail(struct work *w)
{
	for (int nic = 0; nic < SPEC_MAX_GPUS; nic++) {
		w->queued = 0;
		for (size_t i = 0; i < w->nodes; i++) {
			w->side[i] = is_bad_nic(w, i, nic);
			w->queue[w->queued] = i;
			w->queued += w->side[i] > 0;
		}
		if (w->queued >= LEAST_RAIL && w->queued < w->nodes) {
			return join(w, 1);
		}
	}
	memset(w->side, 0, w->nodes * sizeof(*w->side));
	return 0;
}

int leaves_infer(struct run *run)
{
	size_t nodes = (size_t)run->n_nodes;
	struct work w = { .run = run, .nodes = nodes };
	int rc = 0;

	if (run->n_leaves > 0 || run->mesh || run->n_nodes < 2 * LEAST_NODES) {
		return 0;
	}
	w.own = calloc((size_t)run->n_ranks + 1, 1);
	w.link = calloc(nodes, nodes);
	w.side = calloc(nodes, sizeof(*w.side));
	w.queue = calloc(nodes + 1, sizeof(*w.queue));
	if (!w.own || !w.link || !w.side || !w.queue) {
		rc = -1;
	} else if (find_own(&w)) {
		find_links(&w);
		rc = find_rail(&w);
		rc = rc < 0 || run->n_leaves > 0 ? rc : find_sets(&w);
	}
	free(w.own);
	free(w.link);
	free(w.side);
	free(w.queue);
	return rc;
}
