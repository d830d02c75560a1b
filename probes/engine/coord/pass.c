/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One walk over all pairs after the other: each has a dispatcher of its own,
 * and fresh workers where the settings are others.
 */
#include "probes/engine/coord/coordinator.h"

#include <errno.h>

static int make_queues(struct coord *c)
{
	static const enum dispatch_rule rules[] = {
		[SCHEDULE_NIC] = DISPATCH_NIC,
		[SCHEDULE_PARALLEL] = DISPATCH_PARALLEL,
		[SCHEDULE_SERIAL] = DISPATCH_SERIAL,
	};
	bool joins = c->ops->begin != NULL;
	struct dispatch *now, *waiting = NULL;

	now = dispatch_new(&c->layout, rules[coord_pass(c)->schedule]);
	if (joins) {
		waiting = dispatch_new(&c->layout, DISPATCH_PARALLEL);
	}
	if (now == NULL || (joins && waiting == NULL)) {
		dispatch_free(now);
		dispatch_free(waiting);
		return -1;
	}
	dispatch_free(c->dispatch);
	dispatch_free(c->waiting);
	c->dispatch = now;
	c->waiting = waiting;
	return 0;
}

static int queue_task(struct coord *c, struct task t)
{
	t.id = c->next_id++;
	return coord_queue(c, &t);
}

/* What an earlier run has left of the plan: new ground first. */
static int queue_left(struct coord *c, bool tried)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < c->plan.n; i++) {
		struct task left[2];
		int n = resume_left(&c->before->rows, c->pass,
				    &c->plan.tasks[i], tried, left);

		for (int k = 0; rc == 0 && k < n; k++) {
			rc = queue_task(c, left[k]);
		}
	}
	return rc;
}

static int queue_plan(struct coord *c)
{
	int rc = 0;

	if (c->before != NULL) {
		return queue_left(c, false) < 0 ? -1 : queue_left(c, true);
	}
	for (size_t i = 0; rc == 0 && i < c->plan.n; i++) {
		rc = queue_task(c, c->plan.tasks[i]);
	}
	return rc;
}

int coord_open_pass(struct coord *c, struct err *e)
{
	int rc = make_queues(c);

	rc = rc == 0 ? queue_plan(c) : rc;
	if (rc < 0) {
		return err_set(e, ENOMEM, "no memory for the plan");
	}
	if (coord_pass(c)->pxn) {
		drill_allow_pxn(&c->drill);
	}
	return 0;
}

void coord_settle_ranks(struct coord *c)
{
	for (int r = 0; r < c->layout.n_ranks; r++) {
		struct coord_rank *k = &c->ranks[r];

		if (c->ops->caps & XPORT_MODEL && k->state == RANK_OPENING) {
			k->state = RANK_READY;
		}
		if (k->state > RANK_READY) {
			coord_drop_queue(c, r, OUTCOME_SKIPPED, k->code,
					 k->detail);
		} else {
			coord_ready(c, r, k->state == RANK_READY);
		}
	}
}

bool coord_more_passes(const struct coord *c)
{
	return c->phase < COORD_STOP && c->pass + 1 < c->n_passes;
}

/* The workers leave, others come and will say that they are ready. */
static void renew_workers(struct coord *c)
{
	if (c->settings == NULL) {
		c->settings = coord_settings(c);
	}
	for (int r = 0; r < c->layout.n_ranks; r++) {
		if (c->ranks[r].state == RANK_READY) {
			c->ranks[r].state = RANK_OPENING;
		}
	}
	c->wave_ns = 0;		/* their joins leave with them */
	coord_start_agents(c, NULL);
}

void coord_next_pass(struct coord *c)
{
	const struct pass *before = coord_pass(c);
	struct err e = { 0 };

	c->pass++;
	c->phase = COORD_CONTRAST;
	coord_event(c, NULL, -1, "pass", "%d of %d: %s", c->pass + 1,
		    c->n_passes, coord_pass(c)->name);
	if (coord_open_pass(c, &e) < 0) {
		c->error = e;
		c->error_exit = 3;
		coord_stop(c, "no_memory");
		return;
	}
	if (pass_needs_fresh(before, coord_pass(c),
			     c->ops->caps & XPORT_MODEL)) {
		renew_workers(c);
	}
	coord_settle_ranks(c);
}
