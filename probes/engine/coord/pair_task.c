/* SPDX-License-Identifier: BSD-3-Clause */
/* A task begins and ends, and what is heard of it and of its ranks. */
#include <math.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "probes/engine/coord/pairs.h"
#include "probes/engine/net/message.h"
#include "probes/transport/order.h"
#include "probes/plan/plan.h"

/* ---- pair pace ----------------------------------------------------------- */

/* @a has ended, and is charged the bytes that it has sent in bandwidth tests,
 * as its ends report them; NAN if neither does. */
static void pace_end(struct pairs_work *w, const struct active *a)
{
	const double warmup = (double)w->c->spec.warmup;
	double bytes = 0;

	for (int i = 0; a->paid_B > 0 && i < 2 * w->how.n_sizes; i++) {
		const int64_t size_B = w->how.sizes[i / 2];
		double iters = 0;

		if ((a->task.dirs & 1 << i % 2) == 0) {
			continue;
		}
		for (int end = 0; end < 2; end++) {
			iters = fmax(iters, (double)rows_result(
				&a->ends[end], i % 2, size_B)->iters);
		}
		bytes += iters > 0 ? (double)size_B * (iters + warmup) *
					     (w->c->spec.bidi ? 2 : 1) : NAN;
	}
	if (a->paid_B > 0) {
		pace_spend(&w->pace, clock_now_ns(), bytes - a->paid_B);
	}
}

/* ---- pair join ----------------------------------------------------------- */

/*
 * Becoming a pair can cost more than measuring it, and costs no GPU time.  So
 * joins go out in waves of a few rounds at once; what is joined runs when no
 * join disturbs it any more.  A pair that cannot join waits for its deadline
 * beside the others, not before them.
 */

#define WAVE_ROUNDS 16
/* Joins that take longer only wait for a rank, and disturb no test. */
#define WAVE_PATIENCE_NS (2 * NS_PER_S)

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
			struct task *t = &round[i];
			struct active *a = NULL;

			dispatch_done(w->waiting, t);
			t->dirs &= (uint8_t)~relay_in_vain(w, t, false);
			if (t->dirs != 0 && relay_admit(w, t)) {
				a = active_new(w, t);
			}
			if (a == NULL) {
				continue;
			}
			a->stage = ACTIVE_JOINING;
			a->start_ns = clock_now_ns();
			a->deadline_ns = a->start_ns + w->how.setup_ns +
					 TASK_GRACE_NS;
			clock_utc(a->start_utc);
			w->n_joining++;
			active_orders(w, a, false);
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

/* Leave stage JOINING, whatever comes of it. */
static void join_over(struct pairs_work *w, struct active *a)
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

/* ---- pair task ----------------------------------------------------------- */

void task_start(struct pairs_work *w, const struct task *next)
{
	struct active *a = w->waiting != NULL ? active_find(w, next->id) : NULL;
	struct task task = *next, *t = &task;
	bool joined = a != NULL && a->stage == ACTIVE_READY;

	/* a pair that has joined has been told of both directions */
	t->dirs &= (uint8_t)~relay_in_vain(w, t, joined);
	if (t->dirs == 0) {
		if (joined) {
			active_cancel(w, a);
			active_free(w, a);
		}
		dispatch_done(w->dispatch, t);
		return;
	}
	if (!joined && w->waiting != NULL) {
		/* a worker of it was lost: they join again, with others */
		dispatch_done(w->dispatch, t);
		queue_add(w, t);
		return;
	}
	a = joined ? a : active_new(w, t);
	if (a == NULL) {
		dispatch_done(w->dispatch, t);
		return;
	}
	a->stage = ACTIVE_RUNNING;
	a->start_ns = clock_now_ns();
	/* agents give as much again to workers that had no CPU */
	a->deadline_ns =
		a->start_ns + 2 * order_budget_ns(&w->how) + TASK_GRACE_NS;
	a->late_ns = rows_late_ns(w, a);
	clock_utc(a->start_utc);
	w->at_work[t->a] = w->at_work[t->b] = a;
	/* --rate-limit: pay for the bytes that it will send from leaf to
	 * leaf, and hold the others until they are paid */
	a->paid_B = layout_cross_leaves(&w->ranks.layout, t->a, t->b) ?
			    plan_pair_bytes(&w->c->spec, w->ranks.ops) : 0;
	pace_spend(&w->pace, a->start_ns, a->paid_B);
	dispatch_hold(w->dispatch, !pace_is_open(&w->pace, a->start_ns));
	if (joined) {
		active_go(w, a);
	} else {
		active_orders(w, a, true);
	}
}

/* ---- the end of a task -------------------------------------------------- */

static void finish_task(struct pairs_work *w, struct active *a)
{
	struct task t = a->task;
	uint8_t known = a->refused ? 0 : rows_dirs_known(a);

	for (int d = 0; d < 2; d++) {
		for (int i = 0; known & 1 << d && i < w->how.n_sizes; i++) {
			rows_finish_cell(w, a, d, w->how.sizes[i]);
		}
	}
	w->c->tasks_done++;
	pace_end(w, a);
	relay_end(w, a);
	if (a->stage == ACTIVE_RUNNING) {
		w->at_work[t.a] = w->at_work[t.b] = NULL;
		dispatch_done(w->dispatch, &t);
	}
	for (int end = 0; a->stage == ACTIVE_RUNNING && end < 2; end++) {
		int rank = end == 0 ? t.a : t.b;

		/* the NIC that it has, as NCCL reports it; a drill has broken
		 * the planned one, and its verdict must know that */
		if (w->ranks.drill.n == 0 &&
		    layout_use_heard(&w->ranks.layout, rank)) {
			dispatch_ready(w->dispatch, rank,
				       w->ranks.all[rank].state == RANK_READY);
		}
	}
	join_over(w, a);
	active_free(w, a);
	/* what too little was said about gets a task of its own */
	t.dirs &= (uint8_t)~known;
	if (t.dirs != 0) {
		queue_new(w, t);
	}
	if (w->c->phase == COORD_STOP) {
		rows_drop_stopped(w);
	}
	for (int end = 0; end < 2; end++) {
		int rank = end == 0 ? t.a : t.b;
		struct rank *k = &w->ranks.all[rank];

		/* what was owed to a rank that has gone meanwhile */
		if (k->state > RANK_READY) {
			rows_drop_queue(w, rank,
					ranks_outcome(k->code,
							 OUTCOME_SKIPPED),
					k->code, k->detail);
		}
	}
}

static void task_end_in(struct pairs_work *w, struct active *a, int end,
			bool failed)
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

static void task_end_broken(struct pairs_work *w, struct active *a, int end,
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
			/* a report may be on its way; an agent that is lost
			 * takes its tests with it */
			late = a->ends[end].in || a->ends[end].cut ||
			       !agents_silent(
				       w->ranks.all[active_rank(a, end)].agent,
				       now_ns);
		}
		for (int end = 0; late && end < 2; end++) {
			struct active_end *x = &a->ends[end];

			if (x->in) {
				continue;
			}
			x->in = x->died = true;
			xport_fail(&x->otherwise, OUTCOME_TIMEOUT,
				   "worker_hung", "no report in time");
			ranks_word(&w->ranks, active_rank(a, end), MSG_KILL,
				   -1);
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
		for (int end = 0; end < 2; end++) {
			a->ends[end].cut |= !a->ends[end].in;
		}
		a->deadline_ns = clock_now_ns() + NS_PER_S;
	}
}

/* ---- what is heard ------------------------------------------------------- */

/* The running task that @msg of @rank is about, NULL when it is stale. */
static struct active *active_of(struct pairs_work *w, int rank, int64_t id,
				int *end)
{
	struct active *a = active_find(w, id);

	if (a == NULL || (rank != a->task.a && rank != a->task.b)) {
		return NULL;
	}
	*end = rank == a->task.a ? 0 : 1;
	return a->ends[*end].in ? NULL : a;
}

static void task_done(struct pairs_work *w, int rank, struct order_report *r)
{
	struct active *a;
	struct active_end *end;
	bool crashed, failed = false;
	int which;

	if (r->unfit && w->ranks.all[rank].state == RANK_READY) {
		w->ranks.all[rank].state = RANK_OPENING; /* another will come */
		queue_ready(w, rank, false);
	}
	a = active_of(w, rank, r->id, &which);
	if (a == NULL) {
		return;
	}
	/* a worker that crashed is reported by its agent: MSG_DIED */
	crashed = ranks_model(&w->ranks) &&
		  (r->crashed == a->task.a || r->crashed == a->task.b);
	end = &a->ends[which];
	end->late_ns = r->late_ns;
	end->results = r->results;
	end->n = r->n;
	r->results = NULL;
	for (int i = 0; i < end->n; i++) {
		enum outcome o = end->results[i].r.outcome;

		failed = failed || o == OUTCOME_ERROR || o == OUTCOME_TIMEOUT;
	}
	rows_flows(w, a, which, r->flows);
	task_end_in(w, a, which, failed);
	if (crashed && ++w->ranks.all[r->crashed].deaths >= SLOT_LIVES) {
		ranks_out(&w->ranks, (int)r->crashed, RANK_RETIRED,
			  "rank_retired", "its worker died twice");
	}
}

static void rank_reports(void *work, int rank, struct order_report *r)
{
	struct pairs_work *w = work;
	struct active *a = relay_find(w, rank, r->id);

	if (a == NULL) {
		task_done(w, rank, r);
		return;
	}
	if (a->stage != ACTIVE_JOINING) {
		return;
	}
	/* skip the task that @rank was to relay for, and cannot */
	active_cancel(w, a);
	for (int end = 0; end < 2; end++) {
		a->ends[end].in = a->ends[end].died = true;
		xport_fail(&a->ends[end].otherwise, OUTCOME_SKIPPED,
			   "relay_missing", "rank %d cannot relay: %s", rank,
			   r->n > 0 ? r->results[0].r.detail : "");
		a->ends[end].otherwise.echo = end > 0;
	}
	finish_task(w, a);
}

static void rank_said(void *work, int rank, const json_t *msg)
{
	struct pairs_work *w = work;
	int64_t id = message_int(msg, "id");
	struct active *a;
	int end;

	a = message_type(msg) == MSG_REFUSED ? active_of(w, rank, id, &end)
					     : NULL;
	if (a != NULL) {
		/* its worker died while the order was on its way */
		a->refused = true;
		task_end_in(w, a, end, true);
	}
}

/* Takes a word of an end of a task; a rank that relays joins too, and the test
 * begins without its word. */
static void rank_word(void *work, int rank, enum message_type type,
		      const struct order_word *o)
{
	struct pairs_work *w = work;
	struct order_word ticket = *o;
	int end;
	struct active *a = active_of(w, rank, o->id, &end);

	if (a == NULL) {
		return;
	}
	if (type == MSG_JOINED) {
		a->joined[end] = true;
		if (a->stage == ACTIVE_JOINING && a->joined[!end]) {
			join_over(w, a);
			a->deadline_ns = INT64_MAX;
			dispatch_add(w->dispatch, &a->task);
		}
	} else if (type == MSG_TICKET) {
		/* pass it on to the others, while all are at that task */
		ticket.rank = active_rank(a, !end);
		ranks_tell(&w->ranks, MSG_TICKET, &ticket);
		for (int i = 0; end == 0 && i < TASK_MATES; i++) {
			if (a->task.mates[i] > 0) {
				ticket.rank = a->task.mates[i] - 1;
				ranks_tell(&w->ranks, MSG_TICKET, &ticket);
			}
		}
	}
}

static void rank_ready(void *work, int rank)
{
	queue_ready(work, rank, true);
}

static void rank_ended(void *work, int rank, int64_t id,
		       const struct xport_result *how)
{
	struct pairs_work *w = work;
	struct active *a;
	int end;

	queue_ready(w, rank, false);
	join_undo(w, rank); /* that went with the process */
	/* A running task that @rank relayed for is worth nothing, and still
	 * owed.  A GPU relays for one running task at a time. */
	a = relay_find(w, rank, -1);
	if (a != NULL && !a->refused) {
		a->refused = a->cancelled = true;
		active_cancel(w, a);
	}
	a = active_of(w, rank, id, &end);
	if (a != NULL) {
		a->ends[end].late_ns = w->ranks.all[rank].late_ns;
		task_end_broken(w, a, end, how);
	}
}

/* End its task, skip what it has queued. */
static void rank_out(void *work, int rank, const char *code, const char *detail)
{
	struct pairs_work *w = work;
	struct active *a = w->at_work[rank];
	int end = a != NULL && rank == a->task.a ? 0 : 1;
	struct xport_result how;

	queue_ready(w, rank, false);
	join_undo(w, rank);
	if (a != NULL && !a->ends[end].in) {
		xport_result_init(&how);
		xport_fail(&how, ranks_outcome(code, OUTCOME_ERROR), code,
			   "%s", detail);
		task_end_broken(w, a, end, &how);
	}
	rows_drop_queue(w, rank, ranks_outcome(code, OUTCOME_SKIPPED), code,
			detail);
}

const struct ranks_events task_events = {
	.ready = rank_ready,
	.ended = rank_ended,
	.out = rank_out,
	.report = rank_reports,
	.word = rank_word,
	.said = rank_said,
};
