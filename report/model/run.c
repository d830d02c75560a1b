/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/run_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "report/base/grow.h"
#include "report/model/diagnose.h"
#include "report/model/skew_facts.h"

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

uint16_t run_code(struct run *run, const char *code)
{
	void *codes;

	if (code[0] == '\0') {
		return 0;
	}
	for (size_t i = run->n_codes; i-- > 1;) {
		if (strcmp(run->codes[i], code) == 0) {
			return (uint16_t)i;
		}
	}
	if (run->n_codes >= RUN_MAX_CODES) {
		return 0;
	}
	codes = grow(run->codes, run->n_codes, sizeof(*run->codes));
	if (!codes) {
		return 0;
	}
	run->codes = codes;
	STR_COPY(run->codes[run->n_codes], code);
	return (uint16_t)run->n_codes++;
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

/** So many are kept whatever they are: pages show the first ones. */
#define ALL_FACTS 20000

/**
 * How near each GPU is to each HCA, its NVLinks, and counters that are zero: of the 650
 * facts of a node with eight of either they are more than half, and no finding
 * is by them.
 */
static bool is_spare(const struct run *run, const struct fact_row *f)
{
	return strcmp(f->fact, "link") == 0 ||
	       strcmp(f->fact, "nvlinks_up") == 0 ||
	       (strcmp(f->value, "0") == 0 && !skew_fact_of(run, f));
}

int run_add_fact(struct run *run, const void *row)
{
	const struct fact_row *f = row;
	struct fact_row *facts;

	if (run->n_facts >= ALL_FACTS && is_spare(run, f)) {
		run->facts_spare++;
		return 0;
	}
	if (run->n_facts >= RUN_MAX_FACTS) {
		run->facts_cut++;
		return 0;
	}
	facts = grow(run->facts, run->n_facts, sizeof(*facts));
	if (!facts) {
		return -1;
	}
	run->facts = facts;
	run->facts[run->n_facts++] = *f;
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

/** Room for the leaves of @n nodes, the last of which is not known; -1 without
 *  memory. */
static int size_leaf_of(struct run *run, int n)
{
	int known = run->leaf_of && n > 0 ? n - 1 : 0;
	int *leaf_of = realloc(run->leaf_of,
			       ((size_t)n + 1) * sizeof(*leaf_of));

	if (!leaf_of) {
		return -1;
	}
	for (int i = known; i < n; i++) {
		leaf_of[i] = -1;
	}
	run->leaf_of = leaf_of;
	return 0;
}

int run_add_node(struct run *run, const char *name)
{
	int at = run_find_node(run, name, run->n_nodes - 1);
	struct run_node *nodes;

	if (at >= 0 || !name[0] || run->n_nodes >= RUN_MAX_NODES) {
		return at;
	}
	nodes = realloc(run->nodes,
			((size_t)run->n_nodes + 1) * sizeof(*nodes));
	if (!nodes) {
		return -1;
	}
	run->nodes = nodes;
	if (run->leaf_of && size_leaf_of(run, run->n_nodes + 1) < 0) {
		return -1;
	}
	nodes[run->n_nodes] = (struct run_node){ .first_rank = run->n_ranks };
	STR_COPY(nodes[run->n_nodes].name, name);
	return run->n_nodes++;
}

int run_list_nodes(struct run *run, const json_t *json)
{
	json_t *list = json_object_get(json, "nodes"), *node;
	size_t i;

	json_array_foreach(list, i, node) {
		const char *name = json_member(node, "name");

		if (name[0] && run->n_nodes < RUN_MAX_NODES &&
		    run_add_node(run, name) < 0) {
			return -1;
		}
	}
	return 0;
}

int run_find_name(const struct run *run, const char *name)
{
	for (size_t i = 0; i < run->n_names; i++) {
		if (strcmp(run->names[i], name) == 0) {
			return (int)i + 1;
		}
	}
	return 0;
}

int run_add_name(struct run *run, const char *name)
{
	int at = run_find_name(run, name);
	char (*names)[64];

	if (at > 0 || !name[0]) {
		return at;
	}
	names = grow(run->names, run->n_names, sizeof(*names));
	if (!names) {
		return 0;
	}
	run->names = names;
	STR_COPY(names[run->n_names], name);
	return (int)++run->n_names;
}

/** The number of leaf @name, which is added when new; -1 without memory. */
static int number_of(struct run *run, const char *name)
{
	struct run_leaf *list;
	int i = 0;

	while (i < run->n_leaves && strcmp(run->leaves[i].name, name) != 0) {
		i++;
	}
	if (i < run->n_leaves) {
		return i;
	}
	list = grow(run->leaves, (size_t)run->n_leaves, sizeof(*list));
	if (!list) {
		return -1;
	}
	run->leaves = list;
	list[i] = (struct run_leaf){ 0 };
	STR_COPY(list[i].name, name);
	return run->n_leaves++;
}

int run_join_leaf(struct run *run, int node, const char *name)
{
	int leaf = number_of(run, name);

	if (leaf < 0 || (!run->leaf_of && size_leaf_of(run, run->n_nodes) < 0)) {
		return -1;
	}
	if (run->leaf_of[node] < 0) {
		run->leaf_of[node] = leaf;
		run->leaves[leaf].n_nodes++;
	}
	return leaf;
}

/** Leaves of one node are no more than that node: they go. */
static void drop_lone(struct run *run)
{
	int kept = 0;

	for (int i = 0; i < run->n_leaves; i++) {
		bool keep = run->leaves[i].n_nodes > 1;

		for (int n = 0; n < run->n_nodes; n++) {
			if (run->leaf_of[n] == i) {
				run->leaf_of[n] = keep ? kept : -1;
			}
		}
		if (keep) {
			run->leaves[kept++] = run->leaves[i];
		}
	}
	run->n_leaves = kept;
}

int run_find_leaves(struct run *run)
{
	int node = -1;

	if (size_leaf_of(run, run->n_nodes) < 0) {
		return -1;
	}
	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];

		if (strcmp(f->fact, "leaf_switch") != 0 || !f->value[0]) {
			continue;
		}
		node = run_find_node(run, f->node, node);
		if (node < 0 || run->leaf_of[node] >= 0 ||
		    run->nodes[node].gpus == 0) {
			continue;
		}
		if (run_join_leaf(run, node, f->value) < 0) {
			return -1;
		}
	}
	drop_lone(run);
	return 0;
}

/** Nodes that never came up have a state, though no ranks. */
static int add_absent_nodes(struct run *run, struct err *e)
{
	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];

		if (strcmp(f->scope, "node") == 0 &&
		    strcmp(f->fact, "state") == 0 && f->node[0] &&
		    run->n_nodes < RUN_MAX_NODES &&
		    run_add_node(run, f->node) < 0) {
			return err_set(e, ENOMEM, "cannot hold the nodes");
		}
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

void run_drop_contrast(struct run *run)
{
	free(run->contrast.outcome);
	free(run->contrast.attempt);
	free(run->contrast.bw_GB_s);
	run->contrast = (struct contrast){ 0 };
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
	run_drop_contrast(run);
	free(run->mesh);
	free(run->expected.list);
	free(run->cell_line);
	free(run->cell_code);
	free(run->codes);
	free(run->names);
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
