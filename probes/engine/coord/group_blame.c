/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is to blame for a round that failed: who died, who said so, who did not
 * answer; those who only waited in vain are not.
 */
#include "probes/engine/coord/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

static bool failed(const struct coll_result *r)
{
	return r->outcome != OUTCOME_OK;
}

static void add_rank(struct coord *c, int rank, char *text, size_t size)
{
	size_t at = strlen(text);

	snprintf(text + at, size - at, "%srank %d (%.40s:%d)",
		 at > 0 ? ", " : "", rank, coord_node(c, rank),
		 c->layout.ranks[rank].gpu);
}

/** Who is to blame?  Nobody, where all say the same: it is no rank's fault. */
static int name_culprits(struct coord *c, bool *culprit)
{
	struct group *g = c->group;
	int n = 0, expected = g->what == COLL_TICKET ? 1 : g->n_members;

	for (int i = 0; i < expected; i++) {
		const struct member *m = &g->members[i];

		culprit[i] = m->absent || (failed(&m->r) && !m->r.echo);
		n += culprit[i];
	}
	if (n == expected && expected > 1) {
		memset(culprit, 0, (size_t)g->n_members * sizeof(*culprit));
		n = 0;
	}
	return n;
}

/** The first answer that tells most: not an echo, then any. */
static const struct coll_result *telling(const struct group *g)
{
	const struct coll_result *best = NULL;

	for (int i = 0; i < g->n_members; i++) {
		const struct coll_result *r = &g->members[i].r;

		if (g->members[i].absent || !failed(r)) {
			continue;
		}
		if (best == NULL || (best->echo && !r->echo) ||
		    (best->echo && strcmp(best->code, "cancelled") == 0)) {
			best = r;
		}
	}
	return best;
}

static void describe_failure(struct coord *c, struct group_end *end,
			     const bool *culprit)
{
	struct group *g = c->group;
	const struct coll_result *r = telling(g);
	char who[200] = "";
	bool absent = false;

	for (int i = 0; i < g->n_members; i++) {
		if (culprit[i]) {
			add_rank(c, g->members[i].rank, who, sizeof(who));
			absent = absent || g->members[i].absent ||
				 g->members[i].r.outcome == OUTCOME_TIMEOUT;
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
			 "no single rank is to blame, all %d arrived: %.250s",
			 g->n_members, r != NULL ? r->detail : "");
	}
}

/** Out with those who are to blame; the rest goes on without them. */
static void drop_culprits(struct coord *c, const struct group_end *end,
			  const bool *culprit)
{
	struct group *g = c->group;

	for (int i = 0; i < g->n_members; i++) {
		int rank = g->members[i].rank;
		const struct coll_result *r = &g->members[i].r;

		if (!culprit[i]) {
			continue;
		}
		coord_rank_out(c, rank, RANK_RETIRED,
				g->members[i].absent ? "rank_absent" : r->code,
				g->members[i].absent ? "no answer in time" :
						       r->detail);
		coord_send(c, rank, json_pack("{s:s,s:i}", "t", "kill", "rank",
					      rank));
	}
	coord_event(c, NULL, -1, "group_failed", "%s", end->detail);
}

void group_blame(struct coord *c, struct group_end *end)
{
	bool *culprit = calloc((size_t)c->group->n_members + 1,
			       sizeof(*culprit));

	if (culprit != NULL) {
		end->n_culprits = name_culprits(c, culprit);
		describe_failure(c, end, culprit);
		drop_culprits(c, end, culprit);
	}
	free(culprit);
}
