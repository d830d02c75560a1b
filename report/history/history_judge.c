/* SPDX-License-Identifier: BSD-3-Clause */
/* What the points of a history come to. */
#include "report/history/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/grow.h"

/**
 * What has no level, such as a limit of locked memory, was good in each run of
 * its setup that does not have it; of a node: that tested the node.
 */
static int fill_good(const struct history *h, struct history_part *p)
{
	struct history_point *all = NULL;
	size_t n = 0, k = 0;

	for (size_t run = 0; run < h->n_runs; run++) {
		const struct summary *s = &h->runs[run];
		struct history_point good = { .run = run, .level_GB_s = NAN };
		bool here = !p->is.node[0];

		if (k < p->n && p->points[k].run == run) {
			good = p->points[k++];
			here = true;
		} else if (!summary_alike(&h->runs[h->setups[p->setup]], s)) {
			continue;
		}
		for (size_t i = 0; !here && i < s->n_nodes; i++) {
			here = s->nodes[i].tested &&
			       strcmp(s->nodes[i].name, p->is.node) == 0;
		}
		if (here && !grow_add(&all, &n, &good, sizeof(good))) {
			free(all);
			return -1;
		}
	}
	free(p->points);
	p->points = all;
	p->n = n;
	return 0;
}

/** Is it one of those that have a level where they are good? */
static bool has_level(const struct history *h, const struct history_part *p)
{
	static const char *const kinds[] = {
		"gpu", "nic", "node", "rail", "inter_node", "intra_node",
		"collective", NULL
	};

	if (str_index(kinds, p->is.kind) < 0) {
		return false;
	}
	for (size_t i = 0; i < h->n_runs; i++) {
		if (summary_has_pairs(&h->runs[i]) &&
		    summary_alike(&h->runs[h->setups[p->setup]], &h->runs[i])) {
			return true;
		}
	}
	return p->n > 0 && isfinite(p->points[0].level_GB_s);
}

static void count(struct history_part *p)
{
	const size_t from = p->n > HISTORY_LAST ? p->n - HISTORY_LAST : 0;

	p->failed = p->warned = p->turns = 0;
	for (size_t i = 0; i < p->n; i++) {
		const struct history_point *at = &p->points[i];

		p->failed += at->state == HISTORY_FAIL;
		p->warned += at->state == HISTORY_WARN;
		if (at->state != HISTORY_GOOD) {
			p->first = p->failed + p->warned == 1 ? at->run :
								p->first;
			p->last = at->run;
		}
		p->turns += i > from && (at->state == HISTORY_FAIL) !=
						(at[-1].state == HISTORY_FAIL);
	}
	p->flaps = p->turns >= HISTORY_FLAP_TURNS;
}

static int add_trend(const struct history *h, struct history_part *p)
{
	struct trend_point *points = calloc(p->n + 1, sizeof(*points));
	size_t n = 0;
	int rc;

	for (size_t i = 0; points && i < p->n; i++) {
		const struct history_point *at = &p->points[i];

		if (at->level_GB_s > 0) {
			points[n++] = (struct trend_point){
				.at_s = h->runs[at->run].started_s,
				.level = at->level_GB_s,
			};
		}
	}
	rc = points ? trend_of(points, n, &p->trend) : -1;
	free(points);
	return rc;
}

static int judge_part(const struct history *h, struct history_part *p)
{
	count(p);
	if (!has_level(h, p)) {
		if (fill_good(h, p) < 0) {
			return -1;
		}
		count(p);
	}
	return add_trend(h, p);
}

static void judge_node(struct history_node *n)
{
	const size_t from = n->n > HISTORY_LAST ? n->n - HISTORY_LAST : 0;

	for (size_t i = from; i < n->n; i++) {
		n->fails += n->failed[i];
	}
	n->lemon = n->fails >= HISTORY_LEMON_FAILS;
}

/** Faults first, then warnings, then those that get slower, then by name. */
static int by_weight(const void *a, const void *b)
{
	const struct history_part *p = a, *q = b;
	const double slow = p->trend.sure ? p->trend.percent : 0;
	const double other = q->trend.sure ? q->trend.percent : 0;

	if (p->failed != q->failed) {
		return p->failed > q->failed ? -1 : 1;
	}
	if (p->warned != q->warned) {
		return p->warned > q->warned ? -1 : 1;
	}
	if (slow < other || slow > other) {
		return slow < other ? -1 : 1;
	}
	return strverscmp(p->name, q->name) ? strverscmp(p->name, q->name) :
	       p->setup < q->setup ? -1 : p->setup > q->setup;
}

static int by_fails(const void *a, const void *b)
{
	const struct history_node *p = a, *q = b;

	return p->fails != q->fails ? (p->fails > q->fails ? -1 : 1) :
				      strverscmp(p->name, q->name);
}

int history_judge(struct history *h)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < h->n_parts; i++) {
		rc = judge_part(h, &h->parts[i]);
	}
	for (size_t i = 0; i < h->n_nodes; i++) {
		judge_node(&h->nodes[i]);
	}
	if (h->n_parts > 0) {
		qsort(h->parts, h->n_parts, sizeof(*h->parts), by_weight);
	}
	if (h->n_nodes > 0) {
		qsort(h->nodes, h->n_nodes, sizeof(*h->nodes), by_fails);
	}
	return rc;
}
