/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/ask_steps.h"

#include <stdlib.h>

#include "lib/base/hash.h"

const struct cell *ask_cell(const struct ask_plan *a, int src, int dst)
{
	return &a->cells[grid_at(a->g, src, dst)];
}

bool ask_has_failed(const struct ask_plan *a, int src, int dst)
{
	return cells_failed(ask_cell(a, src, dst)->class);
}

static size_t *head_of(const struct ask_plan *a, int src, int dst)
{
	return &a->heads[hash_mix(0, (uint64_t)src, (uint64_t)dst, 0) %
			 ASK_HEADS];
}

/** What the follow-up has asked of @src -> @dst; NULL: nothing. */
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

int ask_note(struct ask_plan *a, int src, int dst)
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
