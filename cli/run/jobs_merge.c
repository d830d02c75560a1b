/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Merge the parts of a run of many jobs into one, as if a single job had
 * measured everything.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run/jobs.h"
#include "lib/base/clock.h"
#include "lib/base/grow.h"
#include "lib/data/hosts.h"
#include "lib/data/json.h"
#include "lib/data/record.h"
#include "lib/data/rundir.h"

#define WRITE_BYTES 65536
#define MAX_TRIES   60000
#define MAX_GROWTH  10000
/** Maximum number of rows that say why a test was not run. */
#define MAX_MISSING 100000
/** Length of the reason in run.json: readers take no more than 319 bytes. */
#define STOP_REASON_MAX 300

/** A run of a part that came as far as a plan. */
struct jobs_try {
	char dir[PATH_MAX];
	json_t *run;
	bool orderly;		/* ended in order, not cut short */
};

/** A node of the whole. */
struct jobs_whole_node {
	const char *name;	/* of run.json, borrowed */
	json_t *json;		/* as its last try has it; NULL: never seen */
	size_t try;		/* that one, + 1 */
	int first_rank, gpus;
	const struct slurm_node *down;	/* as Slurm has it, borrowed; NULL */
};

/** A test, an ordered pair of ranks. */
struct jobs_cell {
	uint16_t at;		/* number of the last try with a row, + 1 */
	uint16_t passed;	/* of the first that passed, + 1; 0: none */
	uint16_t before, last;	/* attempts of tries before that one, and with
				 * it */
	bool answered;		/* a try has measured it */
	bool said;		/* a row says that none has */
};

struct merge {
	struct jobs *j;
	struct jobs_try *tries;	/* in the order in which they ended */
	size_t n_tries;
	struct jobs_whole_node *nodes;
	size_t n_nodes;
	int n_ranks;
	struct jobs_cell *cells;	/* n_ranks x n_ranks */
	struct fact_row *growth;	/* counters, over all tries */
	size_t n_growth;
	int64_t seq;		/* of events */
	bool ended;		/* no job is left */
	struct str why;		/* why tests are missing; of run.json */
	size_t lost;		/* jobs without a result for all tests */
	char end[CLOCK_UTC_SIZE];	/* of the last try; "" */
	struct p2p_row like;	/* a row of the run */
	size_t n_missing;	/* rows that say why */
	/* the try that is being read, and the destination of its rows */
	size_t at;
	FILE *out;
	struct str lines;
	const struct schema *schema;
};

/* ---- tries, nodes and ranks ---------------------------------------------- */

/** Tries that have not ended come last. */
static int by_end(const void *a, const void *b)
{
	const struct jobs_try *x = a, *y = b;
	const char *ends = run_file(x->run).ended_utc;
	const char *other = run_file(y->run).ended_utc;

	const int order = !ends[0] || !other[0] ? !ends[0] - !other[0] :
						  strcmp(ends, other);

	return order ? order : strcmp(x->dir, y->dir);
}

static int add_try(struct merge *m, size_t i, int t, struct err *e)
{
	struct jobs_try try = { .run = NULL };
	char name[32];

	jobs_try_name(i, t, name);
	if (rundir_path(m->j->left.dir, name, try.dir, NULL) < 0 ||
	    m->n_tries >= MAX_TRIES) {
		return 0;
	}
	try.run = rundir_read_json(try.dir, RUN_JSON, NULL);
	if (!run_file(try.run).planned.given) {
		json_decref(try.run);
		return 0;
	}
	try.orderly = run_file(try.run).complete;
	if (!grow_add(&m->tries, &m->n_tries, &try, sizeof(try))) {
		json_decref(try.run);
		return err_set(e, ENOMEM, "no memory for a part");
	}
	return 0;
}

static int find_tries(struct merge *m, struct err *e)
{
	for (size_t i = 0; i < m->j->n; i++) {
		for (int t = 1; t <= m->j->list[i].tries; t++) {
			if (add_try(m, i, t, e) < 0) {
				return -1;
			}
		}
	}
	if (m->n_tries > 0) {
		qsort(m->tries, m->n_tries, sizeof(*m->tries), by_end);
	}
	return 0;
}

/** Finds the nodes in their last tries; a node that was never seen gets the
 *  number of GPUs of the others. */
static int find_nodes(struct merge *m, struct err *e)
{
	const json_t *names = run_file(m->j->left.run).jobs.nodes, *name;
	const struct slurm_lane_nodes *known = &m->j->nodes;
	struct jobs_whole_node *w;
	json_t *json;
	int most = 0;
	size_t i, at;

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
		const json_t *list = run_file(m->tries[t].run).nodes;

		json_array_foreach(list, i, json) {
			const struct run_entry node = run_entry(list, i);

			at = STR_FIND(m->nodes, m->n_nodes, name, node.name);
			if (at < m->n_nodes && node.gpus > 0) {
				w = &m->nodes[at];
				w->json = json;
				w->gpus = node.gpus;
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
		at = STR_FIND(known->list, known->n, name, w->name);
		w->down = at < known->n &&
				  slurm_lane_is_down(known->list[at].state) ?
				  &known->list[at] : NULL;
	}
	return m->n_ranks <= SPEC_MAX_SQUARE ? 0 :
	       err_set(e, 0, "all pairs of %d ranks are too many", m->n_ranks);
}

/** The rank of the whole that is @rank of @node of the try at hand; -1: no
 *  such. */
static int merge_rank(const struct merge *m, const char *node, int64_t rank)
{
	const json_t *list = run_file(m->tries[m->at].run).nodes;
	const size_t at = STR_FIND(m->nodes, m->n_nodes, name, node);
	const struct jobs_whole_node *w = at < m->n_nodes ? &m->nodes[at] :
							    NULL;
	int first = 0;

	for (size_t i = 0; i < json_array_size(list); i++) {
		const struct run_entry one = run_entry(list, i);

		if (strcmp(one.name, node) == 0) {
			return w && rank >= first && rank - first < w->gpus ?
				       w->first_rank + (int)(rank - first) : -1;
		}
		first += one.gpus;
	}
	return -1;
}

/** Write what m->lines has, or with @all false only when it is much. */
static int merge_flush(struct merge *m, bool all, struct err *e)
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

/* ---- rows of pairs ------------------------------------------------------- */

/*
 * Several jobs measure the pairs inside a node, and a lost part is measured
 * again.  The first try that passes a test answers it.  Failures of the others
 * stay as attempts before or after it, as in a single run, where a pair that
 * fails and then passes is flaky: a pass an hour later does not undo a failure,
 * and a further pass adds nothing.  Failures of a try that was cut short may be
 * due to that, and do not count.
 */

#define MOST_ATTEMPTS 10000	/* more than any run has */

static struct jobs_cell *cell_at(const struct merge *m, int s, int d)
{
	return &m->cells[(size_t)s * (size_t)m->n_ranks + (size_t)d];
}

/** Take a row of results.csv of the current try into the whole run. */
static int take_row(void *arg, const void *data, struct err *e)
{
	struct merge *m = arg;
	struct p2p_row row = *(const struct p2p_row *)data;
	const int s = merge_rank(m, row.src_node, row.src_rank);
	const int d = merge_rank(m, row.dst_node, row.dst_rank);
	const uint16_t self = (uint16_t)(m->at + 1);
	const bool good = row.outcome == OUTCOME_OK;
	struct jobs_cell *c;

	if (s < 0 || d < 0 || row.outcome == OUTCOME_NOT_RUN ||
	    row.attempt < 1 || row.attempt > MOST_ATTEMPTS ||
	    (!good && !m->tries[m->at].orderly)) {
		return RUNDIR_KEEP;
	}
	c = cell_at(m, s, d);
	if (good && c->passed && c->passed != self) {
		return RUNDIR_KEEP;
	}
	c->before = c->at == self ? c->before : c->last;
	c->at = self;
	c->passed = good ? self : c->passed;
	c->answered = c->answered || row.outcome != OUTCOME_SKIPPED;
	row.attempt += c->before;
	c->last = row.attempt > UINT16_MAX / 2 ? UINT16_MAX / 2 :
		  row.attempt > c->last ? (uint16_t)row.attempt : c->last;
	row.src_rank = s;
	row.dst_rank = d;
	m->like = row;
	record_add_csv(&schema_p2p, &row, &m->lines);
	return merge_flush(m, false, e) < 0 ? -1 : RUNDIR_KEEP;
}

/* ---- facts and events ---------------------------------------------------- */

/** Adds the growth of a counter in one part to that in the other parts. */
static int add_growth(struct merge *m, const struct fact_row *row)
{
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
	return m->n_growth >= MAX_GROWTH ||
	       grow_add(&m->growth, &m->n_growth, row, sizeof(*row)) ? 0 : -1;
}

static int take_fact(void *arg, const void *data, struct err *e)
{
	struct merge *m = arg;
	const struct fact_row *row = data;
	const size_t at = STR_FIND(m->nodes, m->n_nodes, name, row->node);
	const struct jobs_whole_node *w = at < m->n_nodes ? &m->nodes[at] :
							    NULL;

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

/** Return true if pairs of @w are not measured because Slurm has the node out
 *  of use. */
static bool is_lost(const struct merge *m, const struct jobs_whole_node *w)
{
	bool lost = !w->json;

	for (int i = 0; i < w->gpus * m->n_ranks; i++) {
		const int rank = w->first_rank + i % w->gpus;

		lost = lost || cell_at(m, rank, i / w->gpus)->said ||
		       cell_at(m, i / w->gpus, rank)->said;
	}
	return m->ended && w->down && lost;
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

/** Add why pairs of @w are missing. */
static void add_down(struct merge *m, const struct jobs_whole_node *w)
{
	struct event_row event;
	char says[200];

	jobs_down_text(w->down, says, sizeof(says));
	if (m->schema == &schema_facts) {
		add_node_fact(m, w->name, "state", SLURM_OUT_OF_USE);
		add_node_fact(m, w->name, "state_detail", says);
	} else {
		record_init(&schema_events, &event);
		STR_COPY(event.utc, m->end);
		event.seq = m->seq++;
		STR_COPY(event.node, w->name);
		STR_COPY(event.event, SLURM_OUT_OF_USE);
		STR_COPY(event.detail, says);
		record_add_csv(&schema_events, &event, &m->lines);
	}
}

/* ---- nodes and plan of the whole ----------------------------------------- */

/** The NIC of GPU @g, as readers of run.json have it. */
static int nic_of(const struct jobs_whole_node *w, int g)
{
	const struct run_entry n = run_entry_of(w->json);
	const json_t *of = json_array_get(n.nic_used ? n.nic_used : n.nic_of,
					  (size_t)g);

	return json_is_integer(of)	  ? (int)json_integer_value(of) :
	       n.nics > 0 && w->gpus > 0 ? g * n.nics / w->gpus : g;
}

/** Return true if the run tests GPU @i of @a to GPU @k of @b. */
static bool wants(const struct merge *m, const struct jobs_whole_node *a, int i,
		  const struct jobs_whole_node *b, int k)
{
	const char *kind = run_file(m->j->left.run).jobs.kind;
	const bool apart = run_file(m->tries[0].run).planned.rails_apart;

	if (a == b) {
		return i != k && strcmp(kind, "all") == 0;
	}
	return (strcmp(kind, "rail") != 0 && !apart) ||
	       nic_of(a, i) == nic_of(b, k);
}

static json_t *planned_json(const struct merge *m)
{
	const struct run_file first = run_file(m->tries[0].run);
	int64_t cells = 0;

	for (size_t n = 0; n < m->n_nodes * m->n_nodes; n++) {
		const struct jobs_whole_node *a = &m->nodes[n / m->n_nodes];
		const struct jobs_whole_node *b = &m->nodes[n % m->n_nodes];

		for (int g = 0; g < a->gpus * b->gpus; g++) {
			cells += wants(m, a, g / b->gpus, b, g % b->gpus);
		}
	}
	return run_part_json("planned", &(struct run_file){ .planned = {
		.kind = run_file(m->j->left.run).jobs.kind,
		.rails_apart = first.planned.rails_apart,
		.rails_by = first.planned.rails_by,
		.cells = cells, .passes = 1 } });
}

/* ---- what is missing ----------------------------------------------------- */

/** Add a row for each test between nodes @a and @b that no try has measured.
 *  Returns how many there are. */
static size_t add_missing_between(struct merge *m,
				  const struct jobs_whole_node *a,
				  const struct jobs_whole_node *b,
				  const char *code, const char *why)
{
	struct p2p_row row;
	size_t n = 0;

	record_init(&schema_p2p, &row);
	row.attempt = 1;
	STR_COPY(row.src_node, a->name);
	STR_COPY(row.dst_node, b->name);
	STR_COPY(row.transport, m->like.transport);
	STR_COPY(row.op, m->like.op);
	STR_COPY(row.mode, m->like.mode);
	STR_COPY(row.memory, m->like.memory);
	STR_COPY(row.schedule, m->like.schedule);
	row.size_B = m->like.size_B;
	row.outcome = OUTCOME_NOT_RUN;
	STR_COPY(row.code, code);
	STR_COPY(row.detail, why);
	for (int g = 0; g < a->gpus * b->gpus; g++) {
		const int i = g / b->gpus, k = g % b->gpus;
		struct jobs_cell *c = cell_at(m, a->first_rank + i,
					      b->first_rank + k);

		if (c->answered || !wants(m, a, i, b, k)) {
			continue;
		}
		n++;
		if (!c->said && !c->last && m->n_missing < MAX_MISSING) {
			row.src_rank = a->first_rank + i;
			row.dst_rank = b->first_rank + k;
			row.src_gpu = i;
			row.dst_gpu = k;
			record_add_csv(&schema_p2p, &row, &m->lines);
			m->n_missing++;
		}
		c->said = true;
	}
	return n;
}

/** Find the tests of @job that are missing, and say why.  Without all of them
 *  it is lost. */
static void find_missing(struct merge *m, struct job *job)
{
	const struct jobs_whole_node *down = NULL;
	const char *why = job->why;
	char says[200] = "";
	size_t n = 0;

	for (size_t i = 0; i < m->n_nodes; i++) {
		if (m->nodes[i].down &&
		    hostlist_has(job->nodes, m->nodes[i].name)) {
			down = &m->nodes[i];
			jobs_down_text(down->down, says, sizeof(says));
		}
	}
	for (size_t i = 0; i < m->n_nodes; i++) {
		const struct jobs_whole_node *a = &m->nodes[i];

		for (size_t k = 0; k < m->n_nodes &&
				   hostlist_has(job->nodes, a->name); k++) {
			const struct jobs_whole_node *b = &m->nodes[k];

			n += !hostlist_has(job->nodes, b->name) ? 0 :
			     add_missing_between(m, a, b, down ?
					SLURM_OUT_OF_USE : "job_lost",
					down ? says : why);
		}
	}
	job->state = n > 0 && job->state == JOB_DONE ? JOB_LOST : job->state;
	if (job->state != JOB_DONE && !down && m->lost++ == 0) {
		str_add(&m->why, why[0] ? why :
			"not all of its tests have a result");
	}
}

/* ---- files --------------------------------------------------------------- */

/** Write all of m->schema to @f; 0, or -1 with errno. */
static int merge_table(void *arg, FILE *f)
{
	struct merge *m = arg;
	const bool pairs = m->schema == &schema_p2p;
	struct err e = { 0 };
	int rc = 0;

	m->out = f;
	m->seq = 1;
	record_add_header(m->schema, &m->lines);
	for (m->at = 0; rc == 0 && m->at < m->n_tries; m->at++) {
		rc = rundir_table_walk(m->tries[m->at].dir, m->schema, false,
				       pairs ? take_row :
				       m->schema == &schema_facts ?
					       take_fact : take_event,
				       m, NULL, &e);
	}
	for (size_t i = 0; pairs && m->ended && i < m->j->n; i++) {
		find_missing(m, &m->j->list[i]);
	}
	for (size_t i = 0; i < m->n_growth && m->schema == &schema_facts;
	     i++) {
		record_add_csv(&schema_facts, &m->growth[i], &m->lines);
	}
	for (size_t i = 0; !pairs && i < m->n_nodes; i++) {
		if (is_lost(m, &m->nodes[i])) {
			add_down(m, &m->nodes[i]);
		}
	}
	rc = merge_flush(m, true, &e) < 0 ? -1 : rc;
	str_release(&m->lines);
	errno = rc < 0 && e.code ? e.code : errno;
	return rc;
}

/** Put into @run how it ended, or that it goes on. */
static void set_end(const struct merge *m, json_t *run)
{
	struct str why = STR_INIT;
	struct err e = { 0 };
	char text[STOP_REASON_MAX];
	size_t n = 0;

	json_object_del(run, "error");
	json_object_del(run, "ended_utc");
	json_object_del(run, "stop_reason");
	if (!m->ended) {
		return;
	}
	/* why tests are missing, for people */
	for (size_t i = 0; i < m->n_nodes; i++) {
		if (is_lost(m, &m->nodes[i]) && ++n <= JOBS_NAMED) {
			str_addf(&why, "%s%s", n > 1 ? ", " :
				 "Slurm has out of use: ", m->nodes[i].name);
		}
	}
	if (n > JOBS_NAMED) {
		str_addf(&why, " and %zu more", n - JOBS_NAMED);
	}
	if (m->lost > 0) {
		str_addf(&why, "%s%zu of %zu jobs without a result: %s",
			 n > 0 ? "; " : "", m->lost, m->j->n,
			 str_text(&m->why));
	}
	if (m->n_tries > 0) {
		json_object_set_new(run, "ended_utc", json_string(m->end));
		snprintf(text, sizeof(text), "%s", str_text(&why));
		json_object_set_new(run, "stop_reason", json_text(text));
	} else {
		err_set(&e, 0, "no job measured anything: %s", str_text(&why));
		json_object_set_new(run, "error",
				    run_error_json(&e, CODE_UNABLE));
	}
	str_release(&why);
}

/** Write run.json on top of what it is.  0, or -1 with @e. */
static int merge_run(const struct merge *m, struct err *e)
{
	static const char *const of_first[] = {
		"transport", "schedule", "sizes", "size_B", "settings",
		"environment", "shared_cores", "strict", "slow_percent",
		"libraries",
	};
	const char *dir = m->j->left.dir;
	json_t *run = rundir_read_json(dir, RUN_JSON, e), *nodes;
	int rc = -1;

	for (size_t i = 0; m->n_tries > 0 &&
			   i < sizeof(of_first) / sizeof(*of_first); i++) {
		json_t *value = json_object_get(m->tries[0].run, of_first[i]);

		if (value) {
			json_object_set(run, of_first[i], value);
		}
	}
	if (run && m->n_tries > 0) {
		nodes = json_array();
		for (size_t i = 0; i < m->n_nodes; i++) {
			const struct jobs_whole_node *w = &m->nodes[i];

			json_array_append_new(nodes, w->json ?
				json_copy(w->json) :
				run_entry_json(&(struct run_entry){
					RUN_ENTRY_NONE, .name = w->name,
					.gpus = w->gpus }));
		}
		json_object_set_new(run, "nodes", nodes);
		json_object_set_new(run, "planned", planned_json(m));
	}
	if (run) {
		set_end(m, run);
		rc = rundir_write_json(dir, RUN_JSON, run, e);
	}
	json_decref(run);
	return rc;
}

int jobs_merge(struct jobs *j, struct err *e)
{
	/* the pairs first: nodes with missing ones are facts and events */
	static const struct schema *const schemas[] = {
		&schema_p2p, &schema_facts, &schema_events
	};
	struct merge m = { .j = j, .ended = !jobs_go_on(j) };
	int rc = find_tries(&m, e) < 0 || find_nodes(&m, e) < 0 ? -1 : 0;

	for (size_t t = 0; t < m.n_tries; t++) {
		const char *end = run_file(m.tries[t].run).ended_utc;

		if (strcmp(end, m.end) > 0) {
			STR_COPY(m.end, end);
		}
	}
	if (m.ended && !m.end[0]) {
		clock_utc(m.end);
	}
	if (rc == 0 && m.n_tries > 0) {
		m.cells = calloc((size_t)m.n_ranks * (size_t)m.n_ranks + 1,
				 sizeof(*m.cells));
		rc = m.cells ? 0 : err_set(e, ENOMEM, "no memory for %d ranks",
					   m.n_ranks);
		for (size_t i = 0;
		     rc == 0 && i < sizeof(schemas) / sizeof(*schemas); i++) {
			m.schema = schemas[i];
			rc = rundir_write_with(j->left.dir, m.schema->name,
					       0666, merge_table, &m, e);
		}
	} else if (rc == 0 && m.ended && j->n > 0) {
		m.lost = j->n;
		str_add(&m.why, j->list[0].why);
	}
	rc = rc == 0 ? merge_run(&m, e) : rc;
	for (size_t i = 0; i < m.n_tries; i++) {
		json_decref(m.tries[i].run);
	}
	str_release(&m.why);
	free(m.tries);
	free(m.nodes);
	free(m.cells);
	free(m.growth);
	return rc;
}

/* ---- words --------------------------------------------------------------- */

const char *jobs_text(struct jobs *j, char *buf, size_t size)
{
	static const char *const words[] = {
		[JOB_DONE] = "done", [JOB_RUNS] = "running",
		[JOB_WAITS] = "waiting", [JOB_LOST] = "lost",
		[JOB_NONE] = "not submitted",
	};
	static const enum job_state order[] = { JOB_DONE, JOB_RUNS, JOB_WAITS,
						JOB_LOST, JOB_NONE };
	struct str out = STR_INIT;
	const char *comma = ": ";

	memset(j->count, 0, sizeof(j->count));
	for (size_t i = 0; i < j->n; i++) {
		j->count[j->list[i].state]++;
	}
	str_addf(&out, "%zu job%s", j->n, j->n == 1 ? "" : "s");
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		if (j->count[order[i]] > 0) {
			str_addf(&out, "%s%zu %s", comma, j->count[order[i]],
				 words[order[i]]);
			comma = ", ";
		}
	}
	str_copy(buf, size, str_text(&out));
	str_release(&out);
	return buf;
}

/** Add "; busy: n1, n2" to @text: nodes of the run that are @down, or that
 *  others have. */
static void add_nodes(const struct jobs *j, bool down, struct str *text)
{
	size_t n = 0;

	for (size_t i = 0; i < j->nodes.n; i++) {
		const struct slurm_node *node = &j->nodes.list[i];
		const bool out = slurm_lane_is_down(node->state);
		bool meant = false, ours = false;

		if (out != down || (!out && str_starts(node->state, "idle"))) {
			continue;
		}
		for (size_t k = 0; k < j->n && !ours; k++) {
			if (hostlist_has(j->list[k].nodes, node->name)) {
				meant = true;
				ours = !down && j->list[k].state == JOB_RUNS;
			}
		}
		if (meant && !ours && ++n <= JOBS_NAMED) {
			str_addf(text, "%s%s", n > 1 ? ", " :
				 down ? "; down: " : "; busy: ", node->name);
		}
	}
	if (n > JOBS_NAMED) {
		str_addf(text, " and %zu more", n - JOBS_NAMED);
	}
}

int jobs_collect(const char *dir, char *text, size_t size, struct err *e)
{
	struct str all = STR_INIT;
	struct jobs j = { 0 };
	int rc = jobs_look(&j, dir, e);

	if (rc == 0) {
		rc = jobs_go_on(&j);
		if (j.own) {
			jobs_merge(&j, NULL);
		}
		str_add(&all, jobs_text(&j, text, size));
		add_nodes(&j, false, &all);
		add_nodes(&j, true, &all);
		str_copy(text, size, str_text(&all));
	}
	str_release(&all);
	jobs_release(&j);
	return rc;
}
