/* SPDX-License-Identifier: BSD-3-Clause */
/* What is heard of ranks, and of the tasks that these are at. */
#include "probes/engine/coord/pairs.h"

#include <stdlib.h>

#include "lib/data/json.h"
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

static void task_done(struct pairs_work *w, int rank, int64_t id,
		      const json_t *msg)
{
	json_t *results = json_object_get(msg, "results"), *result;
	struct active *a;
	int64_t crashed = -1; /* only a model says so in its report */
	bool failed = false;
	int which;
	size_t i;

	json_opt_int(msg, "crashed", 0, INT32_MAX, &crashed, NULL);
	if (json_is_true(json_object_get(msg, "unfit")) &&
	    w->ranks.all[rank].state == RANK_READY) {
		w->ranks.all[rank].state = RANK_OPENING; /* another will come */
		queue_ready(w, rank, false);
	}
	a = active_of(w, rank, id, &which);
	if (a == NULL) {
		return;
	}
	a->ends[which].results = calloc(json_array_size(results) + 1,
					sizeof(struct order_result));
	json_array_foreach(results, i, result)
	{
		struct active_end *end = &a->ends[which];
		struct order_result *r = &end->results[end->n];

		if (end->results != NULL &&
		    order_result_parse(result, r, NULL) == 0) {
			end->n++;
			failed = failed || r->r.outcome == OUTCOME_ERROR ||
				 r->r.outcome == OUTCOME_TIMEOUT;
		}
	}
	task_end_in(w, a, which, failed);
	if (crashed >= 0 && crashed < w->ranks.layout.n_ranks &&
	    ++w->ranks.all[crashed].deaths >= SLOT_LIVES) {
		ranks_out(&w->ranks, (int)crashed, RANK_RETIRED, "rank_retired",
			  "its worker died twice");
	}
}

/* Pass an end's ticket on to the other, while both are at that task. */
static void pass_ticket(struct pairs_work *w, const struct active *a, int end,
			const json_t *msg)
{
	int other = active_rank(a, !end);

	ranks_send(&w->ranks, other,
		   message_new(MSG_TICKET, "{s:I,s:i,s:O}", "id",
			       (json_int_t)a->task.id, "rank", other, "ticket",
			       json_object_get(msg, "ticket")));
}

static void rank_said(void *work, int rank, const json_t *msg)
{
	struct pairs_work *w = work;
	int64_t id = message_int(msg, "id");
	enum message_type type = message_type(msg);
	struct active *a;
	int end;

	if (type == MSG_DONE) {
		task_done(w, rank, id, msg);
		return;
	}
	a = active_of(w, rank, id, &end);
	if (a == NULL) {
		return;
	}
	if (type == MSG_JOINED) {
		join_end(w, a, end);
	} else if (type == MSG_TICKET) {
		pass_ticket(w, a, end, msg);
	} else if (type == MSG_REFUSED) {
		/* its worker died while the order was on its way */
		a->refused = true;
		task_end_in(w, a, end, true);
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
	a = active_of(w, rank, id, &end);
	if (a != NULL) {
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
		xport_fail(&how, OUTCOME_ERROR, code, "%s", detail);
		task_end_broken(w, a, end, &how);
	}
	rows_drop_queue(w, rank, OUTCOME_SKIPPED, code, detail);
}

const struct ranks_events reports_events = {
	.ready = rank_ready,
	.ended = rank_ended,
	.out = rank_out,
	.said = rank_said,
};
