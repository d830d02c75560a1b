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

/** The least rate of which @bad of @n may well be; above 0 where @bad is. */
static double least_rate(double bad, double n)
{
	double rate = bad / n, more = Z * Z / n;

	return (rate + more / 2 -
		Z * sqrt(rate * (1 - rate) / n + more / (4 * n))) / (1 + more);
}

int64_t repeats_to_trust(int64_t bad, int64_t n)
{
	double most = log(MISSED) /
		      log1p(-least_rate((double)bad, (double)n));

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

/** Part number @which of src -> dst; NULL: it has none such. */
static struct convict_part *part_of(const struct convict *c, int which, int src,
				    int dst)
{
	static const enum part_kind kinds[] = {
		[GPU_TX] = PART_GPU, [GPU_RX] = PART_GPU,
		[NIC_TX] = PART_NIC, [NIC_RX] = PART_NIC,
		[RAILS] = PART_CROSS_RAIL,
	};
	const enum part_kind kind = kinds[which];

	if (!part_goes_by(kind, cluster_path(&c->l->cluster, src, dst)) ||
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
	for (int i = 0; i < CONVICT_PARTS_OF_CELL; i++) {
		struct convict_part *p = part_of(c, i, src, dst);

		if (p != NULL) {
			p->left++;
		}
	}
}

static void add_partner(struct convict_part *p, int rank)
{
	for (int i = 0; i < p->n_partners; i++) {
		if (p->partners[i] == rank) {
			return;
		}
	}
	if (p->n_partners < PARTNERS) {
		p->partners[p->n_partners++] = rank;
	}
}

void convict_hear(struct convict *c, int src, int dst, enum outcome o,
		  int64_t cost_ns)
{
	bool bad = o == OUTCOME_ERROR || o == OUTCOME_TIMEOUT;
	bool good = o == OUTCOME_OK || o == OUTCOME_CORRUPT;
	bool inter = !layout_same_node(c->l, src, dst);

	for (int i = 0; i < CONVICT_PARTS_OF_CELL; i++) {
		struct convict_part *p = part_of(c, i, src, dst);

		if (p == NULL) {
			continue;
		}
		p->left -= p->left > 0;
		p->good += good;
		p->bad += bad;
		p->cost_ns += bad ? cost_ns : 0;
		if (bad && inter) {
			add_partner(p, receives(i) ? src : dst);
		}
	}
	c->good += good;
	c->good_ns += good ? cost_ns : 0;
	c->passed[src] += good && inter;
	c->passed[dst] += good && inter;
}

/** Returns the number of partners that pass elsewhere and failed with @p. */
static int proof(const struct convict *c, const struct convict_part *p)
{
	int n = 0;

	for (int i = 0; i < p->n_partners; i++) {
		n += c->passed[p->partners[i]] > 0;
	}
	return n;
}

/** Returns true if the remaining tests of the part, one after the other, take
 *  over @spare_ns longer than if they passed. */
static bool is_costly(const struct convict *c, const struct convict_part *p,
		      int64_t spare_ns)
{
	double one = (double)p->cost_ns / (double)p->bad;
	double good = (double)c->good_ns / (double)(c->good + (c->good == 0));

	return (one - good) * (double)p->left > (double)spare_ns;
}

static void say(const struct convict *c, int which, int src, int dst,
		const struct convict_part *p, struct convict_reason *why)
{
	int rank = receives(which) ? dst : src;
	const struct cluster_rank *r = &c->l->ranks[rank];

	if (which == RAILS) {
		why->code = "rails_apart";
		snprintf(why->text, sizeof(why->text),
			 "all %zu tests between rails have failed", p->bad);
		return;
	}
	why->code = "part_convicted";
	snprintf(why->text, sizeof(why->text),
		 "all %zu tests of %s %d of %.64s as %s have failed", p->bad,
		 which == NIC_TX || which == NIC_RX ? "NIC" : "GPU",
		 which == NIC_TX || which == NIC_RX ? r->nic : r->gpu,
		 c->l->nodes[r->node].name,
		 receives(which) ? "receiver" : "sender");
}

struct convict_reason convict_of(const struct convict *c, int src, int dst,
				 int64_t spare_ns, bool rails)
{
	struct convict_reason why = { 0 };

	for (int i = CONVICT_PARTS_OF_CELL - 1; i >= 0 && why.code == NULL;
	     i--) {
		const struct convict_part *p = part_of(c, i, src, dst);

		if (p == NULL || p->good > 0 || p->bad < CONVICT_PROOF ||
		    (i == RAILS ? !rails :
				  c->l->n_ranks < CONVICT_RANKS ||
					  !is_costly(c, p, spare_ns)) ||
		    proof(c, p) < (i == RAILS ? 1 : CONVICT_PROOF)) {
			continue;
		}
		say(c, i, src, dst, p, &why);
	}
	return why;
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

/** The cells to choose from, and the counts of their parts. */
struct choice {
	const struct layout *l;
	enum retry_bad bad;
	struct grid nodes;	/* the pairs of nodes that these have */
	struct retry_tally *parts;
};

/** Between which nodes there are cells; -1 without memory. */
static int find_nodes(struct choice *c)
{
	struct grid_pair *pairs;
	int rc;

	if (c->l->grid.first == NULL) {
		c->nodes = grid_square(c->l->n_nodes);
		return 0;
	}
	pairs = calloc(c->l->grid.n + 1, sizeof(*pairs));
	for (size_t at = 0; pairs != NULL && at < c->l->grid.n; at++) {
		int s = c->l->ranks[grid_src(&c->l->grid, at)].node;
		int d = c->l->ranks[grid_dst(&c->l->grid, at)].node;

		pairs[at] = (struct grid_pair){ s < d ? s : d, s < d ? d : s };
	}
	rc = pairs != NULL ? grid_of(&c->nodes, c->l->n_nodes, pairs,
				     c->l->grid.n) : -1;
	free(pairs);
	return rc;
}

static int parts_of(const struct choice *c, int src, int dst,
		    size_t ids[PARTS_OF_CELL])
{
	const struct layout *l = c->l;
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
			   grid_at(&c->nodes, s < d ? s : d, s < d ? d : s);
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

/* How many bad cells each part has. */
static void count_bad(const struct choice *c)
{
	size_t ids[PARTS_OF_CELL];

	for (size_t at = 0; at < c->l->grid.n; at++) {
		bool is = is_bad(&c->l->cells[at], c->bad);
		int k = 0;

		if (is || (c->bad == RETRY_SLOW &&
			   c->l->cells[at].attempt > 0)) {
			k = parts_of(c, grid_src(&c->l->grid, at),
				     grid_dst(&c->l->grid, at), ids);
		}
		for (int j = 0; j < k; j++) {
			c->parts[ids[j]].cells++;
			c->parts[ids[j]].bad += is;
		}
	}
}

/** Returns true if cells of the pair at @at are to be repeated and @at is the
 *  first of its two cells.  Fills @t. */
static bool is_due(const struct choice *c, size_t at, struct task *t)
{
	int src = grid_src(&c->l->grid, at), dst = grid_dst(&c->l->grid, at);
	size_t back = grid_at(&c->l->grid, dst, src);
	bool here = is_bad(&c->l->cells[at], c->bad);
	bool there = back < c->l->grid.n && is_bad(&c->l->cells[back], c->bad);

	if (src > dst && back < c->l->grid.n) {
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

	for (size_t at = 0; at < c->l->grid.n; at++) {
		struct task t;

		if (is_due(c, at, &t) && ops->works(ctx, t.a) &&
		    ops->works(ctx, t.b) &&
		    choose(c->parts, ids, parts_of(c, t.a, t.b, ids), c->bad)) {
			queued += ops->queue(ctx, &t) == 0;
		}
	}
	return queued;
}

size_t retry_choose(const struct layout *l, enum retry_bad bad,
		    const struct retry_ops *ops, void *ctx)
{
	struct choice c = { .l = l, .bad = bad };
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
