/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "report/model/diagnose.h"
#include "report/model/expected.h"
#include "report/base/grow.h"
#include "report/model/levels.h"

FILE *run_open(const char *dir, const char *name, struct err *e)
{
	char path[PATH_MAX];
	FILE *f;

	if (rundir_path(dir, name, path, e) < 0) {
		return NULL;
	}
	f = fopen(path, "re");
	if (!f) {
		err_set(e, errno, "cannot read '%s'", path);
	}
	return f;
}

void run_bad_row(struct run *run, const char *why)
{
	run->bad_rows++;
	STR_COPY(run->bad_why, why);
}

static int read_node(const json_t *json, struct run_node *node, int first_rank,
		     struct err *e)
{
	int64_t gpus = 0, nics = 0;

	if (json_get_text(json, "name", node->name, sizeof(node->name),
			  e) < 0 ||
	    json_get_int(json, "gpus", 0, RUN_MAX_RANKS, &gpus, e) < 0 ||
	    json_opt_int(json, "nics", 0, RUN_MAX_RANKS, &nics, e) < 0) {
		return -1;
	}
	node->first_rank = first_rank;
	node->gpus = (int)gpus;
	node->nics = (int)(nics ? nics : gpus);
	return 0;
}

/** Ranks count node by node; the NIC of a GPU where rows do not say it. */
static void fill_ranks(struct run *run)
{
	for (int i = 0; i < run->n_nodes; i++) {
		const struct run_node *n = &run->nodes[i];

		for (int g = 0; g < n->gpus; g++) {
			run->ranks[n->first_rank + g] = (struct run_rank){
				.node = i,
				.gpu = g,
				.nic = g * n->nics / n->gpus,
			};
		}
	}
}

static int read_layout(struct run *run, struct err *e)
{
	json_t *nodes = json_object_get(run->json, "nodes");
	size_t n = json_array_size(nodes);

	/* A job that never came up has none. */
	if (n > RUN_MAX_NODES) {
		return err_set(e, E2BIG, "run.json: %zu nodes, at most %d", n,
			       RUN_MAX_NODES);
	}
	run->nodes = calloc(n + 1, sizeof(*run->nodes));
	if (!run->nodes) {
		return err_set(e, ENOMEM, "cannot hold %zu nodes", n);
	}
	for (size_t i = 0; i < n; i++) {
		if (read_node(json_array_get(nodes, i), &run->nodes[i],
			      run->n_ranks, e) < 0) {
			return err_hint(e, "'nodes' of run.json is damaged");
		}
		run->n_ranks += run->nodes[i].gpus;
		run->n_nodes++;
		if (run->n_ranks > RUN_MAX_RANKS) {
			return err_set(e, E2BIG,
				       "run.json: more than %d ranks",
				       RUN_MAX_RANKS);
		}
	}
	run->ranks = calloc((size_t)run->n_ranks + 1, sizeof(*run->ranks));
	if (!run->ranks) {
		return err_set(e, ENOMEM, "cannot hold %d ranks", run->n_ranks);
	}
	fill_ranks(run);
	return 0;
}

static bool planned_all(const struct run_rank *s, const struct run_rank *d)
{
	return s != d;
}

static bool planned_inter(const struct run_rank *s, const struct run_rank *d)
{
	return s->node != d->node;
}

static bool planned_intra(const struct run_rank *s, const struct run_rank *d)
{
	return s != d && s->node == d->node;
}

static bool planned_rail(const struct run_rank *s, const struct run_rank *d)
{
	return s->node != d->node && s->nic == d->nic;
}

static const struct planned_kind {
	const char *name;
	bool (*has)(const struct run_rank *s, const struct run_rank *d);
} planned_kinds[] = {
	{ .name = "all",   .has = planned_all },
	{ .name = "inter", .has = planned_inter },
	{ .name = "intra", .has = planned_intra },
	{ .name = "rail",  .has = planned_rail },
	{ 0 }
};

static void plan_cell(struct run *run, int src, int dst)
{
	run->cells[run_at(run, src, dst)].class = CELL_NOT_RUN;
}

static void plan_kind(struct run *run, const struct planned_kind *kind)
{
	for (int s = 0; s < run->n_ranks; s++) {
		for (int d = 0; d < run->n_ranks; d++) {
			if (kind->has(&run->ranks[s], &run->ranks[d])) {
				plan_cell(run, s, d);
			}
		}
	}
}

static int plan_list(struct run *run, const json_t *pairs, struct err *e)
{
	const json_t *pair;
	size_t i;

	json_array_foreach(pairs, i, pair) {
		json_int_t a = json_integer_value(json_array_get(pair, 0));
		json_int_t b = json_integer_value(json_array_get(pair, 1));

		if (json_array_size(pair) != 2 || a < 0 || b < 0 ||
		    a >= run->n_ranks || b >= run->n_ranks || a == b) {
			return err_set(e, EINVAL,
				       "run.json: planned pair %zu is none of "
				       "this run's", i);
		}
		plan_cell(run, (int)a, (int)b);
		plan_cell(run, (int)b, (int)a);
	}
	return 0;
}

/** Mark the planned cells; the coordinator wrote which, once it knew. */
static int read_plan(struct run *run, struct err *e)
{
	const json_t *planned = json_object_get(run->json, "planned");
	const char *kind = json_string_value(json_object_get(planned, "kind"));

	if (!planned) {
		return 0;
	}
	if (kind && strcmp(kind, "list") == 0) {
		return plan_list(run, json_object_get(planned, "pairs"), e);
	}
	for (const struct planned_kind *k = planned_kinds; k->name; k++) {
		if (kind && strcmp(kind, k->name) == 0) {
			plan_kind(run, k);
			return 0;
		}
	}
	return err_set(e, EINVAL, "run.json: unknown plan '%.40s'",
		       kind ? kind : "");
}

int run_make_cells(struct run *run, struct err *e)
{
	int n = run->n_ranks;
	size_t cells = (size_t)n * (size_t)n;

	run->cells = calloc(cells + 1, sizeof(*run->cells));
	run->cell_code = calloc(cells + 1, sizeof(*run->cell_code));
	run->cell_detail = calloc(cells + 1, sizeof(*run->cell_detail));
	run->cell_failure = calloc(cells + 1, sizeof(*run->cell_failure));
	run->codes = calloc(1, sizeof(*run->codes));
	run->cell_way = calloc(cells + 1, sizeof(*run->cell_way));
	run->paths = calloc(1, sizeof(*run->paths));
	if (!run->cells || !run->cell_code || !run->cell_detail ||
	    !run->cell_failure || !run->codes || !run->cell_way || !run->paths) {
		return err_set(e, ENOMEM, "cannot hold %zu cells", cells);
	}
	run->n_codes = run->n_paths = 1;
	for (int s = 0; s < n; s++) {
		for (int d = 0; d < n; d++) {
			run->cells[run_at(run, s, d)] = (struct cell){
				.bw_GB_s = NAN,
				.lat_us = NAN,
				.expected_GB_s = NAN,
				.class = CELL_UNPLANNED,
				.outcome = OUTCOME_NOT_RUN,
				.path = run->ranks[s].node == run->ranks[d].node
					? PATH_INTRA : PATH_INTER,
			};
		}
	}
	return 0;
}

int run_read_header(struct run *run, struct err *e)
{
	const json_t *j = run->json;
	char ended[32] = "";

	if (json_get_text(j, "probe", run->probe, sizeof(run->probe), e) < 0 ||
	    json_opt_text(j, "transport", run->transport,
			  sizeof(run->transport), e) < 0 ||
	    json_opt_text(j, "schedule", run->schedule, sizeof(run->schedule),
			  e) < 0 ||
	    json_opt_text(j, "started_utc", run->started_utc,
			  sizeof(run->started_utc), e) < 0 ||
	    json_opt_text(j, "ended_utc", ended, sizeof(ended), e) < 0 ||
	    json_opt_text(j, "stop_reason", run->stop_reason,
			  sizeof(run->stop_reason), e) < 0 ||
	    json_opt_int(j, "size_B", 0, INT64_MAX, &run->size_B, e) < 0 ||
	    json_opt_bool(j, "drill", &run->drill, e) < 0 ||
	    json_opt_bool(j, "strict", &run->strict, e) < 0 ||
	    json_opt_bool(j, "shared_cores", &run->shared_cores, e) < 0) {
		return err_hint(e, "run.json is damaged");
	}
	run->ended = ended[0] != '\0';
	run->ports = strcmp(run->probe, "ib") == 0;
	return 0;
}

static int add_event(struct run *run, const void *row)
{
	struct event_row *events;

	if (run->n_events >= RUN_MAX_EVENTS) {
		return 0;
	}
	events = grow(run->events, run->n_events, sizeof(*events));
	if (!events) {
		return -1;
	}
	run->events = events;
	run->events[run->n_events++] = *(const struct event_row *)row;
	return 0;
}

static int add_diagnose(struct run *run, const void *row)
{
	return run->n_diagnose >= RUN_MAX_DIAGNOSE ? 0 :
						     diagnose_add(run, row);
}

/** The small tables; what is not there or not readable is not known. */
static const struct side_table {
	const char *name;
	const struct schema *schema;
	int (*add)(struct run *run, const void *row);
} side_tables[] = {
	{ .name = RUN_FACTS,  .schema = &schema_facts,  .add = run_add_fact },
	{ .name = RUN_EVENTS, .schema = &schema_events, .add = add_event },
	{ .name = RUN_DIAGNOSE, .schema = &schema_diagnose,
	  .add = add_diagnose },
};

static int read_side_table(const char *dir, const struct side_table *t,
			   struct run *run, struct err *e)
{
	union {
		struct fact_row fact;
		struct event_row event;
		struct diagnose_row diagnose;
	} row;
	struct record_reader reader;
	FILE *f = run_open(dir, t->name, NULL);
	int got = 0;

	if (!f) {
		return 0;
	}
	if (record_reader_open(&reader, t->schema, f, NULL) == 0) {
		while ((got = record_reader_next(&reader, &row, e)) == 1) {
			if (t->add(run, &row) < 0) {
				got = err_set(e, ENOMEM, "cannot keep '%s'",
					      t->name);
				break;
			}
		}
		record_reader_close(&reader);
	}
	fclose(f);
	return got;
}

int run_find_node(const struct run *run, const char *name, int last)
{
	if (last >= 0 && strcmp(run->nodes[last].name, name) == 0) {
		return last;
	}
	for (int i = 0; i < run->n_nodes; i++) {
		if (strcmp(run->nodes[i].name, name) == 0) {
			return i;
		}
	}
	return -1;
}

/** Nodes that never came up have a state, though no ranks. */
static int add_absent_nodes(struct run *run, struct err *e)
{
	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];
		struct run_node *nodes;

		if (strcmp(f->scope, "node") != 0 ||
		    strcmp(f->fact, "state") != 0 || f->node[0] == '\0' ||
		    run->n_nodes >= RUN_MAX_NODES ||
		    run_find_node(run, f->node, -1) >= 0) {
			continue;
		}
		nodes = realloc(run->nodes, ((size_t)run->n_nodes + 1) *
					    sizeof(*nodes));
		if (!nodes) {
			return err_set(e, ENOMEM, "cannot hold the nodes");
		}
		run->nodes = nodes;
		nodes[run->n_nodes] = (struct run_node){
			.first_rank = run->n_ranks,
		};
		STR_COPY(nodes[run->n_nodes].name, f->node);
		run->n_nodes++;
	}
	return 0;
}

int run_read_sides(const char *dir, struct run *run, struct err *e)
{
	for (size_t i = 0; i < sizeof(side_tables) / sizeof(*side_tables);
	     i++) {
		if (read_side_table(dir, &side_tables[i], run, e) < 0) {
			return -1;
		}
	}
	if (add_absent_nodes(run, e) < 0) {
		return -1;
	}
	return run_find_leaves(run) < 0 ?
		       err_set(e, ENOMEM, "cannot hold the switches") : 0;
}

int run_read(const char *dir, struct run *run, struct err *e)
{
	*run = (struct run){ .schema = &schema_p2p };
	run->json = rundir_read_json(dir, RUN_JSON, e);
	if (!run->json) {
		return err_hint(e, "a run directory has a run.json in it");
	}
	if (run_read_header(run, e) < 0 || read_layout(run, e) < 0 ||
	    run_make_cells(run, e) < 0 || contrast_open(run, e) < 0 ||
	    read_plan(run, e) < 0 ||
	    run_read_rows(dir, run, e) < 0) {
		goto release;
	}
	if (run_read_sides(dir, run, e) < 0 ||
	    expected_read(dir, &run->expected, e) < 0) {
		goto release;
	}
	if (expected_apply(run, &run->expected) < 0 ||
	    levels_mark_slow(run) < 0) {
		err_set(e, ENOMEM, "cannot judge %d ranks", run->n_ranks);
		goto release;
	}
	return 0;
release:
	run_release(run);
	return -1;
}

void run_count_cells(const struct run *run, size_t count[CELL_CLASSES])
{
	size_t n = (size_t)run->n_ranks * (size_t)run->n_ranks;

	memset(count, 0, CELL_CLASSES * sizeof(*count));
	for (size_t at = 0; at < n; at++) {
		if (run->cells[at].class < CELL_CLASSES) {
			count[run->cells[at].class]++;
		}
	}
}

void run_release(struct run *run)
{
	size_t n;

	if (!run) {
		return;
	}
	n = (size_t)run->n_ranks * (size_t)run->n_ranks;
	for (size_t i = 0; run->cell_detail && i < n; i++) {
		free(run->cell_detail[i]);
	}
	free(run->cell_detail);
	for (size_t i = 0; run->cell_failure && i < n; i++) {
		if (run->cell_failure[i]) {
			free(run->cell_failure[i]->detail);
			free(run->cell_failure[i]);
		}
	}
	free(run->cell_failure);
	contrast_close(run);
	free(run->ends);
	free(run->loss);
	free(run->heard);
	expected_release(&run->expected);
	free(run->cell_line);
	free(run->cell_code);
	free(run->codes);
	free(run->cell_way);
	free(run->paths);
	free(run->cells);
	free(run->ranks);
	free(run->leaves);
	free(run->leaf_of);
	free(run->nodes);
	free(run->facts);
	free(run->events);
	free(run->diagnose);
	json_decref(run->json);
	*run = (struct run){ 0 };
}
