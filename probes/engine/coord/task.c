/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/coord/task.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"

/* ---- orders out --------------------------------------------------------- */

/* What the drill makes @rank do in the direction src -> dst. */
static void drill_dir(struct coord *c, const struct active *a, int rank,
		      int src, int dst, struct order_dir *dir)
{
	static const enum xport_drill act[] = {
		[DRILL_DEAD] = XPORT_DRILL_STAY_AWAY,
		[DRILL_HANG] = XPORT_DRILL_HANG,
		[DRILL_CRASH] = XPORT_DRILL_CRASH,
		[DRILL_CORRUPT] = XPORT_DRILL_CORRUPT,
		[DRILL_NOISE] = XPORT_DRILL_NONE,
	};
	struct drill_effect f =
		drill_effect(&c->drill, &c->layout, src, dst, a->task.attempt,
			     (uint64_t)c->spec.seed);

	dir->slow_factor = 1;
	if (rank == f.end) {
		dir->drill = act[f.kind];
	}
	if (rank == src) {
		dir->slow_factor = f.factor;
	}
}

static void fill_order(struct coord *c, const struct active *a, int end,
		       struct order *o)
{
	int rank = end == 0 ? a->task.a : a->task.b;
	const char *ticket = c->ranks[a->task.a].ticket;

	memset(o, 0, sizeof(*o));
	o->id = a->task.id;
	o->attempt = a->task.attempt;
	STR_COPY(o->nonce, a->nonce);
	o->rank = rank;
	o->peer = end == 0 ? a->task.b : a->task.a;
	o->lead = end == 0;
	if (ticket != NULL) {
		str_copy(o->ticket, sizeof(o->ticket), ticket);
	}
	o->setup_ns = c->setup_ns;
	o->run_ns = c->task_ns;
	memcpy(o->sizes, c->sizes, sizeof(o->sizes));
	o->n_sizes = c->n_sizes;
	o->iters = c->spec.iters;
	o->warmup = c->spec.warmup;
	o->check = c->spec.check;
	for (int d = 0; d < 2; d++) {
		int src = d == 0 ? a->task.a : a->task.b;
		int dst = d == 0 ? a->task.b : a->task.a;

		o->dirs[d].wanted = (a->task.dirs & 1 << d) != 0;
		o->dirs[d].sender = rank == src;
		if (o->dirs[d].wanted) {
			drill_dir(c, a, rank, src, dst, &o->dirs[d]);
		}
	}
}

struct active *active_new(struct coord *c, const struct task *t)
{
	struct active *a = calloc(1, sizeof(*a));

	if (a == NULL) {
		return NULL;
	}
	a->task = *t;
	door_nonce(a->nonce);
	a->next = c->active;
	a->at = &c->active;
	if (a->next != NULL) {
		a->next->at = &a->next;
	}
	c->active = a;
	return a;
}

void active_free(struct active *a)
{
	*a->at = a->next;
	if (a->next != NULL) {
		a->next->at = a->at;
	}
	for (int i = 0; i < 2; i++) {
		free(a->ends[i].results);
	}
	free(a);
}

void active_orders(struct coord *c, const struct active *a, bool now)
{
	struct order o;

	for (int end = 0; end < 2; end++) {
		fill_order(c, a, end, &o);
		o.now = now;
		coord_send(c, (int)o.rank, order_json(&o));
		if (c->ops->caps & XPORT_MODEL) {
			break;	/* one agent answers for both */
		}
	}
}

void active_word(struct coord *c, const struct active *a, int end,
		      const char *word)
{
	int rank = end == 0 ? a->task.a : a->task.b;

	coord_send(c, rank,
		   json_pack("{s:s,s:I,s:i,s:s,s:I}", "t", word, "id",
			     (json_int_t)a->task.id, "rank", rank, "nonce",
			     a->nonce, "budget_ns",
			     (json_int_t)(c->setup_ns + c->task_ns)));
}

static void start_task(struct coord *c, const struct task *t)
{
	struct active *a = c->waiting != NULL ? join_find(c, t) : NULL;
	bool joined = a != NULL;

	a = joined ? a : active_new(c, t);
	if (a == NULL) {
		dispatch_done(c->dispatch, t);
		return;
	}
	a->stage = ACTIVE_RUNNING;
	a->start_ns = clock_now_ns();
	a->deadline_ns = a->start_ns + c->setup_ns + c->task_ns +
			 TASK_GRACE_NS;
	clock_utc(a->start_utc);
	c->ranks[t->a].active = c->ranks[t->b].active = a;
	if (joined) {
		active_word(c, a, 0, "go");
		active_word(c, a, 1, "go");
	} else {
		active_orders(c, a, true);
	}
}

/* ---- tasks that wait ---------------------------------------------------- */

int coord_queue(struct coord *c, const struct task *t)
{
	return dispatch_add(c->waiting != NULL ? c->waiting : c->dispatch, t);
}

size_t coord_queued(const struct coord *c)
{
	return dispatch_queued(c->dispatch) +
	       (c->waiting != NULL ? dispatch_queued(c->waiting) : 0);
}

void coord_ready(struct coord *c, int rank, bool ready)
{
	dispatch_ready(c->dispatch, rank, ready);
	if (c->waiting != NULL) {
		dispatch_ready(c->waiting, rank, ready);
	}
}

bool coord_all_settled(const struct coord *c)
{
	for (int r = 0; r < c->layout.n_ranks; r++) {
		if (c->ranks[r].state == RANK_OPENING) {
			return false;
		}
	}
	return true;
}

void coord_pump(struct coord *c)
{
	bool going = c->phase < COORD_STOP;
	struct task t;

	if (going && c->waiting != NULL && c->active == NULL &&
	    dispatch_queued(c->dispatch) == 0 &&
	    dispatch_queued(c->waiting) > 0 && coord_all_settled(c)) {
		join_wave(c);
	}
	while (going && join_quiet(c) && dispatch_next(c->dispatch, &t)) {
		start_task(c, &t);
	}
	if (dispatch_running(c->dispatch) == 0 && c->n_joining == 0 &&
	    (coord_queued(c) == 0 || c->phase == COORD_STOP)) {
		coord_idle(c);
	}
}

/* ---- the end of a task -------------------------------------------------- */

/* Directions about which too little was said get a task of their own. */
static void owe_dirs(struct coord *c, const struct task *t, uint8_t dirs)
{
	struct task rest = *t;

	if (dirs == 0) {
		return;
	}
	rest.id = c->next_id++;
	rest.dirs = dirs;
	coord_queue(c, &rest);
}

static void finish_task(struct coord *c, struct active *a)
{
	struct task t = a->task;
	uint8_t known = a->refused ? 0 : coord_dirs_known(a);

	for (int d = 0; d < 2; d++) {
		for (int i = 0; known & 1 << d && i < c->n_sizes; i++) {
			coord_finish_cell(c, a, d, c->sizes[i]);
		}
	}
	c->tasks_done++;
	if (a->stage == ACTIVE_RUNNING) {
		c->ranks[t.a].active = c->ranks[t.b].active = NULL;
		dispatch_done(c->dispatch, &t);
	}
	join_over(c, a);
	active_free(a);
	owe_dirs(c, &t, t.dirs & (uint8_t)~known);
	for (int end = 0; end < 2; end++) {
		struct coord_rank *r = &c->ranks[end == 0 ? t.a : t.b];

		/* what was owed to somebody who has gone meanwhile */
		if (r->state > RANK_READY) {
			coord_drop_queue(c, end == 0 ? t.a : t.b,
					 OUTCOME_SKIPPED, r->code, r->detail);
		}
	}
}

void active_end_in(struct coord *c, struct active *a, int end, bool failed)
{
	int other = end == 0 ? a->task.b : a->task.a;

	a->ends[end].in = true;
	if (a->ends[!end].in || c->ops->caps & XPORT_MODEL) {
		finish_task(c, a);
		return;
	}
	if (failed && !a->cancelled) {
		a->cancelled = true;
		coord_send(c, other,
			   json_pack("{s:s,s:I,s:i}", "t", "cancel", "id",
				     (json_int_t)a->task.id, "rank", other));
	}
}

void coord_task_tick(struct coord *c, int64_t now_ns)
{
	struct active *next;

	for (struct active *a = c->active; a != NULL; a = next) {
		bool late = now_ns > a->deadline_ns;

		next = a->next;
		for (int end = 0; late && end < 2; end++) {
			struct active_end *x = &a->ends[end];
			int rank = end == 0 ? a->task.a : a->task.b;

			if (x->in) {
				continue;
			}
			x->in = x->died = true;
			x->outcome = OUTCOME_TIMEOUT;
			STR_COPY(x->code, "worker_hung");
			STR_COPY(x->detail, "no report in time");
			coord_send(c, rank,
				   json_pack("{s:s,s:i}", "t", "kill",
					     "rank", rank));
		}
		if (late) {
			finish_task(c, a);
		}
	}
}

void coord_cancel_all(struct coord *c)
{
	for (struct active *a = c->active; a != NULL; a = a->next) {
		for (int end = 0; end < 2; end++) {
			int rank = end == 0 ? a->task.a : a->task.b;

			coord_send(c, rank,
				   json_pack("{s:s,s:I,s:i}", "t", "cancel",
					     "id", (json_int_t)a->task.id,
					     "rank", rank));
		}
		a->cancelled = true;
		a->deadline_ns = clock_now_ns() + NS_PER_S;
	}
}
