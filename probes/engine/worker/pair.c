/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/worker/private.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/data/json.h"
#include "lib/base/hash.h"

static void add_result(struct process *w, int dir, int64_t size,
		       const struct xport_result *r)
{
	w->results[w->n_results++] =
		(struct order_result){ .dir = dir, .size_B = size, .r = *r };
}

static int wait_ticket(struct process *w, struct order *o, int64_t deadline_ns,
		       struct err *e)
{
	struct heard *h;

	worker_step(&w->as, "waiting for the connection data of rank %lld",
		    (long long)o->peer);
	h = worker_wait(w, MSG_TICKET, deadline_ns, e);
	if (h == NULL) {
		return -1;
	}
	STR_COPY(o->ticket, h->word.text);
	heard_free(h);
	return 0;
}

/* A word of @type about @o. */
static int tell_word(struct process *w, enum message_type type,
		     const struct order *o, const char *text, struct err *e)
{
	struct order_word word = { .rank = o->rank, .id = o->id };
	struct str entry = STR_INIT;

	STR_COPY(word.text, text);
	order_word_add(&word, &entry);
	return worker_tell_entry(w, type, &entry, e);
}

/* The ticket: made here by the lead, else in the order or still to come. */
static int get_ticket(struct process *w, struct order *o, int64_t deadline_ns,
		      struct err *e)
{
	if (o->ticket[0] != '\0') {
		return 0;
	}
	if (!o->lead) {
		return wait_ticket(w, o, deadline_ns, e);
	}
	if (worker_make_ticket(w, o->ticket, e) < 0) {
		return -1;
	}
	return tell_word(w, MSG_TICKET, o, o->ticket, e);
}

/* Sets the result of a pair whose connection data did not arrive. */
static void no_ticket(struct xport_result *r, const struct err *e)
{
	char text[256];

	xport_fail(r, e->code == ETIMEDOUT ? OUTCOME_TIMEOUT : OUTCOME_ERROR,
		   e->code == ETIMEDOUT ? "setup_timeout" :
		   e->code == ECANCELED ? "cancelled" :
					  "no_ticket",
		   "no connection data: %s", err_str(e, text, sizeof(text)));
	r->echo = e->code == ECANCELED;
}

static struct xport_link *join(struct process *w, struct order *o,
			       struct xport_result *r)
{
	int64_t deadline = clock_now_ns() + w->how.setup_ns;
	char own[XPORT_TICKET_MAX];
	struct err e = { 0 };
	int rc;

	if (w->ops->offer == NULL) {
		rc = get_ticket(w, o, deadline, &e);
	} else if (o->lead) {	/* tickets go both ways */
		if (w->ops->offer(w->x, o->nonce, own, r) < 0) {
			return NULL;
		}
		rc = tell_word(w, MSG_TICKET, o, own, &e) < 0 ?
			     -1 :
			     wait_ticket(w, o, deadline, &e);
	} else {
		rc = wait_ticket(w, o, deadline, &e);
		if (rc == 0 && w->ops->answer(w->x, o->ticket, o->nonce,
					      (int)o->peer, own, r) < 0) {
			return NULL;
		}
		rc = rc < 0 ? -1 : tell_word(w, MSG_TICKET, o, own, &e);
	}
	if (rc < 0) {
		no_ticket(r, &e);
		return NULL;
	}
	return w->ops->join(w->x, o->ticket, o->nonce, o->lead, (int)o->peer,
			    deadline, r);
}

/* Returns true if a drill makes this end do @drill in every wanted
 * direction. */
static bool drilled(const struct order *o, enum xport_drill drill)
{
	for (int d = 0; d < 2; d++) {
		if (o->dirs[d].wanted && o->dirs[d].drill != drill) {
			return false;
		}
	}
	return true;
}

void worker_crash(struct process *w)
{
	struct rlimit none = { 0, 0 };

	worker_step(&w->as, "crashing (drill)");
	setrlimit(RLIMIT_CORE, &none);
	signal(SIGSEGV, SIG_DFL);
	raise(SIGSEGV);
}

/*
 * One direction at every size; false when the link is of no more use.  What
 * broke it decides the sizes above as well.
 */
static bool run_dir(struct process *w, const struct order *o, int d,
		    struct xport_link *l, int64_t deadline_ns)
{
	const struct order_dir *dir = &o->dirs[d];
	struct xport_result r;
	bool alive = true;

	if (dir->drill == XPORT_DRILL_CRASH) {
		worker_crash(w);
	}
	for (int i = 0; i < w->how.n_sizes; i++) {
		struct xport_cell c = {
			.sender = dir->sender,
			.bidi = w->spec.bidi,
			.size_bytes = (uint64_t)w->how.sizes[i],
			.iters = (int)w->how.iters,
			.warmup = (int)w->how.warmup,
			.check = w->how.check,
			.flows = i == 0 && w->spec.flows > 1,
			.spread = i == w->how.n_sizes - 1 && w->spec.flows > 1,
			.latency = i == w->how.n_sizes - 1,
			.pattern_seed = pattern_seed(o->nonce, d),
			.drill = dir->drill,
			.slow_factor = dir->slow_factor,
		};

		if (alive) {
			xport_result_init(&r);
			alive = w->ops->run(l, &c, deadline_ns, &r);
		}
		add_result(w, d, w->how.sizes[i], &r);
	}
	return alive;
}

/* Both directions over a pair that stands. */
static void measure(struct process *w, const struct order *o,
		    struct xport_link *l)
{
	int64_t deadline = clock_now_ns() + w->how.run_ns;

	for (int d = 0; d < 2; d++) {
		if (o->dirs[d].wanted && !run_dir(w, o, d, l, deadline)) {
			break;
		}
	}
}

static void begin_task(struct process *w, const struct order *o)
{
	w->task = o->id;
	w->cancelled = false;
	w->waited_ns = late_waited_ns(getpid());
	w->as.note->peer = o->peer;
	w->as.note->attempt = o->attempt;
	order_log_path(w->dir, o->rank, o->peer, o->attempt, w->log,
		       sizeof(w->log));
}

static int report(struct process *w, const struct order *o, struct err *e)
{
	bool fit = w->ops->fit == NULL || w->ops->fit(w->x);
	const struct order_report r = {
		.rank = o->rank,
		.id = o->id,
		.late_ns = late_waited_ns(getpid()) - w->waited_ns,
		.unfit = !fit,
		.crashed = RECORD_NONE,
		.facts = w->as.facts,
		.flows = w->as.flows,
		.results = w->results,
		.n = w->n_results,
	};
	struct str entry = STR_INIT;
	int rc;

	w->task = -1;
	worker_step(&w->as, "%s", fit ? "idle" : "ending, the GPU is unusable");
	order_report_add(&r, &entry);
	rc = worker_tell_entry(w, MSG_DONE, &entry, e);
	w->n_results = 0;
	json_decref(w->as.facts);
	json_decref(w->as.flows);
	w->as.facts = w->as.flows = NULL;
	return fit ? rc : err_set(e, EIO, "an error has made the worker "
					  "unusable");
}

/* A failed set-up decides every wanted direction and size. */
static int report_failure(struct process *w, const struct order *o,
			  const struct xport_result *r, struct err *e)
{
	for (int d = 0; d < 2; d++) {
		for (int i = 0; o->dirs[d].wanted && i < w->how.n_sizes; i++) {
			add_result(w, d, w->how.sizes[i], r);
		}
	}
	return report(w, o, e);
}

/* ---- joins ahead of time ------------------------------------------------ */

struct pending {
	struct order o;
	struct xport_link *l;	/* NULL: no ticket yet */
	int64_t deadline_ns;
	bool joined;
};

static void pending_forget(struct process *w, int i)
{
	struct pending *p = w->pending[i];

	if (p->l != NULL && w->n_spent < WORKER_PENDING) {
		w->spent[w->n_spent++] = p->l;
	} else if (p->l != NULL) {
		w->ops->close(p->l); /* more than a wave: not put off */
	}
	free(p);
	w->pending[i] = w->pending[--w->n_pending];
}

static int pending_find(const struct process *w, int64_t id)
{
	for (int i = 0; i < w->n_pending; i++) {
		if (w->pending[i]->o.id == id) {
			return i;
		}
	}
	return -1;
}

static int pending_fail(struct process *w, int i, const struct xport_result *r,
			struct err *e)
{
	struct order o = w->pending[i]->o;

	pending_forget(w, i);
	return report_failure(w, &o, r, e);
}

static void *close_link(void *arg)
{
	void **pair = arg;
	const struct xport_ops *ops = pair[0];

	ops->close(pair[1]);
	return NULL;
}

/*
 * Giving a communicator back waits for its other end and for threads of the
 * library: so the coordinator tells all ranks at once, while nothing is being
 * measured, and each closes all of its pairs side by side.
 */
int worker_do_close(struct process *w, const struct heard *h, struct err *e)
{
	void *pairs[WORKER_PENDING][2];
	pthread_t threads[WORKER_PENDING];
	bool running[WORKER_PENDING];

	(void)h;
	(void)e;
	worker_step(&w->as, "closing %d pairs", w->n_spent);
	for (int i = 0; i < w->n_spent; i++) {
		pairs[i][0] = (void *)(uintptr_t)w->ops;
		pairs[i][1] = w->spent[i];
		running[i] = pthread_create(&threads[i], NULL, close_link,
					    pairs[i]) == 0;
		if (!running[i]) {
			close_link(pairs[i]);
		}
	}
	for (int i = 0; i < w->n_spent; i++) {
		if (running[i]) {
			pthread_join(threads[i], NULL);
		}
	}
	w->n_spent = 0;
	return 0;
}

static int pending_begin(struct process *w, int i, struct err *e)
{
	struct pending *p = w->pending[i];
	struct xport_result r;

	xport_result_init(&r);
	begin_task(w, &p->o);
	p->l = w->ops->begin(w->x, p->o.ticket, p->o.seat, (int)p->o.peer,
			     p->deadline_ns, &r);
	w->task = -1;
	return p->l != NULL ? 0 : pending_fail(w, i, &r, e);
}

static int do_begin(struct process *w, const struct order *o, struct err *e)
{
	struct pending *p = calloc(1, sizeof(*p));
	struct err why = { 0 };
	struct xport_result r;

	if (p == NULL || w->n_pending == WORKER_PENDING) {
		free(p);
		return err_set(e, ENOMEM, "too many pairs are open");
	}
	p->o = *o;
	p->deadline_ns = clock_now_ns() + w->how.setup_ns;
	w->pending[w->n_pending++] = p;
	if (!o->lead && o->ticket[0] == '\0') {
		return 0;
	}
	if (get_ticket(w, &p->o, p->deadline_ns, &why) < 0) {
		xport_result_init(&r);
		no_ticket(&r, &why);
		return pending_fail(w, w->n_pending - 1, &r, e);
	}
	return pending_begin(w, w->n_pending - 1, e);
}

int worker_look(struct process *w, struct err *e)
{
	int64_t now = clock_now_ns();

	for (int i = w->n_pending - 1; i >= 0; i--) {
		struct pending *p = w->pending[i];
		struct xport_result r;
		int rc = 0;

		xport_result_init(&r);
		if (p->joined) {
			continue;
		}
		if (p->l != NULL) {
			begin_task(w, &p->o);
			rc = w->ops->begun(p->l, &r);
			w->task = -1;
		} else if (now > p->deadline_ns) {
			rc = -1;
			no_ticket(&r, &(struct err){ .code = ETIMEDOUT,
						     .text = "nothing arrived "
							     "in time" });
		}
		p->joined = rc > 0;
		if (rc > 0) {
			rc = tell_word(w, MSG_JOINED, &p->o, "", e);
		} else if (rc < 0) {
			rc = pending_fail(w, i, &r, e);
		}
		if (rc < 0) {
			return -1;
		}
	}
	return 0;
}

/* The pair has joined: measure it. */
int worker_do_go(struct process *w, const struct heard *h, struct err *e)
{
	int i = pending_find(w, h->word.id);
	struct pending *p = i >= 0 ? w->pending[i] : NULL;
	struct xport_result r;
	struct order o;

	if (p == NULL || !p->joined) {
		return 0;
	}
	o = p->o;
	begin_task(w, &o);
	xport_result_init(&r);
	if (drilled(&o, XPORT_DRILL_CRASH)) {
		worker_crash(w);
	}
	if (w->ops->meet(p->l, clock_now_ns() + w->how.setup_ns, &r) < 0) {
		return pending_fail(w, i, &r, e);
	}
	measure(w, &o, p->l);
	pending_forget(w, i);
	return report(w, &o, e);
}

int worker_do_task(struct process *w, const struct heard *h, struct err *e)
{
	struct order o = h->order;
	struct xport_result r;
	struct xport_link *l;

	if (w->how.n_sizes == 0) {
		return err_set(e, EPROTO, "task without sizes");
	}
	xport_result_init(&r);
	if (o.seat.me < 2 && drilled(&o, XPORT_DRILL_STAY_AWAY)) {
		/* this end plays dead: it does not even join */
		xport_fail(&r,
			   xport_is(w->ops, XPORT_DEAD_IS_SILENT) ?
				   OUTCOME_NOT_RUN : OUTCOME_ERROR,
			   "drill_dead", XPORT_DRILL_MARK "does not respond");
		return report_failure(w, &o, &r, e);
	}
	if (w->ops->begin != NULL) {
		return do_begin(w, &o, e);
	}
	/* join and measure, nothing else in between */
	begin_task(w, &o);
	if (drilled(&o, XPORT_DRILL_CRASH)) {
		worker_crash(w);
	}
	l = join(w, &o, &r);
	if (l == NULL) {
		return report_failure(w, &o, &r, e);
	}
	measure(w, &o, l);
	w->ops->close(l);
	return report(w, &o, e);
}

int worker_do_ticket(struct process *w, const struct heard *h, struct err *e)
{
	int i = pending_find(w, h->word.id);

	if (i < 0 || w->pending[i]->l != NULL) {
		return 0;	/* called off meanwhile */
	}
	STR_COPY(w->pending[i]->o.ticket, h->word.text);
	return pending_begin(w, i, e);
}

int worker_do_cancel(struct process *w, const struct heard *h, struct err *e)
{
	int i = pending_find(w, message_int(h->msg, "id"));

	(void)e;
	if (i >= 0) {
		pending_forget(w, i);
	}
	return 0;
}
