/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/ask_steps.h"

#include "probes/plan/plan.h"

/** Tests that touch one alternative and not the other; of a part that fails
 *  now and then as many as one in a thousand times do not show it. */
#define SETTLE_TESTS 4
#define SETTLE_NATS  6.9

int ask_enough(double rate)
{
	return rate > 0 ? (int)(SETTLE_NATS / rate) + 1 : SETTLE_TESTS;
}

uint8_t ask_dirs(bool sends, bool receives)
{
	return (uint8_t)((sends ? TASK_AB : 0) | (receives ? TASK_BA : 0));
}

bool ask_can_test(const struct ask_choice *c, int x, int y)
{
	const struct layout *l = c->a->l;

	return x != y && l->ranks[x].group == l->ranks[y].group &&
	       !(c->a->inside && !layout_same_node(l, x, y)) &&
	       !(c->a->rails_apart && plan_crosses(l, x, y)) &&
	       c->ops->works(c->ctx, x) && c->ops->works(c->ctx, y);
}

/** Is the test of @x with @y anything to @p, in whatever direction? */
static bool joins(const struct ask_plan *a, const struct ask_part *p, int x,
		  int y)
{
	return ask_touches(a, p, x, y) || ask_touches(a, p, y, x);
}

bool ask_is_sound(const struct ask_plan *a, const struct ask_suspect *s, int x,
		  int y)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct ask_suspect *t = &a->list[i];
		bool meant = t != s && s != NULL && s->some && t->some;

		for (int k = 0; k < t->n && !meant; k++) {
			const struct ask_part *p = &t->parts[k];

			if (t != s ? joins(a, p, x, y) :
				     !ask_is_shared(&t->parts[0]) &&
				     !ask_scope_of(p)->two &&
				     ask_is_here(a, p, y) &&
				     !ask_is_here(a, p, x)) {
				return false;
			}
		}
	}
	return true;
}

int ask_make(struct ask_choice *c, int x, int y, uint8_t dirs)
{
	struct ask_plan *a = c->a;
	bool sends = dirs & TASK_AB, receives = dirs & TASK_BA;
	int to = ask_times(a, x, y), from = ask_times(a, y, x);
	int one = ask_cell(a, x, y)->attempt + to;
	int other = ask_cell(a, y, x)->attempt + from;
	struct task t = {
		.a = x < y ? x : y, .b = x < y ? y : x,
		.dirs = x < y ? dirs : ask_dirs(receives, sends),
		.attempt = 1 + (one > other ? one : other),
	};

	if (c->left == 0 || to >= UINT8_MAX || from >= UINT8_MAX ||
	    (sends && ask_note(a, x, y) < 0) ||
	    (receives && ask_note(a, y, x) < 0) ||
	    c->ops->queue(c->ctx, &t) < 0) {
		return 0;
	}
	c->left--;
	c->taken++;
	c->beside[!layout_same_node(a->l, x, y)] |= c->compare;
	return sends + receives;
}
