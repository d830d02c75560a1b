/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts that are a little slow, or late, by all of their tests at once, where
 * no single test is bad enough.  A warning, unless it is slow enough and the
 * follow-up confirms it.
 */
#include "report/judge/findings.h"

#include <stdlib.h>

#include "report/judge/effect_confirm.h"

/** Less than this is nobody's trouble. */
#define LEAST_SLOWER 0.03
#define LEAST_LATER  0.3

static const struct kind {
	enum effects_of of;
	double least;
	const char *code;
} kinds[] = {
	{ .of = EFFECTS_BANDWIDTH, .least = LEAST_SLOWER, .code = "slow" },
	{ .of = EFFECTS_LATENCY, .least = LEAST_LATER, .code = "latency" },
};

/** Latency that is so many times that of its peers is a fault. */
#define FAIL_LATER 2.0
/** The interval of a fault is beyond this share of the line. */
#define FAIL_BOUND 0.7

/** A part that is slower than this has tests that are slow each by itself. */
#define SLOW_ITSELF CELLS_SLOW_RATIO

static void say(const struct run *run, const struct effect *e,
		const struct kind *k, struct finding *f)
{
	const char *with = e->inside ? "GPUs" : "nodes";
	char name[PART_NAME_SIZE];

	part_name(run, &f->part, name, sizeof(name));
	if (k->of == EFFECTS_LATENCY) {
		finding_say(f, "%s: latency is %.1f times that of its peers "
			    "(%.1f to %.1f, %zu tests with %zu %s)", name,
			    e->ratio, e->low, e->high, e->tests, e->partners,
			    with);
	} else {
		finding_say(f, "%s is %.0f %% slower than its peers (%.0f to "
			    "%.0f %%, %zu tests with %zu %s)", name,
			    100 * (1 - e->ratio), 100 * (1 - e->high),
			    100 * (1 - e->low), e->tests, e->partners, with);
	}
}

static struct finding *add(const struct run *run, const struct effect *e,
			   const struct kind *k, struct verdict *v)
{
	struct part shown = part_shown(run, &e->part);
	struct part also = part_shown(run, &e->also);
	struct finding *f = finding_add(v, &shown, k->code);

	f->cells = e->tests;
	if (also.kind != shown.kind) {
		finding_add_or(f, &also);
	}
	say(run, e, k, f);
	return f;
}

static bool can_judge(const struct run *run)
{
	return !run->mesh && !run->shared_cores;
}

/** Are most tests of @p below what their lines carry, where that is known?
 *  Then it is slow whatever its peers do, and each test says so. */
static bool misses_line(const struct run *run, const struct part *p)
{
	size_t below = 0, all = 0;

	for (size_t at = 0; at < run_n_cells(run); at++) {
		const struct cell *c = &run->cells[at];

		if (c->expected_GB_s > 0 && run_good(c->class) &&
		    part_touches_at(run, p, at)) {
			below += cells_below_line(c);
			all++;
		}
	}
	return 2 * below > all;
}

static void drop_below_line(const struct run *run, struct effects *e)
{
	size_t kept = 0;

	for (size_t i = 0; i < e->n; i++) {
		if (!misses_line(run, &e->list[i].part)) {
			e->list[kept++] = e->list[i];
		}
	}
	e->n = kept;
}

/** What @e leaves of the cell at @at when what its parts add is taken away. */
static bool is_fine(const struct run *run, const struct effects *e, size_t at)
{
	const struct cell *c = &run->cells[at];
	double ratio = 1;

	for (size_t i = 0; i < e->n; i++) {
		if (e->list[i].ratio > SLOW_ITSELF &&
		    e->list[i].part.kind != PART_FABRIC_PATH &&
		    part_touches_at(run, &e->list[i].part, at)) {
			ratio *= e->list[i].ratio;
		}
	}
	return ratio < 1 &&
	       !((double)c->bw_GB_s < CELLS_LINE_RATIO * ratio *
					      (double)c->expected_GB_s) &&
	       !(cells_beside(c, &run->slow[c->path]) <
		 ratio * run->slow[c->path].limit_GB_s);
}

static bool is_slow(const struct run *run, const uint8_t *skip, size_t at)
{
	return run->cells[at].class == CELL_SLOW &&
	       !(skip[at] & EFFECTS_SKIP);
}

static bool any_slow(const struct run *run, const uint8_t *skip)
{
	for (size_t at = 0; at < run_n_cells(run); at++) {
		if (is_slow(run, skip, at)) {
			return true;
		}
	}
	return false;
}

void effects_spare(const struct run *run, uint8_t *explained,
		   struct verdict *v)
{
	struct effects e;

	if (!can_judge(run) || !any_slow(run, explained)) {
		return;
	}
	if (effects_find(run, explained, EFFECTS_BANDWIDTH, LEAST_SLOWER, &e) <
	    0) {
		v->failed = true;
		return;
	}
	drop_below_line(run, &e);
	for (size_t at = 0; e.n > 0 && at < run_n_cells(run); at++) {
		if (is_slow(run, explained, at) && is_fine(run, &e, at)) {
			explained[at] |= SPARED;
		}
	}
	effects_release(&e);
}

/** Is all that @e may be, or nearly, beyond the line between a warning and a
 *  fault? */
static bool is_beyond(const struct run *run, const struct effect *e,
		      enum effects_of of)
{
	double line = (double)(run->slow_percent ? run->slow_percent :
						   RUN_SLOW_PERCENT) / 100;

	return of == EFFECTS_LATENCY ?
		       e->ratio >= FAIL_LATER &&
			       e->bound > 1 + FAIL_BOUND * (FAIL_LATER - 1) :
		       e->ratio <= 1 - line && e->bound < 1 - FAIL_BOUND * line;
}

/** Cells that were spared on account of @e: it is slow by them.  Returns how
 *  many. */
static size_t claim(const struct run *run, const struct effect *e,
		    const uint8_t *explained, uint8_t *claimed)
{
	size_t n = 0;

	for (size_t at = 0; at < run_n_cells(run); at++) {
		if ((explained[at] & SPARED) &&
		    part_touches_at(run, &e->part, at)) {
			claimed[at] = 1;
			n++;
		}
	}
	return n;
}

/** NICs of one rail at a switch, or where nobody knows it, that are more than
 *  chance. */
#define MANY_NICS 3

/** Fewer have too few paths between two of them to compare. */
#define LEAST_LEAVES 4

/** Is @p the same part as @of, of another node at the same switch, or of any
 *  where that is not known? */
static bool is_beside(const struct run *run, const struct part *p,
		      const struct part *of)
{
	return p->kind == of->kind && p->index == of->index &&
	       run->nodes[p->node].leaf == run->nodes[of->node].leaf;
}

/** May the switch be it instead: is @p the network of a node that is alone
 *  there, or with others as bad, or one of several NICs? */
static bool may_be_switch(const struct run *run, const struct effects *found,
			  const struct part *p)
{
	size_t alike = 0, nodes = 0;

	if (!part_is(p, KIND(NODE_NETWORK) | KIND(NIC))) {
		return false;
	}
	for (size_t i = 0; i < found->n; i++) {
		alike += is_beside(run, &found->list[i].part, p);
	}
	for (int i = 0; i < run->n_nodes; i++) {
		nodes += run->nodes[i].leaf > 0 &&
			 run->nodes[i].leaf == run->nodes[p->node].leaf;
	}
	return p->kind == PART_NIC ? alike >= MANY_NICS : alike >= nodes;
}

/** With fewer partner nodes it may as well be what leads to these. */
#define LEAST_PARTNERS 3

/** Are there other parts like it, and do its tests show it?  Those of one link
 *  between switches are among all others there. */
static bool can_fail(const struct run *run, const struct effect *e)
{
	const struct part *p = &e->part;

	return p->kind != PART_FABRIC_PATH &&
	       (p->kind != PART_LEAF_PAIR || run->n_leaves >= LEAST_LEAVES) &&
	       (!part_is(p, KIND(NODE) | KIND(NODE_NETWORK) | KIND(NIC) |
				    KIND(GPU)) ||
		e->partners >= LEAST_PARTNERS);
}

void effect_findings(const struct run *run, uint8_t *explained,
		     struct verdict *v)
{
	uint8_t *claimed = calloc(run_n_cells(run) + 1, 1);

	v->failed = v->failed || !claimed;
	for (size_t i = 0; can_judge(run) && claimed &&
			   i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct effects found;

		if (effects_find(run, explained, kinds[i].of, kinds[i].least,
				 &found) < 0) {
			v->failed = true;
			break;
		}
		for (size_t n = 0; n < found.n; n++) {
			const struct effect *e = &found.list[n];
			double again = effect_again(run, &found, n,
						    kinds[i].of);
			bool beyond = is_beyond(run, e, kinds[i].of);
			struct finding *f;

			/* a little slow for a while, as when clocks settle */
			if (again < EFFECT_GONE && !beyond) {
				continue;
			}
			f = add(run, e, &kinds[i], v);
			f->explained = kinds[i].of == EFFECTS_LATENCY ? 0 :
				claim(run, e, explained, claimed);
			f->fail = can_fail(run, e) && beyond &&
				  again >= EFFECT_AGAIN;
			if (may_be_switch(run, &found, &e->part)) {
				f->fail = false;
				finding_add_evidence(f, "its switch may be "
						     "the reason: only a "
						     "warning");
			}
		}
		effects_release(&found);
	}
	for (size_t at = 0; claimed && at < run_n_cells(run); at++) {
		if (!claimed[at]) {
			explained[at] &= (uint8_t)~SPARED;
		}
	}
	free(claimed);
}
