/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the members of a group say: each answer of a round, and who dies, is
 * lost or cannot work at any time.
 */
#include "probes/engine/coord/group.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/data/json.h"
#include "lib/base/str.h"

/* What fails everywhere does so at about the same time: who is told to give up
 * sooner cannot say it any more. */
#define LISTEN_NS   (1 * NS_PER_S)

static struct member *member_of(struct group *g, int rank)
{
	for (int i = 0; g->round && i < g->n_members; i++) {
		if (g->members[i].rank == rank && !g->members[i].in) {
			return &g->members[i];
		}
	}
	return NULL;
}

/** One is in; where it failed, the others wait in vain, or fail as well. */
static void answered(struct coord *c, struct member *m)
{
	struct group *g = c->group;
	int64_t listen_ns = clock_now_ns() + LISTEN_NS;

	m->in = true;
	if (m->r.outcome != OUTCOME_OK && !g->failing &&
	    g->deadline_ns > listen_ns) {
		g->failing = true;
		g->deadline_ns = listen_ns;
	}
}

void group_member_says(struct coord *c, struct member *m, enum outcome o,
		       bool echo, const char *code, const char *detail)
{
	coll_result_init(&m->r, &c->group->order);
	m->r.rank = m->rank;
	coll_fail(&m->r, o, code, "%s", detail);
	m->r.echo = echo;
	answered(c, m);
}

/* ---- messages ------------------------------------------------------------ */

static void said_done(struct coord *c, int rank, json_t *msg)
{
	struct group *g = c->group;
	struct member *m = member_of(g, rank);
	int64_t id = -1;
	struct err e = { 0 };

	json_opt_int(msg, "id", 0, UINT32_MAX, &id, NULL);
	if (m == NULL || id != g->id) {
		return;		/* of an earlier round */
	}
	if (coll_result_parse(msg, &m->r, &e) < 0) {
		group_member_says(c, m, OUTCOME_ERROR, false, "bad_answer",
				  e.text);
		return;
	}
	answered(c, m);
}

static void said_died(struct coord *c, int rank, json_t *msg)
{
	struct member *m = member_of(c->group, rank);
	char step[256] = "", how[400];
	int64_t sig = 0, code = 0;
	bool hung = false, retired = false;

	json_opt_int(msg, "signal", 0, 1000, &sig, NULL);
	json_opt_int(msg, "exit", -1000, 1000, &code, NULL);
	json_opt_bool(msg, "hung", &hung, NULL);
	json_opt_bool(msg, "retired", &retired, NULL);
	json_opt_text(msg, "step", step, sizeof(step), NULL);
	snprintf(how, sizeof(how), "worker %s %d while %.200s",
		 sig != 0 ? "ended by signal" : "ended with exit code",
		 (int)(sig != 0 ? sig : code), step[0] ? step : "starting");
	if (hung) {
		snprintf(how, sizeof(how), "worker hung while %.200s", step);
	}
	coord_event(c, coord_node(c, rank), rank, "worker_died", "%s", how);
	if (c->ranks[rank].state == RANK_READY) {
		c->ranks[rank].state = RANK_OPENING;
	}
	if (m != NULL) {
		group_member_says(c, m,
				  hung ? OUTCOME_TIMEOUT : OUTCOME_CRASHED,
				  false, hung ? "worker_hung" :
						"worker_crashed", how);
	}
	if (retired) {
		coord_rank_out(c, rank, RANK_RETIRED, "rank_retired", how);
	}
}

static void said_ready(struct coord *c, int rank, json_t *msg)
{
	struct coord_rank *r = &c->ranks[rank];

	if (r->state == RANK_OPENING) {
		json_decref(r->facts);
		r->facts = json_incref(json_object_get(msg, "facts"));
		r->state = RANK_READY;
	}
}

static void said_unusable(struct coord *c, int rank, json_t *msg)
{
	char code[48] = "open_failed", detail[300] = "";

	json_opt_text(msg, "code", code, sizeof(code), NULL);
	str_copy(detail, sizeof(detail),
		 json_string_value(json_object_get(msg, "detail")) ?
			 json_string_value(json_object_get(msg, "detail")) :
			 "");
	coord_rank_out(c, rank, RANK_UNUSABLE, code, detail);
}

/** Its worker was about to leave: as good as gone. */
static void said_refused(struct coord *c, int rank, json_t *msg)
{
	struct member *m = member_of(c->group, rank);

	(void)msg;
	if (m != NULL) {
		group_member_says(c, m, OUTCOME_ERROR, true, "refused",
				  "the worker could not take the order");
	}
}

void group_message(struct coord *c, struct coord_agent *a, json_t *msg)
{
	static const struct {
		const char *type;
		void (*said)(struct coord *c, int rank, json_t *msg);
	} words[] = {
		{ .type = "done", .said = said_done },
		{ .type = "died", .said = said_died },
		{ .type = "ready", .said = said_ready },
		{ .type = "unusable", .said = said_unusable },
		{ .type = "refused", .said = said_refused },
		{ 0 }
	};
	int64_t rank = -1;

	json_opt_int(msg, "rank", 0, INT32_MAX, &rank, NULL);
	if (c->ranks == NULL || rank < 0 || rank >= c->layout.n_ranks ||
	    c->ranks[rank].agent != a) {
		return;
	}
	for (int i = 0; words[i].type != NULL; i++) {
		if (strcmp(wire_type(msg), words[i].type) == 0) {
			words[i].said(c, (int)rank, msg);
		}
	}
	group_pump(c);
}

void group_agent_lost(struct coord *c, struct coord_agent *a,
		      const char *detail)
{
	for (int r = 0; r < c->layout.n_ranks; r++) {
		struct member *m = member_of(c->group, r);

		if (c->ranks[r].agent != a) {
			continue;
		}
		coord_rank_out(c, r, RANK_LOST, "agent_lost", detail);
		if (m != NULL) {
			group_member_says(c, m, OUTCOME_ERROR, false,
					  "agent_lost", detail);
		}
	}
	group_pump(c);
}
