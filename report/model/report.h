/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_REPORT_H
#define REPORT_MODEL_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "report/model/run.h"

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
