/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of pairs: what its rows say of each cell. */
#include "report/model/follow.h"
#include "report/model/nvlink.h"
#include "report/model/pairs_plan.h"
#include "report/model/run_read.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/big.h"
#include "lib/data/json.h"
#include "report/model/expected.h"
#include "report/symptoms/symptom.h"

/** The number of the attempt that @row is of. */
static int64_t attempt_of(const struct p2p_row *row)
{
	return row->attempt == RECORD_NONE ? 1 : row->attempt;
}

/*
 * A run that was resumed was measured in several goes.  What failed in one and
 * passes in a later one has been mended meanwhile, as far as anybody knows; it
 * is not flaky.
 */

/** One more than can be told apart: it was bad in an earlier go. */
#define MENDED 255

/** In which go was @row measured? */
static uint8_t go_of(const struct run *run, const struct p2p_row *row)
{
	const json_t *resumes = json_object_get(run->json, "resumes"), *r;
	uint8_t go = 1;
	size_t i;

	json_array_foreach(resumes, i, r) {
		if (go < MENDED - 1 && row->start_utc[0] &&
		    strcmp(row->start_utc, json_member(r, "utc")) >= 0) {
			go++;
		}
	}
	return go;
}

/** cells_decides() of a row of @run, measured in @go. */
static bool row_decides(const struct run *run, const struct p2p_row *row,
			uint8_t go, struct cell_say before)
{
	struct cell_say say = { .attempt = attempt_of(row),
				.outcome = row->outcome, .go = go };

	return cells_decides(say, row->size_B == run->size_B ||
				  row->size_B == RECORD_NONE, before);
}

/** What its rows say of a cell so far. */
static struct cell_say cell_said(const struct run *run, size_t at)
{
	const struct cell *c = &run->cells[at];

	return (struct cell_say){ .attempt = c->attempt, .outcome = c->outcome,
				  .go = run->cell_go[at] };
}

static enum spec_contrast contrast_kind(const char *word)
{
	enum spec_contrast kind = CONTRAST_MEMORY;	/* the last one */

	while (kind != CONTRAST_NONE &&
	       strcmp(word, spec_choice_name("contrast", kind)) != 0) {
		kind--;
	}
	return kind;
}

static int make_contrast_cells(struct contrast *c, size_t cells)
{
	c->outcome = malloc(cells + 1);
	c->attempt = calloc(cells + 1, sizeof(*c->attempt));
	c->bw_GB_s = calloc(cells + 1, sizeof(*c->bw_GB_s));
	if (!c->outcome || !c->attempt || !c->bw_GB_s) {
		return -1;
	}
	for (size_t at = 0; at < cells; at++) {
		c->outcome[at] = OUTCOME_NOT_RUN;
		c->bw_GB_s[at] = NAN;
	}
	return 0;
}

/** The room for what --contrast measured besides, if it did; the layout is
 *  known.  0, or -1 with @e. */
static int contrast_open(struct run *run, struct err *e)
{
	const json_t *json = json_object_get(run->json, "contrast");
	struct contrast *c = &run->contrast;
	char kind[16] = "";

	if (!json) {
		return 0;
	}
	if (json_get_text(json, "kind", kind, sizeof(kind), e) < 0 ||
	    json_get_text(json, "pass", c->pass, sizeof(c->pass), e) < 0) {
		return err_hint(e, "'contrast' of run.json is damaged");
	}
	c->kind = contrast_kind(kind);
	if (c->kind == CONTRAST_NONE) {
		return err_set(e, EINVAL, "run.json: unknown contrast '%s'",
			       kind);
	}
	return make_contrast_cells(c, run_n_cells(run)) < 0 ?
		       err_set(e, ENOMEM, "cannot hold %zu cells twice",
			       run_n_cells(run)) : 0;
}

/** Is @row of the other pass, where there is one? */
static bool contrast_has(const struct run *run, const struct p2p_row *row)
{
	return run->contrast.outcome &&
	       strcmp(row->schedule, run->contrast.pass) == 0;
}

/** A row of a schedule that is not the cells'. */
static void contrast_add(struct run *run, const struct p2p_row *row)
{
	struct contrast *c = &run->contrast;
	size_t at = run_at(run, (int)row->src_rank, (int)row->dst_rank);

	if (contrast_has(run, row) &&
	    row_decides(run, row, go_of(run, row), (struct cell_say){
		    .attempt = c->attempt[at], .outcome = c->outcome[at] })) {
		c->attempt[at] = (int32_t)attempt_of(row);
		c->outcome[at] = (uint8_t)row->outcome;
		c->bw_GB_s[at] = row->outcome == OUTCOME_OK ?
					 (float)row->bw_GB_s : NAN;
	}
}

static void settle(struct run *run, struct cell *cell)
{
	bool good = cell->outcome == OUTCOME_OK;

	run->mended += good && cell->flaky == MENDED;
	cell->flaky = good && cell->flaky && cell->flaky != MENDED;
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

/** What a cell said that was bad, before a row that passes takes its place. */
static int keep_failure(struct run *run, size_t at)
{
	struct run_failure *f = run->cell_failure[at];

	if (!f) {
		f = run->cell_failure[at] = calloc(1, sizeof(*f));
	}
	if (!f) {
		return -1;
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

/** What it says that is bad in @row, which does not decide it. */
static int note_failure(struct run *run, size_t at, const struct p2p_row *row)
{
	struct run_failure *f = run->cell_failure[at];

	if (f || !run_bad(cells_class_of(row->outcome)) ||
	    run->cells[at].outcome != OUTCOME_OK) {
		return 0;
	}
	f = run->cell_failure[at] = calloc(1, sizeof(*f));
	if (!f) {
		return -1;
	}
	f->outcome = (uint8_t)row->outcome;
	f->code = run_code(run, symptom_refine(row->code, row->detail));
	f->detail = row->detail[0] ? strdup(row->detail) : NULL;
	return row->detail[0] && !f->detail ? -1 : 0;
}

/** Other schedules are other experiments; retries run in none, but for those of
 *  the other pass of a run that was resumed. */
static bool is_contrast(const struct run *run, const struct p2p_row *row)
{
	return (attempt_of(row) <= 1 || contrast_has(run, row)) &&
	       row->schedule[0] && run->schedule[0] &&
	       strcmp(row->schedule, run->schedule) != 0;
}

/** The number of the way that @path is; that of the row before is known. */
static uint16_t way_of(struct run *run, const char *path)
{
	char plain[64];

	if (run->last_way == 0 || strcmp(path, run->last_path) != 0) {
		plain_path(path, plain);
		run->last_way = run_path(run, plain);
		STR_COPY(run->last_path, path);
	}
	return run->last_way;
}

/** To its cell. */
static int add_row(struct run *run, size_t at, const struct p2p_row *row)
{
	const uint8_t go = go_of(run, row);
	struct cell *cell = &run->cells[at];
	bool good = row->outcome == OUTCOME_OK;

	if (run_bad(cells_class_of(row->outcome))) {
		cell->flaky = go;
	}
	if (!row_decides(run, row, go, cell_said(run, at))) {
		return note_failure(run, at, row);
	}
	if (good && cell->flaky && cell->flaky != go) {
		cell->flaky = MENDED;
	}
	if (good && cell->flaky && cell->outcome != OUTCOME_OK &&
	    keep_failure(run, at) < 0) {
		return -1;
	}
	run->cell_go[at] = go;
	run->cell_row[at] = (uint32_t)run->line;
	cell->attempt = (int32_t)attempt_of(row);
	cell->outcome = (uint8_t)row->outcome;
	cell->class = (uint8_t)cells_class_of(row->outcome);
	cell->bw_GB_s = good ? (float)row->bw_GB_s : NAN;
	cell->lat_us = good ? (float)row->lat_us : NAN;
	cell->expected_GB_s = (float)row->expected_GB_s;
	run->cell_code[at] = run_code(
		run, run_bad(cell->class) ?
			     symptom_refine(row->code, row->detail) :
			     row->code);
	run->cell_way[at] = way_of(run, row->path);
	return run_keep_detail(run, at, good ? "" : row->detail);
}

/** Of the follow-up: to its cell as well where nobody else measures that, or
 *  where it failed, so that this is one more attempt. */
static int follow_row(struct run *run, size_t at, const struct p2p_row *row)
{
	int own = follow_take(run, row);

	if (own == 0 && run_measured(cells_class_of(row->outcome))) {
		own = follow_adopt(run, at);
	}
	return own > 0 ? add_row(run, at, row) : own;
}

static int take_row(void *user, const void *data)
{
	const struct p2p_row *row = data;
	struct run *run = user;
	size_t at;

	if (!pairs_row_fits(run, row)) {
		return 1;
	}
	at = run_at(run, (int)row->src_rank, (int)row->dst_rank);
	if (at == run_n_cells(run)) {
		return 1;
	}
	run->rows++;
	learn_nic(run, (int)row->src_rank, row->src_nic);
	learn_nic(run, (int)row->dst_rank, row->dst_nic);
	if (strcmp(row->start_utc, run->last_utc) > 0) {
		STR_COPY(run->last_utc, row->start_utc);
	}
	if (strcmp(row->schedule, P2P_FOLLOW_UP) == 0) {
		return follow_row(run, at, row);
	}
	if (is_contrast(run, row)) {
		contrast_add(run, row);
		return 0;
	}
	return add_row(run, at, row);
}

/** Rows come in the order of the rounds, cells stand in that of the ranks: what
 *  is kept of the pair of @data is asked for while another row is taken. */
static void fetch_cell(void *user, const void *data)
{
	const struct p2p_row *row = data;
	const struct run *run = user;
	size_t at;

	if (run->grid.first || !pairs_row_fits(run, row)) {
		return;		/* there are few, or none */
	}
	at = run_at(run, (int)row->src_rank, (int)row->dst_rank);
	__builtin_prefetch(&run->cells[at], 1);
	__builtin_prefetch(&run->cell_go[at], 1);
	__builtin_prefetch(&run->cell_row[at], 1);
	__builtin_prefetch(&run->cell_code[at], 1);
	__builtin_prefetch(&run->cell_way[at], 1);
	__builtin_prefetch(&run->cell_detail[at]);
}

/** Into the cells; no such file means no rows. */
static int read_rows(const char *dir, struct run *run, struct err *e)
{
	struct run_rows rows = { .schema = run->schema, .take = take_row,
				 .ahead = fetch_cell, .user = run,
				 .run = run, .line = &run->line,
				 .misfit = "no pair of this run" };

	run->cell_row = big_calloc(run_n_cells(run) + 1,
				   sizeof(*run->cell_row));
	if (!run->cell_row) {
		return err_set(e, ENOMEM, "cannot hold %zu cells",
			       run_n_cells(run));
	}

	if (run_take_results(dir, &rows, e) < 0) {
		return -1;
	}
	for (size_t i = 0; i < run_n_cells(run); i++) {
		settle(run, &run->cells[i]);
	}
	return 0;
}

int run_read(const char *dir, struct run *run, struct err *e)
{
	if (run_begin(run, dir, &schema_p2p, e) == 0 &&
	    pairs_read_layout(run, e) == 0 &&
	    pairs_make_grid(dir, run, e) == 0 && run_make_cells(run, e) == 0 &&
	    contrast_open(run, e) == 0 && pairs_read_plan(run, e) == 0 &&
	    read_rows(dir, run, e) == 0 && run_read_sides(dir, run, e) == 0 &&
	    expected_read(dir, &run->expected, e) == 0) {
		if (nvlink_find(run) == 0 &&
		    expected_apply(run, &run->expected) == 0) {
			return 0;
		}
		err_set(e, ENOMEM, "cannot judge %d ranks", run->n_ranks);
	}
	run_release(run);
	return -1;
}
