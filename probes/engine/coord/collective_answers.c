/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the members of a collective say: each answer of a round, and who dies,
 * is lost or cannot work at any time.
 */
#include "probes/engine/coord/collective.h"

#include "lib/base/clock.h"
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

void answers_instead(struct collective_work *w, int rank, enum outcome o,
		     bool echo, const char *code, const char *detail)
{
	struct member *m = member_of(w, rank);

	if (m != NULL) {
		collective_result_init(&m->r, &w->order);
		m->r.rank = rank;
		collective_fail(&m->r, o, code, "%s", detail);
		m->r.echo = echo;
		answered(w, m);
	}
}

/* ---- what is heard ------------------------------------------------------- */

static void rank_done(struct collective_work *w, int rank, const json_t *msg)
{
	struct member *m = member_of(w, rank);
	struct err e = {0};

	if (m == NULL || message_int(msg, "id") != w->id) {
		return; /* of an earlier round */
	}
	if (collective_result_parse(msg, &m->r, &e) < 0) {
		answers_instead(w, rank, OUTCOME_ERROR, false, "bad_answer",
				e.text);
		return;
	}
	answered(w, m);
}

static void rank_said(void *work, int rank, const json_t *msg)
{
	if (message_type(msg) == MSG_COLLECTIVE_DONE) {
		rank_done(work, rank, msg);
	} else if (message_type(msg) == MSG_REFUSED) {
		/* its worker was about to leave: as good as gone */
		answers_instead(work, rank, OUTCOME_ERROR, true, "refused",
				"the worker could not start this step");
	}
}

static void rank_ended(void *work, int rank, int64_t id,
		       const struct xport_result *how)
{
	(void)id;
	answers_instead(work, rank, how->outcome, false, how->code,
			how->detail);
}

static void rank_out(void *work, int rank, const char *code, const char *detail)
{
	answers_instead(work, rank, OUTCOME_ERROR, false, code, detail);
}

const struct ranks_events answers_events = {
	.ended = rank_ended,
	.out = rank_out,
	.said = rank_said,
};
