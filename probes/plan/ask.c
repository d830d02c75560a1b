/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/ask_steps.h"

#include <stdlib.h>

int ask_init(struct ask_plan *a, const struct layout *l,
	     const struct grid *g, const struct cell *cells)
{
	*a = (struct ask_plan){ .l = l, .g = g, .cells = cells,
			   .list = calloc(ASK_SUSPECTS + ASK_GUESSES,
					  sizeof(*a->list)),
			   .leaf_of = calloc((size_t)l->n_nodes + 1,
					     sizeof(*a->leaf_of)),
			   .heads = calloc(ASK_HEADS, sizeof(*a->heads)) };
	if (a->list == NULL || a->heads == NULL || a->leaf_of == NULL) {
		ask_release(a);
		return -1;
	}
	return 0;
}

void ask_release(struct ask_plan *a)
{
	free(a->list);
	free(a->leaf_of);
	free(a->asked);
	free(a->heads);
	*a = (struct ask_plan){ 0 };
}

int ask_rounds(int n_ranks)
{
	int rounds = 3;

	for (int n = 1; n < n_ranks; n *= 2) {
		rounds++;
	}
	return rounds;
}

size_t ask_next(struct ask_plan *a, size_t max, const struct retry_ops *ops,
		void *ctx)
{
	struct ask_choice c = { .a = a, .ops = ops, .ctx = ctx, .left = max };

	for (size_t i = 0; i < a->n + a->n_guesses; i++) {
		const struct ask_suspect *s = &a->list[i];

		c.compare = s->compare && !s->some;
		ask_settle(&c, s);
		if (s->confirm) {
			ask_confirm(&c, s);
		}
		if (s->retry) {
			ask_retry(&c, s);
		}
	}
	ask_compare(&c);
	return c.taken;
}
