/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/coord/pairs.h"

#include "lib/base/clock.h"
#include "lib/base/str.h"

void task_start(struct pairs_work *w, const struct task *t)
{
	struct active *a = w->waiting != NULL ? join_find(w, t) : NULL;
	bool joined = a != NULL;

	a = joined ? a : active_new(w, t);
	if (a == NULL) {
		dispatch_done(w->dispatch, t);
		return;
	}
	a->stage = ACTIVE_RUNNING;
	a->start_ns = clock_now_ns();
	a->deadline_ns = a->start_ns + w->setup_ns + w->task_ns + TASK_GRACE_NS;
	clock_utc(a->start_utc);
	w->at_work[t->a] = w->at_work[t->b] = a;
	if (joined) {
		active_go(w, a);
	} else {
		active_orders(w, a, true);
	}
}

/* ---- the end of a task -------------------------------------------------- */

/* Directions about which too little was said get a task of their own. */
static void owe_dirs(struct pairs_work *w, struct task t, uint8_t dirs)
{
	if (dirs != 0) {
		t.dirs = dirs;
		queue_new(w, t);
	}
}

static void finish_task(struct pairs_work *w, struct active *a)
{
	struct task t = a->task;
	uint8_t known = a->refused ? 0 : rows_dirs_known(a);

	for (int d = 0; d < 2; d++) {
		for (int i = 0; known & 1 << d && i < w->n_sizes; i++) {
			rows_finish_cell(w, a, d, w->sizes[i]);
		}
	}
	w->c->tasks_done++;
	if (a->stage == ACTIVE_RUNNING) {
		w->at_work[t.a] = w->at_work[t.b] = NULL;
		dispatch_done(w->dispatch, &t);
	}
	join_over(w, a);
	active_free(a);
	owe_dirs(w, t, t.dirs & (uint8_t)~known);
	for (int end = 0; end < 2; end++) {
		int rank = end == 0 ? t.a : t.b;
		struct rank *k = &w->ranks.all[rank];

		/* what was owed to somebody who has gone meanwhile */
		if (k->state > RANK_READY) {
			rows_drop_queue(w, rank, OUTCOME_SKIPPED, k->code,
					k->detail);
		}
	}
}

void task_end_in(struct pairs_work *w, struct active *a, int end, bool failed)
{
	a->ends[end].in = true;
	if (a->ends[!end].in || ranks_model(&w->ranks)) {
		finish_task(w, a);
		return;
	}
	if (failed && !a->cancelled) {
		a->cancelled = true;
		ranks_word(&w->ranks, active_rank(a, !end), MSG_CANCEL,
			   a->task.id);
	}
}

void task_end_broken(struct pairs_work *w, struct active *a, int end,
		     const struct xport_result *how)
{
	a->ends[end].died = true;
	a->ends[end].otherwise = *how;
	task_end_in(w, a, end, true);
}

void task_tick(struct pairs_work *w, int64_t now_ns)
{
	struct active *next;

	for (struct active *a = w->active; a != NULL; a = next) {
		bool late = now_ns > a->deadline_ns;

		next = a->next;
		for (int end = 0; late && end < 2; end++) {
			struct active_end *x = &a->ends[end];

			if (x->in) {
				continue;
			}
			x->in = x->died = true;
			xport_fail(&x->otherwise, OUTCOME_TIMEOUT,
				   "worker_hung", "no report in time");
			ranks_word(&w->ranks, active_rank(a, end), MSG_KILL, -1);
		}
		if (late) {
			finish_task(w, a);
		}
	}
}

void task_cancel_all(void *work)
{
	struct pairs_work *w = work;

	for (struct active *a = w->active; a != NULL; a = a->next) {
		active_cancel(w, a);
		a->cancelled = true;
		a->deadline_ns = clock_now_ns() + NS_PER_S;
	}
}
