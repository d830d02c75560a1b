/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_RUN_H
#define REPORT_MODEL_RUN_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "lib/base/err.h"
#include "lib/cluster/cluster.h"
#include "lib/data/cells.h"
#include "lib/data/record.h"
#include "lib/data/record_rows.h"
#include "lib/data/rundir.h"
#include "lib/spec/spec.h"

/**
 * report/ reads the files of a run directory, nothing else: the same answer on
 * another machine, a year later.
 */

/** The first ones are kept, the rest is counted only. */
#define RUN_MAX_FACTS  500000
#define RUN_MAX_EVENTS 10000
#define RUN_MAX_CODES  1024
#define RUN_MAX_DIAGNOSE 1000
#define RUN_MAX_PATHS  1024
#define RUN_MAX_FOLLOW 100000
#define RUN_MAX_OTHER  1000000	/* rows of pairs that nobody listed */
/** A part that is slower by so many percent is a fault. */
#define RUN_SLOW_PERCENT 10

/** A leaf switch with two nodes of the run or more. */
struct run_leaf {
	char name[64];
	int n_nodes;
};

/** --contrast: how the same pairs fared in another pass. */
struct contrast {
	enum spec_contrast kind;
	char pass[16];		/* as in the rows' schedule */
	uint8_t *outcome;	/* enum outcome there, a cell each; NULL: there
				 * is no contrast */
	int32_t *attempt;	/* that it is of; 0 = none */
	float *bw_GB_s;		/* there; NAN = not measured */
};

/** A test of the follow-up: report/model/follow.h. */
struct run_follow {
	size_t at;		/* the cell that it looks at again */
	int32_t attempt;	/* from 1, in the follow-up */
	uint8_t outcome;	/* enum outcome; NOT_RUN: the largest size was
				 * not measured, and none was bad */
	float bw_GB_s, lat_us;	/* NAN when not measured */
};

/** Failure of a cell in another attempt than the one that passed. */
struct run_failure {
	enum outcome outcome;
	uint16_t code;		/* index in codes[] */
	char *detail;		/* NULL where there is none */
};

/** Bandwidth of hardware: report/model/expected.h. */
struct expected {
	struct expected_line *list;
	size_t n;
};

/** A run as read from its files. */
struct run {
	json_t *json;		/* run.json */
	char dir[PATH_MAX];	/* as it was named; "": there is none */
	char probe[16];
	union {			/* nodes that only facts.csv names come last;
				 * of cells[] there is one more than of the
				 * grid: of the other pairs, which nobody
				 * planned.  So it is with all that is kept for
				 * each cell */
		struct cluster cluster;
		struct { CLUSTER_MEMBERS; };
	};
	struct run_leaf *leaves;
	int n_leaves;
	bool leaves_inferred;	/* from bad cells: nobody said them */
	char (*codes)[64];	/* distinct codes seen, index in cell_code[] */
	size_t n_codes;
	uint16_t *cell_code;	/* 0 = none */
	char **cell_detail;	/* NULL where there is none */
	struct run_failure **cell_failure;	/* NULL where there is none, or
						 * as a whole: nowhere */
	char (*paths)[64];	/* distinct ways of the bytes, as far as known,
				 * index in cell_way[] */
	size_t n_paths;
	uint16_t *cell_way;	/* 0 = none */
	uint8_t *cell_go;	/* of a run that was resumed: which decides it,
				 * from 1 */
	uint32_t *cell_row;	/* the line of results.csv that decides it; 0:
				 * none does.  NULL: lines are not of cells */
	size_t line;		/* of results.csv, while that is read */
	char last_path[64];	/* of the row before, */
	uint16_t last_way;	/* and its cell_way; 0 = none */
	struct slow_limit slow[PATH_CLASSES];
	struct expected expected;
	uint8_t *cell_line;	/* what a cell is expected to reach is by this
				 * section of it, + 1; 0 = its row says it, or
				 * nobody; NULL: nothing was expected */
	struct contrast contrast;
	struct run_follow *follow;	/* in the order of the rows */
	size_t n_follow;
	uint8_t *follow_only;	/* cells that nobody else measured; NULL:
				 * none */
	struct mesh *mesh;	/* of ping: report/model/ping_run.h; else
				 * NULL */
	const struct schema *schema;	/* of results.csv */
	struct fact_row *facts;
	size_t n_facts;
	size_t facts_spare;	/* rows that nobody needs, and */
	size_t facts_cut;	/* those past RUN_MAX_FACTS, not in facts[] */
	struct event_row *events;
	size_t n_events;
	struct diagnose_row *diagnose;	/* tests of failed pairs, if any */
	size_t n_diagnose;
	int64_t size_B;		/* of the cells; 0 = nothing measured */
	char transport[16], schedule[16];
	char started_utc[32];
	char last_utc[32];	/* when the last test began; "" = none did */
	char (*names)[64];	/* of parts that have no index:
				 * run_add_name() */
	size_t n_names;
	bool drill, ended, strict, shared_cores;
	bool foreign;		/* another user could have written it: none of
				 * its options is obeyed or printed but those
				 * that are harmless */
	bool sampled_step;	/* all: one of its probes measured a sample */
	bool ports;		/* ib: a rank is an HCA port, not a GPU */
	int64_t slow_percent;	/* 1 .. 99; 0 = RUN_SLOW_PERCENT */
	char stop_reason[64];	/* "" = went to its end; "interrupted", ... */
	size_t mended;		/* cells that failed before a resume, and
				 * pass */
	size_t rows, bad_rows;
	char bad_why[160];
	char unread[400];	/* the last file besides that cannot be read,
				 * and why; "": none */
};

/** Read DIR; -1 with @e when it is no run directory.  A truncated or damaged
 *  results.csv is read as far as it goes.  run_release() frees. */
int run_read(const char *dir, struct run *run, struct err *e);
void run_release(struct run *run);
/** Forget what another pass measured. */
void run_drop_contrast(struct run *run);

/** The node of that name, -1 for none.  Facts come node by node: @last, or -1,
 *  is where to look first. */
int run_find_node(const struct run *run, const char *name, int last);
/** The same, added to the end where it is new; -1 when memory runs out, or of
 *  "". */
int run_add_node(struct run *run, const char *name);
/** The number of @name in run->names, + 1; 0: it is not there. */
int run_find_name(const struct run *run, const char *name);
/** The same, added where it is new; 0 of "", or when memory runs out. */
int run_add_name(struct run *run, const char *name);

/** The first @event on @node; NULL: there is none. */
const struct event_row *run_find_event(const struct run *run,
				       const char *event, const char *node);
/** The first fact @name of @node about @scope, NULL: of any; or NULL. */
const struct fact_row *run_find_fact(const struct run *run, const char *node,
				     const char *scope, const char *name);
/** The value of the fact @name of the part that @of is about; "" without. */
const char *run_fact_beside(const struct run *run, const struct fact_row *of,
			    const char *name);
/** 7 of "gpu7" behind @prefix, "gpu"; -1 of anything else. */
int run_number_in(const char *text, const char *prefix);

/** How many of the planned cells are of each class; those that only the
 *  follow-up has are none. */
void run_count_cells(const struct run *run, size_t count[CELL_CLASSES]);

/** Where the cell of @src -> @dst is; run_n_cells() where it has none. */
static inline size_t run_at(const struct run *r, int src, int dst)
{
	return grid_at(&r->grid, src, dst);
}

/** All places, of a square the diagonal too; and whose one of them is. */
static inline size_t run_n_cells(const struct run *r)
{
	return r->grid.n;
}

/** The share of bandwidth that a slow part has lost at least. */
static inline double run_slow_share(const struct run *r)
{
	return (double)(r->slow_percent ? r->slow_percent :
					  RUN_SLOW_PERCENT) / 100;
}

/* Loops over all places, facts and events of a run. */
#define run_foreach_cell(run, at) \
	for (size_t at = 0; at < run_n_cells(run); at++)
#define run_foreach_fact(run, f) \
	for (const struct fact_row *f = (run)->facts; \
	     f && f < (run)->facts + (run)->n_facts; f++)
#define run_foreach_event(run, e) \
	for (const struct event_row *e = (run)->events; \
	     e && e < (run)->events + (run)->n_events; e++)

static inline int run_src(const struct run *r, size_t at)
{
	return grid_src(&r->grid, at);
}

static inline int run_dst(const struct run *r, size_t at)
{
	return grid_dst(&r->grid, at);
}

/** The first place of @src, or where all end. */
static inline size_t run_first(const struct run *r, int src)
{
	return grid_first(&r->grid, src);
}

/** The place of the way back. */
static inline size_t run_back(const struct run *r, size_t at)
{
	return run_at(r, run_dst(r, at), run_src(r, at));
}

static inline const struct cell *run_cell(const struct run *r, int src, int dst)
{
	return &r->cells[run_at(r, src, dst)];
}

/** Return the code of the row that decides the cell; "": none. */
static inline const char *run_cell_code(const struct run *r, size_t at)
{
	return r->codes[r->cell_code[at]];
}

static inline const char *run_cell_detail(const struct run *r, size_t at)
{
	return r->cell_detail[at] ? r->cell_detail[at] : "";
}

/** Why a flaky cell was tried again; NULL where nobody knows. */
static inline const struct run_failure *run_failure(const struct run *r,
						    size_t at)
{
	return r->cell_failure && r->cells[at].flaky ? r->cell_failure[at] :
						       NULL;
}

/** Return the cell's bandwidth divided by that of the other pass; NAN unless
 *  both were measured. */
static inline double run_ratio(const struct run *r, size_t at)
{
	return r->contrast.outcome ? (double)r->contrast.bw_GB_s[at] /
					     (double)r->cells[at].bw_GB_s :
				     NAN;
}

/** Returns true if the expected value of the cell is from a section of
 *  expected.ini, a share of the line, and not the line rate of its row. */
static inline bool run_by_section(const struct run *r, size_t at)
{
	return r->cell_line && r->cell_line[at] > 0;
}

/** Return the line rate of a cell, GB/s; 0 if its row does not name it. */
static inline double run_rate(const struct run *r, size_t at)
{
	double expected = (double)r->cells[at].expected_GB_s;

	return expected > 0 && !run_by_section(r, at) ? expected : 0;
}

/** Share of what the line carries that a cell reached; NAN where either is not
 *  known. */
static inline double run_line_share(const struct run *r, size_t at)
{
	double expected = (double)r->cells[at].expected_GB_s;

	return expected > 0 && !run_by_section(r, at) ?
		       (double)r->cells[at].bw_GB_s / expected : NAN;
}

/** Returns true if results-final.csv has a line for each cell.  It has not if
 *  run.json claims many ranks with few rows, since a KiB would become a GiB. */
bool run_has_final(const struct run *r);

/** The option of that name as it was typed, or NULL. */
static inline json_t *run_option(const struct run *r, const char *name)
{
	return json_object_get(run_file(r->json).options, name);
}

/** Return true if the run measured a model of a cluster. */
static inline bool run_is_model(const struct run *r)
{
	return spec_transport_is(r->transport, XPORT_MODEL);
}

/** Where the pairs of a class are, "between nodes". */
static inline const char *run_path_words(enum path_class path)
{
	static const char *const words[PATH_CLASSES] = {
		[PATH_INTRA] = "inside a node",
		[PATH_INTER] = "between nodes",
		[PATH_NVLINK] = "inside an NVLink domain",
	};

	return words[path];
}

/** Classes: measured and good; measured and bad; measured at all. */
static inline bool run_good(unsigned class)
{
	return class == CELL_PASS || class == CELL_SLOW;
}

static inline bool run_measured(unsigned class)
{
	return run_good(class) || cells_failed(class);
}

/** Return true if two columns of settings may be equal; an empty one may be
 *  any. */
static inline bool row_texts_agree(const char *a, const char *b)
{
	return !a[0] || !b[0] || strcmp(a, b) == 0;
}

/** Append in which settings the runs differ ("transport sim, now tcp"); a
 *  setting that one of them does not name counts as equal. Returns true if they
 *  differ. */
bool run_unlike(const struct run *then, const struct run *now,
		struct str *out);

#endif
