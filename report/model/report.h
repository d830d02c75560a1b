/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_REPORT_H
#define REPORT_MODEL_REPORT_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "lib/data/cells.h"
#include "lib/base/err.h"
#include "lib/data/record.h"
#include "lib/data/record_diagnose.h"
#include "lib/spec/spec.h"
#include "lib/base/str.h"

/**
 * report/ reads the files of a run directory, nothing else: the same answer on
 * another machine, a year later.
 */

/** Larger runs are refused: a matrix of 4096 x 4096 cells is 0.5 GB. */
#define RUN_MAX_RANKS 4096
#define RUN_MAX_NODES 4096
/** The first ones are kept, the rest is counted only. */
#define RUN_MAX_FACTS  500000
#define RUN_MAX_EVENTS 10000
#define RUN_MAX_CODES  1024
#define RUN_MAX_DIAGNOSE 1000
#define RUN_MAX_PATHS  1024

struct run_node {
	char name[64];
	int first_rank, gpus, nics;
};

struct run_rank {
	int node, gpu, nic;	/* nic: local index = number of the rail */
	char nic_name[64];	/* as in the rows, "" when no row has it */
};

/** A leaf switch with two nodes of the run or more. */
struct run_leaf {
	char name[64];
	int n_nodes;
};

/** Of ping: the address that a rank stands for. */
struct run_end {
	char ifname[32];
	char ip[56];
	char segment[64];	/* its subnet */
	char state[16];		/* up, down, no_carrier; "" = no such end */
	int64_t mtu_B;		/* of the interface; 0 = not known */
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

/** What a cell said in the attempt before the one that it passed in. */
struct run_failure {
	enum outcome outcome;
	uint16_t code;		/* index in codes[] */
	char *detail;		/* NULL where there is none */
};

/** What hardware carries: report/model/expected.h. */
struct expected {
	struct expected_line *list;
	size_t n;
};

/** A run as read from its files. */
struct run {
	json_t *json;		/* run.json */
	char probe[16];
	int n_ranks, n_nodes;	/* nodes that only facts.csv names come last */
	struct run_node *nodes;
	struct run_rank *ranks;
	struct run_leaf *leaves;
	int n_leaves;
	int *leaf_of;		/* of each node, -1 = not known, or its only
				 * one; NULL: of none */
	struct cell *cells;	/* n_ranks x n_ranks, src major */
	char (*codes)[48];	/* distinct codes seen, index in cell_code[] */
	size_t n_codes;
	uint16_t *cell_code;	/* 0 = none */
	char **cell_detail;	/* NULL where there is none */
	struct run_failure **cell_failure;	/* NULL where there is none, or
						 * as a whole: nowhere */
	char (*paths)[64];	/* distinct ways of the bytes, as far as known,
				 * index in cell_way[] */
	size_t n_paths;
	uint16_t *cell_way;	/* 0 = none */
	struct slow_limit slow[PATH_CLASSES];
	struct expected expected;
	uint8_t *cell_line;	/* what a cell is expected to reach is by this
				 * section of it, + 1; 0 = its row says it, or
				 * nobody; NULL: nothing was expected */
	struct contrast contrast;
	/* of ping, else NULL: a rank each, then a cell each */
	struct run_end *ends;
	float *loss;		/* share of packets without an answer; NAN */
	uint8_t *heard;		/* the other end has heard what it did not
				 * answer, or not in a way that came back */
	char segment[64];	/* the only one in this picture, "" = all */
	const struct schema *schema;	/* of results.csv */
	struct fact_row *facts;
	size_t n_facts;
	size_t facts_spare;	/* rows that nobody needs, and */
	size_t facts_cut;	/* those past RUN_MAX_FACTS, not in facts[] */
	struct event_row *events;
	size_t n_events;
	struct diagnose_row *diagnose;	/* the ladder of failed pairs, if any */
	size_t n_diagnose;
	int64_t size_B;		/* of the cells; 0 = nothing measured */
	char transport[16], schedule[16];
	char started_utc[32];
	bool drill, ended, strict, shared_cores;
	bool ports;		/* ib: a rank is an HCA port, not a GPU */
	char stop_reason[64];	/* "" = went to its end; "interrupted", ... */
	size_t mended;		/* cells that failed before a resume, and pass */
	size_t rows, bad_rows;
	char bad_why[160];
};

/** Read DIR; -1 with @e when it is no run directory.  A truncated or damaged
 *  results.csv is read as far as it goes.  run_release() frees. */
int run_read(const char *dir, struct run *run, struct err *e);
void run_release(struct run *run);

/** The node of that name, -1 for none.  Facts come node by node: @last, or -1,
 *  is where to look first. */
int run_find_node(const struct run *run, const char *name, int last);

/** How many of the planned cells are of each class. */
void run_count_cells(const struct run *run, size_t count[CELL_CLASSES]);

static inline size_t run_at(const struct run *r, int src, int dst)
{
	return (size_t)src * (size_t)r->n_ranks + (size_t)dst;
}

static inline const struct cell *run_cell(const struct run *r, int src, int dst)
{
	return &r->cells[run_at(r, src, dst)];
}

/** Why a flaky cell was tried again; NULL where nobody knows. */
static inline const struct run_failure *run_failure(const struct run *r,
						    size_t at)
{
	return r->cell_failure && r->cells[at].flaky ? r->cell_failure[at] :
						       NULL;
}

/** What the other pass has of the cell's bandwidth; NAN unless both were
 *  measured. */
static inline double run_ratio(const struct run *r, size_t at)
{
	return r->contrast.outcome ? (double)r->contrast.bw_GB_s[at] /
					     (double)r->cells[at].bw_GB_s :
				     NAN;
}

/** Is what the cell should reach by a section of expected.ini, a share of the
 *  line, and not the line itself by its row? */
static inline bool run_by_section(const struct run *r, size_t at)
{
	return r->cell_line && r->cell_line[at] > 0;
}

/** Share of what the line carries that a cell reached; NAN where either is not
 *  known. */
static inline double run_line_share(const struct run *r, size_t at)
{
	double expected = (double)r->cells[at].expected_GB_s;

	return expected > 0 && !run_by_section(r, at) ?
		       (double)r->cells[at].bw_GB_s / expected : NAN;
}

/** Did a cell of this class come to a measurement, good or bad? */
static inline bool run_measured(unsigned class)
{
	return class == CELL_PASS || class == CELL_SLOW ||
	       class == CELL_FAIL || class == CELL_TIMEOUT ||
	       class == CELL_CORRUPT;
}

enum verdict_status {
	VERDICT_PASS, VERDICT_WARN, VERDICT_FAIL, VERDICT_UNKNOWN
};

/** "pass", "warn", "fail", "unknown" as in verdict.json. */
const char *verdict_status_name(enum verdict_status s);

/**
 * The kinds of part that can be faulty, in the order in which one is preferred
 * when several explain the same cells.
 */
enum part_kind {
	PART_INTER_NODE,	/* all traffic between nodes */
	PART_CROSS_RAIL,	/* between nodes, NICs of different index */
	PART_RAIL,		/* the NICs of one index on all nodes */
	PART_SWITCH,		/* the leaf switch of some nodes */
	PART_NODE,
	PART_INTRA_NODE,	/* inside all nodes, or inside one */
	PART_NODE_PAIR,
	PART_NIC,
	PART_GPU,
	PART_PAIR,		/* two GPUs */
	PART_CONFIG,		/* how a GPU, a node or the cluster is set up */
	PART_KINDS
};

enum part_direction { PART_BOTH, PART_TX, PART_RX };

/** Of a switch: what leads away from it, and not what it joins. */
#define PART_UPLINKS 0

/** A part of the cluster; -1 where a field does not apply. */
struct part {
	enum part_kind kind;
	int node;		/* index in run.nodes */
	int index;		/* local GPU, NIC, number of the rail, of a
				 * switch in run.leaves */
	int peer_node;		/* node < peer_node in a node pair */
	int peer_index;		/* of a switch: PART_UPLINKS, or -1 = all */
	enum part_direction direction;	/* tx: node sends to peer, or to all */
};

struct finding {
	struct part part;
	bool fail;		/* severity: fail or warn */
	bool set_up;		/* no fault of the node: how it was started */
	char code[48];
	size_t cells, explained;
	double score;		/* 0 .. 1: report/judge/blame.h; NAN = not found by
				 * attributing cells */
	struct part *or_parts;	/* what explains the same cells as well */
	size_t n_or;
	char says[600];		/* what is broken and how we know */
	char act[800];		/* "do": what to type next */
	char (*evidence)[400];
	size_t n_evidence;
	int *members;		/* the nodes that the part is made of, or that
				 * are meant, where it is no part of one node;
				 * NULL: its kind says it */
	size_t n_members;
	size_t n_ladder;	/* of these, the first: report/model/diagnose.h */
};

struct verdict {
	enum verdict_status status;
	size_t cells[CELL_CLASSES];
	struct finding *findings;	/* most telling first */
	size_t n;
	char (*exclude)[64];	/* node names */
	size_t n_exclude;
	char (*good)[64];	/* the largest set of nodes that is good */
	size_t n_good;		/* together; 0 = nothing is bad, or all is */
};

/** Pure: rows, facts and expectations in, findings out.  0 or -1 (memory). */
int verdict_compute(const struct run *run, struct verdict *v);
void verdict_release(struct verdict *v);
/** verdict.json; NULL without memory. */
json_t *verdict_json(const struct run *run, const struct verdict *v);
/** Exit code by what was measured and found: 0 1 3 4. */
int verdict_exit(const struct run *run, const struct verdict *v);

enum term_style { TERM_ASCII, TERM_UNICODE, TERM_COLOR };

/** The verdict in words, cut for @width columns. */
void words_render(const struct run *run, const struct verdict *v, int width,
		  bool color, struct str *out);
/** The same of a run that only asked its nodes. */
void words_of_info(const struct run *run, const struct verdict *v, int width,
		   bool color, struct str *out);
/** "slow", or what is meant by it: "lossy". */
const char *run_slow_word(const struct run *run);

/** The heat map for a terminal of @width columns, and that of the contrast
 *  where there is one; -1 without memory. */
int term_render(const struct run *run, int width, enum term_style style,
		struct str *out);
/**
 * heatmap-bw.png/svg, heatmap-lat where latency was measured, heatmap-contrast
 * where there is one, by gnuplot into DIR, in place of older ones.  Returns 0, 1
 * with @e when gnuplot is not there (older ones stay; words and CSV are whole
 * without it), -1 on failure.
 */
int heatmap_render(const char *dir, const struct run *run,
		   const struct verdict *v, struct err *e);
/** heatmap-contrast alone, as heatmap_render(). */
int heatmap_render_contrast(const char *dir, const struct run *run,
			    const struct verdict *v, struct err *e);
/** The map of the contrast alone, as term_render(). */
int term_render_contrast(const struct run *run, int width,
			 enum term_style style, struct str *out);
/** report.html, self-contained. */
int html_render(const char *dir, const struct run *run,
		const struct verdict *v, struct err *e);
/**
 * {run, verdict, rows} for --json to @out, row by row: a million rows need no
 * memory.  0, or -1 with @e (the disk is full, results.csv is gone).
 */
int report_json(const char *dir, const struct run *run,
		const struct verdict *v, FILE *out, struct err *e);
/**
 * The same of rows that are few: @verdict and @rows are taken, @run is not.
 * 0, or -1 with @e.
 */
int report_json_write(json_t *run, json_t *verdict, json_t *rows, FILE *out,
		      struct err *e);

/**
 * The whole room: read DIR, judge, write verdict.json, report.html and the
 * heat maps.  @run and @v are the caller's to release unless -1 is returned.
 * Returns 0; 1 with @e when the answer is whole but a file is missing (no
 * gnuplot, a directory that may only be read); 2 with @e when one that should
 * be there could not be written (the disk is full); -1.
 */
int report_make(const char *dir, struct run *run, struct verdict *v,
		struct err *e);
/** The second half of it: the files of a run that is read and judged.  0, 1 or
 *  2 with @e. */
int report_write(const char *dir, const struct run *run,
		 const struct verdict *v, struct err *e);

#endif
