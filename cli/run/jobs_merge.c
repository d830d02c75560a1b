/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Merge the parts of a run of many jobs into one.  A merge of older files never
 * overwrites a newer result.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run/jobs.h"
#include "lib/base/clock.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"

/* ---- jobs facts ---------------------------------------------------------- */

/* Facts and events of all parts, as those of one run; its tables. */

#define MAX_GROWTH 10000
#define OUT_OF_USE "slurm_out_of_use"	/* a state, and an event */

static int merge_row(void *arg, const void *data, struct err *e);

/** Adds the growth of a counter in one part to that in the other parts. */
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

/** Return true if a pair of node @w has no row. */
static bool lacks_pairs(const struct merge *m, const struct jobs_whole_node *w)
{
	for (int i = 0; i < w->gpus; i++) {
		for (int other = 0; other < m->n_ranks; other++) {
			const int rank = w->first_rank + i;
			const size_t n = (size_t)m->n_ranks;

			if (rank != other &&
			    (!m->cells[(size_t)rank * n +
				       (size_t)other].owner ||
			     !m->cells[(size_t)other * n +
				       (size_t)rank].owner)) {
				return true;
			}
		}
	}
	return false;
}

/** Returns true if pairs of @w are not measured because Slurm has the node out
 *  of use. */
static bool is_lost(const struct merge *m, const struct jobs_whole_node *w)
{
	return m->ended && w->down && (!w->json || lacks_pairs(m, w));
}

static void add_node_fact(struct merge *m, const char *node, const char *name,
			  const char *value)
{
	struct fact_row fact;

	record_init(&schema_facts, &fact);
	STR_COPY(fact.node, node);
	STR_COPY(fact.scope, "node");
	STR_COPY(fact.fact, name);
	STR_COPY(fact.value, value);
	STR_COPY(fact.source, "sinfo");
	record_add_csv(&schema_facts, &fact, &m->lines);
}

/** Why pairs of @w are missing, as Slurm says. */
static void add_down(struct merge *m, const struct jobs_whole_node *w)
{
	const char *why = !w->down->why[0] && strchr(w->down->state, '*') ?
				  "it does not answer" : w->down->why;
	struct event_row event;
	char says[200];

	snprintf(says, sizeof(says), "Slurm has it as %s%s%s", w->down->state,
		 why[0] ? ": " : "", why);
	if (m->schema == &schema_facts) {
		add_node_fact(m, w->name, "state", OUT_OF_USE);
		add_node_fact(m, w->name, "state_detail", says);
	} else if (m->schema == &schema_events) {
		record_init(&schema_events, &event);
		clock_utc(event.utc);
		event.seq = m->seq++;
		STR_COPY(event.node, w->name);
		STR_COPY(event.event, OUT_OF_USE);
		STR_COPY(event.detail, says);
		record_add_csv(&schema_events, &event, &m->lines);
	}
}

/* All of m->schema to @f, by the rows of all tries; 0, or -1 with errno. */
static int merge_table(void *arg, FILE *f)
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
	for (size_t i = 0; i < m->n_nodes; i++) {
		if (is_lost(m, &m->nodes[i])) {
			add_down(m, &m->nodes[i]);
		}
	}
	rc = merge_flush(m, true, &e) < 0 ? -1 : rc;
	str_release(&m->lines);
	errno = rc < 0 && e.code ? e.code : errno;
	return rc;
}

/* ---- jobs whole ---------------------------------------------------------- */

/* run.json of a run of many jobs: its nodes, what was planned, how it ended. */

static json_t *nodes_json(const struct merge *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->n_nodes; i++) {
		const struct jobs_whole_node *w = &m->nodes[i];

		json_array_append_new(list, w->json ? json_copy(w->json) :
			json_pack("{s:s, s:i}", "name", w->name, "gpus",
				  w->gpus));
	}
	return list;
}

/** The NIC of GPU @g, as readers of run.json have it. */
static int nic_of(const struct jobs_whole_node *w, int g)
{
	const struct run_entry n = run_entry_of(w->json);
	const json_t *of = json_array_get(n.nic_used ? n.nic_used : n.nic_of,
					  (size_t)g);

	return json_is_integer(of)	  ? (int)json_integer_value(of) :
	       n.nics > 0 && w->gpus > 0 ? g * n.nics / w->gpus : g;
}

/** Ordered cells between two nodes, or inside one. */
static int64_t cells_between(const struct jobs_whole_node *a,
			     const struct jobs_whole_node *b, bool rail)
{
	int64_t n = 0;

	for (int i = 0; i < a->gpus; i++) {
		for (int k = 0; k < b->gpus; k++) {
			n += a == b ? i != k :
			     !rail || nic_of(a, i) == nic_of(b, k);
		}
	}
	return n;
}

static json_t *planned_json(const struct merge *m)
{
	const char *kind = run_file(m->j->left.run).jobs.kind;
	const struct run_file first = run_file(m->tries[0].run);
	const bool apart = first.planned.rails_apart;
	const bool rail = strcmp(kind, "rail") == 0 || apart;
	int64_t cells = 0;

	for (size_t i = 0; i < m->n_nodes; i++) {
		for (size_t k = 0; k < m->n_nodes; k++) {
			cells += i == k && strcmp(kind, "all") != 0 ?
				 0 : cells_between(&m->nodes[i], &m->nodes[k],
						   rail);
		}
	}
	return json_pack("{s:s, s:b, s:o*, s:I, s:i}", "kind", kind,
			 "rails_apart", apart, "rails_by",
			 first.planned.rails_by[0] ?
			 json_text(first.planned.rails_by) : NULL,
			 "cells", (json_int_t)cells, "passes", 1);
}

/** Says why pairs are missing if the reason is nodes that are out of use; else
 *  "". */
static void say_why(const struct merge *m, struct str *out)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_nodes; i++) {
		const struct jobs_whole_node *w = &m->nodes[i];

		if (is_lost(m, w) && ++n <= JOBS_NAMED) {
			str_add(out, n == 1 ? "Slurm has out of use: " : ", ");
			str_add(out, w->name);
		}
	}
	if (n > JOBS_NAMED) {
		str_addf(out, " and %zu more", n - JOBS_NAMED);
	}
}

/* Write run.json, on top of @now, as it is.  0, or -1 with @e. */
static int merge_run(const struct merge *m, const json_t *now, struct err *e)
{
	static const char *const of_first[] = {
		"transport", "schedule", "sizes", "size_B", "settings",
		"environment", "shared_cores", "strict", "slow_percent",
		"libraries",
	};
	json_t *run = json_deep_copy(now);
	struct str why = STR_INIT;
	char utc[CLOCK_UTC_SIZE];
	int rc = -1;

	for (size_t i = 0; m->n_tries > 0 &&
			   i < sizeof(of_first) / sizeof(*of_first); i++) {
		json_t *value = json_object_get(m->tries[0].run, of_first[i]);

		if (value) {
			json_object_set(run, of_first[i], value);
		}
	}
	if (m->n_tries > 0) {
		json_object_set_new(run, "nodes", nodes_json(m));
		json_object_set_new(run, "planned", planned_json(m));
	}
	if (m->ended) {
		/* once more of what has ended: when that was, it has */
		if (!run_file(run).ended_utc[0]) {
			json_object_set_new(run, "ended_utc",
					    json_string(clock_utc(utc)));
		}
		say_why(m, &why);
		json_object_set_new(run, "stop_reason",
				    json_string(str_text(&why)));
	} else {
		json_object_del(run, "ended_utc");
	}
	if (run) {
		rc = rundir_write_json(m->j->left.dir, RUN_JSON, run, e);
	} else {
		err_set(e, ENOMEM, "no memory for run.json");
	}
	str_release(&why);
	json_decref(run);
	return rc;
}

/* ---- jobs rows ----------------------------------------------------------- */

/*
 * Chooses the rows of the parts that the whole run gets.  Several jobs measure
 * the pairs inside a node, and a lost part is measured again.  For each cell:
 *
 * 1. the last try that measured it and ended in order;
 * 2. bad rows of other tries that ended in order: they become earlier attempts,
 *    as in a single run, where a pair that fails and then passes is flaky.  A
 *    pass an hour later does not undo a failure, and a further pass adds
 *    nothing;
 * 3. without any of these, the last try that was cut short, whose failures may
 *    be due to that;
 * 4. else the last one that says why the cell was not measured.
 */

#define MOST_FAILURES 100	/* per cell; more do not help */
#define MOST_ATTEMPTS 10000	/* more than any run has */

static bool is_empty(const struct p2p_row *row)
{
	return row->outcome == OUTCOME_NOT_RUN ||
	       row->outcome == OUTCOME_SKIPPED;
}

static bool is_bad(const struct p2p_row *row)
{
	return !is_empty(row) && row->outcome != OUTCOME_OK;
}

/** Returns the cell of @row and its ranks in the whole run; NULL: it has no
 *  cell. */
static struct jobs_cell *cell_of(const struct merge *m,
				 const struct p2p_row *row, int *s, int *d)
{
	*s = merge_rank(m, row->src_node, row->src_rank);
	*d = merge_rank(m, row->dst_node, row->dst_rank);
	return *s < 0 || *d < 0 || row->outcome == OUTCOME_NOT_RUN ? NULL :
	       &m->cells[(size_t)*s * (size_t)m->n_ranks + (size_t)*d];
}

/* ---- owner of a cell ----------------------------------------------------- */

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

/* Which try each cell has its rows of.  0, or -1 with @e. */
static int merge_claim(struct merge *m, struct err *e)
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

/* Takes a row of results.csv of the current try into the whole run if its cell
 * uses it. */
static int merge_row(void *arg, const void *data, struct err *e)
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

/* ---- jobs merge ---------------------------------------------------------- */

/** Time to wait for another process that merges; after it, merge
 *  concurrently. */
#define WAIT_NS	    (20 * NS_PER_S)

/* ---- one at a time ------------------------------------------------------- */

/** Claims the right to merge the run in @dir.  Returns -1 without locks, or if
 *  another process holds it for long. */
static int take_turn(const char *dir, char parts[PATH_MAX])
{
	const int64_t deadline_ns = clock_now_ns() + WAIT_NS;
	char who[64];
	int claim = -1;

	if (rundir_path(dir, JOBS_PARTS, parts, NULL) < 0) {
		return -1;
	}
	while (rundir_claim(parts, &claim, who, sizeof(who)) < 0 &&
	       clock_now_ns() < deadline_ns) {
		clock_sleep(100 * NS_PER_MS);
	}
	return claim;
}

/** Returns true if other processes have continued since @j was read; @now is
 *  the present run.json.  Then they write newer results. */
static bool is_stale(const struct jobs *j, const json_t *now)
{
	char name[32], path[PATH_MAX];

	if (jobs_go_on(j)) {
		return run_file(now).ended_utc[0] != '\0';
	}
	for (size_t i = 0; i < j->n; i++) {
		jobs_try_name(i, j->list[i].tries + 1, name);
		if (rundir_path(j->left.dir, name, path, NULL) == 0 &&
		    access(path, F_OK) == 0) {
			return true;
		}
	}
	return false;
}

int jobs_reopen(const struct jobs *j, struct err *e)
{
	char parts[PATH_MAX];
	const int claim = take_turn(j->left.dir, parts);
	json_t *now = rundir_read_json(j->left.dir, RUN_JSON, e);
	int rc = now ? 0 : -1;

	if (json_object_del(now, "ended_utc") == 0) {
		rc = rundir_write_json(j->left.dir, RUN_JSON, now, e);
	}
	json_decref(now);
	rundir_unclaim(parts, claim);
	return rc;
}

static int merge(const struct jobs *j, bool ended, const json_t *now,
		 struct err *e)
{
	static const struct schema *const schemas[] = {
		&schema_p2p, &schema_facts, &schema_events
	};
	struct merge m = { .j = j, .ended = ended };
	int rc = merge_find(&m, e);

	rc = rc == 0 && m.n_tries > 0 ? merge_claim(&m, e) : rc;
	for (size_t i = 0; rc == 0 && m.n_tries > 0 &&
			   i < sizeof(schemas) / sizeof(*schemas); i++) {
		m.schema = schemas[i];
		rc = rundir_write_with(j->left.dir, schemas[i]->name, 0666,
				       merge_table, &m, e);
	}
	rc = rc == 0 ? merge_run(&m, now, e) : rc;
	for (size_t i = 0; i < m.n_tries; i++) {
		json_decref(m.tries[i].run);
	}
	free(m.tries);
	free(m.nodes);
	free(m.cells);
	free(m.growth);
	return rc;
}

int jobs_merge(const struct jobs *j, bool ends, struct err *e)
{
	char parts[PATH_MAX];
	const int claim = take_turn(j->left.dir, parts);
	json_t *now = rundir_read_json(j->left.dir, RUN_JSON, NULL);
	int rc = 0;

	if (!is_stale(j, now)) {
		rc = merge(j, ends && !jobs_go_on(j), now ? now : j->left.run,
			   e);
	}
	json_decref(now);
	rundir_unclaim(parts, claim);
	return rc;
}
