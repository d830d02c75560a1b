/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_IMPORT_TABLE_H
#define REPORT_IMPORT_TABLE_H

#include "report/import/import.h"

/**
 * One table of nccl-tests or MSCCL++, line by line: the header, what its
 * columns are, the rows.  Whose table it is, is sweep.c's to know.
 */

/** What was said of a table: the same for all of its rows. */
struct import_head {
	char label[96], op[16], variant[64], lib[160], algo[32];
	char settings[200];	/* of the algorithm, as they were printed */
	int64_t ranks, nodes, iters;
	bool ranks_differ;	/* the log has communicators of several sizes */
	bool swapped;		/* in place stands first, or alone */
};

/** The table that is being read. */
struct import_table {
	const struct import_column *columns[IMPORT_TOKENS];	/* NULL: of no
								 * known name */
	size_t n_columns;
	size_t half, second;	/* first columns of the two halves; 0: none */
	bool milliseconds;
	bool fresh;		/* no row yet: the line of units may come */
	struct import_head head;
	bool swapped;
	struct record_list rows;
};

/** Do the words name columns? */
bool import_is_header(const struct import_tokens *t);
/** Begin @t by its header; @swapped: in place stands first. */
void import_table_open(struct import_table *t,
		       const struct import_tokens *header, bool swapped);
/** Is @body the line of units below the header? */
bool import_table_units(struct import_table *t, const char *body);
/** Take a row from the words of a line, which was cut where it is @unended.  1:
 *  it was one; 0: it was none; -1 with @e. */
int import_table_row(struct import_table *t, struct import_tokens *k,
		     bool unended, struct err *e);

/** Are its bandwidths in 2^30 bytes per second?  Sizes and times tell. */
bool import_table_is_binary(const struct import_table *t);

#endif
