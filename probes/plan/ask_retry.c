/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/ask_steps.h"

/** Failed tests of a finding that are tried again, of one GPU, and of the one
 *  that it is about: chance may fail it again and again. */
#define RETRY_TESTS   16
#define RETRY_OF_ONE  4
#define RETRY_OF_THAT 8

/** Did it fail, and nobody has tried again?  What crashed is let be. */
static bool is_untried(const struct ask_plan *a, int src, int dst)
{
	const struct cell *c = ask_cell(a, src, dst);

	return cells_failed(c->class) && c->attempt == 1 &&
	       c->outcome != OUTCOME_CRASHED;
}

/** What of @s was tried again by the follow-up; with @rank >= 0 of this one. */
static int count_retried(const struct ask_plan *a, const struct ask_suspect *s,
			 int rank)
{
	int sum = 0;

	for (size_t i = 0; i < a->n_asked; i++) {
		const struct ask_test *t = &a->asked[i];

		sum += (is_untried(a, t->src, t->dst) ||
			(t->failed && t->times > 1)) &&
		       ask_touches(a, &s->parts[0], t->src, t->dst) &&
		       (rank < 0 || t->src == rank || t->dst == rank);
	}
	return sum;
}

/** Try src -> dst again, which is of @s, unless enough of its ends were;
 *  returns how many tests it is. */
static int take_again(struct ask_choice *c, const struct ask_suspect *s,
		      int src, int dst)
{
	enum ask_place place = ask_scope_of(&s->parts[0])->place;
	int most = place == ASK_ON_GPU || place == ASK_ON_NIC ? RETRY_OF_THAT :
								RETRY_OF_ONE;

	if (!ask_touches(c->a, &s->parts[0], src, dst) ||
	    !ask_can_test(c, src, dst) ||
	    count_retried(c->a, s, src) >= most ||
	    count_retried(c->a, s, dst) >= most) {
		return 0;
	}
	return ask_make(c, src, dst, TASK_AB);
}

void ask_retry(struct ask_choice *c, const struct ask_suspect *s)
{
	struct ask_plan *a = c->a;
	int need = RETRY_TESTS - count_retried(a, s, -1);

	for (size_t at = 0; at < a->g->n && need > 0; at++) {
		int src = grid_src(a->g, at), dst = grid_dst(a->g, at);

		if (is_untried(a, src, dst) && ask_times(a, src, dst) == 0) {
			need -= take_again(c, s, src, dst);
		}
	}
	for (size_t i = 0; i < a->n_asked && need > 0; i++) {
		if (a->asked[i].failed && a->asked[i].times == 1) {
			need -= take_again(c, s, a->asked[i].src,
					   a->asked[i].dst);
		}
	}
}
