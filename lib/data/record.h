/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_RECORD_H
#define LIB_DATA_RECORD_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "lib/data/csv.h"
#include "lib/base/err.h"
#include "lib/base/str.h"

/**
 * The one schema: every CSV of a run directory is described by a const table
 * of columns, from which writing, reading, JSON and "gpucheck help csv" come.
 * New columns go to the end of their table, never between.
 */
enum column_type {
	COLUMN_TEXT,	/* char[] inside the row; empty = not measured */
	COLUMN_INT,	/* int64_t; RECORD_NONE = not measured */
	COLUMN_REAL,	/* double; NAN = not measured */
	COLUMN_OUTCOME,	/* enum outcome */
};

#define RECORD_NONE INT64_MIN

enum outcome {
	OUTCOME_NOT_RUN,	/* zero on purpose: a zeroed row claims nothing */
	OUTCOME_OK,
	OUTCOME_ERROR,
	OUTCOME_TIMEOUT,
	OUTCOME_CRASHED,
	OUTCOME_CORRUPT,
	OUTCOME_SKIPPED,
	OUTCOME_COUNT
};

/** "ok", "error", ... as in the CSV. */
const char *outcome_name(enum outcome o);
/** OUTCOME_COUNT when @text is no outcome. */
enum outcome outcome_parse(const char *text);

struct column {
	const char *name;
	enum column_type type;
	size_t offset;
	size_t size;		/* of the char[] of COLUMN_TEXT */
	const char *help;	/* one line, with the unit in words */
};

struct schema {
	const char *name;	/* "results.csv", for messages */
	const struct column *columns;	/* closed by a NULL name */
	size_t row_size;
};

/** One line of results.csv of p2p and ib: one ordered pair src -> dst. */
struct p2p_row {
	int64_t attempt;
	int64_t src_rank;
	char src_node[64];
	int64_t src_gpu;
	char src_nic[64];
	int64_t dst_rank;
	char dst_node[64];
	int64_t dst_gpu;
	char dst_nic[64];
	char transport[16];
	char path[64];
	char op[16];
	char mode[8];		/* uni, bidi */
	char memory[8];		/* host, gpu */
	char schedule[16];
	int64_t size_B;
	int64_t iters;
	double bw_GB_s;		/* median; 10^9 bytes per second, one way */
	double bw_min_GB_s;
	double bw_max_GB_s;
	double expected_GB_s;
	double lat_us;		/* half a round trip of 8 B */
	double lat_p99_us;
	int64_t wrong;		/* bytes that arrived changed */
	enum outcome outcome;
	char code[48];
	char detail[400];
	double wall_s;
	char start_utc[32];
};

/** One line of facts.csv: what a node said about itself, read once. */
struct fact_row {
	char node[64];
	char scope[64];		/* node, gpu3, nic0, rank5, run ... */
	char fact[64];
	char value[400];
	char unit[16];
	char source[160];
};

/** One line of events.csv. */
struct event_row {
	char utc[32];
	int64_t seq;
	char node[64];
	int64_t rank;
	char event[48];
	char detail[400];
};

extern const struct schema schema_p2p, schema_facts, schema_events;

/** Set every column of @row to "not measured". */
void record_init(const struct schema *s, void *row);
/** Append the header line / the row as one CSV line, LF-ended. */
void record_add_header(const struct schema *s, struct str *out);
void record_add_csv(const struct schema *s, const void *row, struct str *out);
/** The row as a JSON object, "not measured" = null; NULL without memory. */
json_t *record_json(const struct schema *s, const void *row);
/** The other way: members that are missing or null are "not measured", others
 *  are ignored.  0, or -1 with @e and @row undefined. */
int record_from_json(const struct schema *s, const json_t *json, void *row,
		     struct err *e);

/**
 * A CSV file read by column name: unknown columns are ignored, missing ones
 * stay "not measured", so that older and newer files can both be read.
 */
struct record_reader {
	const struct schema *schema;
	struct csv_reader csv;
	int index[CSV_MAX_FIELDS];	/* field -> column, -1 = unknown */
	size_t n_fields;
	size_t bad_rows;	/* malformed rows or values, each skipped */
	char bad_why[160];	/* the last one, with its line */
};

/**
 * Read the header of @f (borrowed; must outlive the reader).
 * Returns 0, or -1 with @e set: empty file, no column of the schema in it.
 */
int record_reader_open(struct record_reader *r, const struct schema *s,
		       FILE *f, struct err *e);
/** 1: @row is filled; 0: end of file; -1: read error.  Bad rows are counted
 *  and skipped; a last line without its newline that lacks fields too. */
int record_reader_next(struct record_reader *r, void *row, struct err *e);
void record_reader_close(struct record_reader *r);

#endif
