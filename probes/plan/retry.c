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

static const struct cell *cell_of(const struct layout *l,
				  const struct cell *cells, int src, int dst)
{
	return &cells[(size_t)src * (size_t)l->n_ranks + (size_t)dst];
}

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
				      c->class == CELL_FAIL ||
					      c->class == CELL_TIMEOUT ||
					      c->class == CELL_CORRUPT;
}

static struct part *new_parts(const struct layout *l)
{
	size_t nodes = (size_t)l->n_nodes;

	return calloc((size_t)(l->n_ranks + l->n_nics) + nodes * nodes,
		      sizeof(struct part));
}

static int parts_of(const struct layout *l, int src, int dst,
		    size_t ids[PARTS_OF_CELL])
{
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
	ids[n++] = pairs + (size_t)lo * (size_t)l->n_nodes + (size_t)hi;
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
static void count_bad(const struct layout *l, const struct cell *cells,
		      enum retry_bad bad, struct part *p)
{
	size_t ids[PARTS_OF_CELL];

	for (int src = 0; src < l->n_ranks; src++) {
		for (int dst = 0; dst < l->n_ranks; dst++) {
			const struct cell *c = cell_of(l, cells, src, dst);
			bool is = is_bad(c, bad);
			int k = 0;

			if (is || (bad == RETRY_SLOW && c->attempt > 0)) {
				k = parts_of(l, src, dst, ids);
			}
			for (int j = 0; j < k; j++) {
				p[ids[j]].cells++;
				p[ids[j]].bad += is;
			}
		}
	}
}

static size_t queue_bad(const struct layout *l, const struct cell *cells,
			enum retry_bad bad, const struct retry_ops *ops,
			void *ctx, struct part *p)
{
	size_t ids[PARTS_OF_CELL], queued = 0;

	for (int a = 0; a < l->n_ranks; a++) {
		for (int b = a + 1; b < l->n_ranks; b++) {
			struct task t = { .a = a, .b = b, .attempt = 2 };
			int k = parts_of(l, a, b, ids);

			t.dirs |= is_bad(cell_of(l, cells, a, b), bad) ?
					  TASK_AB : 0;
			t.dirs |= is_bad(cell_of(l, cells, b, a), bad) ?
					  TASK_BA : 0;
			if (t.dirs == 0 || !ops->works(ctx, a) ||
			    !ops->works(ctx, b) || !choose(p, ids, k, bad)) {
				continue;
			}
			queued += ops->queue(ctx, &t) == 0;
		}
	}
	return queued;
}

size_t retry_choose(const struct layout *l, const struct cell *cells,
		    enum retry_bad bad, const struct retry_ops *ops, void *ctx)
{
	struct part *p = new_parts(l);
	size_t queued = 0;

	if (p != NULL) {
		count_bad(l, cells, bad, p);
		queued = queue_bad(l, cells, bad, ops, ctx, p);
	}
	free(p);
	return queued;
}
