/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the members of a collective say: each answer of a round, and who dies,
 * is lost or cannot work at any time.
 */
#include "probes/engine/coord/collective.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/data/json.h"
#include "probes/engine/net/message.h"

/* What fails everywhere does so at about the same time: who is told to give up
 * sooner cannot say it any more. */
#define LISTEN_NS   (1 * NS_PER_S)

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
	int64_t listen_ns = clock_now_ns() + LISTEN_NS;

	m->in = true;
	if (m->r.outcome != OUTCOME_OK && !w->failing &&
	    w->deadline_ns > listen_ns) {
		w->failing = true;
		w->deadline_ns = listen_ns;
	}
}

void answers_instead(struct collective_work *w, struct member *m,
		     enum outcome o, bool echo, const char *code,
		     const char *detail)
{
	collective_result_init(&m->r, &w->order);
	m->r.rank = m->rank;
	collective_fail(&m->r, o, code, "%s", detail);
	m->r.echo = echo;
	answered(w, m);
}

/* ---- messages ------------------------------------------------------------ */

static void said_done(struct collective_work *w, int rank, json_t *msg)
{
	struct member *m = member_of(w, rank);
	struct err e = { 0 };

	if (m == NULL ||
	    json_integer_value(json_object_get(msg, "id")) != w->id) {
		return;		/* of an earlier round */
	}
	if (collective_result_parse(msg, &m->r, &e) < 0) {
		answers_instead(w, m, OUTCOME_ERROR, false, "bad_answer",
				e.text);
		return;
	}
	answered(w, m);
}

static void said_died(struct collective_work *w, int rank, json_t *msg)
{
	struct member *m = member_of(w, rank);
	const char *step = json_member(msg, "step");
	int sig = (int)json_integer_value(json_object_get(msg, "signal"));
	int status = (int)json_integer_value(json_object_get(msg, "exit"));
	bool hung = json_is_true(json_object_get(msg, "hung"));
	bool retired = json_is_true(json_object_get(msg, "retired"));
	char how[400];

	snprintf(how, sizeof(how), "worker %s %d while %.200s",
		 sig != 0 ? "ended by signal" : "ended with exit code",
		 sig != 0 ? sig : status, step[0] ? step : "starting");
	if (hung) {
		snprintf(how, sizeof(how), "worker hung while %.200s", step);
	}
	run_log_event(w->c->log, ranks_node(&w->ranks, rank), rank,
		      "worker_died", "%s", how);
	if (w->ranks.all[rank].state == RANK_READY) {
		w->ranks.all[rank].state = RANK_OPENING;
	}
	if (m != NULL) {
		answers_instead(w, m, hung ? OUTCOME_TIMEOUT : OUTCOME_CRASHED,
				false, hung ? "worker_hung" : "worker_crashed",
				how);
	}
	if (retired) {
		ranks_out(&w->ranks, rank, RANK_RETIRED, "rank_retired", how);
	}
}

/** Its worker was about to leave: as good as gone. */
static void said_refused(struct collective_work *w, int rank)
{
	struct member *m = member_of(w, rank);

	if (m != NULL) {
		answers_instead(w, m, OUTCOME_ERROR, true, "refused",
				"the worker could not start this step");
	}
}

void answers_take(struct collective_work *w, struct coord_agent *a, json_t *msg)
{
	int rank = ranks_of_message(&w->ranks, a, msg);

	if (rank < 0) {
		return;
	}
	switch (message_type(msg)) {
	case MSG_COLLECTIVE_DONE:
		said_done(w, rank, msg);
		break;
	case MSG_DIED:
		said_died(w, rank, msg);
		break;
	case MSG_READY:
		ranks_ready(&w->ranks, rank, msg);
		break;
	case MSG_UNUSABLE:
		ranks_out(&w->ranks, rank, RANK_UNUSABLE,
			  json_member(msg, "code"),
			  json_member(msg, "detail"));
		break;
	case MSG_REFUSED:
		said_refused(w, rank);
		break;
	default:
		break;	/* nothing about a collective */
	}
}

void answers_lost(struct collective_work *w, struct coord_agent *a,
		  const char *detail)
{
	for (int r = 0; r < w->ranks.layout.n_ranks; r++) {
		struct member *m = member_of(w, r);

		if (w->ranks.all[r].agent != a) {
			continue;
		}
		ranks_out(&w->ranks, r, RANK_LOST, "agent_lost", detail);
		if (m != NULL) {
			answers_instead(w, m, OUTCOME_ERROR, false,
					"agent_lost", detail);
		}
	}
}
