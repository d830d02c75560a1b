/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a run become one: rows, facts and events with the nodes and
 * ranks of the whole. */
#include "cli/run/jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/clock.h"
#include "lib/data/hostlist.h"
#include "lib/data/json.h"
#include "lib/data/record.h"
#include "lib/data/rundir.h"

#define WRITE_BYTES  65536
#define MAX_GROWTH   10000
#define MAX_TRIES    60000
#define MOST_NAMED   8

/** A run of a part that came as far as a plan. */
struct try {
	char dir[PATH_MAX];
	json_t *run;
	int no;
	int64_t ended_ns;	/* when run.json was last written */
};

/** A node of the whole. */
struct whole_node {
	const char *name;	/* of run.json, borrowed */
	json_t *json;		/* as its last try has it; NULL: never seen */
	size_t try;		/* that one, + 1 */
	int first_rank, gpus;
	bool out_of_use;	/* as Slurm has it */
};

struct merge {
	const struct jobs *j;
	struct try *tries;
	size_t n_tries;
	struct whole_node *nodes;
	size_t n_nodes;
	int n_ranks;
	uint16_t *owner;	/* of a cell: the try that measured it, + 1 */
	struct fact_row *growth;	/* counters, over all tries */
	size_t n_growth;
	int64_t seq;
	/* the try that is read, and where its rows go */
	size_t at;
	bool claim, skipped;
	FILE *out;
	struct str lines;
	const struct schema *schema;
};

/* ---- who has been seen --------------------------------------------------- */

static int by_end(const void *a, const void *b)
{
	const struct try *x = a, *y = b;

	return (x->ended_ns > y->ended_ns) - (x->ended_ns < y->ended_ns);
}

static int find_tries(struct merge *m, struct err *e)
{
	for (size_t i = 0; i < m->j->n; i++) {
		for (int t = 1; t <= m->j->list[i].tries; t++) {
			struct try try = { .no = t }, *more;
			char name[32], path[PATH_MAX + 32];
			struct stat st;

			jobs_try_name(i, t, name);
			if (rundir_path(m->j->left.dir, name, try.dir,
					NULL) < 0 ||
			    m->n_tries >= MAX_TRIES) {
				continue;
			}
			try.run = rundir_read_json(try.dir, RUN_JSON, NULL);
			if (!json_object_get(try.run, "planned")) {
				json_decref(try.run);
				continue;
			}
			snprintf(path, sizeof(path), "%s/" RUN_JSON, try.dir);
			try.ended_ns = stat(path, &st) < 0 ? 0 :
				st.st_mtim.tv_sec * NS_PER_S +
					st.st_mtim.tv_nsec;
			more = realloc(m->tries, (m->n_tries + 1) *
						 sizeof(*more));
			if (!more) {
				json_decref(try.run);
				return err_set(e, ENOMEM, "no memory for a "
					       "part");
			}
			m->tries = more;
			m->tries[m->n_tries++] = try;
		}
	}
	if (m->n_tries > 0) {
		qsort(m->tries, m->n_tries, sizeof(*m->tries), by_end);
	}
	return 0;
}

static struct whole_node *find_node(const struct merge *m, const char *name)
{
	for (size_t i = 0; i < m->n_nodes; i++) {
		if (strcmp(m->nodes[i].name, name) == 0) {
			return &m->nodes[i];
		}
	}
	return NULL;
}

static int gpus_of(const json_t *node)
{
	int64_t gpus = 0;

	json_opt_int(node, "gpus", 0, SPEC_MAX_GPUS, &gpus, NULL);
	return (int)gpus;
}

/** Nodes as the last of their tries has them; one that was never seen has as
 *  many GPUs as any other. */
static int find_nodes(struct merge *m, struct err *e)
{
	const json_t *jobs = json_object_get(m->j->left.run, "jobs");
	const json_t *names = json_object_get(jobs, "nodes"), *name;
	struct whole_node *w;
	json_t *node;
	int most = 0;
	size_t i;

	m->nodes = calloc(json_array_size(names) + 1, sizeof(*m->nodes));
	if (!m->nodes) {
		return err_set(e, ENOMEM, "no memory for the nodes");
	}
	json_array_foreach(names, i, name) {
		if (json_is_string(name) && m->n_nodes < SPEC_MAX_NODES) {
			m->nodes[m->n_nodes++].name = json_string_value(name);
		}
	}
	for (size_t t = 0; t < m->n_tries; t++) {
		const json_t *list = json_object_get(m->tries[t].run, "nodes");

		json_array_foreach(list, i, node) {
			w = find_node(m, json_member(node, "name"));
			if (w && gpus_of(node) > 0) {
				w->json = node;
				w->gpus = gpus_of(node);
				w->try = t + 1;
				most = w->gpus > most ? w->gpus : most;
			}
		}
	}
	for (i = 0; i < m->n_nodes; i++) {
		w = &m->nodes[i];
		w->gpus = w->gpus ? w->gpus : most;
		w->first_rank = m->n_ranks;
		m->n_ranks += w->gpus;
		for (size_t k = 0; k < m->j->nodes.n; k++) {
			const struct slurm_lane_node *n = &m->j->nodes.list[k];

			w->out_of_use |= strcmp(n->name, w->name) == 0 &&
					 slurm_lane_is_down(n->state);
		}
	}
	return m->n_ranks <= SPEC_MAX_SQUARE ? 0 :
	       err_set(e, 0, "all pairs of %d ranks are too many", m->n_ranks);
}

/* ---- rows ---------------------------------------------------------------- */

/** The rank of the whole that is @rank of @node of the try at hand; -1: no
 *  such. */
static int whole_rank(const struct merge *m, const char *node, int64_t rank)
{
	const json_t *list = json_object_get(m->tries[m->at].run, "nodes");
	const struct whole_node *w = find_node(m, node);
	int first = 0;
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one) {
		if (strcmp(json_member(one, "name"), node) == 0) {
			return w && rank >= first && rank - first < w->gpus ?
				       w->first_rank + (int)(rank - first) : -1;
		}
		first += gpus_of(one);
	}
	return -1;
}

static int flush(struct merge *m, bool all, struct err *e)
{
	int rc = 0;

	if (m->lines.len > (all ? 0 : WRITE_BYTES)) {
		rc = m->lines.failed ? err_set(e, ENOMEM, "no memory") :
		     fwrite(str_text(&m->lines), 1, m->lines.len, m->out) ==
				     m->lines.len ?
			     0 : err_set(e, errno, "cannot write '%s'",
					 m->schema->name);
		str_reset(&m->lines);
	}
	return rc;
}

static int take_row(void *arg, const void *data, struct err *e)
{
	struct merge *m = arg;
	struct p2p_row row = *(const struct p2p_row *)data;
	const bool empty = row.outcome == OUTCOME_NOT_RUN ||
			   row.outcome == OUTCOME_SKIPPED;
	uint16_t *owner;
	int s = whole_rank(m, row.src_node, row.src_rank);
	int d = whole_rank(m, row.dst_node, row.dst_rank);

	if (s < 0 || d < 0 || row.outcome == OUTCOME_NOT_RUN) {
		return RUNDIR_KEEP;
	}
	owner = &m->owner[(size_t)s * (size_t)m->n_ranks + (size_t)d];
	if (m->claim) {
		if (!*owner && empty == m->skipped) {
			*owner = (uint16_t)(m->at + 1);
		}
	} else if (*owner == m->at + 1) {
		row.src_rank = s;
		row.dst_rank = d;
		record_add_csv(&schema_p2p, &row, &m->lines);
		return flush(m, false, e) < 0 ? -1 : RUNDIR_KEEP;
	}
	return RUNDIR_KEEP;
}

/** Each row of @schema of try @at to @take. */
static int walk(struct merge *m, size_t at, const struct schema *schema,
		int (*take)(void *arg, const void *row, struct err *e),
		struct err *e)
{
	m->at = at;
	return rundir_table_walk(m->tries[at].dir, schema, false, take, m,
				 NULL, e);
}

/** Each cell is of the last try that has measured it; else of the last that
 *  says why it did not. */
static int claim_cells(struct merge *m, struct err *e)
{
	const size_t n = (size_t)m->n_ranks * (size_t)m->n_ranks;
	int rc = 0;

	m->owner = calloc(n + 1, sizeof(*m->owner));
	if (!m->owner) {
		return err_set(e, ENOMEM, "no memory for %d ranks", m->n_ranks);
	}
	m->claim = true;
	for (int pass = 0; pass < 2; pass++) {
		m->skipped = pass;
		for (size_t t = m->n_tries; rc == 0 && t-- > 0;) {
			rc = walk(m, t, &schema_p2p, take_row, e);
		}
	}
	m->claim = false;
	return rc;
}

/* ---- facts and events ---------------------------------------------------- */

static bool is_growth(const char *fact)
{
	const size_t n = strlen(fact), end = strlen("_growth");

	return n > end && strcmp(fact + n - end, "_growth") == 0;
}

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
	const struct whole_node *w = find_node(m, row->node);

	if (is_growth(row->fact)) {
		return add_growth(m, row) < 0 ?
			       err_set(e, ENOMEM, "no memory for facts") :
			       RUNDIR_KEEP;
	}
	if (w ? w->try == m->at + 1 : m->at + 1 == m->n_tries) {
		record_add_csv(&schema_facts, row, &m->lines);
	}
	return flush(m, false, e) < 0 ? -1 : RUNDIR_KEEP;
}

static int take_event(void *arg, const void *data, struct err *e)
{
	struct merge *m = arg;
	struct event_row row = *(const struct event_row *)data;

	if (row.rank != RECORD_NONE) {
		row.rank = row.node[0] ? whole_rank(m, row.node, row.rank) : -1;
		row.rank = row.rank < 0 ? RECORD_NONE : row.rank;
	}
	row.seq = m->seq++;
	record_add_csv(&schema_events, &row, &m->lines);
	return flush(m, false, e) < 0 ? -1 : RUNDIR_KEEP;
}

/** No job of it began, and Slurm says why. */
static void add_down(struct merge *m, const struct whole_node *w)
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

/** A file of the whole, by the rows of all tries; 0, or -1 with errno. */
static int write_table(void *arg, FILE *f)
{
	struct merge *m = arg;
	int (*const take)(void *arg, const void *row, struct err *e) =
		m->schema == &schema_p2p   ? take_row :
		m->schema == &schema_facts ? take_fact : take_event;
	struct err e = { 0 };
	int rc = 0;

	m->out = f;
	m->seq = 1;
	record_add_header(m->schema, &m->lines);
	for (size_t t = 0; rc == 0 && t < m->n_tries; t++) {
		rc = walk(m, t, m->schema, take, &e);
	}
	for (size_t i = 0; i < m->n_growth && m->schema == &schema_facts;
	     i++) {
		record_add_csv(&schema_facts, &m->growth[i], &m->lines);
	}
	for (size_t i = 0; i < m->n_nodes && !jobs_go_on(m->j); i++) {
		if (m->nodes[i].out_of_use && !m->nodes[i].json) {
			add_down(m, &m->nodes[i]);
		}
	}
	rc = flush(m, true, &e) < 0 ? -1 : rc;
	str_release(&m->lines);
	errno = rc < 0 && e.code ? e.code : errno;
	return rc;
}

/* ---- run.json ------------------------------------------------------------ */

static json_t *nodes_json(const struct merge *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->n_nodes; i++) {
		const struct whole_node *w = &m->nodes[i];

		json_array_append_new(list, w->json ? json_copy(w->json) :
			json_pack("{s:s, s:i}", "name", w->name, "gpus",
				  w->gpus));
	}
	return list;
}

/** The NIC of GPU @g, as readers of run.json have it. */
static int nic_of(const struct whole_node *w, int g)
{
	const json_t *used = json_object_get(w->json, "nic_used");
	const json_t *of = json_array_get(
		used ? used : json_object_get(w->json, "nic_of"), (size_t)g);
	int64_t nics = 0;

	json_opt_int(w->json, "nics", 0, SPEC_MAX_GPUS, &nics, NULL);
	return json_is_integer(of)	     ? (int)json_integer_value(of) :
	       nics > 0 && w->gpus > 0 ? (int)(g * nics / w->gpus) : g;
}

/** Ordered cells between two nodes, or inside one. */
static int64_t cells_between(const struct whole_node *a,
			     const struct whole_node *b, bool rail)
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
	const char *kind = json_member(json_object_get(m->j->left.run, "jobs"),
				       "kind");
	const json_t *first = json_object_get(m->tries[0].run, "planned");
	const json_t *apart = json_object_get(first, "rails_apart");
	const bool rail = strcmp(kind, "rail") == 0 || json_is_true(apart);
	int64_t cells = 0;

	for (size_t i = 0; i < m->n_nodes; i++) {
		for (size_t k = 0; k < m->n_nodes; k++) {
			cells += i == k && strcmp(kind, "all") != 0 ?
				 0 : cells_between(&m->nodes[i], &m->nodes[k],
						   rail);
		}
	}
	return json_pack("{s:s, s:b, s:o*, s:I, s:i}", "kind", kind,
			 "rails_apart", json_is_true(apart), "rails_by",
			 json_copy(json_object_get(first, "rails_by")), "cells",
			 (json_int_t)cells, "passes", 1);
}

/** Has a pair of node @w no row? */
static bool lacks_pairs(const struct merge *m, const struct whole_node *w)
{
	for (int i = 0; i < w->gpus; i++) {
		for (int other = 0; other < m->n_ranks; other++) {
			const int rank = w->first_rank + i;
			const size_t n = (size_t)m->n_ranks;

			if (rank != other &&
			    (!m->owner[(size_t)rank * n + (size_t)other] ||
			     !m->owner[(size_t)other * n + (size_t)rank])) {
				return true;
			}
		}
	}
	return false;
}

/** Why there are pairs without a row, where that is because of nodes that were
 *  seen and then went out of use; "" else. */
static void say_why(const struct merge *m, struct str *out)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_nodes; i++) {
		const struct whole_node *w = &m->nodes[i];

		if (w->json && w->out_of_use && lacks_pairs(m, w) &&
		    ++n <= MOST_NAMED) {
			str_add(out, n == 1 ? "Slurm has out of use: " : ", ");
			str_add(out, w->name);
		}
	}
	if (n > MOST_NAMED) {
		str_addf(out, " and %zu more", n - MOST_NAMED);
	}
}

static int write_run(const struct merge *m, struct err *e)
{
	static const char *const of_first[] = {
		"transport", "schedule", "sizes", "size_B", "settings",
		"environment", "shared_cores", "strict", "slow_percent",
		"libraries",
	};
	json_t *run = json_deep_copy(m->j->left.run);
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
	if (!jobs_go_on(m->j)) {
		json_object_set_new(run, "ended_utc",
				    json_string(clock_utc(utc)));
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

static void release(struct merge *m)
{
	for (size_t i = 0; i < m->n_tries; i++) {
		json_decref(m->tries[i].run);
	}
	free(m->tries);
	free(m->nodes);
	free(m->owner);
	free(m->growth);
}

int jobs_merge(const struct jobs *j, struct err *e)
{
	static const struct schema *const schemas[] = {
		&schema_p2p, &schema_facts, &schema_events
	};
	struct merge m = { .j = j };
	int rc = find_tries(&m, e) < 0 || find_nodes(&m, e) < 0 ? -1 : 0;

	rc = rc == 0 && m.n_tries > 0 ? claim_cells(&m, e) : rc;
	for (size_t i = 0; rc == 0 && m.n_tries > 0 &&
			   i < sizeof(schemas) / sizeof(*schemas); i++) {
		m.schema = schemas[i];
		rc = rundir_write_with(j->left.dir, schemas[i]->name, 0666,
				       write_table, &m, e);
	}
	rc = rc == 0 ? write_run(&m, e) : rc;
	release(&m);
	return rc;
}
