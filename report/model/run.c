/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/run_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "lib/base/big.h"
#include "report/base/grow.h"
#include "report/model/diagnose.h"
#include "report/model/follow.h"

static void bad_row(struct run *run, const char *why)
{
	run->bad_rows++;
	STR_COPY(run->bad_why, why);
}

/** One row, of the line @line. */
static int take_one(const struct run_rows *rows, const void *row, size_t line)
{
	char why[96];
	int took;

	if (rows->line) {
		*rows->line = line;
	}
	took = rows->take(rows->user, row);
	if (took > 0) {
		snprintf(why, sizeof(why), "line %zu: %s", line, rows->misfit);
		bad_row(rows->run, why);
	}
	return took;
}

/** Each is taken when the next one has been read; @two has room for both. */
/** All behind the first line; 0, or -1 with @e. */
static int take_all(struct record_reader *r, const struct run_rows *rows,
		    void *two, struct err *e)
{
	const size_t size = rows->schema->row_size;
	char *row = two, *next = row + size;
	size_t line = 0;
	int got, took = 0;

	while (took >= 0 && (got = record_reader_next(r, next, e)) == 1) {
		char *before = row;

		if (rows->ahead) {
			rows->ahead(rows->user, next);
		}
		took = line > 0 ? take_one(rows, before, line) : 0;
		line = r->csv.line;
		row = next;
		next = before;
	}
	if (took >= 0 && line > 0) {
		took = take_one(rows, row, line);
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

/** The place of @text in @list, which has @n; @n when it is not there. */
static size_t find_text(char (*list)[64], size_t n, const char *text)
{
	size_t i = 0;

	while (i < n && strcmp(list[i], text) != 0) {
		i++;
	}
	return i;
}

/** The same, added where it is new; @none when there are @max already, or
 *  without memory. */
static size_t add_text(char (**list)[64], size_t *n, const char *text,
		       size_t max, size_t none)
{
	size_t i = find_text(*list, *n, text);
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

	run->cells = big_calloc(cells + 1, sizeof(*run->cells));
	run->cell_code = big_calloc(cells + 1, sizeof(*run->cell_code));
	run->cell_detail = calloc(cells + 1, sizeof(*run->cell_detail));
	run->cell_failure = calloc(cells + 1, sizeof(*run->cell_failure));
	run->cell_way = big_calloc(cells + 1, sizeof(*run->cell_way));
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

int run_begin(struct run *run, const char *dir, const struct schema *s,
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
	run->ended = ended[0] != '\0';
	run->ports = strcmp(run->probe, "ib") == 0;
	return 0;
}

static int take_fact(void *user, const void *row)
{
	return run_add_fact(user, row);
}

static int take_event(void *user, const void *row)
{
	struct run *run = user;

	return run->n_events >= RUN_MAX_EVENTS ||
			       grow_add(&run->events, &run->n_events, row,
					sizeof(*run->events)) ? 0 : -1;
}

static int take_diagnose(void *user, const void *row)
{
	struct run *run = user;

	return run->n_diagnose >= RUN_MAX_DIAGNOSE ? 0 :
						     diagnose_add(run, row);
}

/** The small tables; what is not there is not known. */
static const struct run_rows side_tables[] = {
	{ .schema = &schema_facts, .take = take_fact },
	{ .schema = &schema_events, .take = take_event },
	{ .schema = &schema_diagnose, .take = take_diagnose },
};

int run_find_name(const struct run *run, const char *name)
{
	size_t at = find_text(run->names, run->n_names, name);

	return at < run->n_names ? (int)at + 1 : 0;
}

int run_add_name(struct run *run, const char *name)
{
	return name[0] ? (int)add_text(&run->names, &run->n_names, name,
				       SIZE_MAX, SIZE_MAX) + 1 : 0;
}

/** Nodes that never came up have a state, though no ranks. */
static int add_absent_nodes(struct run *run, struct err *e)
{
	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];

		if (strcmp(f->scope, "node") == 0 &&
		    strcmp(f->fact, "state") == 0 &&
		    run_note_node(run, f->node) < 0) {
			return err_set(e, ENOMEM, "cannot hold the nodes");
		}
	}
	return 0;
}

/** DIR/@rows; 0, or -1 when memory runs out. */
static int read_side(const char *dir, const struct run_rows *rows,
		     struct run *run, struct err *e)
{
	const char *name = rows->schema->name;
	char text[sizeof(run->unread) - sizeof(RUN_DIAGNOSE)];
	struct err why = { 0 };
	FILE *f = rundir_open(dir, name, &why);
	int got = f ? run_take_rows(f, rows, &why) : why.code != ENOENT;

	if (got < 0 && why.code == ENOMEM) {
		return err_set(e, ENOMEM, "%s", why.text);
	}
	if (got != 0) {
		snprintf(run->unread, sizeof(run->unread), "%s%s%s",
			 got < 0 ? name : "", got < 0 ? ": " : "",
			 err_str(&why, text, sizeof(text)));
	}
	return 0;
}

int run_read_sides(const char *dir, struct run *run, struct err *e)
{
	for (size_t i = 0; i < sizeof(side_tables) / sizeof(*side_tables);
	     i++) {
		struct run_rows table = side_tables[i];

		table.user = run;
		if (read_side(dir, &table, run, e) < 0) {
			return -1;
		}
	}
	if (add_absent_nodes(run, e) < 0) {
		return -1;
	}
	if (run_read_notes(dir, run) < 0) {
		return err_set(e, ENOMEM, "cannot hold the events");
	}
	return run_read_switches(dir, run) < 0 || run_find_leaves(run) < 0 ?
		       err_set(e, ENOMEM, "cannot hold the switches") : 0;
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
	for (size_t at = 0; at < run_n_cells(run); at++) {
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
	free(run->mesh);
	free(run->expected.list);
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
	free(run->events);
	free(run->diagnose);
	json_decref(run->json);
	*run = (struct run){ 0 };
}
