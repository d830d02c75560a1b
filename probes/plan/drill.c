/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/drill.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/hash.h"

/* Ends of a cell that a fault touches. */
#define END_SRC	 1u
#define END_DST	 2u
#define END_BOTH (END_SRC | END_DST)

void drill_release(struct drill *d)
{
	if (d) {
		free(d->faults);
		*d = (struct drill)DRILL_INIT;
	}
}

void drill_allow_pxn(struct drill *d)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->n; i++) {
		if (d->faults[i].part != DRILL_CROSS_RAIL) {
			d->faults[kept++] = d->faults[i];
		}
	}
	d->n = kept;
}

/* Is every part in this run? */

static int most_nics(const struct layout *l)
{
	int most = 0;

	for (int i = 0; i < l->n_nodes; i++) {
		most = l->nodes[i].nics > most ? l->nodes[i].nics : most;
	}
	return most;
}

/** Number @n of a @what of which there are @count: 0, or -1 with @e. */
static int check_number(const struct drill_fault *f, const char *what, int n,
			int count, struct err *e)
{
	if (n < count) {
		return 0;
	}
	err_set(e, 0, "line %d, column %d: no %s %d in this run", f->line,
		f->column, what, n);
	return err_hint(e, "%ss are counted from 0, and there are %d", what,
			count);
}

/** gpu=A:B or nic=A:B: B counts inside node A. */
static int check_of_node(const struct drill_fault *f, const struct layout *l,
			 struct err *e)
{
	bool gpu = f->part == DRILL_GPU;
	const char *what = gpu ? "GPU" : "NIC";
	const struct layout_node *node;
	int count;

	if (check_number(f, "node", f->a, l->n_nodes, e) < 0) {
		return -1;
	}
	node = &l->nodes[f->a];
	count = gpu ? node->gpus : node->nics;
	if (f->b < count) {
		return 0;
	}
	err_set(e, 0, "line %d, column %d: no %s %d on node %d", f->line,
		f->column, what, f->b, f->a);
	return err_hint(e, "%ss are counted from 0, and '%s' has %d", what,
			node->name, count);
}

static int check_fault(const struct drill_fault *f, const struct layout *l,
		       struct err *e)
{
	int most = f->a > f->b ? f->a : f->b;	/* b is 0 where there is none */

	switch (f->part) {
	case DRILL_NODE:
	case DRILL_NODE_PAIR:
		return check_number(f, "node", most, l->n_nodes, e);
	case DRILL_PAIR:
	case DRILL_RANK:
		return check_number(f, "rank", most, l->n_ranks, e);
	case DRILL_RAIL:
		return check_number(f, "rail", most, most_nics(l), e);
	case DRILL_GPU:
	case DRILL_NIC:
		return check_of_node(f, l, e);
	case DRILL_CROSS_RAIL:
		break;
	}
	return 0;
}

int drill_check(const struct drill *d, const struct layout *l, struct err *e)
{
	for (size_t i = 0; i < d->n; i++) {
		if (check_fault(&d->faults[i], l, e) < 0) {
			return -1;
		}
	}
	return 0;
}

/* What a fault touches. */

bool drill_has_end(const struct drill_fault *f, const struct layout *l,
		   int rank)
{
	const struct layout_rank *r = &l->ranks[rank];

	switch (f->part) {
	case DRILL_NODE:
		return r->node == f->a;
	case DRILL_GPU:
		return r->node == f->a && r->gpu == f->b;
	case DRILL_NIC:
		return r->node == f->a && r->nic == f->b;
	case DRILL_RAIL:
		return r->nic == f->a;
	case DRILL_RANK:
		return rank == f->a;
	default:
		return false;
	}
}

/** A fault of a part that a cell has at one end, or at both. */
static unsigned touch_ends(const struct drill_fault *f, const struct layout *l,
			   int src, int dst)
{
	unsigned ends = (drill_has_end(f, l, src) ? END_SRC : 0) |
			(drill_has_end(f, l, dst) ? END_DST : 0);

	return f->direction == DRILL_TX ? ends & END_SRC :
	       f->direction == DRILL_RX ? ends & END_DST :
					  ends;
}

/** A fault between @a and @b of the fault: tx is from a to b. */
static unsigned touch_between(const struct drill_fault *f, int src, int dst)
{
	bool tx = src == f->a && dst == f->b;
	bool rx = src == f->b && dst == f->a;

	return (tx && f->direction != DRILL_RX) ||
			       (rx && f->direction != DRILL_TX) ?
		       END_BOTH : 0;
}

/** The ends of cell @src -> @dst that @f touches, 0 for none. */
static unsigned touch(const struct drill_fault *f, const struct layout *l,
		      int src, int dst)
{
	const struct layout_rank *s = &l->ranks[src], *t = &l->ranks[dst];
	bool inter = s->node != t->node;

	switch (f->part) {
	case DRILL_NODE:
	case DRILL_GPU:
	case DRILL_RANK:
		return touch_ends(f, l, src, dst);
	case DRILL_NIC:
	case DRILL_RAIL:
		return inter ? touch_ends(f, l, src, dst) : 0;
	case DRILL_PAIR:
		return touch_between(f, src, dst);
	case DRILL_NODE_PAIR:
		return touch_between(f, s->node, t->node);
	case DRILL_CROSS_RAIL:
		return inter && s->nic != t->nic ? END_BOTH : 0;
	}
	return 0;
}

/** The end that does what the fault says. */
static int acting_end(enum drill_kind kind, unsigned ends, int src, int dst)
{
	if (kind == DRILL_CORRUPT || ends == END_DST) {
		return dst;
	}
	return ends == END_BOTH && dst > src ? dst : src;
}

struct drill_effect drill_effect(const struct drill *d, const struct layout *l,
				 int src, int dst, int attempt, uint64_t seed)
{
	struct drill_effect effect = { .factor = 1, .end = src };
	double draw = hash_unit(seed, (uint64_t)src, (uint64_t)dst,
				(uint64_t)attempt);
	enum drill_kind first = DRILL_SLOW;

	for (size_t i = 0; i < d->n; i++) {
		const struct drill_fault *f = &d->faults[i];
		unsigned ends = touch(f, l, src, dst);

		if (!ends) {
			continue;
		}
		if (f->kind == DRILL_SLOW) {
			effect.factor = fmax(effect.factor * f->value,
					     DRILL_MIN_FACTOR);
		} else if (f->kind < first &&
			   (f->kind != DRILL_FLAKY || draw < f->value)) {
			first = f->kind;
			effect.end = acting_end(f->kind, ends, src, dst);
		}
	}
	if (first != DRILL_SLOW) {
		effect.kind = first == DRILL_FLAKY ? DRILL_DEAD : first;
		effect.factor = 1;
	}
	return effect;
}

enum xport_drill drill_act(enum drill_kind kind)
{
	static const enum xport_drill acts[] = {
		[DRILL_DEAD] = XPORT_DRILL_STAY_AWAY,
		[DRILL_HANG] = XPORT_DRILL_HANG,
		[DRILL_CRASH] = XPORT_DRILL_CRASH,
		[DRILL_CORRUPT] = XPORT_DRILL_CORRUPT,
		[DRILL_NOISE] = XPORT_DRILL_NONE,
	};

	return acts[kind];
}
