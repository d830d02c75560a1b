/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_IMPORT_TABLE_H
#define REPORT_IMPORT_TABLE_H

#include "lib/data/record_collective.h"
#include "report/import/import.h"

/**
 * One table of nccl-tests or MSCCL++, line by line: the header, what its
 * columns are, the rows.  Whose table it is, is sweep.c's to know.
 */
#define IMPORT_TOKENS 40

/** What a column is. */
enum import_field {
	FIELD_SIZE, FIELD_COUNT, FIELD_TYPE, FIELD_REDOP, FIELD_ROOT,
	FIELD_TIME, FIELD_MIN, FIELD_MAX, FIELD_P99, FIELD_ALGBW,
	FIELD_MAX_ALGBW, FIELD_BUSBW, FIELD_WRONG, FIELD_IGNORED, FIELD_UNKNOWN
};

/** The table that is being read. */
struct import_table {
	enum import_field fields[IMPORT_TOKENS];
	size_t n_fields;
	size_t half, second;	/* first columns of the two halves; 0: none */
	bool mscclpp;
	bool milliseconds;
	bool fresh;		/* no row yet: the line of units may come */
	char label[96], op[16], variant[64], lib[160];
	int64_t ranks, nodes, iters;
	bool ranks_differ;	/* the log has communicators of several sizes */
	struct collective_row *rows;
	size_t n, max;		/* rows it has, and may have */
};

struct import_tokens {
	char text[IMPORT_LINE_MAX];
	char *at[IMPORT_TOKENS];
	size_t n;
};

/** The words of @line, as many as a header may have. */
void import_split(const char *line, struct import_tokens *t);
/** The whole of @text as a number; RECORD_NONE. */
int64_t import_int(const char *text);

/** Do the words name columns? */
bool import_is_header(const struct import_tokens *t);
/** Begin @t, of up to @max rows, by its header. */
void import_table_open(struct import_table *t,
		       const struct import_tokens *header, size_t max);
/** Is @body the line of units below the header? */
bool import_table_units(struct import_table *t, const char *body);
/** Take a row from the words of a line, which was cut where it is @unended.  1:
 *  it was one; 0: it was none; -1 with @e.  The caller frees t->rows. */
int import_table_row(struct import_table *t, struct import_tokens *k,
		     bool unended, struct err *e);

#endif
