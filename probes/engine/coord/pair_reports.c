/* SPDX-License-Identifier: BSD-3-Clause */
/* What agents report of ranks and of the tasks that these are at. */
#include "probes/engine/coord/pairs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/base/str.h"
#include "probes/engine/agent/slot.h"
#include "probes/engine/net/message.h"

/* The running task that @msg of @rank is about, NULL when it is stale. */
static struct active *active_of(struct pairs_work *w, int rank, int64_t id,
				int *end)
{
	struct active *a = w->at_work[rank];

	if (a == NULL || a->task.id != id) {
		for (a = w->waiting != NULL ? w->active : NULL; a != NULL;
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

static void task_done(struct pairs_work *w, int rank, int64_t id, json_t *msg)
{
	json_t *results = json_object_get(msg, "results");
	bool unfit = json_is_true(json_object_get(msg, "unfit"));
	bool failed = false;
	struct active_end *end;
	struct active *a;
	int64_t crashed = -1;	/* only a model says so in its report */
	int which, n;

	json_opt_int(msg, "crashed", 0, INT32_MAX, &crashed, NULL);
	if (unfit && w->ranks.all[rank].state == RANK_READY) {
		w->ranks.all[rank].state = RANK_OPENING; /* another will come */
		queue_ready(w, rank, false);
	}
	a = active_of(w, rank, id, &which);
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
	task_end_in(w, a, which, failed);
	if (crashed >= 0 && crashed < w->ranks.layout.n_ranks &&
	    ++w->ranks.all[crashed].deaths >= SLOT_LIVES) {
		task_rank_down(w, (int)crashed, RANK_RETIRED, "rank_retired",
			       "its worker died twice");
	}
}

static void worker_died(struct pairs_work *w, int rank, int64_t id, json_t *msg)
{
	const char *step = json_member(msg, "step");
	int sig = (int)json_integer_value(json_object_get(msg, "signal"));
	int status = (int)json_integer_value(json_object_get(msg, "exit"));
	bool hung = json_is_true(json_object_get(msg, "hung"));
	bool retired = json_is_true(json_object_get(msg, "retired"));
	char how[96];
	struct active *a;
	int end;

	if (hung) {
		snprintf(how, sizeof(how), "worker hung and was killed");
	} else if (sig != 0) {
		snprintf(how, sizeof(how), "worker crashed with signal %d (%s)",
			 sig, strsignal(sig));
	} else {
		snprintf(how, sizeof(how), "worker ended with exit code %d",
			 status);
	}
	run_log_event(w->c->log, ranks_node(&w->ranks, rank), rank,
		      "worker_died", "%s; last: %s", how, step);
	if (w->ranks.all[rank].state == RANK_READY) {
		w->ranks.all[rank].state = RANK_OPENING;
		queue_ready(w, rank, false);
	}
	join_undo(w, rank); /* that went with the process */
	a = active_of(w, rank, id, &end);
	if (a != NULL) {
		a->ends[end].died = true;
		a->ends[end].outcome = hung ? OUTCOME_TIMEOUT :
					      OUTCOME_CRASHED;
		STR_COPY(a->ends[end].code,
			 hung ? "worker_hung" : "worker_crashed");
		snprintf(a->ends[end].detail, sizeof(a->ends[end].detail),
			 "%s while %s", how, step[0] ? step : "starting");
		task_end_in(w, a, end, true);
	}
	if (retired) {
		char why[300];

		snprintf(why, sizeof(why), "its worker died twice, last: %s",
			 how);
		task_rank_down(w, rank, RANK_RETIRED, "rank_retired", why);
	}
}

static void task_joined(struct pairs_work *w, int rank, int64_t id)
{
	struct active *a;
	int end;

	a = active_of(w, rank, id, &end);
	if (a != NULL) {
		join_end(w, a, end);
	}
}

/* The worker died while the order was on its way: the task is still owed. */
static void task_refused(struct pairs_work *w, int rank, int64_t id)
{
	struct active *a;
	int end;

	a = active_of(w, rank, id, &end);
	if (a != NULL) {
		a->refused = true;
		task_end_in(w, a, end, true);
	}
}

/* Pass an end's ticket on to the other, while both are at that task. */
static void pass_ticket(struct pairs_work *w, int rank, int64_t id,
			const json_t *msg)
{
	struct active *a;
	int end;

	a = active_of(w, rank, id, &end);
	if (a != NULL) {
		int other = active_rank(a, !end);

		ranks_send(&w->ranks, other,
			   message_new(MSG_TICKET, "{s:I,s:i,s:O}", "id",
				       (json_int_t)id, "rank", other, "ticket",
				       json_object_get(msg, "ticket")));
	}
}

static void rank_ready(struct pairs_work *w, int rank, const json_t *msg)
{
	if (ranks_ready(&w->ranks, rank, msg)) {
		queue_ready(w, rank, true);
	}
}

static void rank_unusable(struct pairs_work *w, int rank, const json_t *msg)
{
	const char *code = json_member(msg, "code");
	const char *detail = json_member(msg, "detail");

	run_log_event(w->c->log, ranks_node(&w->ranks, rank), rank, "unusable",
		      "%s: %s", code, detail);
	task_rank_down(w, rank, RANK_UNUSABLE, code, detail);
}

void reports_take(struct pairs_work *w, struct coord_agent *agent, json_t *msg)
{
	int rank = ranks_of_message(&w->ranks, agent, msg);
	int64_t id = json_integer_value(json_object_get(msg, "id"));

	if (rank < 0) {
		return;
	}
	switch (message_type(msg)) {
	case MSG_DONE:
		task_done(w, rank, id, msg);
		break;
	case MSG_JOINED:
		task_joined(w, rank, id);
		break;
	case MSG_TICKET:
		pass_ticket(w, rank, id, msg);
		break;
	case MSG_READY:
		rank_ready(w, rank, msg);
		break;
	case MSG_DIED:
		worker_died(w, rank, id, msg);
		break;
	case MSG_UNUSABLE:
		rank_unusable(w, rank, msg);
		break;
	case MSG_REFUSED:
		task_refused(w, rank, id);
		break;
	default:
		break;	/* nothing about a task */
	}
}
