/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/run.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/rundir.h"
#include "report/base/grow.h"
#include "report/symptoms/symptom.h"

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

/** Length of the PCIe class at the end of one end's path, "/PIX", else 0. */
static size_t pcie_class_len(const char *path)
{
	static const char *const classes[] = {
		"/PIX", "/PXB", "/PHB", "/NODE", "/SYS",
	};

	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		size_t len = strlen(classes[i]);

		if (strncmp(path, classes[i], len) == 0 &&
		    (path[len] == '>' || !path[len])) {
			return len;
		}
	}
	return 0;
}

/** Which way, not by which NIC, nor how far that is: "NET/IB/0+1/GDRDMA/PIX"
 *  is "NET/IB/GDRDMA". */
static void plain_path(const char *path, char plain[64])
{
	size_t n = 0;

	while (*path && n < 63) {
		path += *path == '/' ? pcie_class_len(path) : 0;
		if (!*path) {
			break;
		}
		if (*path == '/' && isdigit((unsigned char)path[1])) {
			path += 1 + strspn(path + 1, "0123456789");
			while (*path == '+' &&
			       isdigit((unsigned char)path[1])) {
				path += 1 + strspn(path + 1, "0123456789");
			}
		} else {
			plain[n++] = *path++;
		}
	}
	plain[n] = '\0';
}

static uint16_t path_index(struct run *run, const char *path)
{
	char plain[64];
	void *paths;

	plain_path(path, plain);
	for (size_t i = 0; i < run->n_paths; i++) {
		if (strcmp(run->paths[i], plain) == 0) {
			return (uint16_t)i;	/* 0 is "" */
		}
	}
	if (run->n_paths >= RUN_MAX_PATHS) {
		return 0;
	}
	paths = grow(run->paths, run->n_paths, sizeof(*run->paths));
	if (!paths) {
		return 0;
	}
	run->paths = paths;
	STR_COPY(run->paths[run->n_paths], plain);
	return (uint16_t)run->n_paths++;
}

/** Planned NICs carry their index in their name; -1 for a real name. */
static int planned_nic(const char *name)
{
	char digit_after = '\0';
	int nic;

	return sscanf(name, "nic%2d%c", &nic, &digit_after) == 1 ? nic : -1;
}

/** A planned index counts, whatever the layout says; a real name tells more
 *  than a planned one, which stands where nothing was measured. */
static void learn_nic(struct run *run, int rank, const char *name)
{
	struct run_rank *r = &run->ranks[rank];
	int nic;

	if (name[0] == '\0' || strcmp(name, r->nic_name) == 0) {
		return;	/* nothing new, as in nearly all rows */
	}
	nic = planned_nic(name);
	if ((r->nic_name[0] && (nic >= 0 || planned_nic(r->nic_name) < 0))) {
		return;
	}
	STR_COPY(r->nic_name, name);
	if (nic >= 0 && nic < run->nodes[r->node].nics) {
		r->nic = nic;
	}
}

static bool measured_outcome(enum outcome o)
{
	return o != OUTCOME_NOT_RUN && o != OUTCOME_SKIPPED;
}

bool run_row_decides(const struct run *run, const struct p2p_row *row,
		     struct cell_say before)
{
	struct cell_say say = { .attempt = run_attempt(row),
				.outcome = row->outcome };

	return cells_decides(say, row->size_B == run->size_B ||
				  row->size_B == RECORD_NONE, before);
}

static int keep_detail(struct run *run, size_t at, const char *detail,
		       struct err *e)
{
	if (run->cell_detail[at]) {	/* most memory stays untouched */
		free(run->cell_detail[at]);
		run->cell_detail[at] = NULL;
	}
	if (detail[0] == '\0') {
		return 0;
	}
	run->cell_detail[at] = str_dup(detail);
	if (!run->cell_detail[at]) {
		return err_set(e, ENOMEM, "cannot keep the rows");
	}
	return 0;
}

/** What a cell said that was bad, before a row that passes takes its place. */
static int keep_failure(struct run *run, size_t at, struct err *e)
{
	struct run_failure *f = run->cell_failure[at];

	if (!f) {
		f = run->cell_failure[at] = calloc(1, sizeof(*f));
	}
	if (!f) {
		return err_set(e, ENOMEM, "cannot keep the rows");
	}
	free(f->detail);
	*f = (struct run_failure){
		.outcome = run->cells[at].outcome,
		.code = run->cell_code[at],
		.detail = run->cell_detail[at],
	};
	run->cell_detail[at] = NULL;
	return 0;
}

static int add_row(struct run *run, const struct p2p_row *row, struct err *e)
{
	size_t at = run_at(run, (int)row->src_rank, (int)row->dst_rank);
	int64_t attempt = run_attempt(row);
	struct cell *cell = &run->cells[at];
	bool good = row->outcome == OUTCOME_OK;

	/* Other schedules are other experiments; retries run in none, but for
	 * those of the other pass of a run that was resumed. */
	if ((attempt <= 1 || contrast_has(run, row)) && row->schedule[0] &&
	    run->schedule[0] && strcmp(row->schedule, run->schedule) != 0) {
		contrast_add(run, row);
		return 0;
	}
	if (!good && measured_outcome(row->outcome)) {
		goes_note_bad(run, cell, row);
	}
	if (!run_row_decides(run, row, (struct cell_say){
		    .attempt = cell->attempt, .outcome = cell->outcome })) {
		return 0;
	}
	if (good) {
		goes_note_good(run, cell, row);
	}
	if (good && cell->flaky && cell->outcome != OUTCOME_OK &&
	    keep_failure(run, at, e) < 0) {
		return -1;
	}
	cell->attempt = (int32_t)attempt;
	cell->outcome = (uint8_t)row->outcome;
	cell->class = (uint8_t)cells_class_of(row->outcome);
	cell->bw_GB_s = good ? (float)row->bw_GB_s : NAN;
	cell->lat_us = good ? (float)row->lat_us : NAN;
	cell->expected_GB_s = (float)row->expected_GB_s;
	run->cell_code[at] = run_code(
		run, row->outcome == OUTCOME_OK ?
			     row->code :
			     symptom_refine(row->code, row->detail));
	run->cell_way[at] = path_index(run, row->path);
	return keep_detail(run, at, good ? "" : row->detail, e);
}

/** Ranks, attempt and size of a row that the cells can hold. */
static bool row_fits(const struct run *run, const struct p2p_row *row)
{
	int64_t n = run->n_ranks;

	return row->src_rank >= 0 && row->src_rank < n && row->dst_rank >= 0 &&
	       row->dst_rank < n && row->src_rank != row->dst_rank &&
	       (row->attempt == RECORD_NONE ||
		(row->attempt > 0 && row->attempt < INT32_MAX));
}

/** The largest size, for a run.json that does not say. */
static int find_size(struct record_reader *reader, struct run *run,
		     struct err *e)
{
	struct p2p_row row;
	int got;

	while ((got = record_reader_next(reader, &row, e)) == 1) {
		if (row.size_B > run->size_B) {
			run->size_B = row.size_B;
		}
	}
	return got;
}

static int read_cells(struct record_reader *reader, struct run *run,
		      struct err *e)
{
	struct p2p_row row;
	char why[96];
	int got;

	while ((got = record_reader_next(reader, &row, e)) == 1) {
		if (!row_fits(run, &row)) {
			snprintf(why, sizeof(why),
				 "line %zu: no pair of this run",
				 reader->csv.line);
			run_bad_row(run, why);
			continue;
		}
		run->rows++;
		learn_nic(run, (int)row.src_rank, row.src_nic);
		learn_nic(run, (int)row.dst_rank, row.dst_nic);
		if (add_row(run, &row, e) < 0) {
			return -1;
		}
	}
	return got;
}

typedef int read_fn(struct record_reader *reader, struct run *run,
		    struct err *e);

static int read_file(const char *dir, struct run *run, read_fn *fn,
		     struct err *e)
{
	struct record_reader reader;
	struct err why = { 0 };
	FILE *f = run_open(dir, RUN_RESULTS, &why);
	int rc;

	if (!f) {
		if (why.code != ENOENT && e) {
			*e = why;
		}
		return why.code == ENOENT ? 0 : -1;
	}
	if (record_reader_open(&reader, &schema_p2p, f, &why) < 0) {
		/* Nothing that we know in it: no rows, and it is said. */
		run_bad_row(run, why.text);
		fclose(f);
		return 0;
	}
	rc = fn(&reader, run, e);
	if (fn == read_cells && reader.bad_rows > 0) {
		run->bad_rows += reader.bad_rows;
		STR_COPY(run->bad_why, reader.bad_why);
	}
	record_reader_close(&reader);
	fclose(f);
	return rc;
}

int run_read_rows(const char *dir, struct run *run, struct err *e)
{
	size_t n = (size_t)run->n_ranks * (size_t)run->n_ranks;

	if (run->size_B == 0 && read_file(dir, run, find_size, e) < 0) {
		return -1;
	}
	if (read_file(dir, run, read_cells, e) < 0) {
		return -1;
	}
	for (size_t i = 0; i < n; i++) {
		goes_settle(run, &run->cells[i]);
	}
	return 0;
}
