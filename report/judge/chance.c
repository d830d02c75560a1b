/* SPDX-License-Identifier: BSD-3-Clause */
/* Slow cells by chance or by design, which are not faults. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "lib/base/units.h"
#include "report/judge/findings.h"

/* ---- again --------------------------------------------------------------- */

#define COLLISIONS "collisions"

/** Tests of a part, or of pairs that no part explains. */
struct tests {
	size_t first, slow;	/* made once, and slow then */
	size_t again, twice;	/* of these made twice, and slow again */
	size_t below, below_twice;	/* what their lines carry, and again */
};

/** Counts the slow tests of @p that the follow-up made again. */
static struct tests count_again(const struct run *run, const struct part *p)
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

/** Returns true if most of enough repeated tests passed. */
static bool is_refuted(const struct tests *t)
{
	return t->again >= AGAIN_TESTS && 2 * t->twice < t->again;
}

bool again_doubts(const struct run *run, const struct cause *c)
{
	struct tests t = count_again(run, &c->part);

	return c->explained < c->cells && is_refuted(&t);
}

void again_tell(const struct run *run, const struct part *p, struct finding *f)
{
	struct tests t = count_again(run, p);

	if (t.again >= AGAIN_TESTS) {
		finding_add_evidence(f, "%sconfirmed by the follow-up: %s of "
				     "%s slow tests were slow again",
				     is_refuted(&t) ? "not " : "",
				     UNITS_COUNT(t.twice),
				     UNITS_COUNT(t.again));
	}
}

bool again_collided(const struct run *run, const struct cause *c,
		    struct verdict *v)
{
	const unsigned inter = KIND(FABRIC_PATH) | KIND(LEAF_PAIR) |
			       KIND(SWITCH) | KIND(RAIL_LEAF) | KIND(RAIL) |
			       KIND(NODE_NETWORK) | KIND(NODE_PAIR) |
			       KIND(SOCKET) | KIND(NIC);
	struct tests a;
	struct finding *f;

	if (!part_is(&c->part, inter) || !again_doubts(run, c)) {
		return false;
	}
	a = count_again(run, &c->part);
	f = verdict_find(v, NULL, COLLISIONS);
	f = f ? f : finding_add(v, part_of_kind(PART_INTER_NODE), COLLISIONS);
	f->cells = part_tests(run, &f->part, NULL);
	f->explained += c->explained;
	finding_say(f, "%s of %s tests between nodes were slow while other "
		    "tests ran, but not alone: flows share links between "
		    "switches", UNITS_COUNT(f->explained),
		    UNITS_COUNT(f->cells));
	finding_add_evidence(f, "%s: %s of %s were slow; the follow-up "
			     "repeated %s of them, and %s passed",
			     PART_NAME(run, &c->part),
			     UNITS_COUNT(c->explained), UNITS_COUNT(c->cells),
			     UNITS_COUNT(a.again),
			     UNITS_COUNT(a.again - a.twice));
	return true;
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
	bool sample = run->grid.first != NULL;
	size_t n = 0;

	for (int a = 0; a < run->n_nodes; a++) {
		const struct cluster_node *x = &run->nodes[a];
		int src = x->first_rank + s->gpu;
		size_t first = 0, like = (size_t)run->n_nodes;

		if (s->gpu >= x->gpus) {
			continue;
		}
		if (sample) {
			first = grid_first(&run->grid, src);
			like = grid_first(&run->grid, src + 1) - first;
		}
		/* with GPU d->gpu of each node, or of a sample each partner of
		 * that number */
		for (size_t k = 0; k < like; k++) {
			int dst = sample ? run_dst(run, first + k) :
				  run->nodes[k].first_rank + d->gpu;
			const struct cell *c;

			if (sample ? ranks[dst].gpu != d->gpu :
				     d->gpu >= run->nodes[k].gpus) {
				continue;
			}
			c = sample ? &run->cells[first + k] :
				     run_cell(run, src, dst);
			if (run_good(c->class) &&
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

/** Returns the median of the good cells of @path from @n_src ranks (from @src
 *  on) to @n_dst ranks, as a share of the median of all of @path: at most 1,
 *  and 1 for too few cells. */
static double share_of(const struct run *run, unsigned path, int src, int n_src,
		       int dst, int n_dst, double *room)
{
	size_t n = 0;

	for (int i = src; i < src + n_src; i++) {
		for (int k = dst; k < dst + n_dst; k++) {
			const struct cell *c = run_cell(run, i, k);

			if (run_good(c->class) && c->path == path) {
				room[n++] = (double)c->bw_GB_s;
			}
		}
	}
	return n >= CELLS_SLOW_PEERS ?
		       fmin(1, stats_select(room, n, n / 2) /
				       run->slow[path].median_GB_s) : 1;
}

/** Returns true if all cells of @c, a lone one, are slow by design: as slow as
 *  their class at that distance, or as both of their ends usually are.  Marks
 *  such cells in @explained; removes them, and those that are not slow, from
 *  its list. */
static bool lone_is_built(const struct run *run, uint8_t *explained,
			  struct cause *c, double *room)
{
	uint32_t pair[2], *list;
	size_t n = 0, all;

	list = lone_cells(run, c, pair, &all);
	for (size_t i = 0; i < all; i++) {
		const struct cell *cell = &run->cells[list[i]];
		int src = run_src(run, list[i]), dst = run_dst(run, list[i]);
		const struct cluster_node *x =
			&run->nodes[run->ranks[src].node];
		const struct cluster_node *y =
			&run->nodes[run->ranks[dst].node];
		double ends, class;

		if (cell->class != CELL_SLOW) {
			continue;
		}
		ends = share_of(run, cell->path, src, 1, 0, run->n_ranks,
				room) *
		       share_of(run, cell->path, 0, run->n_ranks, dst, 1,
				room) *
		       run->slow[cell->path].median_GB_s;
		class = class_median(run, list[i], NULL, room) *
			share_of(run, cell->path, x->first_rank, x->gpus,
				 y->first_rank, y->gpus, room);
		if (!((double)cell->bw_GB_s >=
		      CELLS_SLOW_RATIO * fmin(ends, class))) {
			list[n++] = list[i];
		} else {
			explained[list[i]] |= BUILT_SO;
		}
	}
	if (c->rest) {
		c->explained -= c->n_rest - n;
		c->n_rest = n;
	}
	return n == 0;
}

/** A test that is slow no more reaches this share of the median: one just above
 *  the line has not become fast. */
#define FAST_RATIO 0.9

/** Returns true if most slow tests of a part were fast when repeated.  Tests
 *  that were not repeated do not count. */
static bool is_mended(const struct run *run, const struct cause *c)
{
	size_t mended = 0, twice = 0;

	part_foreach_cell(run, &c->part, at) {
		const struct cell *cell = &run->cells[at];
		const struct slow_limit *l = &run->slow[cell->path];

		if (cell->attempt > 1 && !cell->flaky) {
			twice += cell->class == CELL_SLOW;
			mended += cell->class == CELL_PASS &&
				  !(cells_beside(cell, l) <
				    FAST_RATIO * l->median_GB_s);
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

	/* these are all of their class, or most of it */
	if (run->slow[PATH_INTER].of_fast ||
	    part_is(&c->part, KIND(INTER_NODE) | KIND(CROSS_RAIL) |
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

/** Returns why @c is not a fault, 0: it is one.  BUILT_SO: a lone pair that is
 *  slow by design, or a part that is slow as others of its class (both need
 *  @room); BY_CHANCE: a pair that is slow again by chance, or a part that was
 *  fast when repeated. */
static enum explained why_none(const struct run *run, uint8_t *explained,
			       struct cause *c, double *room)
{
	struct tests t = count_again(run, &c->part);

	/* a pair that is slow twice by chance is not broken */
	if (c->part.kind == PART_PAIR && is_refuted(&t)) {
		return BY_CHANCE;
	}
	if (is_lone(c)) {
		count_slow(run, c, &t);
		return (room ? t.below : t.below_twice) > 0 ? 0 :
		       !room ? BY_CHANCE :
		       lone_is_built(run, explained, c, room) ? BUILT_SO : 0;
	}
	return !room		      ? 0 :
	       is_mended(run, c)      ? BY_CHANCE :
	       is_alike(run, c, room) ? BUILT_SO : 0;
}

/** Drops the causes that are not faults, and marks their slow cells with the
 *  reason, see why_none(). */
static void drop(const struct run *run, uint8_t *explained,
		 struct causes *causes, double *room)
{
	size_t n = 0;

	for (size_t i = 0; i < causes->n; i++) {
		struct cause *c = &causes->list[i];
		enum explained why = why_none(run, explained, c, room);
		uint32_t pair[2], *list;
		size_t cells;

		if (!why) {
			causes->list[n++] = *c;
			continue;
		}
		if (is_lone(c)) {
			list = lone_cells(run, c, pair, &cells);
			for (size_t k = 0; k < cells; k++) {
				explained[list[k]] |= (uint8_t)why;
			}
		} else {
			part_foreach_cell(run, &c->part, at) {
				explained[at] |=
					run->cells[at].class == CELL_SLOW ?
						(uint8_t)why : 0;
			}
		}
		free(c->or_parts);
		free(c->rest);
	}
	causes->n = n;
}

int chance_drop(const struct run *run, uint8_t *explained,
		struct causes *causes)
{
	size_t nodes = (size_t)run->n_nodes, gpus, most;
	struct tests t = { 0 };
	double *room;

	if (run->mesh || causes->n == 0) {
		return 0;
	}
	gpus = (size_t)cluster_most_gpus(&run->cluster);
	most = nodes * nodes + gpus * gpus;
	most = most < run_n_cells(run) ? most : run_n_cells(run);
	room = calloc(most + 1, sizeof(*room));
	if (!room) {
		return -1;
	}
	drop(run, explained, causes, room);
	free(room);
	/* The rate of chance comes from tests that were slow once: with few
	 * tests a slow pair would otherwise excuse itself. */
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
	/* no more tests are slow again than by chance */
	if (t.again > 0 && t.slow < t.first && t.twice < t.slow &&
	    stats_log_tail((double)t.twice, (double)t.again,
			   (double)(t.slow - t.twice) / (double)t.first) >=
		    log(ALPHA)) {
		drop(run, explained, causes, NULL);
	}
	return 0;
}
