/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which cells deserve a second attempt.  A bad cell that stands alone does:
 * it may be flaky.  Where three or more share a part (a rank, a NIC, a pair of
 * nodes), that part is broken and two cells of it are proof enough.  Slow ones
 * must be a tenth of its cells as well: flows that meet by chance make some of
 * every part slow, and only a second test tells that.
 */
#include "probes/plan/retry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "probes/plan/plan.h"

/* ---- repeats ------------------------------------------------------------- */

#define Z      2.5758	/* of the normal distribution: 99 % are within */
#define MISSED 1e-3	/* a fault that is there is not seen so often */
#define MOST   1e15	/* that any answer is */

int64_t repeats_to_trust(int64_t bad, int64_t n)
{
	/* the least rate that may well be; above 0 */
	const double rate = (double)bad / (double)n, more = Z * Z / (double)n;
	const double least =
		(rate + more / 2 - Z * sqrt(rate * (1 - rate) / (double)n +
					    more / (4 * (double)n))) /
		(1 + more);
	double most = log(MISSED) / log1p(-least);

	return (int64_t)fmin(fmax(ceil(most), 1), MOST);
}

int64_t repeats_for_enough(int64_t bad, int64_t n)
{
	return (int64_t)fmin(ceil(REPEATS_ENOUGH * (double)n / (double)bad),
			     MOST);
}

/* ---- convict ------------------------------------------------------------- */

/** Partners that are remembered: some of the first ones may be broken, too. */
#define PARTNERS (2 * CONVICT_PROOF)

/** Parts of a cell that can be convicted: sender, receiver, and both
 *  together. */
enum { GPU_TX, GPU_RX, NIC_TX, NIC_RX, RAILS, CONVICT_PARTS_OF_CELL };

struct convict_part {
	size_t bad, good, left;
	int64_t cost_ns;	/* of the bad ones */
	int partners[PARTNERS];
	int n_partners;
};

struct convict {
	const struct layout *l;
	int *passed;		/* a rank: tests between nodes that passed */
	size_t good;		/* all tests that passed, and what they took */
	int64_t good_ns;
	struct convict_part *parts; /* GPUs and NICs, both ways; the rails */
};

struct convict *convict_new(const struct layout *l)
{
	struct convict *c = calloc(1, sizeof(*c));
	size_t n = 2 * (size_t)(l->n_ranks + l->n_nics) + 1;

	if (c == NULL) {
		return NULL;
	}
	c->l = l;
	c->passed = calloc((size_t)l->n_ranks + 1, sizeof(*c->passed));
	c->parts = calloc(n, sizeof(*c->parts));
	if (c->passed == NULL || c->parts == NULL) {
		convict_free(c);
		return NULL;
	}
	return c;
}

void convict_free(struct convict *c)
{
	if (c != NULL) {
		free(c->passed);
		free(c->parts);
		free(c);
	}
}

static bool receives(int which)
{
	return which == GPU_RX || which == NIC_RX;
}

/** The number of @rank, or behind all ranks of its NIC. */
static size_t number_of(const struct layout *l, enum part_kind kind, int rank)
{
	const struct cluster_rank *r = &l->ranks[rank];

	return kind == PART_GPU ? (size_t)rank :
		(size_t)(l->n_ranks + layout_nic_at(l, r->node, r->nic));
}

/** Part number @which of src -> dst, which goes by @path; NULL: it has none
 *  such. */
static struct convict_part *part_of(const struct convict *c, int which,
				    enum path_class path, int src, int dst)
{
	static const enum part_kind kinds[] = {
		[GPU_TX] = PART_GPU, [GPU_RX] = PART_GPU,
		[NIC_TX] = PART_NIC, [NIC_RX] = PART_NIC,
		[RAILS] = PART_CROSS_RAIL,
	};
	const enum part_kind kind = kinds[which];

	if (!part_goes_by(kind, path) ||
	    (which == RAILS && !plan_crosses(c->l, src, dst))) {
		return NULL;
	}
	return &c->parts[2 * (which == RAILS ?
				      (size_t)(c->l->n_ranks + c->l->n_nics) :
				      number_of(c->l, kind, receives(which) ?
							    dst : src)) +
			 receives(which)];
}

void convict_expect(struct convict *c, int src, int dst)
{
	const enum path_class path = cluster_path(&c->l->cluster, src, dst);

	for (int i = 0; i < CONVICT_PARTS_OF_CELL; i++) {
		struct convict_part *p = part_of(c, i, path, src, dst);

		if (p != NULL) {
			p->left++;
		}
	}
}

void convict_hear(struct convict *c, int src, int dst, enum outcome o,
		  int64_t cost_ns)
{
	const enum path_class path = cluster_path(&c->l->cluster, src, dst);
	bool bad = o == OUTCOME_ERROR || o == OUTCOME_TIMEOUT;
	bool good = o == OUTCOME_OK || o == OUTCOME_CORRUPT;
	bool inter = !layout_same_node(c->l, src, dst);

	for (int i = 0; i < CONVICT_PARTS_OF_CELL; i++) {
		struct convict_part *p = part_of(c, i, path, src, dst);

		if (p == NULL) {
			continue;
		}
		p->left -= p->left > 0;
		p->good += good;
		p->bad += bad;
		p->cost_ns += bad ? cost_ns : 0;
		if (bad && inter) {
			int rank = receives(i) ? src : dst, k = 0;

			while (k < p->n_partners && p->partners[k] != rank) {
				k++;
			}
			if (k == p->n_partners && k < PARTNERS) {
				p->partners[p->n_partners++] = rank;
			}
		}
	}
	c->good += good;
	c->good_ns += good ? cost_ns : 0;
	c->passed[src] += good && inter;
	c->passed[dst] += good && inter;
}

const char *convict_of(const struct convict *c, int src, int dst,
		       int64_t spare_ns, bool rails, char text[CONVICT_TEXT])
{
	const enum path_class path = cluster_path(&c->l->cluster, src, dst);
	const double good = (double)c->good_ns /
			    (double)(c->good + (c->good == 0));

	for (int i = CONVICT_PARTS_OF_CELL - 1; i >= 0; i--) {
		const struct convict_part *p = part_of(c, i, path, src, dst);
		const bool nic = i == NIC_TX || i == NIC_RX;
		const struct cluster_rank *r =
			&c->l->ranks[receives(i) ? dst : src];
		double one;
		int n = 0;	/* partners that pass elsewhere */

		if (p == NULL || p->good > 0 || p->bad < CONVICT_PROOF) {
			continue;
		}
		/* what its other tests, one after the other, take longer than
		 * if they passed */
		one = (double)p->cost_ns / (double)p->bad;
		if (i == RAILS ? !rails :
		    c->l->n_ranks < CONVICT_RANKS ||
		    (one - good) * (double)p->left <= (double)spare_ns) {
			continue;
		}
		for (int k = 0; k < p->n_partners; k++) {
			n += c->passed[p->partners[k]] > 0;
		}
		if (n < (i == RAILS ? 1 : CONVICT_PROOF)) {
			continue;
		}
		if (i == RAILS) {
			snprintf(text, CONVICT_TEXT, "all %zu tests between "
				 "rails have failed", p->bad);
			return "rails_apart";
		}
		snprintf(text, CONVICT_TEXT,
			 "all %zu tests of %s %d of %.64s as %s have failed",
			 p->bad, nic ? "NIC" : "GPU", nic ? r->nic : r->gpu,
			 c->l->nodes[r->node].name,
			 receives(i) ? "receiver" : "sender");
		return "part_convicted";
	}
	return NULL;
}

/* ---- retry --------------------------------------------------------------- */

#define RETRY_SHARED 3	/* failures that make a part a suspect */
#define RETRY_PERCENT 10	/* of its cells, of slow ones */
#define RETRY_PROOF  2	/* cells of a suspect that are tried again */

/* A part of the machine is a number: ranks, then NICs, then node pairs. */
#define PARTS_OF_CELL 5

struct retry_tally {
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

/** Sets @nodes to the pairs of nodes between which there are cells; -1 without
 *  memory. */
static int find_nodes(const struct layout *l, struct grid *nodes)
{
	struct grid_pair *pairs;
	int rc;

	if (l->grid.first == NULL) {
		*nodes = grid_square(l->n_nodes);
		return 0;
	}
	pairs = calloc(l->grid.n + 1, sizeof(*pairs));
	for (size_t at = 0; pairs != NULL && at < l->grid.n; at++) {
		int s = l->ranks[grid_src(&l->grid, at)].node;
		int d = l->ranks[grid_dst(&l->grid, at)].node;

		pairs[at] = (struct grid_pair){ s < d ? s : d, s < d ? d : s };
	}
	rc = pairs != NULL ? grid_of(nodes, l->n_nodes, pairs, l->grid.n) : -1;
	free(pairs);
	return rc;
}

static int parts_of(const struct layout *l, const struct grid *nodes, int src,
		    int dst, size_t ids[PARTS_OF_CELL])
{
	enum path_class path = cluster_path(&l->cluster, src, dst);
	int s = l->ranks[src].node, d = l->ranks[dst].node, n = 0;

	ids[n++] = number_of(l, PART_GPU, src);
	ids[n++] = number_of(l, PART_GPU, dst);
	if (part_goes_by(PART_NIC, path)) {
		ids[n++] = number_of(l, PART_NIC, src);
		ids[n++] = number_of(l, PART_NIC, dst);
	}
	if (part_goes_by(PART_NODE_PAIR, path)) {
		ids[n++] = (size_t)(l->n_ranks + l->n_nics) +
			   grid_at(nodes, s < d ? s : d, s < d ? d : s);
	}
	return n;
}

/* Returns true if one more cell of these parts is worth a second attempt, and
 * counts it. */
static bool choose(struct retry_tally *p, const size_t *ids, int n,
		   enum retry_bad bad)
{
	const struct retry_tally *most;
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

/** Returns true if cells of the pair at @at are to be repeated and @at is the
 *  first of its two cells.  Fills @t. */
static bool is_due(const struct layout *l, enum retry_bad bad, size_t at,
		   struct task *t)
{
	int src = grid_src(&l->grid, at), dst = grid_dst(&l->grid, at);
	size_t back = grid_at(&l->grid, dst, src);
	bool here = is_bad(&l->cells[at], bad);
	bool there = back < l->grid.n && is_bad(&l->cells[back], bad);

	if (src > dst && back < l->grid.n) {
		return false;
	}
	*t = (struct task){ .a = src < dst ? src : dst,
			    .b = src < dst ? dst : src, .attempt = 2 };
	t->dirs = (uint8_t)((here ? (src < dst ? TASK_AB : TASK_BA) : 0) |
			    (there ? TASK_BA : 0));
	return t->dirs != 0;
}

size_t retry_choose(const struct layout *l, enum retry_bad bad,
		    const struct retry_ops *ops, void *ctx)
{
	struct grid nodes = { 0 };
	struct retry_tally *parts = NULL;
	size_t ids[PARTS_OF_CELL], queued = 0;
	const size_t n = l->grid.n;

	if (find_nodes(l, &nodes) == 0) {
		parts = calloc((size_t)(l->n_ranks + l->n_nics) + nodes.n + 1,
			       sizeof(*parts));
	}
	/* how many bad cells each part has */
	for (size_t at = 0; parts != NULL && at < n; at++) {
		bool is = is_bad(&l->cells[at], bad);
		int k = 0;

		if (is || (bad == RETRY_SLOW && l->cells[at].attempt > 0)) {
			k = parts_of(l, &nodes, grid_src(&l->grid, at),
				     grid_dst(&l->grid, at), ids);
		}
		for (int j = 0; j < k; j++) {
			parts[ids[j]].cells++;
			parts[ids[j]].bad += is;
		}
	}
	for (size_t at = 0; parts != NULL && at < n; at++) {
		struct task t;

		if (is_due(l, bad, at, &t) && ops->works(ctx, t.a) &&
		    ops->works(ctx, t.b) &&
		    choose(parts, ids, parts_of(l, &nodes, t.a, t.b, ids),
			   bad)) {
			queued += ops->queue(ctx, &t) == 0;
		}
	}
	free(parts);
	grid_release(&nodes);
	return queued;
}
