/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_RECORD_H
#define LIB_DATA_RECORD_H

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/data/csv.h"

/* ---- record -------------------------------------------------------------- */

/**
 * The one schema: every CSV of a run directory is described by one list of
 * columns, from which the struct of a row, writing, reading, JSON and
 * "gpucheck help csv" come.  New columns go to the end of their list, never
 * between.
 */
enum column_type {
	COLUMN_TEXT,	/* char[] inside the row; empty = not measured */
	COLUMN_INT,	/* int64_t; RECORD_NONE = not measured */
	COLUMN_REAL,	/* double; NAN = not measured */
	COLUMN_OUTCOME,	/* enum outcome */
};

#define RECORD_NONE INT64_MIN

enum outcome {
	OUTCOME_NOT_RUN,	/* zero on purpose: a zeroed row claims
				 * nothing */
	OUTCOME_OK,
	OUTCOME_ERROR,
	OUTCOME_TIMEOUT,
	OUTCOME_CRASHED,
	OUTCOME_CORRUPT,
	OUTCOME_SKIPPED,
	OUTCOME_COUNT
};

/** Code of a test that was not measured as a process of it did not run. */
#define RECORD_STARVED "starved"
/** ... of a test that passed after NCCL had replaced a port of a NIC. */
#define RECORD_FAILOVER "port_failover"

/** "ok", "error", ... as in the CSV; a NULL ends them. */
extern const char *const outcome_names[];
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
	const char *const *needs;	/* columns without which a row says
					 * nothing; closed by NULL */
};

/** The number of these formats, as schema.csv of a run has it: one more where
 *  who reads columns by their names would have to know. */
#define RECORD_SCHEMA 1
/** "text", "integer", "real", "outcome", by enum column_type. */
extern const char *const column_type_names[];

/**
 * Entries of a list of columns NAME_COLUMNS(TEXT, INT, REAL, OUTCOME): name and
 * help of each column, and for a text its size in bytes with the final NUL.
 * These entries make the fields of a row.
 */
#define RECORD_TEXT(field, bytes, help)	char field[bytes];
#define RECORD_INT(field, help)		int64_t field;
#define RECORD_REAL(field, help)	double field;
#define RECORD_OUTCOME(field, help)	enum outcome field;
#define RECORD_FIELDS(COLUMNS) \
	COLUMNS(RECORD_TEXT, RECORD_INT, RECORD_REAL, RECORD_OUTCOME)

/** The schedule of the tests that a run adds at its end:
 *  report/model/follow.h. */
#define P2P_FOLLOW_UP "follow-up"
/** ... and of failed tests that are repeated with NCCL's port failover. */
#define P2P_FAILOVER "failover"

/** Flows of a pair that ib sends at once, at most. */
#define FLOWS_AT_ONCE 16

/** Code of ping and ib: some UDP source ports of a path lose packets. */
#define PATH_FLOW "path_flow"

/** One line of results.csv of p2p and ib: one ordered pair src -> dst. */
#define P2P_COLUMNS(TEXT, INT, REAL, OUTCOME) \
	INT(attempt, "number of the attempt, from 1") \
	INT(src_rank, "rank that sends") \
	TEXT(src_node, 64, "its node") \
	INT(src_gpu, "index of its GPU on the node") \
	TEXT(src_nic, 64, "its planned NICs, joined by +") \
	INT(dst_rank, "rank that receives") \
	TEXT(dst_node, 64, "its node") \
	INT(dst_gpu, "index of its GPU on the node") \
	TEXT(dst_nic, 64, "its planned NICs, joined by +") \
	TEXT(transport, 16, "transport: nccl, cuda, verbs, tcp, sim") \
	TEXT(path, 64, "path of the data; over PCIe with the topology level") \
	TEXT(op, 16, "operation") \
	TEXT(mode, 8, "uni: one way; bidi: both ways at once") \
	TEXT(memory, 8, "memory that holds the buffers: host, gpu") \
	TEXT(schedule, 16, \
	     "concurrent tests: nic, parallel, serial; +pxn, +gpu; " \
	     "follow-up") \
	INT(size_B, "bytes of one message") \
	INT(iters, "messages timed") \
	REAL(bw_GB_s, "median bandwidth, 10^9 bytes per second, one way") \
	REAL(bw_min_GB_s, "lowest bandwidth, 10^9 bytes per second") \
	REAL(bw_max_GB_s, "highest bandwidth, 10^9 bytes per second") \
	REAL(expected_GB_s, \
	     "expected hardware bandwidth, 10^9 bytes per second") \
	REAL(lat_us, \
	     "median latency, half a round trip of 8 bytes, microseconds") \
	REAL(lat_p99_us, "99th percentile of the latency, microseconds") \
	INT(wrong, "bytes that arrived with a wrong value") \
	OUTCOME(outcome, \
		"ok, error, timeout, crashed, corrupt, skipped, not_run") \
	TEXT(code, 48, "type of failure, one word") \
	TEXT(detail, 400, "the failure in one sentence") \
	REAL(wall_s, "duration of the measurement including set-up, seconds") \
	TEXT(start_utc, 32, "start time, RFC 3339") \
	INT(flow, "UDP source port, in a row of messages lost on it") \
	INT(flows, "UDP source ports that were tested: --flows") \
	INT(lost, "messages of that flow that were lost or sent again") \
	REAL(flow_GB_s, "bandwidth of the queue pair of one flow alone") \
	REAL(flows_GB_s, "the same of up to 16 flows at once")
struct p2p_row {
	RECORD_FIELDS(P2P_COLUMNS)
};

/** One line of facts.csv: what a node said about itself, read once. */
#define FACT_COLUMNS(TEXT, INT, REAL, OUTCOME) \
	TEXT(node, 64, "node that the fact describes") \
	TEXT(scope, 64, "part of the node: node, gpu3, nic0, rank5") \
	TEXT(fact, 64, "name of the fact, one word") \
	TEXT(value, 400, "the value") \
	TEXT(unit, 16, "its unit") \
	TEXT(source, 160, "source of the value")
struct fact_row {
	RECORD_FIELDS(FACT_COLUMNS)
};

/** One line of events.csv. */
#define EVENT_COLUMNS(TEXT, INT, REAL, OUTCOME) \
	TEXT(utc, 32, "time of the event, RFC 3339") \
	INT(seq, "sequence number of the event") \
	TEXT(node, 64, "node concerned") \
	INT(rank, "rank concerned") \
	TEXT(event, 48, "type of the event, one word") \
	TEXT(detail, 400, "the event in one sentence")
struct event_row {
	RECORD_FIELDS(EVENT_COLUMNS)
};

extern const struct schema schema_p2p, schema_facts, schema_events;

/** Set every column of @row to "not measured". */
void record_init(const struct schema *s, void *row);
/** Append the header line / the row as one CSV line, LF-ended. */
void record_add_header(const struct schema *s, struct str *out);
void record_add_csv(const struct schema *s, const void *row, struct str *out);
/** The same in the order of @names, @n columns of a header; what the schema
 *  does not know stays empty. */
void record_add_named(const struct schema *s, const void *row,
		      const char *const names[], size_t n, struct str *out);
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
	bool lacks;		/* a column that the schema needs */
	size_t bad_rows;	/* malformed rows or values, each skipped */
	char bad_why[160];	/* the last one, with its line */
};

/**
 * Read the header of @f (borrowed; must outlive the reader).
 * Returns 0, or -1 with @e set: empty file, no column of the schema in it, or
 * (r->lacks) some, but not one of those that it needs.
 */
int record_reader_open(struct record_reader *r, const struct schema *s,
		       FILE *f, struct err *e);
/** 1: @row is filled; 0: end of file; -1: read error.  Bad rows are counted
 *  and skipped; a last line without its newline too: its last field may be
 *  half of what it was to be. */
int record_reader_next(struct record_reader *r, void *row, struct err *e);
void record_reader_close(struct record_reader *r);

/* ---- record list --------------------------------------------------------- */

/**
 * Many rows of one schema in little memory: a text takes what it has, not what
 * it may have, which makes a row a fifth as large.  Zeroed at first, but for
 * the schema.
 */
struct record_list {
	const struct schema *schema;
	struct str packed;
	size_t *at;		/* where the packed form of each begins */
	size_t n;
};

/** Append a copy of @row; -1 without memory, and nothing is changed. */
int record_list_add(struct record_list *l, const void *row);
/** Fill @row, of schema->row_size bytes, with row @i. */
void record_list_get(const struct record_list *l, size_t i, void *row);
/** Free the rows; the schema stays. */
void record_list_release(struct record_list *l);

#endif
