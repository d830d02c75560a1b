/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Boxed tables of MSCCL++: cells between bars, sizes as people write them.  Its
 * allreduce benchmark has columns of NCCL beside its own: a row of the table is
 * one of ours for each.
 */
#include "report/import/import.h"

#include <string.h>

enum { MSCCLPP, NCCL, LIBRARIES };

static const char *const libraries[] = {
	[MSCCLPP] = "mscclpp", [NCCL] = "nccl",
};

static const struct boxed_column {
	const char *name;	/* as it begins */
	int library;
	enum { SIZE, REAL, CHECK, ALGO } type;
	size_t at;		/* of REAL */
} columns[] = {
#define AT(field) .at = offsetof(struct collective_row, field)
	{ .name = "Size (", .type = SIZE },
	{ .name = "total", .type = SIZE },
	{ .name = "algorithm", .type = ALGO },
	{ .name = "Time (us)", .type = REAL, AT(time_us) },
	{ .name = "time_us", .type = REAL, AT(time_us) },
	{ .name = "AlgBW (GB/s)", .type = REAL, AT(algbw_GB_s) },
	{ .name = "algBW_GB/s", .type = REAL, AT(algbw_GB_s) },
	{ .name = "busBW_GB/s", .type = REAL, AT(busbw_GB_s) },
	{ .name = "Correctness", .type = CHECK },
	{ .name = "check", .type = CHECK },
	{ .name = "NCCL Time (us)", .library = NCCL, .type = REAL,
	  AT(time_us) },
	{ .name = "NCCL AlgBW (GB/s)", .library = NCCL, .type = REAL,
	  AT(algbw_GB_s) },
	{ .name = "NCCL Correctness", .library = NCCL, .type = CHECK },
	{ 0 }
};

#define CELLS_MAX 32

struct boxed {
	struct import *x;
	char line[IMPORT_LINE_MAX];
	char *cells[CELLS_MAX];
	size_t n;
	const struct boxed_column *at[CELLS_MAX];	/* NULL: no known
							 * name */
	size_t columns;		/* 0: no header was met */
	char dtype[16];		/* "Size (float16)" */
	char op[16];
};

static bool take_header(struct boxed *b)
{
	const struct boxed_column *at[CELLS_MAX];
	size_t known = 0;

	for (size_t i = 0; i < b->n; i++) {
		const char *type = strchr(b->cells[i], '(');
		const struct boxed_column *c = columns;

		while (c->name && !str_starts(b->cells[i], c->name)) {
			c++;
		}
		at[i] = c->name ? c : NULL;
		known += at[i] != NULL;
		if (at[i] && at[i]->type == SIZE && type) {
			snprintf(b->dtype, sizeof(b->dtype), "%.*s",
				 (int)strcspn(type + 1, ")"), type + 1);
		}
	}
	if (known < 3) {
		return false;	/* size, time, bandwidth at least */
	}
	memcpy(b->at, at, b->n * sizeof(*at));
	b->columns = b->n;
	return true;
}

/** "1.5 KiB"; RECORD_NONE. */
static int64_t size_of(const char *text)
{
	static const char *const units[] = {
		"B", "KiB", "MiB", "GiB", "TiB", NULL
	};
	char unit[4] = "", after;
	double value;
	int power;

	if (sscanf(text, "%15lf %3[A-Za-z]%c", &value, unit, &after) != 2 ||
	    !(value >= 0 && value < 1e6)) {
		return RECORD_NONE;
	}
	power = str_index(units, unit);
	return power < 0 ? RECORD_NONE : (int64_t)ldexp(value, 10 * power);
}

static void take_cell(const struct boxed *b, const struct boxed_column *c,
		      const char *text, struct collective_row *row)
{
	switch (c->type) {
	case SIZE:
		row->size_B = size_of(text);
		break;
	case REAL:
		*(double *)((char *)row + c->at) = import_real(text);
		break;
	case ALGO:
		STR_COPY(row->algo, text);
		break;
	case CHECK:
		if (strcmp(text, "FAIL") == 0) {
			row->outcome = OUTCOME_CORRUPT;
			STR_COPY(row->code, "data_corrupt");
			STR_COPY(row->detail, "the check of the result failed");
		}
		break;
	}
	STR_COPY(row->dtype, b->dtype);
}

/** 1: the line was a row; 0: it was none; -1 with @e. */
static int take_row(struct boxed *b, struct err *e)
{
	int got = 0;

	for (int lib = 0; lib < LIBRARIES && b->n == b->columns; lib++) {
		struct collective_row row;

		record_init(&schema_collective, &row);
		row.outcome = OUTCOME_OK;
		for (size_t i = 0; i < b->n; i++) {
			const struct boxed_column *c = b->at[i];

			if (c && (c->type == SIZE || c->library == lib)) {
				take_cell(b, c, b->cells[i], &row);
			}
		}
		if (row.size_B == RECORD_NONE || !(row.time_us >= 0)) {
			continue;
		}
		STR_COPY(row.op, b->op);
		STR_COPY(row.variant, libraries[lib]);
		STR_COPY(row.lib, libraries[lib]);
		STR_COPY(row.table, basename(b->x->file));
		if (import_add(b->x, &schema_collective, &row, e) < 0) {
			return -1;
		}
		got = 1;
	}
	return got;
}

/** Cut a line into cells, without the blanks around them. */
static void take_cells(struct boxed *b, const char *line)
{
	char *p = b->line, *cell;

	STR_COPY(b->line, line + strspn(line, " |"));
	b->n = 0;
	while ((cell = strsep(&p, "|")) && b->n < CELLS_MAX) {
		size_t len;

		cell += strspn(cell, " ");
		len = strlen(cell);
		while (len > 0 && cell[len - 1] == ' ') {
			cell[--len] = '\0';
		}
		if (len > 0 || p) {
			b->cells[b->n++] = cell;
		}
	}
}

int import_boxed(struct import *x, FILE *f, struct err *e)
{
	struct boxed b = { .x = x };
	int rc = 0;

	STR_COPY(b.op, heading_op(basename(x->file)));
	while (rc >= 0 && import_next_line(x, f)) {
		if (x->line[strspn(x->line, " +-=.")] == '\0') {
			continue;	/* blank, a rule, dots of progress */
		}
		take_cells(&b, x->line);
		if (take_header(&b)) {
			continue;
		}
		rc = x->unended ? 0 : take_row(&b, e);
		if (rc == 0) {
			import_unknown(x, x->line);
		}
	}
	return rc < 0 ? -1 : 0;
}
