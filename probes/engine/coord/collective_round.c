/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One round: an order to every member, their answers, and the members to blame
 * if it fails.
 */
#include "probes/engine/coord/collective.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/data/json.h"
#include "probes/engine/net/door.h"
#include "probes/engine/net/message.h"

/* Beyond what a member was given: its agent has killed it by then. */
#define GRACE_NS (COLLECTIVE_LATE_NS + 5 * NS_PER_S)
/* After a word to give up. */
#define CANCEL_NS GRACE_NS
#define TICKET_NS (10 * NS_PER_S)
/* NCCL itself gives up after 34 s, and then says why */
#define STEP_NS	  (60 * NS_PER_S)
/* Time to wait for further answers after the first failure: a common fault
 * fails everywhere at about the same time, and a member that is cancelled
 * earlier can no longer report it. */
#define LISTEN_NS (1 * NS_PER_S)
/* A step may take PATIENCE times its estimate, and at most BUDGET_NS, since the
 * estimate comes from an agent and an order may last a week at most. */
#define PATIENCE  3
#define BUDGET_NS 6e14

void collective_note(struct collective_work *w, const char *fmt, ...)
{
	char text[400];
	va_list ap;
	json_t *note, *old;
	size_t i;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	note = json_text(text);
	json_array_foreach(w->notes, i, old)
	{
		if (json_equal(old, note)) {
			json_decref(note);
			return;
		}
	}
	json_array_append_new(w->notes, note);
	run_log_event(w->c->log, NULL, -1, "note", "%s", text);
}

int64_t round_step_ns(const struct collective_work *w)
{
	return w->c->spec.timeout_ns > 0 ? w->c->spec.timeout_ns : STEP_NS;
}

int64_t round_patient_ns(const struct collective_work *w, double about_us)
{
	return (int64_t)fmin((double)round_step_ns(w) +
				     PATIENCE * about_us * 1e3,
			     BUDGET_NS);
}

int round_nodes(const struct collective_work *w)
{
	int n = 0;

	for (int i = 0; i < w->n_members; i++) {
		n += i == 0 ||
		     !layout_same_node(&w->ranks.layout, w->members[i].rank,
				       w->members[i - 1].rank);
	}
	return n;
}

static int64_t agent_late_ns(const struct collective_work *w,
			     const struct member *m)
{
	const struct coord_agent *a = w->ranks.all[m->rank].agent;

	return a != NULL ? a->late_ns : 0;
}

static void send_orders(struct collective_work *w, enum collective_do what,
			int64_t budget_ns)
{
	struct collective_order *o = &w->order;
	int n = what == DO_TICKET ? 1 : w->n_members;

	w->what = what;
	w->id = w->next_id++;
	w->round = true;
	w->failing = w->cancelled = false;
	w->start_ns = clock_now_ns();
	w->late_ns = w->c->late_ns;
	w->deadline_ns = w->start_ns + budget_ns + GRACE_NS;
	o->what = what;
	o->id = w->id;
	o->budget_ns = budget_ns;
	o->slow_factor = w->slow_factor;
	for (int i = 0; i < w->n_members; i++) {
		struct member *m = &w->members[i];

		m->in = i >= n;
		m->absent = m->culprit = false;
		m->late_ns = agent_late_ns(w, m);
		o->rank = m->rank;
		collective_result_init(&m->r, o);
		o->me = i;
		o->drill = w->acts[i].drill;
		o->silent = w->acts[i].silent;
		if (i < n) {
			agents_send(w->ranks.all[m->rank].agent,
				    message_of(MSG_COLLECTIVE,
					       collective_order_json(o)));
		}
	}
	/* members that were lost between rounds have no result of their own */
	for (int i = 0; i < w->n_members; i++) {
		const struct rank *k = &w->ranks.all[w->members[i].rank];

		if (k->state > RANK_READY) {
			round_answer(w, w->members[i].rank,
				     ranks_outcome(k->code, OUTCOME_ERROR),
				     false, k->code, k->detail);
		}
	}
}

void round_order(struct collective_work *w, enum collective_do what,
		 int64_t budget_ns)
{
	if (what == DO_STEP) {
		w->paused = true;
		w->step_ns = budget_ns;
	} else {
		send_orders(w, what, budget_ns);
	}
}

void round_measure(struct collective_work *w, int samples, int batch,
		   bool first, bool held, double one_us)
{
	struct collective_order *o = &w->order;

	o->size_B = w->sizes[w->size];
	o->inplace = w->inplace;
	o->check = first && w->c->spec.check;
	o->verify = 0;
	o->warmup = first ? w->c->spec.warmup : 0;
	o->samples = samples;
	o->batch = batch;
	o->held = held;
	round_order(w, DO_STEP,
		    round_patient_ns(w, one_us * (samples * batch +
						  o->warmup + o->check)));
}

void round_go_on(struct collective_work *w)
{
	const struct collective_order *o = &w->order;
	int64_t now = clock_now_ns();

	if (w->c->phase >= COORD_STOP) {
		w->paused = false;
		w->what = DO_LEAVE;
		w->driver->over(w, &(struct round_end){ .ok = true });
	} else if (pace_is_open(&w->pace, now)) {
		w->paused = false;
		/* bytes that all operations of the step send between nodes */
		pace_spend(&w->pace, now,
			   (double)(o->samples * o->batch + o->warmup +
				    o->check + o->verify) *
				   collective_bytes_between(o->op, o->ranks,
							    o->nodes,
							    (double)o->size_B));
		send_orders(w, DO_STEP, w->step_ns);
	}
}

void round_join(struct collective_work *w, const int *ranks, int n,
		int64_t size_B, int64_t join_ns)
{
	const struct variant *v = &w->variants[w->variant];

	w->n_members = n;
	w->join_ns = join_ns;
	for (int i = 0; i < n; i++) {
		w->members[i].rank = ranks[i];
	}
	w->slow_factor =
		collective_drill(&w->ranks.drill, &w->ranks.layout, ranks, n,
				 ++w->made, (uint64_t)w->c->spec.seed, w->acts);
	w->order = (struct collective_order){
		.ranks = n,
		.nodes = round_nodes(w),
		.op = w->op,
		.dtype = w->dtype,
		.redop = w->redop,
		.size_B = size_B,
		.factor = w->c->spec.size_factor,
		.seed = w->c->spec.seed,
	};
	for (int i = 0; i < n; i++) {
		if (w->acts[i].wrong > w->order.wrong_rate) {
			w->order.wrong_rate = w->acts[i].wrong;
			w->order.wrong_by = i;
		}
	}
	door_nonce(w->order.nonce);
	STR_COPY(w->order.variant, v->name);
	STR_COPY(w->order.algo, v->algo);
	STR_COPY(w->order.proto, v->proto);
	round_order(w, DO_TICKET, TICKET_NS);
}

void round_renew(struct collective_work *w)
{
	/* jobs let NCCL go by way of other GPUs, and outlast a link that is
	 * gone for some seconds: so do we */
	const struct pass pass = {.pxn = true, .as_jobs = true};

	w->opening = true;
	w->round = false;
	ranks_start(&w->ranks, &pass, w->variants[w->variant].env, NULL);
}

void round_call_off(struct collective_work *w)
{
	w->cancelled = true;
	w->deadline_ns = clock_now_ns() + CANCEL_NS;
	for (int i = 0; i < w->n_members; i++) {
		if (!w->members[i].in) {
			ranks_word(&w->ranks, w->members[i].rank, MSG_CANCEL,
				   w->id);
		}
	}
}

/* ---- answers in ---------------------------------------------------------- */

static struct member *member_of(struct collective_work *w, int rank)
{
	for (int i = 0; w->round && i < w->n_members; i++) {
		if (w->members[i].rank == rank && !w->members[i].in) {
			return &w->members[i];
		}
	}
	return NULL;
}

/** One is in; where it failed, the others wait in vain, or fail as well. */
static void answered(struct collective_work *w, struct member *m)
{
	const struct drill_fault *fault = w->acts[m - w->members].fault;
	int64_t listen_ns = clock_now_ns() + LISTEN_NS;
	char says[DRILL_SAYS];

	m->in = true;
	/* an echo that a drill makes is its own failure */
	if (fault && m->r.outcome != OUTCOME_OK &&
	    (!m->r.echo || str_starts(m->r.detail, XPORT_DRILL_MARK))) {
		STR_COPY(m->r.detail, drill_says(fault, &w->ranks.layout,
						 m->r.detail, says));
	}
	if (m->r.outcome != OUTCOME_OK && !w->failing &&
	    w->deadline_ns > listen_ns) {
		w->failing = true;
		w->deadline_ns = listen_ns;
	}
}

void round_answer(struct collective_work *w, int rank, enum outcome o,
		  bool echo, const char *code, const char *detail)
{
	struct member *m = member_of(w, rank);

	if (m != NULL) {
		collective_fail(&m->r, o, code, "%s", detail);
		m->r.echo = echo;
		answered(w, m);
	}
}

static void rank_said(void *work, int rank, const json_t *msg)
{
	struct collective_work *w = work;
	struct member *m = member_of(w, rank);
	struct err e = {0};

	if (message_type(msg) == MSG_REFUSED) {
		/* its worker was about to leave: as good as gone */
		round_answer(w, rank, OUTCOME_ERROR, true, "refused",
			     "the worker could not start this step");
	}
	if (message_type(msg) != MSG_COLLECTIVE_DONE) {
		return;
	}
	ranks_learn(&w->ranks, rank, json_object_get(msg, "facts"));
	if (m == NULL || message_int(msg, "id") != w->id) {
		return; /* of an earlier round */
	}
	if (collective_result_parse(msg, &m->r, &e) < 0) {
		round_answer(w, rank, OUTCOME_ERROR, false, "bad_answer",
			     e.text);
	} else {
		answered(w, m);
	}
}

static void rank_ended(void *work, int rank, int64_t id,
		       const struct xport_result *how)
{
	struct collective_work *w = work;
	struct member *m = member_of(w, rank);

	(void)id;
	if (m != NULL) {
		m->late_ns -= w->ranks.all[rank].late_ns;
	}
	round_answer(work, rank, how->outcome, false, how->code, how->detail);
}

static void rank_out(void *work, int rank, const char *code, const char *detail)
{
	round_answer(work, rank, ranks_outcome(code, OUTCOME_ERROR), false,
		     code, detail);
}

const struct ranks_events round_events = {
	.ended = rank_ended,
	.out = rank_out,
	.said = rank_said,
};

/* ---- blame ----------------------------------------------------------------
 * A member is to blame that died, failed by its own report, or did not answer;
 * one that only waited in vain is not. */

static bool failed(const struct collective_result *r)
{
	return r->outcome != OUTCOME_OK;
}

/** Marks the members to blame for a failed round and returns how many there
 *  are.  If all members failed alike, no rank is at fault: returns 0. */
static int name_culprits(struct collective_work *w)
{
	int n = 0, expected = w->what == DO_TICKET ? 1 : w->n_members;

	for (int i = 0; i < expected; i++) {
		struct member *m = &w->members[i];

		m->culprit = m->absent || (failed(&m->r) && !m->r.echo);
		n += m->culprit;
	}
	if (n < expected || expected == 1) {
		return n;
	}
	for (int i = 0; i < expected; i++) {
		w->members[i].culprit = false;
	}
	return 0;
}

static void describe_failure(struct collective_work *w, struct round_end *end)
{
	const struct collective_result *r = NULL;
	struct str who = STR_INIT;
	bool absent = false;

	for (int i = 0; i < w->n_members; i++) {
		const struct member *m = &w->members[i];

		/* the first answer that tells most: not an echo, then any */
		if (!m->absent && failed(&m->r) &&
		    (r == NULL || (r->echo && !m->r.echo) ||
		     (r->echo && strcmp(r->code, "cancelled") == 0))) {
			r = &m->r;
		}
		if (m->culprit) {
			str_addf(&who, "%srank %d (%.40s:%d)",
				 who.len > 0 ? ", " : "", m->rank,
				 ranks_node(&w->ranks, m->rank),
				 w->ranks.layout.ranks[m->rank].gpu);
			absent = absent || m->absent ||
				 m->r.outcome == OUTCOME_TIMEOUT;
		}
	}
	end->outcome = r != NULL ? r->outcome : OUTCOME_TIMEOUT;
	STR_COPY(end->code, absent	? "rank_absent"
			    : r != NULL ? r->code
					: "worker_hung");
	if (end->n_culprits > 0) {
		snprintf(end->detail, sizeof(end->detail),
			 "%s %.199s%s%.180s",
			 absent ? "did not arrive:" : "failed:", str_text(&who),
			 r != NULL ? ": " : "", r != NULL ? r->detail : "");
	} else {
		snprintf(end->detail, sizeof(end->detail),
			 "not caused by a single rank, all %d arrived: %.250s",
			 w->n_members, r != NULL ? r->detail : "");
	}
	str_release(&who);
}

/**
 * Returns true if the round timed out while its processes did not run for much
 * of the time.  A failure that a member observed itself still counts.
 */
static bool was_starved(const struct collective_work *w)
{
	const int64_t wall_ns = clock_now_ns() - w->start_ns;
	const int64_t late_ns = w->c->late_ns - w->late_ns;
	bool late = false, vain = false;

	for (int i = 0; i < w->n_members; i++) {
		const struct member *m = &w->members[i];
		const struct collective_result *r = &m->r;

		late = late || ranks_starved(late_ns + agent_late_ns(w, m) -
						     m->late_ns, wall_ns);
		if (strcmp(r->code, RECORD_STARVED) == 0) {
			late = vain = true;	/* it is out by that */
		} else if (m->absent || r->echo ||
			   r->outcome == OUTCOME_TIMEOUT) {
			vain = true;
		} else if (failed(r)) {
			return false;
		}
	}
	return vain && late;
}

void round_blame(struct collective_work *w, struct round_end *end)
{
	bool starved = was_starved(w);

	end->n_culprits = starved ? 0 : name_culprits(w);
	if (!starved) {
		describe_failure(w, end);
	} else {
		end->outcome = OUTCOME_NOT_RUN;
		STR_COPY(end->code, RECORD_STARVED);
		STR_COPY(end->detail, "its processes did not get to run");
	}
	for (int i = 0; i < w->n_members; i++) {
		const struct member *m = &w->members[i];

		if (starved) {
			/* no rank is to blame, but the run goes on without
			 * those whose agents stopped running */
			end->n_culprits += w->ranks.all[m->rank].state >
					   RANK_READY;
		} else if (m->culprit) {
			ranks_out(&w->ranks, m->rank, RANK_RETIRED,
				  m->absent ? "rank_absent" : m->r.code,
				  m->absent ? "no report in time"
					    : m->r.detail);
			ranks_word(&w->ranks, m->rank, MSG_KILL, -1);
		}
	}
	run_log_event(w->c->log, NULL, -1, "group_failed", "%s", end->detail);
}
