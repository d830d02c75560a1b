/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts and events of all parts, as those of one run; its tables. */
#include "cli/run/jobs_merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/data/rundir.h"

#define MAX_GROWTH 10000

/** What a counter grew by in one part is added to the others. */
static int add_growth(struct merge *m, const struct fact_row *row)
{
	struct fact_row *more;
	char *end;
	double sum;

	for (size_t i = 0; i < m->n_growth; i++) {
		struct fact_row *g = &m->growth[i];

		if (strcmp(g->node, row->node) == 0 &&
		    strcmp(g->scope, row->scope) == 0 &&
		    strcmp(g->fact, row->fact) == 0) {
			sum = strtod(g->value, &end);
			if (end != g->value) {
				snprintf(g->value, sizeof(g->value), "%.15g",
					 sum + strtod(row->value, NULL));
			}
			return 0;
		}
	}
	if (m->n_growth >= MAX_GROWTH) {
		return 0;
	}
	more = realloc(m->growth, (m->n_growth + 1) * sizeof(*more));
	if (!more) {
		return -1;
	}
	m->growth = more;
	more[m->n_growth++] = *row;
	return 0;
}

static int take_fact(void *arg, const void *data, struct err *e)
{
	struct merge *m = arg;
	const struct fact_row *row = data;
	const struct jobs_whole_node *w = merge_node(m, row->node);

	if (str_ends(row->fact, "_growth")) {
		return add_growth(m, row) < 0 ?
			       err_set(e, ENOMEM, "no memory for facts") :
			       RUNDIR_KEEP;
	}
	if (w ? w->try == m->at + 1 : m->at + 1 == m->n_tries) {
		record_add_csv(&schema_facts, row, &m->lines);
	}
	return merge_flush(m, false, e) < 0 ? -1 : RUNDIR_KEEP;
}

static int take_event(void *arg, const void *data, struct err *e)
{
	struct merge *m = arg;
	struct event_row row = *(const struct event_row *)data;

	if (row.rank != RECORD_NONE) {
		row.rank = row.node[0] ? merge_rank(m, row.node, row.rank) : -1;
		row.rank = row.rank < 0 ? RECORD_NONE : row.rank;
	}
	row.seq = m->seq++;
	record_add_csv(&schema_events, &row, &m->lines);
	return merge_flush(m, false, e) < 0 ? -1 : RUNDIR_KEEP;
}

/** No job of it began, and Slurm says why. */
static void add_down(struct merge *m, const struct jobs_whole_node *w)
{
	struct fact_row fact;
	struct event_row event;

	if (m->schema == &schema_facts) {
		record_init(&schema_facts, &fact);
		STR_COPY(fact.node, w->name);
		STR_COPY(fact.scope, "node");
		STR_COPY(fact.fact, "state");
		STR_COPY(fact.value, "agent_missing");
		STR_COPY(fact.source, "sinfo");
		record_add_csv(&schema_facts, &fact, &m->lines);
	} else if (m->schema == &schema_events) {
		record_init(&schema_events, &event);
		clock_utc(event.utc);
		event.seq = m->seq++;
		STR_COPY(event.node, w->name);
		STR_COPY(event.event, "agent_missing");
		STR_COPY(event.detail, "Slurm has it as out of use: none of "
			 "its jobs began");
		record_add_csv(&schema_events, &event, &m->lines);
	}
}

int merge_table(void *arg, FILE *f)
{
	struct merge *m = arg;
	int (*const take)(void *arg, const void *row, struct err *e) =
		m->schema == &schema_p2p   ? merge_row :
		m->schema == &schema_facts ? take_fact : take_event;
	struct err e = { 0 };
	int rc = 0;

	m->out = f;
	m->seq = 1;
	record_add_header(m->schema, &m->lines);
	for (size_t t = 0; rc == 0 && t < m->n_tries; t++) {
		rc = merge_walk(m, t, m->schema, take, &e);
	}
	for (size_t i = 0; i < m->n_growth && m->schema == &schema_facts;
	     i++) {
		record_add_csv(&schema_facts, &m->growth[i], &m->lines);
	}
	for (size_t i = 0; i < m->n_nodes && m->ended; i++) {
		if (m->nodes[i].out_of_use && !m->nodes[i].json) {
			add_down(m, &m->nodes[i]);
		}
	}
	rc = merge_flush(m, true, &e) < 0 ? -1 : rc;
	str_release(&m->lines);
	errno = rc < 0 && e.code ? e.code : errno;
	return rc;
}
