/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which cells deserve a second attempt.  A bad cell that stands alone does:
 * it may be flaky.  Where three or more share a part (a rank, a NIC, a pair of
 * nodes), that part is broken and two cells of it are proof enough.  Slow ones
 * must be a tenth of its cells as well: flows that meet by chance make some of
 * every part slow, and only a second test tells that.
 */
#include "probes/plan/retry.h"

#include <stdlib.h>

#define RETRY_SHARED 3	/* failures that make a part a suspect */
#define RETRY_PERCENT 10	/* of its cells, of slow ones */
#define RETRY_PROOF  2	/* cells of a suspect that are tried again */

/* A part of the machine is a number: ranks, then NICs, then node pairs. */
#define PARTS_OF_CELL 5

struct part {
	unsigned bad, cells, chosen;
};

static bool is_bad(const struct cell *c, enum retry_bad bad)
{
	if (c->attempt != 1) {
		return false;
	}
	return bad == RETRY_SLOW    ? c->class == CELL_SLOW :
	       bad == RETRY_STARVED ? c->class == CELL_NOT_RUN :
				      cells_failed(c->class);
}

/** Whom it chooses from, and what it has counted. */
struct choice {
	const struct layout *l;
	const struct grid *g;
	const struct cell *cells;
	enum retry_bad bad;
	struct grid nodes;	/* the pairs of nodes that these have */
	struct part *parts;
};

/** Between which nodes there are cells; -1 without memory. */
static int find_nodes(struct choice *c)
{
	struct grid_pair *pairs;
	int rc;

	if (c->g->first == NULL) {
		c->nodes = grid_square(c->l->n_nodes);
		return 0;
	}
	pairs = calloc(c->g->n + 1, sizeof(*pairs));
	for (size_t at = 0; pairs != NULL && at < c->g->n; at++) {
		int s = c->l->ranks[grid_src(c->g, at)].node;
		int d = c->l->ranks[grid_dst(c->g, at)].node;

		pairs[at] = (struct grid_pair){ s < d ? s : d, s < d ? d : s };
	}
	rc = pairs != NULL ? grid_of(&c->nodes, c->l->n_nodes, pairs,
				     c->g->n) : -1;
	free(pairs);
	return rc;
}

static int parts_of(const struct choice *c, int src, int dst,
		    size_t ids[PARTS_OF_CELL])
{
	const struct layout *l = c->l;
	const struct layout_rank *s = &l->ranks[src], *d = &l->ranks[dst];
	int nics = l->n_ranks;
	size_t pairs = (size_t)(nics + l->n_nics);
	int lo = s->node < d->node ? s->node : d->node;
	int hi = s->node < d->node ? d->node : s->node;
	int n = 0;

	ids[n++] = (size_t)src;
	ids[n++] = (size_t)dst;
	if (s->node == d->node) {
		return n;
	}
	ids[n++] = (size_t)(nics + l->nodes[s->node].first_nic + s->nic);
	ids[n++] = (size_t)(nics + l->nodes[d->node].first_nic + d->nic);
	ids[n++] = pairs + grid_at(&c->nodes, lo, hi);
	return n;
}

/* Is one more cell of these parts worth its time?  Counts it if so. */
static bool choose(struct part *p, const size_t *ids, int n, enum retry_bad bad)
{
	const struct part *most;
	int top = 0;

	for (int i = 1; i < n; i++) {
		if (p[ids[i]].bad > p[ids[top]].bad) {
			top = i;
		}
	}
	most = &p[ids[top]];
	if (most->bad >= RETRY_SHARED && most->chosen >= RETRY_PROOF &&
	    (bad != RETRY_SLOW ||
	     most->bad * 100ULL >= most->cells * (uint64_t)RETRY_PERCENT)) {
		return false;
	}
	for (int i = 0; i < n; i++) {
		p[ids[i]].chosen++;
	}
	return true;
}

/* How many bad cells each part has. */
static void count_bad(const struct choice *c)
{
	size_t ids[PARTS_OF_CELL];

	for (size_t at = 0; at < c->g->n; at++) {
		bool is = is_bad(&c->cells[at], c->bad);
		int k = 0;

		if (is || (c->bad == RETRY_SLOW && c->cells[at].attempt > 0)) {
			k = parts_of(c, grid_src(c->g, at),
				     grid_dst(c->g, at), ids);
		}
		for (int j = 0; j < k; j++) {
			c->parts[ids[j]].cells++;
			c->parts[ids[j]].bad += is;
		}
	}
}

/** Are the cells of the pair at @at to be tried again, and is that its first
 *  one?  Fills @t. */
static bool is_due(const struct choice *c, size_t at, struct task *t)
{
	int src = grid_src(c->g, at), dst = grid_dst(c->g, at);
	size_t back = grid_at(c->g, dst, src);
	bool here = is_bad(&c->cells[at], c->bad);
	bool there = back < c->g->n && is_bad(&c->cells[back], c->bad);

	if (src > dst && back < c->g->n) {
		return false;
	}
	*t = (struct task){ .a = src < dst ? src : dst,
			    .b = src < dst ? dst : src, .attempt = 2 };
	t->dirs = (uint8_t)((here ? (src < dst ? TASK_AB : TASK_BA) : 0) |
			    (there ? TASK_BA : 0));
	return t->dirs != 0;
}

static size_t queue_bad(const struct choice *c, const struct retry_ops *ops,
			void *ctx)
{
	size_t ids[PARTS_OF_CELL], queued = 0;

	for (size_t at = 0; at < c->g->n; at++) {
		struct task t;

		if (is_due(c, at, &t) && ops->works(ctx, t.a) &&
		    ops->works(ctx, t.b) &&
		    choose(c->parts, ids, parts_of(c, t.a, t.b, ids), c->bad)) {
			queued += ops->queue(ctx, &t) == 0;
		}
	}
	return queued;
}

size_t retry_choose(const struct layout *l, const struct grid *g,
		    const struct cell *cells, enum retry_bad bad,
		    const struct retry_ops *ops, void *ctx)
{
	struct choice c = { .l = l, .g = g, .cells = cells, .bad = bad };
	size_t queued = 0;

	if (find_nodes(&c) == 0) {
		c.parts = calloc((size_t)(l->n_ranks + l->n_nics) + c.nodes.n +
				 1, sizeof(*c.parts));
	}
	if (c.parts != NULL) {
		count_bad(&c);
		queued = queue_bad(&c, ops, ctx);
	}
	free(c.parts);
	grid_release(&c.nodes);
	return queued;
}
