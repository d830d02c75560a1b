/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/again.h"

#include <string.h>

#define COLLISIONS "collisions"

/** Slow tests that were made again, and those of them that were slow again. */
struct again {
	size_t tests, slow;
};

static struct again look(const struct run *run, const struct part *p)
{
	struct again a = { 0 };

	for (size_t i = 0; i < run->n_follow; i++) {
		const struct run_follow *f = &run->follow[i];
		struct cell c = run->cells[f->at];

		if (c.class != CELL_SLOW || !part_touches_at(run, p, f->at) ||
		    f->outcome != OUTCOME_OK) {
			continue;
		}
		c.bw_GB_s = f->bw_GB_s;
		a.tests++;
		a.slow += cells_beside(&c, &run->slow[c.path]) <
				  run->slow[c.path].limit_GB_s ||
			  cells_below_line(&c);
	}
	return a;
}

bool again_doubts(const struct run *run, const struct cause *c)
{
	struct again a = look(run, &c->part);

	return c->explained < c->cells && a.tests >= AGAIN_TESTS &&
	       2 * a.slow < a.tests;
}

bool again_mends(const struct run *run, const struct cause *c)
{
	struct again a = look(run, &c->part);

	return c->part.kind == PART_PAIR && a.tests >= AGAIN_TESTS &&
	       2 * a.slow < a.tests;
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
	struct again a = look(run, p);

	if (a.tests >= AGAIN_TESTS) {
		finding_add_evidence(f, "%sconfirmed by the follow-up: %zu of "
				     "%zu slow tests were slow again",
				     2 * a.slow < a.tests ? "not " : "",
				     a.slow, a.tests);
	}
}

void again_collided(const struct run *run, const struct cause *c,
		    struct verdict *v)
{
	struct part all = part_of_kind(PART_INTER_NODE);
	struct again a = look(run, &c->part);
	struct finding *f = NULL;
	char name[PART_NAME_SIZE];

	for (size_t i = 0; i < v->n; i++) {
		if (strcmp(v->findings[i].code, COLLISIONS) == 0) {
			f = &v->findings[i];
		}
	}
	f = f ? f : finding_add(v, &all, COLLISIONS);
	f->cells += c->cells;
	f->explained += c->explained;
	finding_say(f, "%zu of %zu tests between nodes were slow while others "
		    "ran, but not by themselves: flows meet on links between "
		    "switches", f->explained, f->cells);
	part_name(run, &c->part, name, sizeof(name));
	finding_add_evidence(f, "%s: %zu of %zu were slow; of %zu that the "
			     "follow-up made again %zu passed", name,
			     c->explained, c->cells, a.tests,
			     a.tests - a.slow);
}
