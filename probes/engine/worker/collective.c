/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Orders to a member of a collective.  The work is done by a second thread,
 * which may hang in a library; the first one goes on hearing what the
 * coordinator says, and answers in time whatever happens.
 */
#include "probes/engine/worker/private.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/clock.h"
#include "probes/collective/collective.h"

/* The coordinator's word is listened for this often. */
#define LISTEN_NS (5 * NS_PER_MS)
/* Time for step() to end after abort(); if it takes longer, it never ends. */
#define ABORT_NS (1 * NS_PER_S)

struct worker_collective {
	const struct collective_ops *ops;
	struct xport *x;
	struct collective_member *joined; /* NULL: not yet */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool busy, leave;
	bool stuck; /* the thread will not come back */
	struct collective_order order;
	struct collective_result result;
	int64_t deadline_ns;
};

/* ---- the second thread -------------------------------------------------- */

static void *second_thread(void *arg)
{
	struct worker_collective *c = arg;

	pthread_mutex_lock(&c->lock);
	while (!c->leave) {
		if (!c->busy) {
			pthread_cond_wait(&c->changed, &c->lock);
			continue;
		}
		pthread_mutex_unlock(&c->lock);
		switch (c->order.what) {
		case DO_JOIN:
			c->joined = c->ops->join(c->x, &c->order,
						 c->deadline_ns, &c->result);
			break;
		case DO_STEP:
			c->ops->step(c->joined, &c->order, c->deadline_ns,
				     &c->result);
			break;
		default:
			c->ops->close(c->joined);
			c->joined = NULL;
			break;
		}
		pthread_mutex_lock(&c->lock);
		c->busy = false;
		pthread_cond_broadcast(&c->changed);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

static struct worker_collective *start(struct process *w)
{
	struct worker_collective *c = calloc(1, sizeof(*c));
	pthread_condattr_t attr;

	if (c == NULL) {
		return NULL;
	}
	c->ops = w->ops->collective;
	c->x = w->x;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, &attr);
	pthread_condattr_destroy(&attr);
	if (c->ops == NULL ||
	    pthread_create(&c->thread, NULL, second_thread, c) != 0) {
		free(c);
		return NULL;
	}
	return c;
}

void worker_collective_end(struct process *w)
{
	struct worker_collective *c = w->collective;

	if (c == NULL || c->stuck) {
		return; /* it goes with the process */
	}
	pthread_mutex_lock(&c->lock);
	c->leave = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	free(c);
	w->collective = NULL;
}

/* ---- the first thread --------------------------------------------------- */

/** Waits until the second thread is done, or @deadline_ns.  Returns true if it
 *  is done. */
static bool wait_done(struct worker_collective *c, int64_t deadline_ns)
{
	struct timespec t = {.tv_sec = (time_t)(deadline_ns / NS_PER_S),
			     .tv_nsec = (long)(deadline_ns % NS_PER_S)};
	bool done;

	pthread_mutex_lock(&c->lock);
	while (c->busy && clock_now_ns() < deadline_ns) {
		pthread_cond_timedwait(&c->changed, &c->lock, &t);
	}
	done = !c->busy;
	pthread_mutex_unlock(&c->lock);
	return done;
}

static void hand_over(struct process *w, const struct collective_order *o,
		      int64_t deadline_ns, struct collective_result *r)
{
	struct worker_collective *c = w->collective;
	char step[sizeof(w->as.note->step)];
	bool cancelled = false, done;

	pthread_mutex_lock(&c->lock);
	c->order = *o;
	c->deadline_ns = deadline_ns;
	collective_result_init(&c->result, o);
	c->busy = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	do {
		done = wait_done(c, clock_now_ns() + LISTEN_NS);
		cancelled = !done && worker_cancelled(&w->as);
	} while (!done && !cancelled && clock_now_ns() < deadline_ns);
	if (done) {
		*r = c->result;
		return;
	}
	snprintf(step, sizeof(step), "%s", w->as.note->step);
	c->stuck = true;
	if (c->order.what == DO_STEP && c->ops->abort != NULL) {
		c->ops->abort(c->joined);
		c->stuck = !wait_done(c, clock_now_ns() + ABORT_NS);
	}
	collective_fail(r, cancelled ? OUTCOME_ERROR : OUTCOME_TIMEOUT,
		  cancelled ? "cancelled" : "nccl_timeout",
		  cancelled ? "cancelled while %.200s"
			    : "did not finish while %.200s",
		  step);
	r->echo = true;
}

/** Does what a drill asks of this rank instead of the order.  Returns false if
 *  there is no such drill. */
static bool act_drill(struct process *w, const struct collective_order *o,
		      int64_t deadline_ns, struct collective_result *r)
{
	bool away = o->drill == XPORT_DRILL_STAY_AWAY && o->what == DO_JOIN;
	bool hang = o->drill == XPORT_DRILL_HANG && o->what == DO_STEP;

	if (o->drill == XPORT_DRILL_CRASH && o->what == DO_STEP) {
		worker_crash(w);
	}
	if (!away && !hang) {
		return false;
	}
	worker_step(&w->as,
		    away ? "not responding (drill)" : "hanging (drill)");
	while (clock_now_ns() < deadline_ns && !worker_cancelled(&w->as)) {
		clock_sleep(LISTEN_NS);
	}
	collective_fail(r, OUTCOME_TIMEOUT, away ? "drill_dead" : "drill_hang",
		  away ? XPORT_DRILL_MARK "did not respond" :
			 XPORT_DRILL_MARK "hung");
	r->echo = o->silent;
	return true;
}

static void do_order(struct process *w, const struct collective_order *o,
		     int64_t deadline_ns, struct collective_result *r)
{
	bool joined = w->collective != NULL && w->collective->joined != NULL;
	struct err why = {0};

	if (o->what == DO_TICKET) {
		/* the lead's first order needs no second thread */
		if (worker_make_ticket(w, r->ticket, &why) < 0) {
			collective_fail(r, OUTCOME_ERROR, "no_ticket", "%s",
					why.text);
		}
	} else if (act_drill(w, o, deadline_ns, r)) {
		return;
	} else if (w->collective == NULL &&
		   (w->collective = start(w)) == NULL) {
		collective_fail(r, OUTCOME_ERROR, "no_collectives",
				"the transport '%s' cannot run collectives",
				w->ops->name);
	} else if (w->collective->stuck || joined == (o->what == DO_JOIN)) {
		collective_fail(r, OUTCOME_ERROR, "not_in_step",
				"the worker is not ready for this step");
		r->echo = true;
	} else {
		hand_over(w, o, deadline_ns, r);
	}
}

int worker_do_collective(struct process *w, const struct heard *h,
			 struct err *e)
{
	struct collective_order o;
	struct collective_result r;
	json_t *json;

	if (collective_order_parse(h->msg, &o, e) < 0) {
		return -1;
	}
	w->task = o.id;
	w->cancelled = false;
	w->as.note->peer = o.rank; /* its log is about no other */
	w->as.note->attempt = 1;
	w->log[0] = '\0';
	if (w->dir[0] != '\0') {
		snprintf(w->log, sizeof(w->log),
			 "%.3800s/logs/collective-%lld-rank%lld.log", w->dir,
			 (long long)o.id, (long long)o.rank);
	}
	collective_result_init(&r, &o);
	do_order(w, &o, clock_now_ns() + o.budget_ns, &r);
	w->task = -1;
	worker_step(&w->as, "idle");
	json = schema_json(collective_result_fields, &r);
	/* facts about the machine are told by the second thread, if it is not
	 * lost */
	if (w->as.facts != NULL &&
	    (w->collective == NULL || !w->collective->stuck)) {
		json_object_set_new(json, "facts", w->as.facts);
		w->as.facts = NULL;
	}
	return worker_tell(w, message_of(MSG_COLLECTIVE_DONE, json), e);
}
