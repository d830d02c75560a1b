/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which rows of the parts the whole has.  Several jobs measure what is inside
 * of a node, and a part that was lost is measured again.  Of a cell counts:
 *
 * 1. the last try that measured it and came to its end;
 * 2. what was bad in others that came to their end: these rows are attempts
 *    before, so that the verdict has them as it has those of one run, where a
 *    pair that fails and then passes is flaky.  A pass of another hour does not
 *    undo a failure, and adds nothing to the one that is there;
 * 3. where there is none, the last of those that were cut short, whose failures
 *    may be those of the cut;
 * 4. else the last that says why it was not measured.
 */
#include "cli/run/jobs_merge.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/data/rundir.h"

#define MOST_FAILURES 100	/* of a cell: more tell nothing more */
#define MOST_ATTEMPTS 10000	/* no run has so many */

static bool is_empty(const struct p2p_row *row)
{
	return row->outcome == OUTCOME_NOT_RUN ||
	       row->outcome == OUTCOME_SKIPPED;
}

static bool is_bad(const struct p2p_row *row)
{
	return !is_empty(row) && row->outcome != OUTCOME_OK;
}

/** The cell of @row, and its ranks of the whole; NULL: it has none. */
static struct jobs_cell *cell_of(const struct merge *m,
				 const struct p2p_row *row, int *s, int *d)
{
	*s = merge_rank(m, row->src_node, row->src_rank);
	*d = merge_rank(m, row->dst_node, row->dst_rank);
	return *s < 0 || *d < 0 || row->outcome == OUTCOME_NOT_RUN ? NULL :
	       &m->cells[(size_t)*s * (size_t)m->n_ranks + (size_t)*d];
}

/* ---- whose a cell is ----------------------------------------------------- */

static int claim_measured(void *arg, const void *data, struct err *e)
{
	struct merge *m = arg;
	const struct p2p_row *row = data;
	const uint16_t self = (uint16_t)(m->at + 1);
	struct jobs_cell *c;
	int s, d;

	(void)e;
	c = cell_of(m, row, &s, &d);
	if (!c || is_empty(row)) {
		return RUNDIR_KEEP;
	}
	if (!c->owner) {
		c->owner = self;
	} else if (c->owner != self && m->tries[m->at].orderly && is_bad(row) &&
		   c->failures < MOST_FAILURES) {
		c->failures++;
	}
	return RUNDIR_KEEP;
}

static int claim_empty(void *arg, const void *data, struct err *e)
{
	struct merge *m = arg;
	const struct p2p_row *row = data;
	struct jobs_cell *c;
	int s, d;

	(void)e;
	c = cell_of(m, row, &s, &d);
	if (c && !c->owner && is_empty(row)) {
		c->owner = (uint16_t)(m->at + 1);
	}
	return RUNDIR_KEEP;
}

/** The tries that are @orderly, the last first. */
static int claim(struct merge *m, bool orderly,
		 int (*take)(void *arg, const void *row, struct err *e),
		 struct err *e)
{
	int rc = 0;

	for (size_t t = m->n_tries; rc == 0 && t-- > 0;) {
		if (m->tries[t].orderly == orderly) {
			rc = merge_walk(m, t, &schema_p2p, take, e);
		}
	}
	return rc;
}

int merge_claim(struct merge *m, struct err *e)
{
	const size_t n = (size_t)m->n_ranks * (size_t)m->n_ranks;
	int rc;

	m->cells = calloc(n + 1, sizeof(*m->cells));
	if (!m->cells) {
		return err_set(e, ENOMEM, "no memory for %d ranks", m->n_ranks);
	}
	rc = claim(m, true, claim_measured, e);
	rc = rc < 0 ? rc : claim(m, false, claim_measured, e);
	rc = rc < 0 ? rc : claim(m, true, claim_empty, e);
	return rc < 0 ? rc : claim(m, false, claim_empty, e);
}

/* ---- its rows ------------------------------------------------------------ */

int merge_row(void *arg, const void *data, struct err *e)
{
	struct merge *m = arg;
	struct p2p_row row = *(const struct p2p_row *)data;
	struct jobs_cell *c;
	int s, d;

	c = cell_of(m, &row, &s, &d);
	if (!c) {
		return RUNDIR_KEEP;
	}
	if (c->owner == m->at + 1) {
		row.attempt = (row.attempt < 1 || row.attempt > MOST_ATTEMPTS ?
				       1 : row.attempt) + c->failures;
	} else if (m->tries[m->at].orderly && is_bad(&row) &&
		   c->written < c->failures) {
		row.attempt = ++c->written;
	} else {
		return RUNDIR_KEEP;
	}
	row.src_rank = s;
	row.dst_rank = d;
	record_add_csv(&schema_p2p, &row, &m->lines);
	return merge_flush(m, false, e) < 0 ? -1 : RUNDIR_KEEP;
}
