/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "probes/plan/ask.h"
#include "probes/plan/plan.h"

/* ---- ask choice ---------------------------------------------------------- */

/** Tests that touch one alternative and not the other; of a part that fails
 *  now and then as many as one in a thousand times do not show it. */
#define SETTLE_TESTS 4
#define SETTLE_NATS  6.9

static int ask_note(struct ask_plan *a, int src, int dst);

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
	return pairs_want(&c->a->l->cluster, c->a->inside ? PAIRS_INTRA :
			  PAIRS_ALL, c->a->rails_apart, x, y) &&
	       c->ops->works(c->ctx, x) && c->ops->works(c->ctx, y);
}

/** Returns true if the test of @x with @y touches @p in either direction. */
static bool joins(const struct ask_plan *a, const struct part *p, int x,
		  int y)
{
	return part_touches(&a->l->cluster, p, x, y) ||
	       part_touches(&a->l->cluster, p, y, x);
}

bool ask_is_sound(const struct ask_plan *a, const struct ask_suspect *s, int x,
		  int y)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct ask_suspect *t = &a->list[i];
		bool meant = t != s && s != NULL && s->some && t->some;

		for (int k = 0; k < t->n && !meant; k++) {
			const struct part *p = &t->parts[k];

			if (t != s ? joins(a, p, x, y) :
				     !part_is(&t->parts[0], PART_OF_LEAVES) &&
				     !part_scopes[p->kind].two &&
				     part_has(&a->l->cluster, p, y) &&
				     !part_has(&a->l->cluster, p, x)) {
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
	c->beside[cluster_path(&a->l->cluster, x, y)] |= c->compare;
	return sends + receives;
}

/* ---- ask tests ----------------------------------------------------------- */

const struct cell *ask_cell(const struct ask_plan *a, int src, int dst)
{
	return &a->l->cells[grid_at(&a->l->grid, src, dst)];
}

static size_t *head_of(const struct ask_plan *a, int src, int dst)
{
	return &a->heads[hash_mix(0, (uint64_t)src, (uint64_t)dst, 0) %
			 ASK_HEADS];
}

/** Returns the test src -> dst of the follow-up; NULL: none. */
static struct ask_test *asked_of(const struct ask_plan *a, int src, int dst)
{
	size_t i = *head_of(a, src, dst);

	while (i > 0 &&
	       (a->asked[i - 1].src != src || a->asked[i - 1].dst != dst)) {
		i = a->asked[i - 1].next;
	}
	return i > 0 ? &a->asked[i - 1] : NULL;
}

int ask_times(const struct ask_plan *a, int src, int dst)
{
	const struct ask_test *t = asked_of(a, src, dst);

	return t != NULL ? t->times : 0;
}

/* Once more.  0, or -1 without memory. */
static int ask_note(struct ask_plan *a, int src, int dst)
{
	struct ask_test *known = asked_of(a, src, dst), *list = a->asked;
	size_t *head = head_of(a, src, dst);

	if (known != NULL) {
		known->times++;
		return 0;
	}
	if ((a->n_asked & (a->n_asked - 1)) == 0) {	/* a power of two */
		list = realloc(list, (2 * a->n_asked + 1) * sizeof(*list));
	}
	if (list == NULL) {
		return -1;
	}
	a->asked = list;
	list[a->n_asked++] = (struct ask_test){ .src = src, .dst = dst,
						.times = 1, .next = *head };
	*head = a->n_asked;
	return 0;
}

void ask_hear(struct ask_plan *a, int src, int dst, enum outcome o)
{
	struct ask_test *t = asked_of(a, src, dst);
	bool failed = cells_failed(cells_class_of(o)) && o != OUTCOME_CRASHED;

	if (t != NULL) {
		t->failed = t->times == 1 ? failed : t->failed;
		t->ever |= failed;
	}
}
