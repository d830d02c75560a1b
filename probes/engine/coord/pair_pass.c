/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One walk over all pairs after the other: each has a dispatcher of its own,
 * and fresh workers where the settings are others.  What rows of an earlier
 * part of the run have measured is not measured again.
 */
#include "probes/engine/coord/pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/rundir.h"
#include "probes/engine/coord/work.h"
#include "probes/plan/retry.h"

#define LOOK_UP_ROWS 1024

static int make_queues(struct pairs_work *w)
{
	static const enum dispatch_rule rules[] = {
		[SCHEDULE_NIC] = DISPATCH_NIC,
		[SCHEDULE_PARALLEL] = DISPATCH_PARALLEL,
		[SCHEDULE_SERIAL] = DISPATCH_SERIAL,
	};
	bool joins = w->ranks.ops->begin != NULL;
	struct dispatch *now, *waiting = NULL;

	now = dispatch_new(&w->ranks.layout, rules[pairs_pass(w)->schedule]);
	if (joins) {
		waiting = dispatch_new(&w->ranks.layout, DISPATCH_PARALLEL);
	}
	if (now == NULL || (joins && waiting == NULL)) {
		dispatch_free(now);
		dispatch_free(waiting);
		return -1;
	}
	dispatch_free(w->dispatch);
	dispatch_free(w->waiting);
	w->dispatch = now;
	w->waiting = waiting;
	return 0;
}

/* ---- what an earlier part of the run has left ---------------------------- */

/* Sends signs of life every LOOK_UP_ROWS rows: millions of rows take longer
 * than the agents wait for a message. */
static void look_up(struct pairs_work *w)
{
	if (++w->looked_at % LOOK_UP_ROWS == 0) {
		agents_keep_alive(w->c->agents, clock_now_ns());
		run_log_sign(w->c->log, clock_now_ns());
	}
}

static int take_row(void *arg, const void *row, struct err *e)
{
	struct pairs_work *w = arg;

	(void)e;
	look_up(w);
	resume_row(&w->left, row);
	return RUNDIR_KEEP;
}

static int keep_row(void *arg, const void *row, struct err *e)
{
	struct pairs_work *w = arg;
	const struct p2p_row *r = row;
	int n = w->ranks.layout.n_ranks;

	(void)e;
	look_up(w);
	if (!resume_keeps(&w->left, r)) {
		return RUNDIR_DROP;
	}
	if (strcmp(r->schedule, w->passes[0].name) == 0 && r->src_rank >= 0 &&
	    r->src_rank < n && r->dst_rank >= 0 && r->dst_rank < n) {
		rows_note(w, r);
	}
	return RUNDIR_KEEP;
}

int pass_resume(struct pairs_work *w, struct err *e)
{
	struct run_log *log = w->c->log;
	const char *names[PASS_MAX];
	size_t left_out = 0;

	for (int i = 0; i < w->n_passes; i++) {
		names[i] = w->passes[i].name;
	}
	if (before_check_plan(w->c->before, w->how.sizes, w->how.n_sizes,
			      w->plan.cells, e) < 0) {
		return -1;
	}
	if (resume_init(&w->left, &w->grid, w->n_passes, names,
			order_most_B(&w->how)) < 0) {
		return err_set(e, ENOMEM, "no memory for the existing rows");
	}
	/* the plan fits the run before: from here on the run directory is that
	 * of this run */
	w->fits = true;
	log->waits = false;
	if (coord_write_run(w->c, false, e) < 0) {
		w->fits = false;	/* nothing has changed */
		log->waits = true;
		return -1;
	}
	/* it begins when the rows are sifted */
	json_object_del(log->run, "measuring");
	if (run_log_sift(log, take_row, keep_row, w, &left_out, e) < 0) {
		return -1;
	}
	run_log_event(log, NULL, -1, "resume",
		      "%zu of %zu tests are good and kept; %zu rows without a "
		      "measurement or of a follow-up are dropped",
		      w->left.done, w->plan.cells * (size_t)w->n_passes,
		      left_out);
	return 0;
}

/* ---- failover ------------------------------------------------------------ */

/* Failed tests of a NIC that are repeated with port failover. */
#define CONFIRMED_PER_NIC 2

/* Count the tests between nodes that failed, some of each NIC; @queue: queue
 * these once more.  Returns -1 without memory. */
static int failed_tests(struct pairs_work *w, bool queue)
{
	const struct layout *l = &w->ranks.layout;
	uint8_t *taken = calloc((size_t)l->n_nics + 1, 1);
	int n = taken != NULL ? 0 : -1;

	for (size_t i = 0; n >= 0 && i < w->plan.n; i++) {
		struct task t = w->plan.tasks[i];
		const struct cluster_rank *a = &l->ranks[t.a];
		const struct cluster_rank *b = &l->ranks[t.b];
		const struct cell *out = pairs_cell(w, t.a, t.b);
		const struct cell *back = pairs_cell(w, t.b, t.a);
		uint8_t *of_a = &taken[layout_nic_at(l, a->node, a->nic)];
		uint8_t *of_b = &taken[layout_nic_at(l, b->node, b->nic)];

		t.dirs &= (uint8_t)((cells_failed(out->class) ? TASK_AB : 0) |
				    (cells_failed(back->class) ? TASK_BA : 0));
		if (t.dirs == 0 || out->path != PATH_INTER ||
		    *of_a == CONFIRMED_PER_NIC || *of_b == CONFIRMED_PER_NIC) {
			continue;
		}
		++*of_a;
		++*of_b;
		n = !queue || queue_new(w, t) == 0 ? n + 1 : -1;
	}
	free(taken);
	return n;
}

/* ---- passes -------------------------------------------------------------- */

int pass_open(struct pairs_work *w, struct err *e)
{
	/* what an earlier part of the run has left: first the tasks that it had
	 * not begun, then those that it had */
	const size_t turns = w->c->before != NULL ? 2 : 1;
	int rc = make_queues(w);

	convict_free(w->convict);
	w->convict = convict_new(&w->ranks.layout);
	rc = w->convict != NULL ? rc : -1;
	if (pairs_pass(w)->failover) {
		return rc == 0 && failed_tests(w, true) >= 0 ? 0 :
			       err_set(e, ENOMEM, "no memory for the plan");
	}
	for (size_t i = 0; rc == 0 && i < turns * w->plan.n; i++) {
		const struct task *t = &w->plan.tasks[i % w->plan.n];
		struct task left[2] = { *t };
		int n = w->c->before == NULL ? 1 :
			resume_left(&w->left, w->pass, t, i >= w->plan.n, left);

		for (int k = 0; rc == 0 && k < n; k++) {
			rc = queue_new(w, left[k]);
		}
	}
	for (size_t i = 0; rc == 0 && i < w->plan.n; i++) {
		convict_expect(w->convict, w->plan.tasks[i].a,
			       w->plan.tasks[i].b);
		convict_expect(w->convict, w->plan.tasks[i].b,
			       w->plan.tasks[i].a);
	}
	if (rc < 0) {
		return err_set(e, ENOMEM, "no memory for the plan");
	}
	if (pairs_pass(w)->pxn) {
		drill_allow_pxn(&w->ranks.drill);
	}
	return 0;
}

void pass_settle_ranks(struct pairs_work *w)
{
	for (int r = 0; r < w->ranks.layout.n_ranks; r++) {
		const struct rank *k = &w->ranks.all[r];

		if (k->state > RANK_READY) {
			rows_drop_queue(w, r,
					ranks_outcome(k->code,
							 OUTCOME_SKIPPED),
					k->code, k->detail);
		} else {
			queue_ready(w, r, k->state == RANK_READY);
		}
	}
}

bool pass_more(struct pairs_work *w)
{
	return w->c->phase < COORD_STOP &&
	       (w->pass + 1 < w->n_passes ||
		(w->confirms && w->pass == 0 && failed_tests(w, false) > 0));
}

void pass_next(struct pairs_work *w)
{
	const struct pass *before = pairs_pass(w);
	struct err e = { 0 };

	w->pass++;
	w->stage = PAIRS_CONTRAST;
	w->ranks.keeps_facts = pairs_pass(w)->failover;
	run_log_event(w->c->log, NULL, -1, "pass", "%d of %d: %s", w->pass + 1,
		      w->n_passes + w->confirms, pairs_pass(w)->name);
	if (pass_open(w, &e) < 0) {
		coord_break(w->c, &e, "no_memory");
		return;
	}
	if (pass_needs_fresh(before, pairs_pass(w), ranks_model(&w->ranks))) {
		if (w->settings == NULL) {
			w->settings = ranks_settings(&w->ranks);
		}
		w->wave_ns = 0; /* joins leave with the workers */
		ranks_start(&w->ranks, pairs_pass(w), w->env, &w->how);
	}
	pass_settle_ranks(w);
}
