/* SPDX-License-Identifier: BSD-3-Clause */
/* Slow cells by chance or by design, which are not faults. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "report/judge/findings.h"

/* ---- again --------------------------------------------------------------- */

#define COLLISIONS "collisions"

/** Tests of a part, or of pairs that no part explains. */
struct tests {
	size_t first, slow;	/* made once, and slow then */
	size_t again, twice;	/* of these made twice, and slow again */
	size_t below, below_twice;	/* what their lines carry, and again */
};

/** The slow tests of @p that the follow-up made again. */
static struct tests look(const struct run *run, const struct part *p)
{
	struct tests a = { 0 };

	for (size_t i = 0; i < run->n_follow; i++) {
		const struct run_follow *f = &run->follow[i];
		struct cell c = run->cells[f->at];

		if (c.class != CELL_SLOW || !part_touches_at(run, p, f->at) ||
		    f->outcome != OUTCOME_OK) {
			continue;
		}
		c.bw_GB_s = f->bw_GB_s;
		a.again++;
		a.twice += cells_beside(&c, &run->slow[c.path]) <
				  run->slow[c.path].limit_GB_s ||
			  cells_below_line(&c);
	}
	return a;
}

bool again_doubts(const struct run *run, const struct cause *c)
{
	struct tests a = look(run, &c->part);

	return c->explained < c->cells && a.again >= AGAIN_TESTS &&
	       2 * a.twice < a.again;
}

bool again_refutes(const struct run *run, const struct cause *c)
{
	const unsigned inter = KIND(FABRIC_PATH) | KIND(LEAF_PAIR) |
			       KIND(SWITCH) | KIND(RAIL_LEAF) | KIND(RAIL) |
			       KIND(NODE_NETWORK) | KIND(NODE_PAIR) |
			       KIND(SOCKET) | KIND(NIC);

	return part_is(&c->part, inter) && again_doubts(run, c);
}

void again_tell(const struct run *run, const struct part *p, struct finding *f)
{
	struct tests a = look(run, p);

	if (a.again >= AGAIN_TESTS) {
		finding_add_evidence(f, "%sconfirmed by the follow-up: %zu of "
				     "%zu slow tests were slow again",
				     2 * a.twice < a.again ? "not " : "",
				     a.twice, a.again);
	}
}

void again_collided(const struct run *run, const struct cause *c,
		    struct verdict *v)
{
	struct tests a = look(run, &c->part);
	struct finding *f = verdict_find(v, NULL, COLLISIONS);

	f = f ? f : finding_add(v, part_of_kind(PART_INTER_NODE), COLLISIONS);
	f->cells = part_tests(run, &f->part, NULL);
	f->explained += c->explained;
	finding_say(f, "%zu of %zu tests between nodes were slow while others "
		    "ran, but not by themselves: flows meet on links between "
		    "switches", f->explained, f->cells);
	finding_add_evidence(f, "%s: %zu of %zu were slow; of %zu that the "
			     "follow-up made again %zu passed",
			     PART_NAME(run, &c->part), c->explained, c->cells,
			     a.again, a.again - a.twice);
}

/* ---- odd ----------------------------------------------------------------- */

/** Returns which one of @n counts is @all; -1 if none or several are. */
static int only_one(const size_t *counts, int n, size_t all)
{
	int found = -1;

	for (int i = 0; i < n; i++) {
		if (counts[i] == all && found >= 0) {
			return -1;
		}
		found = counts[i] == all ? i : found;
	}
	return found;
}

struct finding *odd_find(const struct run *run,
			 bool (*is)(const void *user, size_t at),
			 const void *user, struct verdict *v)
{
	size_t *at_rank = calloc((size_t)(run->n_ranks + run->n_nodes) + 1,
				 sizeof(*at_rank));
	size_t *at_node = at_rank ? at_rank + run->n_ranks : NULL;
	size_t n = 0, first = 0;
	struct finding *f = NULL;
	int rank, node;

	v->failed |= !at_rank;
	for (size_t at = 0; at_rank && at < run_n_cells(run); at++) {
		int s = run_src(run, at), d = run_dst(run, at);
		int from = run->ranks[s].node, to = run->ranks[d].node;

		if (is(user, at)) {
			first = n++ == 0 ? at : first;
			at_rank[s]++;
			at_rank[d]++;
			at_node[from]++;
			at_node[to] += to != from;
		}
	}
	if (n > 0) {
		rank = only_one(at_rank, run->n_ranks, n);
		node = only_one(at_node, run->n_nodes, n);
		f = finding_add(v, rank < 0 ? part_at(PART_CONFIG, node, -1) :
				part_at(PART_CONFIG, run->ranks[rank].node,
					run->ranks[rank].gpu), "");
		f->explained = n;
		finding_set_example(run, f, first);
	}
	free(at_rank);
	return f;
}

/* ---- chance -------------------------------------------------------------- */

/** Probability below which it is not chance. */
#define ALPHA 0.01

/** Returns true if @c stands for pairs only, not for a part. */
static bool is_lone(const struct cause *c)
{
	return c->part.kind == PART_PAIR || c->rest;
}

/** Returns the cells that the lone cause @c stands for, *@n of them; those of a
 *  pair are in @pair. */
static uint32_t *lone_cells(const struct run *run, const struct cause *c,
			    uint32_t pair[2], size_t *n)
{
	const struct part *p = &c->part;
	int a, b;

	*n = c->rest ? c->n_rest : 2;
	if (c->rest) {
		return c->rest;
	}
	a = run->nodes[p->node].first_rank + p->index;
	b = run->nodes[p->peer_node].first_rank + p->peer_index;
	pair[0] = (uint32_t)run_at(run, a, b);
	pair[1] = (uint32_t)run_at(run, b, a);
	return pair;
}

static void count_slow(const struct run *run, const struct cause *c,
		       struct tests *t)
{
	uint32_t pair[2], *list;
	size_t n;

	list = lone_cells(run, c, pair, &n);
	for (size_t i = 0; i < n; i++) {
		const struct cell *cell = &run->cells[list[i]];
		bool slow = cell->class == CELL_SLOW;
		bool below = cells_below_line(cell), twice = cell->attempt > 1;

		t->slow += slow;
		t->again += slow && twice;
		t->twice += slow && twice;
		t->below += below;
		t->below_twice += below && twice;
	}
}

/** Returns true if no more tests of @causes are slow again than by chance.  The
 *  rate of chance comes from tests that were slow once: with few tests a slow
 *  pair would otherwise excuse itself. */
static bool is_chance(const struct run *run, const struct causes *causes)
{
	struct tests t = { 0 };

	run_foreach_cell(run, at) {
		const struct cell *c = &run->cells[at];
		bool mended = c->class == CELL_PASS && c->attempt > 1 &&
			      !c->flaky;

		t.first += run_good(c->class);
		t.slow += mended;
		t.again += mended;
	}
	for (size_t i = 0; i < causes->n; i++) {
		if (is_lone(&causes->list[i])) {
			count_slow(run, &causes->list[i], &t);
		}
	}
	return t.again > 0 && t.slow < t.first && t.twice < t.slow &&
	       stats_log_tail((double)t.twice, (double)t.again,
			      (double)(t.slow - t.twice) / (double)t.first) >=
		       log(ALPHA);
}

/** The cell of @src with node @k and the GPU number @gpu there; of a sample its
 *  @k-th, if it is of such a one.  Sets *@dst; NULL: there is none. */
static const struct cell *like_cell(const struct run *run, int src, size_t k,
				    int gpu, int *dst)
{
	size_t at = grid_first(&run->grid, src) + k;

	if (!run->grid.first) {
		*dst = run->nodes[k].first_rank + gpu;
		return gpu < run->nodes[k].gpus ? run_cell(run, src, *dst) :
						  NULL;
	}
	*dst = run_dst(run, at);
	return run->ranks[*dst].gpu == gpu ? &run->cells[at] : NULL;
}

/** Returns the median of the class of the cell at @at without cells of @but;
 *  NAN if it has no peers.  @room has space for a value of each pair of nodes,
 *  of each pair of GPUs of two nodes, or of each cell if these are fewer. */
static double class_median(const struct run *run, size_t at,
			   const struct part *but, double *room)
{
	const struct cluster_rank *ranks = run->ranks;
	const struct cluster_rank *s = &ranks[run_src(run, at)];
	const struct cluster_rank *d = &ranks[run_dst(run, at)];
	bool far = run->nodes[s->node].leaf != run->nodes[d->node].leaf;
	size_t n = 0;

	for (int a = 0; a < run->n_nodes; a++) {
		const struct cluster_node *x = &run->nodes[a];
		int src = x->first_rank + s->gpu, dst;
		size_t like = (size_t)run->n_nodes;

		if (s->gpu >= x->gpus) {
			continue;
		}
		if (run->grid.first) {
			like = grid_first(&run->grid, src + 1) -
			       grid_first(&run->grid, src);
		}
		for (size_t k = 0; k < like; k++) {
			const struct cell *c = like_cell(run, src, k, d->gpu,
							 &dst);

			if (c && run_good(c->class) &&
			    c->path == run->cells[at].path &&
			    (x->leaf != run->nodes[ranks[dst].node].leaf) ==
				    far &&
			    !(but && part_touches(&run->cluster, but, src,
						  dst))) {
				room[n++] = (double)c->bw_GB_s;
			}
		}
	}
	return n >= CELLS_SLOW_PEERS ? stats_select(room, n, n / 2) : NAN;
}

/** Returns the median of the @n values in @room as a share of the median of
 *  @path: at most 1, and 1 for too few values. */
static double share_of(const struct run *run, unsigned path, double *room,
		       size_t n)
{
	return n >= CELLS_SLOW_PEERS ?
		       fmin(1, stats_select(room, n, n / 2) /
				       run->slow[path].median_GB_s) : 1;
}

/** That from the node of one end of the cell at @at to that of the other. */
static double way_share(const struct run *run, size_t at, double *room)
{
	const struct cluster_rank *ranks = run->ranks;
	const struct cluster_node *x =
		&run->nodes[ranks[run_src(run, at)].node];
	const struct cluster_node *y =
		&run->nodes[ranks[run_dst(run, at)].node];
	const unsigned path = run->cells[at].path;
	size_t n = 0;

	for (int i = 0; i < x->gpus; i++) {
		for (int k = 0; k < y->gpus; k++) {
			const struct cell *c = run_cell(run, x->first_rank + i,
							y->first_rank + k);

			if (run_good(c->class) && c->path == path) {
				room[n++] = (double)c->bw_GB_s;
			}
		}
	}
	return share_of(run, path, room, n);
}

/** That of its sender, or of its receiver. */
static double end_share(const struct run *run, size_t at, bool sender,
			double *room)
{
	const unsigned path = run->cells[at].path;
	size_t n = 0;

	for (int i = 0; i < run->n_ranks; i++) {
		const struct cell *c = sender ?
			run_cell(run, run_src(run, at), i) :
			run_cell(run, i, run_dst(run, at));

		if (run_good(c->class) && c->path == path) {
			room[n++] = (double)c->bw_GB_s;
		}
	}
	return share_of(run, path, room, n);
}

/** Returns true if the cell is not slow, or only as slow as its class at that
 *  distance or both of its ends usually are.  Such cells are slow by design. */
static bool is_built(const struct run *run, size_t at, double *room)
{
	const struct cell *c = &run->cells[at];
	double ends, class;

	if (c->class != CELL_SLOW) {
		return true;
	}
	ends = end_share(run, at, true, room) *
	       end_share(run, at, false, room) *
	       run->slow[c->path].median_GB_s;
	class = class_median(run, at, NULL, room) * way_share(run, at, room);
	return (double)c->bw_GB_s >= CELLS_SLOW_RATIO * fmin(ends, class);
}

/** Returns true if all cells of @c, a lone one, are slow by design.  Removes
 *  those from its list. */
static bool lone_is_built(const struct run *run, struct cause *c, double *room)
{
	uint32_t pair[2], *list;
	size_t n = 0, all;

	list = lone_cells(run, c, pair, &all);
	for (size_t i = 0; i < all; i++) {
		if (!is_built(run, list[i], room)) {
			list[n++] = list[i];
		}
	}
	if (c->rest) {
		c->explained -= c->n_rest - n;
		c->n_rest = n;
	}
	return n == 0;
}

/** Returns true if most slow tests of a part were fast when repeated.  Tests
 *  that were not repeated do not count. */
static bool is_mended(const struct run *run, const struct cause *c)
{
	size_t mended = 0, twice = 0;

	part_foreach_cell(run, &c->part, at) {
		const struct cell *cell = &run->cells[at];

		if (cell->attempt > 1 && !cell->flaky) {
			twice += cell->class == CELL_SLOW;
			mended += cell->class == CELL_PASS;
		}
	}
	return mended > twice;
}

/** Slow cells of a part that are looked at. */
#define MOST_ALIKE 32

/** Returns true if most slow tests of a part are as fast as the tests without
 *  it between the same two GPU numbers at the same distance. */
static bool is_alike(const struct run *run, const struct cause *c,
		     double *room)
{
	size_t step = c->explained / MOST_ALIKE + 1, seen = 0, looked = 0;
	size_t alike = 0;

	/* these are all of their class */
	if (part_is(&c->part, KIND(INTER_NODE) | KIND(CROSS_RAIL) |
				      KIND(RAIL))) {
		return false;
	}
	part_foreach_cell(run, &c->part, at) {
		const struct cell *cell = &run->cells[at];

		if (cell->class == CELL_SLOW &&
		    seen++ % step == 0) {
			looked++;
			alike += !cells_below_line(cell) &&
				 (double)cell->bw_GB_s >= CELLS_SLOW_RATIO *
				 class_median(run, at, &c->part, room);
		}
	}
	return 2 * alike > looked;
}

/** Returns true if @c is not a fault: a lone pair that is slow by design (needs
 *  @room), a pair that is slow again by chance, or a part that was fast when
 *  repeated. */
static bool is_none(const struct run *run, struct cause *c, double *room)
{
	struct tests t = look(run, &c->part);

	/* a pair that is slow twice by chance is not broken */
	if (c->part.kind == PART_PAIR && t.again >= AGAIN_TESTS &&
	    2 * t.twice < t.again) {
		return true;
	}
	if (is_lone(c)) {
		count_slow(run, c, &t);
		return (room ? t.below : t.below_twice) == 0 &&
		       (!room || lone_is_built(run, c, room));
	}
	return room && (is_mended(run, c) || is_alike(run, c, room));
}

/** Drops the causes that are not faults, see is_none(). */
static void drop(const struct run *run, struct causes *causes, double *room)
{
	size_t n = 0;

	for (size_t i = 0; i < causes->n; i++) {
		struct cause *c = &causes->list[i];

		if (is_none(run, c, room)) {
			free(c->or_parts);
			free(c->rest);
		} else {
			causes->list[n++] = *c;
		}
	}
	causes->n = n;
}

int chance_drop(const struct run *run, struct causes *causes)
{
	size_t nodes = (size_t)run->n_nodes, gpus = 0, most;
	double *room;

	if (run->mesh || causes->n == 0) {
		return 0;
	}
	for (size_t i = 0; i < nodes; i++) {
		gpus = run->nodes[i].gpus > (int)gpus ?
			       (size_t)run->nodes[i].gpus : gpus;
	}
	most = nodes * nodes + gpus * gpus;
	most = most < run_n_cells(run) ? most : run_n_cells(run);
	room = calloc(most + 1, sizeof(*room));
	if (!room) {
		return -1;
	}
	drop(run, causes, room);
	free(room);
	if (is_chance(run, causes)) {
		drop(run, causes, NULL);
	}
	return 0;
}
