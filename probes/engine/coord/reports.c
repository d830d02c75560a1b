/* SPDX-License-Identifier: BSD-3-Clause */
/* What agents report of ranks and of the tasks that these are at. */
#include "probes/engine/coord/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/base/str.h"
#include "probes/engine/agent/seat.h"

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
	active_end_in(c, a, which, failed);
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
		active_end_in(c, a, end, true);
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
		join_end(c, a, end);
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
		active_end_in(c, a, end, true);
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
	struct active *a = c->ranks[rank].active;

	if (!coord_rank_out(c, rank, state, code, detail)) {
		return;
	}
	coord_ready(c, rank, false);
	coord_unjoin(c, rank);
	if (a != NULL) {
		int end = rank == a->task.a ? 0 : 1;

		if (!a->ends[end].in) {
			a->ends[end].died = true;
			a->ends[end].outcome = OUTCOME_ERROR;
			STR_COPY(a->ends[end].code, code);
			STR_COPY(a->ends[end].detail, detail);
			active_end_in(c, a, end, true);
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
