/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/hash.h"
#include "lib/base/order.h"
#include "lib/data/cells.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/hosts.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "lib/data/switches.h"

/* ---- run notes ----------------------------------------------------------- */

/** A row of events.csv is far less, as JSON too. */
#define NOTE_MAX 4096

int run_note_parse(const char *text, size_t len, struct event_row *row,
		   struct err *e)
{
	json_t *json = json_parse(text, len, e);
	int rc = json ? record_from_json(&schema_events, json, row, e) : -1;

	json_decref(json);
	if (rc == 0 && (strcmp(row->event, "coordinator_lost") != 0 ||
			!row->node[0])) {
		rc = err_set(e, 0, "no note of an agent");
	}
	return rc;
}

/* Read notes in logs/ of agents that lost the coordinator, as further events.
 * Returns 0, or -1 when memory runs out. */
static int run_read_notes(const char *dir, struct run *run)
{
	bool wanted = false;

	run_foreach_event(run, e) {
		wanted = wanted || strcmp(e->event, "agent_lost") == 0;
	}
	for (int i = 0; wanted && i < run->n_nodes; i++) {
		struct event_row row;
		char name[40], *text;
		size_t len;
		int rc = 0;

		snprintf(name, sizeof(name), "logs/agent-%d.json", i);
		text = rundir_read_text(dir, name, NOTE_MAX, &len, NULL);
		if (text && run->n_events < RUN_MAX_EVENTS &&
		    run_note_parse(text, len, &row, NULL) == 0) {
			rc = grow_add(&run->events, &run->n_events, &row,
				      sizeof(row)) ? 0 : -1;
		}
		free(text);
		if (rc < 0) {
			return -1;
		}
	}
	return 0;
}

/* ---- run switches -------------------------------------------------------- */

/* The user's list of switches, for the nodes and ports of a run. */

static const struct order_key guid_order[] = {
	ORDER_UP(struct fact_row, value),
	ORDER_END
};

static int add_fact(struct run *run, const struct fact_row *of,
		    const char *fact, const char *value)
{
	struct fact_row row = *of;

	STR_COPY(row.fact, fact);
	STR_COPY(row.value, value);
	return value[0] ? run_add_fact(run, &row) : 0;
}

/** Add what @link says of a node or a port of the run as facts.  The port is
 *  found by its GUID, which is unique, among the @n @ports, else by names;
 *  *@node is that of the last link. */
static int take_link(struct run *run, const struct switch_link *link,
		     const struct fact_row *ports, size_t n, int *node)
{
	struct fact_row row = { .source = RUN_SWITCHES }, *found;

	STR_COPY(row.value, link->guid);
	found = link->guid[0] ? order_find(&row, ports, n, sizeof(row),
					   guid_order) : NULL;
	if (found) {
		STR_COPY(row.node, found->node);
		STR_COPY(row.scope, found->scope);
	} else {
		*node = run_find_node(run, link->node, *node);
		if (*node < 0) {
			return 0;
		}
		STR_COPY(row.node, run->nodes[*node].name);
		STR_COPY(row.scope, link->nic[0] ? link->nic : "node");
	}
	if (strcmp(row.scope, "node") == 0) {
		return add_fact(run, &row, "leaf_switch", link->name);
	}
	return add_fact(run, &row, "switch", link->name) < 0 ? -1 :
	       add_fact(run, &row, "switch_port", link->port);
}

/** Read facts about nodes and ports of the run from DIR/switches.  Returns 0,
 *  or -1 when memory runs out. */
static int run_read_switches(const char *dir, struct run *run)
{
	struct err why = { 0 };
	size_t len = 0, n = 0;
	char *text = rundir_read_text(dir, RUN_SWITCHES, SWITCHES_MAX_BYTES,
				      &len, &why);
	struct switch_link *links = NULL;
	struct fact_row *ports;
	long n_links;
	int node = -1;

	if (!text) {
		if (why.code != ENOENT) {
			snprintf(run->unread, sizeof(run->unread), "%.300s",
				 why.text);
		}
		return 0;
	}
	n_links = switches_parse(text, len, &links);
	run_foreach_fact(run, f) {
		n += strcmp(f->fact, "port_guid") == 0;
	}
	ports = calloc(n + 1, sizeof(*ports));
	n = 0;
	for (size_t i = 0; ports && i < run->n_facts; i++) {
		if (strcmp(run->facts[i].fact, "port_guid") == 0) {
			ports[n++] = run->facts[i];
		}
	}
	order_sort(ports, n, sizeof(*ports), guid_order);
	for (long i = 0; ports && i < n_links; i++) {
		if (take_link(run, &links[i], ports, n, &node) < 0) {
			n_links = -1;
		}
	}
	n_links = ports ? n_links : -1;
	free(ports);
	free(links);
	free(text);
	return n_links < 0 ? -1 : 0;
}

/* ---- run nodes ----------------------------------------------------------- */

/* The nodes of a run, and the leaves that they are on. */

int run_find_node(const struct run *run, const char *name, int last)
{
	const int from = last >= 0 && last < run->n_nodes ? last : 0;
	const int n = name && name[0] ? run->n_nodes : 0;

	/* what is wanted next is often there, or a little behind */
	for (int i = 0; i < n; i++) {
		const int at = from + i < n ? from + i : from + i - n;

		if (strcmp(run->nodes[at].name, name) == 0) {
			return at;
		}
	}
	return -1;
}

int run_find_gpus(const struct run *run, const char *name)
{
	int i = run_find_node(run, name, -1);

	return i >= 0 && run->nodes[i].gpus > 0 ? i : -1;
}

int run_add_node(struct run *run, const char *name)
{
	int at = run_find_node(run, name, run->n_nodes - 1);
	struct cluster_node *nodes;

	if (at >= 0 || !name[0] || run->n_nodes >= SPEC_MAX_NODES) {
		return at;
	}
	nodes = realloc(run->nodes,
			((size_t)run->n_nodes + 1) * sizeof(*nodes));
	if (!nodes) {
		return -1;
	}
	run->nodes = nodes;
	nodes[run->n_nodes] = (struct cluster_node){
		.first_rank = run->n_ranks,
	};
	STR_COPY(nodes[run->n_nodes].name, name);
	return run->n_nodes++;
}

int run_note_node(struct run *run, const char *name)
{
	return name[0] && run->n_nodes < SPEC_MAX_NODES &&
			       run_add_node(run, name) < 0 ? -1 : 0;
}

int run_list_nodes(struct run *run, const json_t *json)
{
	const json_t *list = run_file(json).nodes;

	for (size_t i = 0; i < json_array_size(list); i++) {
		if (run_note_node(run, run_entry(list, i).name) < 0) {
			return -1;
		}
	}
	return 0;
}

int run_join_leaf(struct run *run, int node, const char *name)
{
	struct run_leaf leaf = { .n_nodes = 0 };
	size_t n = (size_t)run->n_leaves;
	int i = 0;

	while (i < run->n_leaves && strcmp(run->leaves[i].name, name) != 0) {
		i++;
	}
	if (i == run->n_leaves) {
		STR_COPY(leaf.name, name);
		if (!grow_add(&run->leaves, &n, &leaf, sizeof(leaf))) {
			return -1;
		}
		run->n_leaves++;
	}
	if (!run->nodes[node].leaf) {
		run->nodes[node].leaf = i + 1;
		run->leaves[i].n_nodes++;
	}
	return i;
}

int run_find_leaves(struct run *run)
{
	int node = -1, kept = 0;

	run_foreach_fact(run, f) {
		if (strcmp(f->fact, "leaf_switch") != 0 || !f->value[0]) {
			continue;
		}
		node = run_find_node(run, f->node, node);
		if (node >= 0 && !run->nodes[node].leaf &&
		    run->nodes[node].gpus > 0 &&
		    run_join_leaf(run, node, f->value) < 0) {
			return -1;
		}
	}
	/* a leaf with one node is no part of its own: drop it */
	for (int i = 0; i < run->n_leaves; i++) {
		bool keep = run->leaves[i].n_nodes > 1;

		for (int n = 0; n < run->n_nodes; n++) {
			if (run->nodes[n].leaf == i + 1) {
				run->nodes[n].leaf = keep ? kept + 1 : 0;
			}
		}
		if (keep) {
			run->leaves[kept++] = run->leaves[i];
		}
	}
	run->n_leaves = kept;
	return 0;
}

/* ---- run facts ----------------------------------------------------------- */

/* The facts and events of a run: kept, and found again. */

/** Facts that are kept whatever they are: pages show the first ones. */
#define ALL_FACTS 20000

/** The slot of the facts @name of @node about @scope, free if there is none. */
static uint32_t *fact_slot(const struct run *run, const char *node,
			   const char *scope, const char *name)
{
	uint64_t hash = hash_bytes(HASH_START, node, strlen(node) + 1);
	uint32_t *slot;

	hash = hash_bytes(hash, scope, strlen(scope) + 1);
	hash = hash_bytes(hash, name, strlen(name) + 1);
	for (;; hash++) {
		const struct fact_row *f;

		slot = &run->fact_slots[hash & (run->n_slots - 1)];
		f = *slot > 0 ? &run->facts[*slot - 1] : NULL;
		if (!f || (strcmp(f->node, node) == 0 &&
			   strcmp(f->scope, scope) == 0 &&
			   strcmp(f->fact, name) == 0)) {
			return slot;
		}
	}
}

/** Enter facts that are not in the hash table. */
static void hash_facts(struct run *run)
{
	if (2 * run->n_facts > run->n_slots) {
		free(run->fact_slots);
		run->n_hashed = 0;
		run->n_slots = run->n_slots ? 2 * run->n_slots : 1024;
		run->fact_slots = calloc(run->n_slots,
					 sizeof(*run->fact_slots));
		run->n_slots = run->fact_slots ? run->n_slots : 0;
	}
	for (; run->n_slots > 0 && run->n_hashed < run->n_facts;
	     run->n_hashed++) {
		const struct fact_row *f = &run->facts[run->n_hashed];
		uint32_t *slot = fact_slot(run, f->node, f->scope, f->fact);

		/* a resumed run adds what its nodes say now */
		*slot = (uint32_t)run->n_hashed + 1;
	}
}

int run_add_fact(struct run *run, const struct fact_row *f)
{
	/* Facts that no finding needs: devices far from each GPU, its NVLinks,
	 * counters that are zero.  They are more than half of the 650 facts of
	 * a node with eight GPUs and NICs. */
	if (run->n_facts >= ALL_FACTS &&
	    ((strcmp(f->fact, "link") == 0 && strcmp(f->value, "PIX") != 0 &&
	      strcmp(f->value, "PXB") != 0) ||
	     strcmp(f->fact, "nvlinks_up") == 0 ||
	     (strcmp(f->value, "0") == 0 && !skew_fact_of(run, f)))) {
		run->facts_spare++;
		return 0;
	}
	if (run->n_facts >= RUN_MAX_FACTS) {
		run->facts_cut++;
		return 0;
	}
	if (!grow_add(&run->facts, &run->n_facts, f, sizeof(*f))) {
		return -1;
	}
	hash_facts(run);
	return 0;
}

int run_count_flows(struct run *run, size_t at, int64_t known, uint32_t bad)
{
	if (known <= 0 && bad == 0) {
		return 0;
	}
	if (run->cell_flows == NULL) {
		run->cell_flows = calloc(run_n_cells(run) + 1,
					 sizeof(*run->cell_flows));
	}
	if (run->cell_flows == NULL) {
		return -1;
	}
	if (known > run->flows_tested) {
		run->flows_tested = known;
	}
	run->cell_flows[at].known += known > 0 ? (uint32_t)known : 0;
	run->cell_flows[at].bad += bad;
	return 0;
}

int run_add_flow(struct run *run, int src, int dst, int64_t sent,
		 int64_t received, const char *says)
{
	struct run_flow flow = { .src = src, .dst = dst, .sent = sent,
				 .received = received };

	STR_COPY(flow.says, says);
	if (run_count_flows(run, run_at(run, src, dst), RECORD_NONE, 1) < 0) {
		return -1;
	}
	return grow_add(&run->flows, &run->n_flows, &flow, sizeof(flow)) ?
		       0 : -1;
}

const struct event_row *run_find_event(const struct run *run,
				       const char *event, const char *node)
{
	for (size_t i = 0; i < run->n_events; i++) {
		if (strcmp(run->events[i].event, event) == 0 &&
		    strcmp(run->events[i].node, node) == 0) {
			return &run->events[i];
		}
	}
	return NULL;
}

const struct fact_row *run_find_fact(const struct run *run, const char *node,
				     const char *scope, const char *name)
{
	if (node && scope && run->n_slots > 0 &&
	    run->n_hashed == run->n_facts) {
		const uint32_t at = *fact_slot(run, node, scope, name);

		return at > 0 ? &run->facts[at - 1] : NULL;
	}
	for (size_t i = run->n_facts; i > 0; i--) {
		const struct fact_row *f = &run->facts[i - 1];

		if (strcmp(f->fact, name) == 0 &&
		    (!scope || strcmp(f->scope, scope) == 0) &&
		    (!node || strcmp(f->node, node) == 0)) {
			return f;
		}
	}
	return NULL;
}

const char *run_fact_beside(const struct run *run, const struct fact_row *of,
			    const char *name)
{
	const struct fact_row *f = run_find_fact(run, of->node, of->scope,
						 name);

	return f ? f->value : "";
}

int run_number_in(const char *text, const char *prefix)
{
	int number;
	char rest;

	return str_starts(text, prefix) &&
			       sscanf(text + strlen(prefix), "%4d%c", &number,
				      &rest) == 1 && number >= 0 ?
		       number : -1;
}

/* ---- run ----------------------------------------------------------------- */

static void bad_row(struct run *run, const char *why)
{
	run->bad_rows++;
	STR_COPY(run->bad_why, why);
}

/** Take all rows behind the first line; @two has room for two of them, since
 *  each is taken when the next one has been read.  0, or -1 with @e. */
static int take_all(struct record_reader *r, const struct run_rows *rows,
		    void *two, struct err *e)
{
	char *row = two, *next = row + rows->schema->row_size, why[96];
	size_t line = 0;
	int got = 1, took = 0;

	while (took >= 0 && got == 1) {
		char *before = row;

		got = record_reader_next(r, next, e);
		if (got == 1 && rows->ahead) {
			rows->ahead(rows, next);
		}
		if (rows->run) {
			rows->run->line = line;
		}
		if (line > 0 && rows->take) {
			took = rows->take(rows, before);
		} else if (line > 0) {
			took = grow_add(&rows->run->list, &rows->run->rows,
					before, rows->schema->row_size) ?
				       0 : -1;
		}
		if (took > 0) {
			snprintf(why, sizeof(why), "line %zu: %s", line,
				 rows->misfit);
			bad_row(rows->run, why);
		}
		line = r->csv.line;
		row = next;
		next = before;
	}
	if (rows->run && r->bad_rows > 0) {
		rows->run->bad_rows += r->bad_rows;
		STR_COPY(rows->run->bad_why, r->bad_why);
	}
	return took < 0 ? err_set(e, ENOMEM, "cannot hold the rows of '%s'",
				  rows->schema->name) : got;
}

int run_take_rows(FILE *f, const struct run_rows *rows, struct err *e)
{
	void *row = malloc(2 * rows->schema->row_size);
	struct record_reader reader;
	struct err why = { 0 };
	int got = 0;

	if (!row) {
		got = err_set(&why, ENOMEM, "no memory for a row");
	} else if (f && record_reader_open(&reader, rows->schema, f,
					   &why) < 0) {
		got = why.code ? -1 : reader.lacks ? 2 : 1;
	} else if (f) {
		got = take_all(&reader, rows, row, &why);
		record_reader_close(&reader);
	}
	if (got != 0 && e) {
		*e = why;
	}
	if (f) {
		fclose(f);
	}
	free(row);
	return got;
}

int run_take_results(const char *dir, const struct run_rows *rows,
		     struct err *e)
{
	struct err why = { 0 };
	FILE *f = rundir_open(dir, RUN_RESULTS, &why);
	int got = f || why.code == ENOENT ? run_take_rows(f, rows, &why) : -1;

	if (got == 1 && rows->run) {
		bad_row(rows->run, why.text);
	} else if (got != 0 && got != 1 && e) {
		*e = why;
	}
	return got == 0 || got == 1 ? 0 : -1;
}

/** The place of @text in @list, which has @n, added where it is new; @none when
 *  there are @max already, or without memory. */
static size_t add_text(char (**list)[64], size_t *n, const char *text,
		       size_t max, size_t none)
{
	size_t i = str_find(*list, *n, sizeof(**list), 0, true, text);
	char entry[64];

	if (i < *n) {
		return i;
	}
	STR_COPY(entry, text);
	return i < max && grow_add(list, n, entry, sizeof(entry)) ? i : none;
}

uint16_t run_code(struct run *run, const char *code)
{
	return (uint16_t)add_text(&run->codes, &run->n_codes, code,
				  RUN_MAX_CODES, 0);
}

uint16_t run_path(struct run *run, const char *path)
{
	return (uint16_t)add_text(&run->paths, &run->n_paths, path,
				  RUN_MAX_PATHS, 0);
}

int run_keep_detail(struct run *run, size_t at, const char *detail)
{
	if (run->cell_detail[at]) {	/* most memory stays untouched */
		free(run->cell_detail[at]);
		run->cell_detail[at] = NULL;
	}
	if (detail[0] == '\0') {
		return 0;
	}
	run->cell_detail[at] = strdup(detail);
	return run->cell_detail[at] ? 0 : -1;
}

int run_make_cells(struct run *run, struct err *e)
{
	size_t cells = run_n_cells(run);

	run->cells = cells_calloc(cells + 1, sizeof(*run->cells));
	run->cell_code = cells_calloc(cells + 1, sizeof(*run->cell_code));
	run->cell_detail = calloc(cells + 1, sizeof(*run->cell_detail));
	run->cell_failure = calloc(cells + 1, sizeof(*run->cell_failure));
	run->cell_way = cells_calloc(cells + 1, sizeof(*run->cell_way));
	run->cell_go = calloc(cells + 1, sizeof(*run->cell_go));
	run_code(run, "");
	run_path(run, "");
	if (!run->cells || !run->cell_code || !run->cell_detail ||
	    !run->cell_failure || !run->codes || !run->cell_way ||
	    !run->cell_go ||
	    !run->paths) {
		return err_set(e, ENOMEM, "cannot hold %zu cells", cells);
	}
	for (size_t at = 0; at <= cells; at++) {
		bool inside = at < cells &&
			      run->ranks[run_src(run, at)].node ==
				      run->ranks[run_dst(run, at)].node;

		run->cells[at] = (struct cell){
			.bw_GB_s = NAN,
			.lat_us = NAN,
			.expected_GB_s = NAN,
			.class = CELL_UNPLANNED,
			.outcome = OUTCOME_NOT_RUN,
			.path = inside ? PATH_INTRA : PATH_INTER,
		};
	}
	return 0;
}

/** Begin @run, whose rows are of @s, with what run.json says of the run as a
 *  whole; 0, or -1 with @e. */
static int run_begin(struct run *run, const char *dir, const struct schema *s,
		     struct err *e)
{
	/* first: what is read is of the directory that was checked */
	const bool foreign = rundir_check_trust(dir, NULL) < 0;
	json_t *j = rundir_read_json(dir, RUN_JSON, e);
	char ended[32] = "";

	*run = (struct run){ .json = j, .schema = s, .foreign = foreign };
	if (!j) {
		return err_hint(e, "a run directory has a run.json in it");
	}
	STR_COPY(run->dir, dir);
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
	    json_opt_int(j, "slow_percent", 1, 99, &run->slow_percent, e) < 0 ||
	    json_opt_bool(j, "shared_cores", &run->shared_cores, e) < 0) {
		return err_hint(e, "run.json is damaged");
	}
	/* a probe that writes no transport uses the one that was asked for:
	 * whether a run is simulated is decided here, for every probe */
	const char *asked = json_string_value(run_option(run, "transport"));

	if (!run->transport[0] && asked &&
	    spec_transport_is(asked, XPORT_MODEL)) {
		STR_COPY(run->transport, asked);
	}
	/* both are words of commands that are printed */
	if (!hostlist_is_name(run->probe) ||
	    (run->transport[0] && !hostlist_is_name(run->transport))) {
		err_set(e, EINVAL, "run.json names the probe '%s' and the "
			"transport '%s'", run->probe, run->transport);
		return err_hint(e, "such names have only letters, digits, "
				   "'_', '-' and '.'");
	}
	run->ended = ended[0] != '\0';
	run->ports = strcmp(run->probe, "ib") == 0;
	return 0;
}

int run_add_diagnose(struct run *run, const struct diagnose_row *row)
{
	if (row->src_rank < 0 || row->src_rank >= run->n_ranks ||
	    row->dst_rank < 0 || row->dst_rank >= run->n_ranks ||
	    row->src_rank == row->dst_rank) {
		return 0;
	}
	return grow_add(&run->diagnose, &run->n_diagnose, row, sizeof(*row)) ?
		       0 : -1;
}

int run_find_name(const struct run *run, const char *name)
{
	size_t at = str_find(run->names, run->n_names, sizeof(*run->names), 0,
			     true, name);

	return at < run->n_names ? (int)at + 1 : 0;
}

int run_add_name(struct run *run, const char *name)
{
	return name[0] ? (int)add_text(&run->names, &run->n_names, name,
				       SIZE_MAX, SIZE_MAX) + 1 : 0;
}

static int take_side(const struct run_rows *rows, const void *row)
{
	struct run *run = rows->user;

	if (rows->schema == &schema_facts) {
		return run_add_fact(run, row);
	}
	if (rows->schema == &schema_diagnose) {
		return run->n_diagnose >= RUN_MAX_DIAGNOSE ?
			       0 : run_add_diagnose(run, row);
	}
	return run->n_events >= RUN_MAX_EVENTS ||
			       grow_add(&run->events, &run->n_events, row,
					sizeof(*run->events)) ? 0 : -1;
}

/** Facts, events, tests of failed pairs, and what the user's list of switches
 *  adds.  A file that is not there says nothing. */
static int read_sides(const char *dir, struct run *run, struct err *e)
{
	static const struct schema *const sides[] = {
		&schema_facts, &schema_events, &schema_diagnose,
	};
	char text[sizeof(run->unread) - sizeof(RUN_DIAGNOSE)];

	for (size_t i = 0; i < sizeof(sides) / sizeof(*sides); i++) {
		const struct run_rows table = {
			.schema = sides[i], .take = take_side, .user = run,
		};
		const char *name = sides[i]->name;
		struct err why = { 0 };
		FILE *f = rundir_open(dir, name, &why);
		int got = f ? run_take_rows(f, &table, &why) :
			      why.code != ENOENT;

		if (got < 0 && why.code == ENOMEM) {
			return err_set(e, ENOMEM, "%s", why.text);
		}
		if (got != 0) {
			snprintf(run->unread, sizeof(run->unread), "%s%s%s",
				 got < 0 ? name : "", got < 0 ? ": " : "",
				 err_str(&why, text, sizeof(text)));
		}
	}
	/* nodes that never came up have a state, though no ranks */
	run_foreach_fact(run, f) {
		if (strcmp(f->scope, "node") == 0 &&
		    strcmp(f->fact, "state") == 0 &&
		    run_note_node(run, f->node) < 0) {
			return err_set(e, ENOMEM, "cannot hold the nodes");
		}
	}
	if (run_read_notes(dir, run) < 0) {
		return err_set(e, ENOMEM, "cannot hold the events");
	}
	return run_read_switches(dir, run) < 0 || run_find_leaves(run) < 0 ?
		       err_set(e, ENOMEM, "cannot hold the switches") : 0;
}

int run_load(const char *dir, const struct run_rows *rows, struct err *e)
{
	struct run *run = rows->run;

	if (run_begin(run, dir, rows->schema, e) == 0 &&
	    (rows->begin ? rows->begin(rows, e) :
			   run_make_cells(run, e)) == 0 &&
	    run_take_results(dir, rows, e) == 0 &&
	    (!rows->end || rows->end(rows, e) == 0) &&
	    read_sides(dir, run, e) == 0 &&
	    accept_read(dir, run, e) == 0) {
		return 0;
	}
	run_release(run);
	return -1;
}

/** Lines without a row of results.csv: all pairs of the 1,024 ranks up to which
 *  all are planned, or as many to a row. */
#define FINAL_MISSING	  ((size_t)1 << 20)
#define FINAL_MISSING_ROW 64

bool run_has_final(const struct run *r)
{
	size_t count[CELL_CLASSES];

	if (!r->cell_row) {
		return false;
	}
	run_count_cells(r, count);
	return count[CELL_NOT_RUN] <= FINAL_MISSING ||
	       count[CELL_NOT_RUN] / FINAL_MISSING_ROW <= r->rows;
}

void run_count_cells(const struct run *run, size_t count[CELL_CLASSES])
{
	memset(count, 0, CELL_CLASSES * sizeof(*count));
	run_foreach_cell(run, at) {
		if (run->cells[at].class < CELL_CLASSES &&
		    !follow_has(run, at)) {
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

void expected_release(struct expected *x)
{
	free(x->list);
	free(x->machines);
	*x = (struct expected){ 0 };
}

void run_release(struct run *run)
{
	if (!run) {
		return;
	}
	for (size_t i = 0; run->cell_detail && i < run_n_cells(run); i++) {
		free(run->cell_detail[i]);
	}
	free(run->cell_detail);
	for (size_t i = 0; run->cell_failure && i < run_n_cells(run); i++) {
		if (run->cell_failure[i]) {
			free(run->cell_failure[i]->detail);
			free(run->cell_failure[i]);
		}
	}
	free(run->cell_failure);
	run_drop_contrast(run);
	free(run->follow);
	free(run->follow_only);
	free(run->flows);
	free(run->cell_flows);
	free(run->gains);
	free(run->mesh);
	expected_release(&run->expected);
	free(run->accept);
	free(run->cell_line);
	free(run->cell_go);
	free(run->cell_row);
	free(run->cell_code);
	free(run->codes);
	free(run->names);
	free(run->cell_way);
	free(run->paths);
	free(run->cells);
	grid_release(&run->grid);
	free(run->ranks);
	free(run->leaves);
	free(run->nodes);
	free(run->facts);
	free(run->fact_slots);
	free(run->events);
	free(run->diagnose);
	free(run->list);
	json_decref(run->json);
	*run = (struct run){ 0 };
}

const char *run_nic_choice(const struct run *run)
{
	bool hcas = false;

	for (size_t i = 0; i < run->n_paths; i++) {
		hcas = hcas || str_starts(run->paths[i], "NET/IB");
	}
	run_foreach_fact(run, f) {
		if (hcas && strcmp(f->fact, "nccl_ib_hca") == 0) {
			return "plan";
		}
	}
	return hcas ? "nccl" : "";
}

bool run_unlike(const struct run *then, const struct run *now,
		struct str *out)
{
	const char *choice = run_nic_choice(now);
	bool nics = !row_texts_agree(run_nic_choice(then), choice);
	bool transport = !row_texts_agree(then->transport, now->transport);
	bool size = then->size_B && now->size_B && then->size_B != now->size_B;
	char was[32], is[32];

	if (transport) {
		str_addf(out, "transport %s, now %s", then->transport,
			 now->transport);
	}
	if (size) {
		units_size_text((uint64_t)then->size_B, was, sizeof(was));
		units_size_text((uint64_t)now->size_B, is, sizeof(is));
		str_addf(out, "%smessages of %s, now %s",
			 transport ? "; " : "", was, is);
	}
	if (nics) {
		str_addf(out, "%s%s (--nic-choice)",
			 transport || size ? "; " : "",
			 strcmp(choice, "plan") == 0 ?
				 "all near NICs, now those of the plan" :
				 "NICs of the plan, now all near ones");
	}
	return transport || size || nics;
}

/* ---- memlock run --------------------------------------------------------- */

#define MEMLOCK_ROWS_MAX 1000000

const char *memlock_bytes(int64_t bytes, char *buf, size_t size)
{
	if (bytes == RECORD_NONE) {
		snprintf(buf, size, "-");
	} else if (bytes == MEMLOCK_UNLIMITED) {
		snprintf(buf, size, "unlimited");
	} else {
		units_size_text((uint64_t)bytes, buf, size);
	}
	return buf;
}

int memlock_run_add(struct run *run, const struct memlock_row *row)
{
	bool login = memlock_context_parse(row->context) == MEMLOCK_LOGIN;

	if (run->rows == MEMLOCK_ROWS_MAX ||
	    !grow_add(&run->memlock, &run->rows, row, sizeof(*row)) ||
	    (row->hca[0] && run_add_name(run, row->hca) == 0)) {
		return -1;
	}
	return login ? 0 : run_note_node(run, row->node);
}

static int take_memlock(const struct run_rows *rows, const void *row)
{
	return memlock_run_add(rows->run, row);
}

int memlock_run_read(const char *dir, struct run *run, struct err *e)
{
	const struct run_rows rows = { .schema = &schema_memlock, .run = run,
				       .take = take_memlock };

	if (run_load(dir, &rows, e) < 0) {
		return -1;
	}
	for (size_t i = 0; i < run->rows; i++) {
		const char *context = run->memlock[i].context;

		/* a node that has nothing to report has a row of no context */
		if (context[0] &&
		    memlock_context_parse(context) == MEMLOCK_CONTEXTS) {
			return err_set(e, 0, "'%s' has an unknown context '%s'",
				       schema_memlock.name, context);
		}
	}
	return 0;
}
