/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/ask_steps.h"

/** Tests of a part that is to be confirmed, and of sound pairs. */
#define CONFIRM_TESTS 8

/** Would @src -> @dst say whether @s is as it looked? */
static bool shows(const struct ask_plan *a, const struct ask_suspect *s,
		  int src, int dst)
{
	return ask_touches(a, &s->parts[0], src, dst) &&
	       (s->rate > 0 ? !ask_has_failed(a, src, dst) :
		!s->some || ask_cell(a, src, dst)->class == CELL_SLOW);
}

/** In which directions, as @x sends or receives; both of nothing. */
static uint8_t ways(const struct ask_plan *a, const struct ask_suspect *s,
		    int x, int y)
{
	return ask_dirs(s == NULL || shows(a, s, x, y),
			s == NULL || shows(a, s, y, x));
}

/** Ordered tests of the follow-up, @inter between nodes or else inside, that
 *  say something of @s; NULL: that touch no suspect. */
static int count_asked(const struct ask_plan *a, const struct ask_suspect *s,
		       bool inter)
{
	int sum = 0;

	for (size_t i = 0; i < a->n_asked; i++) {
		const struct ask_test *t = &a->asked[i];

		if (inter != layout_same_node(a->l, t->src, t->dst) &&
		    (s != NULL ? shows(a, s, t->src, t->dst) :
				 ask_is_sound(a, NULL, t->src, t->dst))) {
			sum += t->times;
		}
	}
	return sum;
}

/** A partner on @node for @x, on its own rail where there is one; -1: none.
 *  What fails now and then does so with all of them: another one each time. */
static int partner_on(const struct ask_choice *c, const struct ask_suspect *s,
		      int x, int node, int turn)
{
	const struct layout *l = c->a->l;
	const struct layout_node *at = &l->nodes[node];
	bool rare = s != NULL && s->rate > 0, own = node == l->ranks[x].node;
	int first = l->ranks[x].gpu + (own  ? 1 + turn :
				       rare ? turn / (l->n_nodes - 1) : 0);
	int found = -1;

	for (int i = 0; i < at->gpus; i++) {
		int y = at->first_rank + (first + i) % at->gpus;
		bool rail = rare || l->ranks[y].nic == l->ranks[x].nic;

		if ((found < 0 || rail) && ask_can_test(c, x, y) &&
		    ways(c->a, s, x, y) != 0 && ask_is_sound(c->a, s, x, y)) {
			found = y;
			if (rail) {
				break;
			}
		}
	}
	return found;
}

/**
 * Tests of @s, of everything for NULL, until the follow-up has made @enough
 * ordered ones: in each turn another rank of it with a rank of another node, or
 * of its own where it is not @inter.  A link has one partner only, which is
 * asked again and again.
 */
static void look_again(struct ask_choice *c, const struct ask_suspect *s,
		       bool inter, int enough)
{
	const struct layout *l = c->a->l;
	int turns = (CONFIRM_TESTS + l->nodes[0].gpus) * l->n_nodes;
	int need = enough - count_asked(c->a, s, inter);
	int x = l->n_ranks - 1;

	turns = turns > need ? turns : need;
	for (int turn = 0; need > 0 && turn < turns; turn++) {
		int hop = inter ? 1 + turn % (l->n_nodes - 1) : 0;
		int tries = l->n_ranks, y;

		/* the next one: of all, on another node and of another index */
		x = (x + (s != NULL ? 1 : 1 + l->nodes[0].gpus)) % l->n_ranks;
		while (s != NULL && !ask_is_here(c->a, &s->parts[0], x) &&
		       tries-- > 0) {
			x = (x + 1) % l->n_ranks;
		}
		if (tries <= 0) {
			return;
		}
		y = partner_on(c, s, x,
			       (l->ranks[x].node + hop) % l->n_nodes, turn);
		if (y >= 0) {
			need -= ask_make(c, x, y, ways(c->a, s, x, y));
		}
	}
}

static bool between_nodes(const struct ask_plan *a, const struct ask_part *p)
{
	return ask_scope_of(p)->inter && a->l->n_nodes > 1 && !a->inside &&
	       (p->kind != ASK_PAIR || p->node != p->peer_node);
}

void ask_confirm(struct ask_choice *c, const struct ask_suspect *s)
{
	const struct ask_part *p = &s->parts[0];

	/* what is everywhere has nothing to be compared with */
	if (p->kind != ASK_UNKNOWN && ask_scope_of(p)->place != ASK_ANYWHERE) {
		look_again(c, s, between_nodes(c->a, p),
			   s->rate > 0 ? ask_enough(s->rate) : CONFIRM_TESTS);
	}
}

void ask_compare(struct ask_choice *c)
{
	for (int inter = 0; inter < 2; inter++) {
		if (c->beside[inter]) {
			look_again(c, NULL, inter, CONFIRM_TESTS);
		}
	}
}
