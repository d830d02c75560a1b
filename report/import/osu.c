/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * OSU micro-benchmarks.  Between two ranks they give rows of a pair, else rows
 * of a collective.  Their MB are 10^6 bytes.
 */
#include "report/import/import.h"

#include <stdio.h>
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
	int pairs;		/* that were measured at once; 0: one */
	char op[16], pair_op[16], lib[64], mode[8], memory[8];
	const struct osu_column *at[COLUMNS_MAX];	/* behind the size;
							 * NULL: of another
							 * name */
	size_t n;		/* 0: no line of columns was met */
	struct import_tokens k;	/* of the line at hand */
};

/** "# Size       Avg Latency(us)   Min Latency(us)": at least two blanks
 *  between names. */
static bool take_columns(struct osu *p, const char *line)
{
	const char *at = line + strspn(line, "# ");

	if (!str_starts(at, "Size ")) {
		return false;
	}
	p->n = 0;
	at = strstr(at, "  ");
	while (at && *(at += strspn(at, " ")) && p->n < COLUMNS_MAX) {
		const struct osu_column *c = columns;

		while (c->name && !str_starts(at, c->name)) {
			c++;
		}
		p->at[p->n++] = c->name ? c : NULL;
		at = strstr(at, "  ");
	}
	return true;
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

static int add_row(struct osu *p, struct err *e)
{
	/* a size that all ranks have, as nccl-tests counts: size and time give
	 * the bandwidth */
	const bool alike = strcmp(p->op, "allreduce") == 0 ||
			   strcmp(p->op, "broadcast") == 0 ||
			   strcmp(p->op, "reduce") == 0;
	const struct schema *s = p->collective ? &schema_collective :
						 &schema_p2p;
	union import_row row;
	bool wrong = false;

	record_init(s, &row);
	for (size_t i = 0; i < p->n; i++) {
		const struct osu_column *c = p->at[i];
		const char *text = p->k.at[i + 1];
		const int at = !c ? -1 : p->collective ? c->collective :
							 c->pair;

		/* by the column "Validation" */
		wrong = wrong || strcmp(text, "Fail") == 0;
		if (at >= 0) {
			*(double *)((char *)&row + at) =
				import_real(text) * c->scale;
		}
	}
	if (!p->collective) {
		STR_COPY(row.p2p.transport, "mpi");
		STR_COPY(row.p2p.op, p->pair_op);
		if (p->pairs > 1) {
			snprintf(row.p2p.detail, sizeof(row.p2p.detail),
				 "%d pairs together", p->pairs);
		}
		STR_COPY(row.p2p.mode, p->mode);
		STR_COPY(row.p2p.memory, p->memory);
		row.p2p.size_B = import_int(p->k.at[0]);
		row.p2p.outcome = wrong ? OUTCOME_CORRUPT : OUTCOME_OK;
		STR_COPY(row.p2p.code, wrong ? "data_corrupt" : "");
		return import_add(p->x, s, &row, e);
	}
	STR_COPY(row.collective.op, p->op);
	STR_COPY(row.collective.lib, p->lib);
	STR_COPY(row.collective.table, basename(p->x->file));
	row.collective.size_B = import_int(p->k.at[0]);
	row.collective.outcome = wrong ? OUTCOME_CORRUPT : OUTCOME_OK;
	STR_COPY(row.collective.code, wrong ? "data_corrupt" : "");
	if (alike) {
		row.collective.algbw_GB_s = (double)row.collective.size_B /
					    row.collective.time_us / 1e3;
	} else {
		STR_COPY(row.collective.detail,
			 "OSU counts the bytes of one rank");
	}
	return import_add(p->x, s, &row, e);
}

/** Take the title of a table: "# OSU MPI-CUDA Allreduce Latency Test v7.0". */
static void take_title(struct osu *p, const char *line)
{
	const char *version = strstr(line, " v");

	*p = (struct osu){ .x = p->x };
	STR_COPY(p->op, heading_op(line));
	p->collective = p->op[0] != '\0';
	STR_COPY(p->pair_op, strstr(line, "MPI_Put") ? "write" :
			     strstr(line, "MPI_Get") ? "read" :
						       "sendrecv");
	snprintf(p->lib, sizeof(p->lib), "OSU%.20s",
		 version ? version : "");
	STR_COPY(p->mode, strstr(line, "Bi-Directional") ? "bidi" :
							   "uni");
	STR_COPY(p->memory, strstr(line, "CUDA") ||
			    strstr(line, "ROCM") ? "gpu" : "");
}

int import_osu(struct import *x, FILE *f, struct err *e)
{
	struct osu p = { .x = x };
	int rc = 0;

	while (rc == 0 && import_next_line(x, f)) {
		/* in a document lines are indented */
		const char *line = x->line + strspn(x->line, " ");

		import_split(line, &p.k);
		if (str_starts(line, "# OSU ")) {
			take_title(&p, line);
		} else if (sscanf(line, "# [ pairs: %6d ]", &p.pairs) == 1) {
			/* how many pairs send at the same time */
		} else if (take_columns(&p, line) || line[0] == '\0' ||
			   str_starts(line, "# ")) {
			/* understood, or a remark */
		} else if (is_row(&p) && !x->unended) {
			rc = add_row(&p, e);
		} else {
			import_unknown(x, line);
		}
	}
	return rc;
}
