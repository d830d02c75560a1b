/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The follow-up: when all that was planned is measured, what does that leave
 * open?  Some tests more may tell, a few rounds of them, each after a look at
 * the verdict so far.  Nothing depends on it: what goes wrong ends it, and the
 * run is as whole as it was.
 */
#include "probes/engine/coord/pairs.h"

#include <math.h>

#include "lib/base/clock.h"
#include "probes/engine/coord/opinion.h"

/** So many tests fit in any run; in a large one a share of its own. */
#define FOLLOW_TESTS 64

/** Would it say anything, of pairs that nobody picked one by one, which do not
 *  disturb each other? */
static bool is_wanted(const struct pairs_work *w)
{
	return !w->c->spec.no_follow_up && w->pairs.kind != PAIRS_LIST &&
	       w->ranks.layout.n_ranks > 2 && !pairs_shared_cores(w);
}

/** The time that it may take, of a run that has begun at @start_ns. */
static bool set_deadline(struct pairs_work *w)
{
	struct follow *f = &w->follow;
	int64_t now = clock_now_ns();
	int64_t one = order_budget_ns(&w->how) + TASK_GRACE_NS +
		      pace_left_ns(&w->pace, now);
	int64_t share = (int64_t)((double)(now - w->start_ns) * ASK_SHARE);

	/* a look and a test, however short the run was */
	f->time.deadline_ns = now + (share > one ? share : one);
	if (f->time.deadline_ns > w->c->end_ns - COORD_STOP_NS) {
		f->time.deadline_ns = w->c->end_ns - COORD_STOP_NS;
	}
	return f->time.deadline_ns > now;
}

static void end(struct pairs_work *w)
{
	opinion_drop(w->follow.opinion);
	w->follow.opinion = NULL;
	w->follow.over = true;
}

static void give_up(struct pairs_work *w, const char *why)
{
	run_log_event(w->c->log, NULL, -1, "follow_up_end", "%s", why);
	end(w);
}

static bool works(void *ctx, int rank)
{
	const struct pairs_work *w = ctx;

	return w->ranks.all[rank].state <= RANK_READY;
}

static int queue(void *ctx, const struct task *t)
{
	struct pairs_work *w = ctx;

	if (queue_new(w, *t) < 0) {
		return -1;
	}
	w->follow.tests += t->dirs == (TASK_AB | TASK_BA) ? 2 : 1;
	return 0;
}

static const struct retry_ops ops = { .works = works, .queue = queue };

static void plan_round(struct pairs_work *w, const json_t *verdict)
{
	struct follow *f = &w->follow;
	struct err e = { 0 };
	size_t before = f->tests, n;

	if (ask_take(&f->ask, verdict, &e) < 0) {
		give_up(w, e.text);
		return;
	}
	n = ask_next(&f->ask,
		     FOLLOW_TESTS + (size_t)(ASK_SHARE * (double)w->plan.n),
		     &ops, w);
	if (n == 0) {
		end(w);
		return;
	}
	f->round++;
	run_log_event(w->c->log, NULL, -1, "follow_up",
		      "round %d: %zu tests to settle %zu findings", f->round,
		      f->tests - before, f->ask.n);
	coord_write_run(w->c, false, NULL);	/* for those who watch */
}

static void heard(void *arg, const json_t *verdict, const struct err *why)
{
	struct pairs_work *w = arg;

	w->follow.heard = true;
	follow_time_hear(&w->follow.time, clock_now_ns(),
			 w->c->end_ns - COORD_STOP_NS);
	if (verdict == NULL) {
		give_up(w, why->text);
	} else if (w->c->phase == COORD_RUN) {
		plan_round(w, verdict);
	}
	if (w->c->phase < COORD_SETTLE) {
		w->c->kind->go_on(w);
	}
}

static int begin(struct pairs_work *w, struct err *e)
{
	struct follow *f = &w->follow;

	f->pass = pass_follow(&w->passes[0]);
	if (ask_init(&f->ask, &w->ranks.layout, &w->grid, w->cells) < 0) {
		return err_set(e, ENOMEM, "no memory for a follow-up");
	}
	f->ask.inside = xport_is(w->ranks.ops, XPORT_ONE_NODE);
	f->ask.rails_apart = w->pairs.rails_apart;
	f->ask.ports = w->c->probe->ports;
	return 0;
}

/** Is there a round to come, for which the verdict is asked now? */
static bool ask_again(struct pairs_work *w, struct err *e)
{
	struct follow *f = &w->follow;

	if (f->round >= ask_rounds(w->ranks.layout.n_ranks) ||
	    follow_time_over(&f->time, clock_now_ns())) {
		return false;
	}
	coord_flush_rows(w->c);	/* which the judge reads */
	opinion_drop(f->opinion);
	f->heard = false;
	follow_time_ask(&f->time, clock_now_ns());
	f->opinion = opinion_ask(w->c->tick.loop, w->c->log->dir, heard, w, e);
	return f->opinion != NULL;
}

bool follow_goes_on(struct pairs_work *w)
{
	struct follow *f = &w->follow;
	struct err e = { 0 };

	if (f->over || w->c->phase != COORD_RUN) {
		return false;
	}
	if (w->stage != PAIRS_FOLLOW) {
		if (!is_wanted(w) || !set_deadline(w)) {
			f->over = true;
			return false;
		}
		w->stage = PAIRS_FOLLOW;
		if (begin(w, &e) < 0) {
			give_up(w, e.text);
			return false;
		}
	} else if (!f->heard) {
		return true;
	}
	if (!ask_again(w, &e)) {
		if (e.text[0] != '\0') {
			give_up(w, e.text);
		}
		end(w);
	}
	return !f->over;
}

void follow_tick(struct pairs_work *w, int64_t now_ns)
{
	if (w->stage != PAIRS_FOLLOW || w->follow.over ||
	    !follow_time_over(&w->follow.time, now_ns)) {
		return;
	}
	join_undo(w, -1);
	rows_drop_queue(w, -1, OUTCOME_NOT_RUN, "out_of_time",
			"no time for a follow-up");
	give_up(w, "no time for more");
}

bool follow_stop(struct pairs_work *w)
{
	bool whole = w->stage == PAIRS_FOLLOW && !pass_more(w);

	if (w->stage == PAIRS_FOLLOW) {
		end(w);
	}
	return whole;
}

void follow_release(struct pairs_work *w)
{
	opinion_drop(w->follow.opinion);
	ask_release(&w->follow.ask);
}
