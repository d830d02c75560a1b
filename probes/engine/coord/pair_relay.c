/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between rails.  By PXN, NCCL hands what a GPU sends to another rail to a GPU
 * of its node that has a NIC there: that one must be in the communicator, where
 * it does nothing else.  Rails that do not connect cost a deadline a pair, so
 * that a dozen failures and no success are enough.
 */
#include "probes/engine/coord/pairs.h"

#include <stdio.h>

#define ENOUGH 12

static bool crosses(const struct pairs_work *w, const struct task *t)
{
	return plan_crosses(&w->ranks.layout, t->a, t->b);
}

/* ---- rails that do not connect ------------------------------------------- */

void relay_note(struct pairs_work *w, const struct active *a, int dir,
		enum outcome o)
{
	const struct layout *l = &w->ranks.layout;
	bool good = o == OUTCOME_OK;

	if (a->task.attempt > 1 || layout_same_node(l, a->task.a, a->task.b) ||
	    (a->task.dirs & 1 << dir) == 0) {
		return;
	}
	if (!crosses(w, &a->task)) {
		w->rails.same_good += good;
	} else {
		w->rails.good += good;
		w->rails.bad += o == OUTCOME_ERROR || o == OUTCOME_TIMEOUT;
	}
}

bool relay_in_vain(struct pairs_work *w, const struct task *t)
{
	char why[120];

	/* a drill and a model show all that they touch, and without a rail that
	 * works it may be the nodes */
	if (w->rails.bad < ENOUGH || w->rails.good > 0 ||
	    w->rails.same_good == 0 || t->attempt > 1 || !crosses(w, t) ||
	    ranks_model(&w->ranks) || w->ranks.drill.n > 0) {
		return false;
	}
	snprintf(why, sizeof(why), "all %zu tests between rails have failed",
		 w->rails.bad);
	rows_leave_out(w, t, OUTCOME_SKIPPED, "rails_apart", why);
	return true;
}

/* ---- mates ---------------------------------------------------------------- */

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

struct active *relay_find(struct pairs_work *w, int rank, int64_t id)
{
	for (struct active *a = w->active; a != NULL; a = a->next) {
		if ((id < 0 || a->task.id == id) &&
		    relay_is_mate(&a->task, rank)) {
			return a;
		}
	}
	return NULL;
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
