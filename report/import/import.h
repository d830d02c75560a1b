/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_IMPORT_IMPORT_H
#define REPORT_IMPORT_IMPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/data/record.h"
#include "lib/data/record_rows.h"
#include "lib/data/rundir.h"
#include "report/symptoms/symptom.h"

/**
 * Results of other programs, read into our rows.  Fields that a log does not
 * give stay empty; a line that is not understood is counted, and never ends
 * the import.
 */

/** Longer lines are cut. */
#define IMPORT_LINE_MAX 65536
/** Number of lines not understood that can be shown. */
#define IMPORT_SHOWN_MAX 200

struct import {
	struct record_list rows;	/* of a schema after the first one */
	size_t lines;		/* of text */
	size_t unknown;		/* lines that were not understood */
	struct str shown;	/* the first of these, each with its number */
	size_t n_shown;
	struct str notes;	/* what a reader should know, a line each */
	const char *file;	/* the last one that was read; borrowed */
	size_t number;		/* of the line at hand in it, from 1; 0: none */
	const char *line;	/* that line, in text */
	bool unended;		/* the file ends without a newline behind it */
	char text[IMPORT_LINE_MAX];
	json_t *means;		/* [{table, variant, GB_s}]: the bandwidths that
				 * nccl-tests prints below its tables; NULL:
				 * none */
	struct import_pairs *pairs;	/* logs of pairs, until the end */
};

/** Room for a row of any kind. */
union import_row {
	struct collective_row collective;
	struct p2p_row p2p;
	struct ping_row ping;
};

/** Append @row; -1 with @e when it is of another kind than those before, or
 *  there is no memory. */
int import_add(struct import *x, const struct schema *s, const void *row,
	       struct err *e);
/** Count @line, number x->number of its file, as not understood. */
void import_unknown(struct import *x, const char *line);
/** Add a note for the reader, once however often it is added. */
void import_note(struct import *x, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void import_release(struct import *x);

/**
 * Return the name of the collective that is in @text, in any spelling, ""
 * if there is none: "NCCL `all_reduce` results" is allreduce.
 */
const char *heading_op(const char *text);

/** The words of a line; the limit is the width of a matrix of GPUs. */
#define IMPORT_TOKENS 4200
struct import_tokens {
	char text[IMPORT_LINE_MAX];
	char *at[IMPORT_TOKENS];
	size_t n;
};
void import_split(const char *line, struct import_tokens *t);
/** The whole of @text as a number; RECORD_NONE and NAN where it is none. */
int64_t import_int(const char *text);
double import_real(const char *text);
/** Return true if @line contains, or with @begins begins with, one of @words
 *  (NULL at the end). */
bool import_has_any(const char *line, const char *const words[], bool begins);

/** The most telling line of a log, and its known symptom. */
struct import_message {
	const struct symptom *symptom;	/* NULL: no line that is known */
	char line[400];
};
/** Keeps @line if it is more specific than the message so far.  Returns true if
 *  it is a known message. */
bool import_tell(struct import_message *m, const char *line);

/** Read the next line of @f into @x, made harmless and without its newline;
 *  false at the end, or if @f cannot be read, which its reader's caller
 *  reports. */
bool import_next_line(struct import *x, FILE *f);

/**
 * The readers.  Each reads the whole of @f, adds what rows it finds, and
 * returns 0, or -1 with @e.
 */

/** Tables of nccl-tests, rccl-tests and MSCCL++, in logs and documents. */
int import_sweep(struct import *x, FILE *f, struct err *e);
/** Boxed tables of MSCCL++: cells between bars. */
int import_boxed(struct import *x, FILE *f, struct err *e);
/** Results of perftest as text. */
int import_perftest(struct import *x, FILE *f, struct err *e);
/** Matrices of nvbandwidth as text. */
int import_nvbandwidth(struct import *x, FILE *f, struct err *e);
/** OSU micro-benchmarks. */
int import_osu(struct import *x, FILE *f, struct err *e);
/** SourceNode,SourceIP,...,Status of a ping script. */
int import_ping(struct import *x, FILE *f, struct err *e);
/** nodes, planned of run.json for such rows, of which there is one at least;
 *  NULL where they do not say who asked.  New reference. */
json_t *import_ping_layout(const struct import *x);
/** Read fping's lines about its targets. */
int import_fping(struct import *x, FILE *f, struct err *e);
/** JSON of any of them. */
int import_json(struct import *x, FILE *f, struct err *e);

/** The same of a whole JSON text, once a member has told whose it is. */
int import_perftest_json(struct import *x, const json_t *top, struct err *e);
int import_nvbandwidth_json(struct import *x, const json_t *top,
			    struct err *e);
/** "nodes" (reference stolen) and "planned" of a run of all pairs. */
json_t *import_layout(json_t *nodes, int64_t cells);
/** An object of the JSON of nccl-tests, perftest, nvbandwidth or ClusterKit.
 *  Each has some of the members: a missing text is "", a tree NULL. */
struct import_object {
	const char *name, *status, *error, *title, *hostname, *root;
	const char *experiment, *test, *device;
	json_t *config, *devices, *args, *results, *result, *test_info;
	json_t *nvbandwidth, *gpus, *testcases, *matrix, *links;
};

struct import_object import_object(const json_t *json);
/** A member as a number, NAN; as an integer from -1, RECORD_NONE. */
double import_json_real(const json_t *o, const char *key);
int64_t import_json_int(const json_t *o, const char *key);

/** One .out or .err of a job that tried one pair, p2p-test-S-R-JOB.out. */
struct import_pair {
	int src, dst;
	int64_t job;
	bool is_err;
};
/** Parse a name of a pair; false if it is not one. */
bool import_pair_name(const char *name, struct import_pair *pair);
/** Read such a log, which x->file names; it is kept until import_end(). */
int import_pair_log(struct import *x, FILE *f, struct err *e);
/** Return the members of run.json about the pairs: nodes, planned; NULL if
 *  there are none. New reference. */
json_t *import_pairs_layout(const struct import *x);
void import_pairs_free(struct import_pairs *p);

/** The formats by the names that people know, "" of another spelling of the
 *  one before; NULL at the end. */
const char *import_format_name(size_t i);

/** nodes, planned of run.json for rows of one test between all of its ranks;
 *  NULL when they are none.  New reference. */
json_t *import_matrix_layout(const struct import *x);

/** End the import after its last file: make the rows of the logs of pairs,
 *  the newest job of each pair.  Returns 0, or -1 with @e. */
int import_end(struct import *x, struct err *e);

/**
 * Read @path, whatever of these it is.  0, or -1 with @e: it cannot be read,
 * or is of no kind that is known.
 */
int import_file(struct import *x, const char *path, struct err *e);
/** The same of an open file that can be read twice, called @name. */
int import_stream(struct import *x, const char *name, FILE *f, struct err *e);

#endif
