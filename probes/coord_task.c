/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/coordinator.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/hash.h"
#include "lib/json.h"
#include "lib/str.h"
#include "probes/seat.h"

/* Workers watch their deadline, agents the workers, we the agents. */
#define TASK_GRACE_NS (5 * NS_PER_S)

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

static struct active *active_new(struct coord *c, const struct task *t)
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

static void active_free(struct active *a)
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

static void send_orders(struct coord *c, const struct active *a, bool now)
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

/* To end @end of @a, a message that only names the task. */
static void send_word(struct coord *c, const struct active *a, int end,
		      const char *word)
{
	int rank = end == 0 ? a->task.a : a->task.b;

	coord_send(c, rank,
		   json_pack("{s:s,s:I,s:i,s:s,s:I}", "t", word, "id",
			     (json_int_t)a->task.id, "rank", rank, "nonce",
			     a->nonce, "budget_ns",
			     (json_int_t)(c->setup_ns + c->task_ns)));
}

static struct active *find_ready(struct coord *c, const struct task *t)
{
	for (struct active *a = c->active; a != NULL; a = a->next) {
		if (a->stage == ACTIVE_READY && a->task.id == t->id) {
			return a;
		}
	}
	return NULL;
}

static void start_task(struct coord *c, const struct task *t)
{
	struct active *a = c->waiting != NULL ? find_ready(c, t) : NULL;
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
		send_word(c, a, 0, "go");
		send_word(c, a, 1, "go");
	} else {
		send_orders(c, a, true);
	}
}

/* ---- joining ahead of time ---------------------------------------------- */

/*
 * Becoming a pair can cost more than measuring it, and costs no GPU time.  So
 * joins go out in waves of a few rounds at once; what is joined runs when no
 * join disturbs it any more.  A pair that cannot join waits for its deadline
 * beside the others, not before them.
 */
#define WAVE_ROUNDS	16
/* Joins that take longer only wait for somebody: they disturb nobody. */
#define WAVE_PATIENCE_NS (2 * NS_PER_S)

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

static void join_task(struct coord *c, const struct task *t)
{
	struct active *a = active_new(c, t);

	if (a == NULL) {
		dispatch_add(c->dispatch, t);	/* then all at once */
		return;
	}
	a->stage = ACTIVE_JOINING;
	a->start_ns = clock_now_ns();
	a->deadline_ns = a->start_ns + c->setup_ns + TASK_GRACE_NS;
	clock_utc(a->start_utc);
	c->n_joining++;
	send_orders(c, a, false);
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

static void start_wave(struct coord *c)
{
	struct task *round = calloc((size_t)c->layout.n_ranks,
				    sizeof(*round));

	for (int r = 0; c->wave_ns > 0 && r < c->layout.n_ranks; r++) {
		coord_send(c, r, json_pack("{s:s,s:i}", "t", "close", "rank",
					   r));
	}
	c->wave_ns = clock_now_ns();
	for (int r = 0; round != NULL && r < WAVE_ROUNDS; r++) {
		size_t n = 0;

		while (dispatch_next(c->waiting, &round[n])) {
			n++;
		}
		for (size_t i = 0; i < n; i++) {
			dispatch_done(c->waiting, &round[i]);
			join_task(c, &round[i]);
		}
	}
	free(round);
	coord_event(c, NULL, -1, "joining", "%zu pairs", c->n_joining);
}

/* May what is joined run now? */
static bool joins_quiet(const struct coord *c)
{
	return c->n_joining == 0 ||
	       clock_now_ns() > c->wave_ns + WAVE_PATIENCE_NS;
}

/* Leave stage JOINING, whatever comes of it. */
static void joining_over(struct coord *c, struct active *a)
{
	if (a->stage != ACTIVE_JOINING) {
		return;
	}
	a->stage = ACTIVE_READY;
	if (--c->n_joining == 0) {
		coord_event(c, NULL, -1, "joined", "after %.2f s",
			    (double)(clock_now_ns() - c->wave_ns) / 1e9);
	}
}

static void end_joined(struct coord *c, struct active *a, int end)
{
	a->joined[end] = true;
	if (a->stage == ACTIVE_JOINING && a->joined[0] && a->joined[1]) {
		joining_over(c, a);
		a->deadline_ns = INT64_MAX;
		dispatch_add(c->dispatch, &a->task);
	}
}

void coord_unjoin(struct coord *c, int rank)
{
	struct active *next;

	for (struct active *a = c->active; a != NULL; a = next) {
		next = a->next;
		if (a->stage == ACTIVE_RUNNING ||
		    (rank >= 0 && rank != a->task.a && rank != a->task.b)) {
			continue;
		}
		send_word(c, a, 0, "cancel");
		send_word(c, a, 1, "cancel");
		if (a->stage == ACTIVE_JOINING) {
			joining_over(c, a);
			coord_queue(c, &a->task);
		}
		active_free(a);
	}
}

void coord_pump(struct coord *c)
{
	bool going = c->phase < COORD_STOP;
	struct task t;

	if (going && c->waiting != NULL && c->active == NULL &&
	    dispatch_queued(c->dispatch) == 0 &&
	    dispatch_queued(c->waiting) > 0 && coord_all_settled(c)) {
		start_wave(c);
	}
	while (going && joins_quiet(c) && dispatch_next(c->dispatch, &t)) {
		start_task(c, &t);
	}
	if (dispatch_running(c->dispatch) == 0 && c->n_joining == 0 &&
	    (coord_queued(c) == 0 || c->phase == COORD_STOP)) {
		coord_idle(c);
	}
}

/* ---- reports in ------------------------------------------------------------ */

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
	joining_over(c, a);
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

/* One end is in: finish, or tell the other end not to wait in vain. */
static void end_in(struct coord *c, struct active *a, int end, bool failed)
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

/* The running task that @msg of @rank is about, NULL when it is stale. */
static struct active *active_of(struct coord *c, int rank, int64_t id,
				int *end)
{
	struct active *a = c->ranks[rank].active;

	if (a == NULL || a->task.id != id) {
		for (a = c->waiting != NULL ? c->active : NULL; a != NULL;
		     a = a->next) {
			if (a->task.id == id &&
			    (rank == a->task.a || rank == a->task.b)) {
				break;
			}
		}
	}
	if (a == NULL) {
		return NULL;
	}
	*end = rank == a->task.a ? 0 : 1;
	return a->ends[*end].in ? NULL : a;
}

static void task_done(struct coord *c, int rank, int64_t id, json_t *msg)
{
	json_t *results = json_get_array(msg, "results", 2 * ORDER_MAX_SIZES,
					 NULL);
	bool failed = false, unfit = false;
	struct active_end *end;
	struct active *a;
	int64_t crashed = -1;	/* only a model says so in its report */
	int which, n;

	json_opt_int(msg, "crashed", 0, INT32_MAX, &crashed, NULL);
	json_opt_bool(msg, "unfit", &unfit, NULL);
	if (unfit && c->ranks[rank].state == RANK_READY) {
		c->ranks[rank].state = RANK_OPENING;	/* another will come */
		coord_ready(c, rank, false);
	}
	a = active_of(c, rank, id, &which);
	if (a == NULL) {
		return;
	}
	end = &a->ends[which];
	n = (int)json_array_size(results);
	end->results = calloc((size_t)n + 1, sizeof(*end->results));
	for (int i = 0; end->results != NULL && i < n; i++) {
		struct order_result *r = &end->results[end->n];

		if (order_result_parse(json_array_get(results, (size_t)i), r,
				       NULL) == 0) {
			end->n++;
			failed = failed || r->r.outcome == OUTCOME_ERROR ||
				 r->r.outcome == OUTCOME_TIMEOUT;
		}
	}
	end_in(c, a, which, failed);
	if (crashed >= 0 && crashed < c->layout.n_ranks &&
	    ++c->ranks[crashed].deaths >= SEAT_LIVES) {
		coord_rank_down(c, (int)crashed, RANK_RETIRED, OUTCOME_SKIPPED,
				"rank_retired", "its worker died twice");
	}
}

static void worker_died(struct coord *c, int rank, int64_t id, json_t *msg)
{
	char step[256] = "", how[96];
	int64_t sig = 0, code = 0;
	bool hung = false, retired = false;
	struct active *a;
	int end;

	json_opt_int(msg, "signal", 0, 1000, &sig, NULL);
	json_opt_int(msg, "exit", -1000, 1000, &code, NULL);
	json_opt_bool(msg, "hung", &hung, NULL);
	json_opt_bool(msg, "retired", &retired, NULL);
	json_opt_text(msg, "step", step, sizeof(step), NULL);
	if (hung) {
		snprintf(how, sizeof(how), "worker hung and was killed");
	} else if (sig != 0) {
		snprintf(how, sizeof(how), "worker crashed with signal %d (%s)",
			 (int)sig, strsignal((int)sig));
	} else {
		snprintf(how, sizeof(how), "worker ended with exit code %d",
			 (int)code);
	}
	coord_event(c, coord_node(c, rank), rank, "worker_died", "%s; last: %s",
		    how, step);
	c->ranks[rank].deaths++;
	if (c->ranks[rank].state == RANK_READY) {
		c->ranks[rank].state = RANK_OPENING;
		coord_ready(c, rank, false);
	}
	coord_unjoin(c, rank);	/* that went with the process */
	a = active_of(c, rank, id, &end);
	if (a != NULL) {
		a->ends[end].died = true;
		a->ends[end].outcome = hung ? OUTCOME_TIMEOUT :
					      OUTCOME_CRASHED;
		STR_COPY(a->ends[end].code,
			 hung ? "worker_hung" : "worker_crashed");
		snprintf(a->ends[end].detail, sizeof(a->ends[end].detail),
			 "%s while %s", how, step[0] ? step : "starting");
		end_in(c, a, end, true);
	}
	if (retired) {
		char why[300];

		snprintf(why, sizeof(why), "its worker died twice, last: %s",
			 how);
		coord_rank_down(c, rank, RANK_RETIRED, OUTCOME_SKIPPED,
				"rank_retired", why);
	}
}

static void task_joined(struct coord *c, int rank, int64_t id)
{
	struct active *a;
	int end;

	a = active_of(c, rank, id, &end);
	if (a != NULL) {
		end_joined(c, a, end);
	}
}

/* The worker died while the order was on its way: the task is still owed. */
static void task_refused(struct coord *c, int rank, int64_t id)
{
	struct active *a;
	int end;

	a = active_of(c, rank, id, &end);
	if (a != NULL) {
		a->refused = true;
		end_in(c, a, end, true);
	}
}

/* Pass an end's ticket on to the other, while both are at that task. */
static void pass_ticket(struct coord *c, int rank, int64_t id,
			const json_t *msg)
{
	const char *ticket =
		json_string_value(json_object_get(msg, "ticket"));
	struct active *a;
	int end;

	a = active_of(c, rank, id, &end);
	if (a != NULL && ticket != NULL && strlen(ticket) < XPORT_TICKET_MAX) {
		int other = end == 0 ? a->task.b : a->task.a;

		coord_send(c, other,
			   json_pack("{s:s,s:I,s:i,s:s}", "t", "ticket", "id",
				     (json_int_t)id, "rank", other, "ticket",
				     ticket));
	}
}

static void rank_ready(struct coord *c, int rank, const json_t *msg)
{
	const char *ticket =
		json_string_value(json_object_get(msg, "ticket"));
	struct coord_rank *r = &c->ranks[rank];

	if (r->state != RANK_OPENING) {
		return;
	}
	free(r->ticket);
	r->ticket = ticket != NULL && ticket[0] != '\0' ? str_dup(ticket) :
							  NULL;
	json_decref(r->facts);
	r->facts = json_incref(json_object_get(msg, "facts"));
	r->state = RANK_READY;
	coord_ready(c, rank, true);
}

static void rank_unusable(struct coord *c, int rank, const json_t *msg)
{
	char code[48] = "open_failed", detail[300] = "";

	json_opt_text(msg, "code", code, sizeof(code), NULL);
	str_copy(detail, sizeof(detail),
		 json_string_value(json_object_get(msg, "detail")) ?
			 json_string_value(json_object_get(msg, "detail")) :
			 "");
	coord_event(c, coord_node(c, rank), rank, "unusable", "%s: %s", code,
		    detail);
	coord_rank_down(c, rank, RANK_UNUSABLE, OUTCOME_SKIPPED, code, detail);
}

void coord_rank_down(struct coord *c, int rank, enum rank_state state,
		     enum outcome outcome, const char *code,
		     const char *detail)
{
	struct coord_rank *r = &c->ranks[rank];
	struct active *a = r->active;

	if (r->state > RANK_READY) {
		return;
	}
	r->state = state;
	STR_COPY(r->code, code);
	STR_COPY(r->detail, detail);
	coord_event(c, coord_node(c, rank), rank, code, "%s", detail);
	coord_ready(c, rank, false);
	coord_unjoin(c, rank);
	if (a != NULL) {
		int end = rank == a->task.a ? 0 : 1;

		if (!a->ends[end].in) {
			a->ends[end].died = true;
			a->ends[end].outcome = OUTCOME_ERROR;
			STR_COPY(a->ends[end].code, code);
			STR_COPY(a->ends[end].detail, detail);
			end_in(c, a, end, true);
		}
	}
	coord_drop_queue(c, rank, outcome, code, detail);
}

void coord_task_message(struct coord *c, struct coord_agent *agent,
			json_t *msg)
{
	const char *t = wire_type(msg);
	int64_t rank = -1, id = -1;

	json_opt_int(msg, "rank", 0, INT32_MAX, &rank, NULL);
	json_opt_int(msg, "id", -1, UINT32_MAX, &id, NULL);
	if (c->ranks == NULL || rank < 0 || rank >= c->layout.n_ranks ||
	    c->ranks[rank].agent != agent) {
		return;		/* not a rank of that agent */
	}
	if (strcmp(t, "done") == 0) {
		task_done(c, (int)rank, id, msg);
	} else if (strcmp(t, "joined") == 0) {
		task_joined(c, (int)rank, id);
	} else if (strcmp(t, "ticket") == 0) {
		pass_ticket(c, (int)rank, id, msg);
	} else if (strcmp(t, "ready") == 0) {
		rank_ready(c, (int)rank, msg);
	} else if (strcmp(t, "died") == 0) {
		worker_died(c, (int)rank, id, msg);
	} else if (strcmp(t, "unusable") == 0) {
		rank_unusable(c, (int)rank, msg);
	} else if (strcmp(t, "refused") == 0) {
		task_refused(c, (int)rank, id);
	}
	coord_pump(c);
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
