/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is to blame for a round that failed: who died, who said so, who did not
 * answer; those who only waited in vain are not.
 */
#include "probes/engine/coord/collective.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/str.h"

static bool failed(const struct collective_result *r)
{
	return r->outcome != OUTCOME_OK;
}

static void add_rank(struct collective_work *w, int rank, char *text,
		     size_t size)
{
	size_t at = strlen(text);

	snprintf(text + at, size - at, "%srank %d (%.40s:%d)",
		 at > 0 ? ", " : "", rank, ranks_node(&w->ranks, rank),
		 w->ranks.layout.ranks[rank].gpu);
}

/** Who is to blame?  Nobody, where all say the same: it is no rank's fault. */
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

/** The first answer that tells most: not an echo, then any. */
static const struct collective_result *telling(const struct collective_work *w)
{
	const struct collective_result *best = NULL;

	for (int i = 0; i < w->n_members; i++) {
		const struct collective_result *r = &w->members[i].r;

		if (w->members[i].absent || !failed(r)) {
			continue;
		}
		if (best == NULL || (best->echo && !r->echo) ||
		    (best->echo && strcmp(best->code, "cancelled") == 0)) {
			best = r;
		}
	}
	return best;
}

static void describe_failure(struct collective_work *w, struct round_end *end)
{
	const struct collective_result *r = telling(w);
	char who[200] = "";
	bool absent = false;

	for (int i = 0; i < w->n_members; i++) {
		const struct member *m = &w->members[i];

		if (m->culprit) {
			add_rank(w, m->rank, who, sizeof(who));
			absent = absent || m->absent ||
				 m->r.outcome == OUTCOME_TIMEOUT;
		}
	}
	end->outcome = r != NULL ? r->outcome : OUTCOME_TIMEOUT;
	STR_COPY(end->code, absent	? "rank_absent" :
			    r != NULL	? r->code :
					  "worker_hung");
	if (end->n_culprits > 0) {
		snprintf(end->detail, sizeof(end->detail), "%s %s%s%.180s",
			 absent ? "did not arrive:" : "failed:", who,
			 r != NULL ? ": " : "", r != NULL ? r->detail : "");
	} else {
		snprintf(end->detail, sizeof(end->detail),
			 "not caused by a single rank, all %d arrived: %.250s",
			 w->n_members, r != NULL ? r->detail : "");
	}
}

/** Out with those who are to blame; the rest goes on without them. */
static void drop_culprits(struct collective_work *w)
{
	for (int i = 0; i < w->n_members; i++) {
		const struct member *m = &w->members[i];

		if (m->culprit) {
			ranks_out(&w->ranks, m->rank, RANK_RETIRED,
				  m->absent ? "rank_absent" : m->r.code,
				  m->absent ? "no report in time"
					    : m->r.detail);
			ranks_word(&w->ranks, m->rank, MSG_KILL, -1);
		}
	}
}

void round_blame(struct collective_work *w, struct round_end *end)
{
	end->n_culprits = name_culprits(w);
	describe_failure(w, end);
	drop_culprits(w);
	run_log_event(w->c->log, NULL, -1, "group_failed", "%s", end->detail);
}
