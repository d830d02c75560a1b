/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * OSU micro-benchmarks.  Between two ranks they give rows of a pair, else rows
 * of a collective.  Their MB are 10^6 bytes.
 */
#include "report/import/import.h"

#include <string.h>

/** How a column is called, and where it goes in rows of either kind; -1: such
 *  rows have no place for it. */
static const struct osu_column {
	const char *name;
	double scale;
	int pair, collective;
} columns[] = {
#define PAIR(field) .pair = (int)offsetof(struct p2p_row, field)
#define COLL(field) .collective = (int)offsetof(struct collective_row, field)
	{ .name = "Avg Lat", .scale = 1, PAIR(lat_us), COLL(time_us) },
	{ .name = "Latency", .scale = 1, PAIR(lat_us), COLL(time_us) },
	{ .name = "Min Lat", .scale = 1, .pair = -1, COLL(time_min_us) },
	{ .name = "Max Lat", .scale = 1, .pair = -1, COLL(time_max_us) },
	{ .name = "P99 Tail Lat", .scale = 1, PAIR(lat_p99_us),
	  COLL(time_p99_us) },
	{ .name = "Bandwidth", .scale = 1e-3, PAIR(bw_GB_s),
	  .collective = -1 },
	{ .name = "MB/s", .scale = 1e-3, PAIR(bw_GB_s), .collective = -1 },
	{ 0 }
};

#define COLUMNS_MAX 16

struct osu {
	struct import *x;
	bool collective;
	char op[16], lib[64], mode[8], memory[8];
	const struct osu_column *at[COLUMNS_MAX];	/* behind the size;
							 * NULL: of another
							 * name */
	size_t n;		/* 0: no line of columns was met */
	struct import_tokens k;	/* of the line at hand */
};

/** "# OSU MPI-CUDA Allreduce Latency Test v7.0": a table begins. */
static void take_title(struct osu *p, const char *line)
{
	const char *version = strstr(line, " v");
	struct import *x = p->x;

	*p = (struct osu){ .x = x };
	STR_COPY(p->op, heading_op(line));
	p->collective = p->op[0] != '\0';
	snprintf(p->lib, sizeof(p->lib), "OSU%.20s", version ? version : "");
	STR_COPY(p->mode, strstr(line, "Bi-Directional") ? "bidi" : "uni");
	STR_COPY(p->memory, strstr(line, "CUDA") || strstr(line, "ROCM") ?
			    "gpu" : "");
}

static const struct osu_column *column_of(const char *name)
{
	const struct osu_column *c = columns;

	while (c->name && !str_starts(name, c->name)) {
		c++;
	}
	return c->name ? c : NULL;
}

/** "# Size       Avg Latency(us)   Min Latency(us)": names are apart by two
 *  blanks and more. */
static bool take_columns(struct osu *p, const char *line)
{
	const char *at = line + strspn(line, "# ");

	if (!str_starts(at, "Size ")) {
		return false;
	}
	p->n = 0;
	at = strstr(at, "  ");
	while (at && *(at += strspn(at, " ")) && p->n < COLUMNS_MAX) {
		p->at[p->n++] = column_of(at);
		at = strstr(at, "  ");
	}
	return true;
}

/** Where size and time give the bandwidth: a size that all ranks have, as
 *  nccl-tests counts. */
static bool counts_alike(const char *op)
{
	return strcmp(op, "allreduce") == 0 || strcmp(op, "broadcast") == 0 ||
	       strcmp(op, "reduce") == 0;
}

/** Returns true if the current line is a row: a size, and a number for each
 *  column. */
static bool is_row(const struct osu *p)
{
	bool whole = p->n > 0 && p->k.n == p->n + 1 &&
		     import_int(p->k.at[0]) >= 0;

	for (size_t i = 0; whole && i < p->n; i++) {
		whole = !p->at[i] || import_real(p->k.at[i + 1]) >= 0;
	}
	return whole;
}

/** Returns true if the check of the data failed, by the column "Validation". */
static bool is_wrong(const struct osu *p)
{
	bool wrong = false;

	for (size_t i = 1; i < p->k.n; i++) {
		wrong = wrong || strcmp(p->k.at[i], "Fail") == 0;
	}
	return wrong;
}

static int add_collective(struct osu *p, struct err *e)
{
	struct collective_row row;

	record_init(&schema_collective, &row);
	STR_COPY(row.op, p->op);
	STR_COPY(row.lib, p->lib);
	STR_COPY(row.table, basename(p->x->file));
	row.size_B = import_int(p->k.at[0]);
	row.outcome = is_wrong(p) ? OUTCOME_CORRUPT : OUTCOME_OK;
	STR_COPY(row.code, is_wrong(p) ? "data_corrupt" : "");
	for (size_t i = 0; i < p->n; i++) {
		const struct osu_column *c = p->at[i];

		if (c && c->collective >= 0) {
			*(double *)((char *)&row + c->collective) =
				import_real(p->k.at[i + 1]) * c->scale;
		}
	}
	if (counts_alike(p->op)) {
		row.algbw_GB_s = (double)row.size_B / row.time_us / 1e3;
	} else {
		STR_COPY(row.detail, "OSU counts the bytes of one rank");
	}
	return import_add(p->x, &schema_collective, &row, e);
}

static int add_pair(struct osu *p, struct err *e)
{
	struct p2p_row row;

	record_init(&schema_p2p, &row);
	STR_COPY(row.transport, "mpi");
	STR_COPY(row.op, "sendrecv");
	STR_COPY(row.mode, p->mode);
	STR_COPY(row.memory, p->memory);
	row.size_B = import_int(p->k.at[0]);
	row.outcome = is_wrong(p) ? OUTCOME_CORRUPT : OUTCOME_OK;
	STR_COPY(row.code, is_wrong(p) ? "data_corrupt" : "");
	for (size_t i = 0; i < p->n; i++) {
		const struct osu_column *c = p->at[i];

		if (c && c->pair >= 0) {
			*(double *)((char *)&row + c->pair) =
				import_real(p->k.at[i + 1]) * c->scale;
		}
	}
	return import_add(p->x, &schema_p2p, &row, e);
}

static int take_line(void *user, const char *line, size_t number, bool unended,
		     struct err *e)
{
	struct osu *p = user;

	import_split(line, &p->k);
	if (str_starts(line, "# OSU ")) {
		take_title(p, line);
	} else if (take_columns(p, line) || line[strspn(line, " ")] == '\0' ||
		   str_starts(line, "# ")) {
		/* understood, or a remark */
	} else if (is_row(p) && !unended) {
		return p->collective ? add_collective(p, e) : add_pair(p, e);
	} else {
		import_unknown(p->x, number, line);
	}
	return 0;
}

int import_osu(struct import *x, FILE *f, struct err *e)
{
	struct osu p = { .x = x };
	const struct import_lines to = { .line = take_line, .user = &p };

	return import_each_line(f, x, &to, e);
}
