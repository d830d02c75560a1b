/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Becoming a pair can cost more than measuring it, and costs no GPU time.  So
 * joins go out in waves of a few rounds at once; what is joined runs when no
 * join disturbs it any more.  A pair that cannot join waits for its deadline
 * beside the others, not before them.
 */
#include "probes/engine/coord/task.h"

#include <stdlib.h>

#include "lib/base/clock.h"

#define WAVE_ROUNDS 16
/* Joins that take longer only wait for somebody: they disturb nobody. */
#define WAVE_PATIENCE_NS (2 * NS_PER_S)

struct active *join_find(struct coord *c, const struct task *t)
{
	for (struct active *a = c->active; a != NULL; a = a->next) {
		if (a->stage == ACTIVE_READY && a->task.id == t->id) {
			return a;
		}
	}
	return NULL;
}

static void join_task(struct coord *c, const struct task *t)
{
	struct active *a = active_new(c, t);

	if (a == NULL) {
		dispatch_add(c->dispatch, t);	/* then all at once */
		return;
	}
	a->stage = ACTIVE_JOINING;
	a->start_ns = clock_now_ns();
	a->deadline_ns = a->start_ns + c->setup_ns + TASK_GRACE_NS;
	clock_utc(a->start_utc);
	c->n_joining++;
	active_orders(c, a, false);
}

void join_wave(struct coord *c)
{
	struct task *round = calloc((size_t)c->layout.n_ranks,
				    sizeof(*round));

	for (int r = 0; c->wave_ns > 0 && r < c->layout.n_ranks; r++) {
		coord_send(c, r, json_pack("{s:s,s:i}", "t", "close", "rank",
					   r));
	}
	c->wave_ns = clock_now_ns();
	for (int r = 0; round != NULL && r < WAVE_ROUNDS; r++) {
		size_t n = 0;

		while (dispatch_next(c->waiting, &round[n])) {
			n++;
		}
		for (size_t i = 0; i < n; i++) {
			dispatch_done(c->waiting, &round[i]);
			join_task(c, &round[i]);
		}
	}
	free(round);
	coord_event(c, NULL, -1, "joining", "%zu pairs", c->n_joining);
}

bool join_quiet(const struct coord *c)
{
	return c->n_joining == 0 ||
	       clock_now_ns() > c->wave_ns + WAVE_PATIENCE_NS;
}

void join_over(struct coord *c, struct active *a)
{
	if (a->stage != ACTIVE_JOINING) {
		return;
	}
	a->stage = ACTIVE_READY;
	if (--c->n_joining == 0) {
		coord_event(c, NULL, -1, "joined", "after %.2f s",
			    (double)(clock_now_ns() - c->wave_ns) / 1e9);
	}
}

void join_end(struct coord *c, struct active *a, int end)
{
	a->joined[end] = true;
	if (a->stage == ACTIVE_JOINING && a->joined[0] && a->joined[1]) {
		join_over(c, a);
		a->deadline_ns = INT64_MAX;
		dispatch_add(c->dispatch, &a->task);
	}
}

void coord_unjoin(struct coord *c, int rank)
{
	struct active *next;

	for (struct active *a = c->active; a != NULL; a = next) {
		next = a->next;
		if (a->stage == ACTIVE_RUNNING ||
		    (rank >= 0 && rank != a->task.a && rank != a->task.b)) {
			continue;
		}
		active_word(c, a, 0, "cancel");
		active_word(c, a, 1, "cancel");
		if (a->stage == ACTIVE_JOINING) {
			join_over(c, a);
			coord_queue(c, &a->task);
		}
		active_free(a);
	}
}
