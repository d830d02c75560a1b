/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What fails every time costs a deadline a pair, so that a dozen failures and
 * no success are enough.  Between rails, by PXN, NCCL hands what a GPU sends to
 * another rail to a GPU of its node that has a NIC there: that one must be in
 * the communicator, where it does nothing else.
 */
#include "probes/engine/coord/pairs.h"

#include <math.h>
#include <stdio.h>

#include "lib/base/clock.h"

static bool crosses(const struct pairs_work *w, const struct task *t)
{
	return plan_crosses(&w->ranks.layout, t->a, t->b);
}

/* ---- what fails every time ----------------------------------------------- */

/* Retries and the follow-up are few, and for what is not certain. */
static bool is_first(const struct pairs_work *w, const struct task *t)
{
	return t->attempt == 1 && w->stage != PAIRS_FOLLOW;
}

void relay_note(struct pairs_work *w, const struct active *a, int dir,
		enum outcome o)
{
	bool both = a->task.dirs == (TASK_AB | TASK_BA);
	int64_t cost_ns = clock_now_ns() - a->start_ns;

	if (!is_first(w, &a->task) || (a->task.dirs & 1 << dir) == 0) {
		return;
	}
	if (o == OUTCOME_TIMEOUT && ranks_model(&w->ranks)) {
		cost_ns = order_budget_ns(&w->how); /* it is that of a run */
	}
	convict_hear(w->convict, active_rank(a, dir), active_rank(a, !dir), o,
		     cost_ns / (both ? 2 : 1));
}

/* A share of what the run takes, to judge by what is done; one deadline is no
 * matter. */
static int64_t spare_ns(const struct pairs_work *w)
{
	size_t left = queue_size(w) + dispatch_running(w->dispatch);
	size_t done = w->plan.n > left ? w->plan.n - left : 1;
	double one_ns = (double)(clock_now_ns() - w->start_ns) / (double)done;

	return (int64_t)fmax(one_ns * CONVICT_SHARE * (double)w->plan.n,
			     (double)order_budget_ns(&w->how));
}

uint8_t relay_in_vain(struct pairs_work *w, const struct task *t, bool whole)
{
	/* a drill and a model show all that they touch */
	bool rails = !ranks_model(&w->ranks) && w->ranks.drill.n == 0;
	struct convict_reason why[2] = { 0 };
	uint8_t vain = 0;

	for (int d = 0; is_first(w, t) && d < 2; d++) {
		int src = d == 0 ? t->a : t->b, dst = d == 0 ? t->b : t->a;

		why[d] = convict_of(w->convict, src, dst, spare_ns(w), rails);
		vain |= why[d].code != NULL ? t->dirs & (uint8_t)(1 << d) : 0;
	}
	if (whole && vain != t->dirs) {
		return 0;
	}
	for (int d = 0; d < 2; d++) {
		struct task left = *t;

		left.dirs = vain & (uint8_t)(1 << d);
		if (left.dirs != 0) {
			rows_leave_out(w, &left, OUTCOME_SKIPPED, why[d].code,
				       why[d].text);
		}
	}
	return vain;
}

/* ---- mates --------------------------------------------------------------- */

static bool is_ready(void *ctx, int rank)
{
	const struct pairs_work *w = ctx;

	return w->ranks.all[rank].state == RANK_READY;
}

/* A rank for each direction; false with @why where one there might be is not
 * to be had. */
static bool find_mates(struct pairs_work *w, struct task *t, char why[120])
{
	const struct layout *l = &w->ranks.layout;
	const int ends[2] = { t->a, t->b };

	for (int i = 0; i < 2; i++) {
		int from = ends[i], to = ends[!i];
		bool any;
		int mate = plan_relay(l, from, to, is_ready, w, &any);

		t->mates[i] = mate + 1;
		if (mate < 0 && any) {
			snprintf(why, 120, "no GPU of %.64s on rail %d works, "
				 "to relay", ranks_node(&w->ranks, from),
				 l->ranks[to].nic);
			return false;
		}
	}
	return true;
}

bool relay_admit(struct pairs_work *w, struct task *t)
{
	char why[120];

	if (!pairs_pass(w)->pxn || !crosses(w, t) ||
	    w->ranks.ops->begin == NULL) {
		return true;
	}
	if (!find_mates(w, t, why)) {
		rows_leave_out(w, t, OUTCOME_SKIPPED, "relay_missing", why);
		return false;
	}
	return true;
}

bool relay_any(const struct task *t)
{
	return t->mates[0] > 0 || t->mates[1] > 0;
}

bool relay_is_mate(const struct task *t, int rank)
{
	return t->mates[0] == rank + 1 || t->mates[1] == rank + 1;
}

struct active *relay_find(const struct pairs_work *w, int rank, int64_t id)
{
	struct active *a = id < 0 ? w->active : active_find(w, id);

	while (id < 0 && a != NULL && !relay_is_mate(&a->task, rank)) {
		a = a->next;
	}
	return a != NULL && relay_is_mate(&a->task, rank) ? a : NULL;
}

void relay_end(struct pairs_work *w, const struct active *a)
{
	for (int i = 0; i < TASK_MATES; i++) {
		if (a->task.mates[i] > 0) {
			ranks_word(&w->ranks, a->task.mates[i] - 1, MSG_CANCEL,
				   a->task.id);
		}
	}
}
