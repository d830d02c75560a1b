/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Becoming a pair can cost more than measuring it, and costs no GPU time.  So
 * joins go out in waves of a few rounds at once; what is joined runs when no
 * join disturbs it any more.  A pair that cannot join waits for its deadline
 * beside the others, not before them.
 */
#include "probes/engine/coord/pairs.h"

#include <stdlib.h>

#include "lib/base/clock.h"

#define WAVE_ROUNDS 16
/* Joins that take longer only wait for somebody: they disturb nobody. */
#define WAVE_PATIENCE_NS (2 * NS_PER_S)

struct active *join_find(const struct pairs_work *w, const struct task *t)
{
	struct active *a = active_find(w, t->id);

	return a != NULL && a->stage == ACTIVE_READY ? a : NULL;
}

static void join_task(struct pairs_work *w, struct task *t)
{
	struct active *a;

	t->dirs &= (uint8_t)~relay_in_vain(w, t, false);
	if (t->dirs == 0 || !relay_admit(w, t)) {
		return;
	}
	a = active_new(w, t);
	if (a == NULL) {
		dispatch_add(w->dispatch, t); /* then all at once */
		return;
	}
	a->stage = ACTIVE_JOINING;
	a->start_ns = clock_now_ns();
	a->deadline_ns = a->start_ns + w->how.setup_ns + TASK_GRACE_NS;
	clock_utc(a->start_utc);
	w->n_joining++;
	active_orders(w, a, false);
}

void join_wave(struct pairs_work *w)
{
	struct task *round =
		calloc((size_t)w->ranks.layout.n_ranks, sizeof(*round));

	/* each round has its mates as well */
	int rounds = WAVE_ROUNDS / (pairs_pass(w)->pxn ? 1 + TASK_MATES : 1);

	for (int r = 0; w->wave_ns > 0 && r < w->ranks.layout.n_ranks; r++) {
		ranks_word(&w->ranks, r, MSG_CLOSE, -1);
	}
	w->wave_ns = clock_now_ns();
	for (int r = 0; round != NULL && r < rounds; r++) {
		size_t n = 0;

		while (dispatch_next(w->waiting, &round[n])) {
			n++;
		}
		for (size_t i = 0; i < n; i++) {
			dispatch_done(w->waiting, &round[i]);
			join_task(w, &round[i]);
		}
	}
	free(round);
	run_log_event(w->c->log, NULL, -1, "joining", "%zu pairs",
		      w->n_joining);
}

bool join_quiet(const struct pairs_work *w)
{
	return w->n_joining == 0 ||
	       clock_now_ns() > w->wave_ns + WAVE_PATIENCE_NS;
}

void join_over(struct pairs_work *w, struct active *a)
{
	if (a->stage != ACTIVE_JOINING) {
		return;
	}
	a->stage = ACTIVE_READY;
	if (--w->n_joining == 0) {
		run_log_event(w->c->log, NULL, -1, "joined", "after %.2f s",
			      (double)(clock_now_ns() - w->wave_ns) / 1e9);
	}
}

void join_end(struct pairs_work *w, struct active *a, int end)
{
	a->joined[end] = true;
	if (a->stage == ACTIVE_JOINING && a->joined[0] && a->joined[1]) {
		join_over(w, a);
		a->deadline_ns = INT64_MAX;
		dispatch_add(w->dispatch, &a->task);
	}
}

void join_undo(struct pairs_work *w, int rank)
{
	struct active *next;

	for (struct active *a = w->active; a != NULL; a = next) {
		next = a->next;
		if (a->stage == ACTIVE_RUNNING ||
		    (rank >= 0 && rank != a->task.a && rank != a->task.b &&
		     !relay_is_mate(&a->task, rank))) {
			continue;
		}
		active_cancel(w, a);
		if (a->stage == ACTIVE_JOINING) {
			join_over(w, a);
			queue_add(w, &a->task);
		}
		active_free(w, a);
	}
}
