/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_HISTORY_HISTORY_H
#define REPORT_HISTORY_HISTORY_H

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/err.h"
#include "lib/spec/spec.h"
#include "report/base/wrap.h"
#include "report/judge/verdict.h"
#include "report/model/sweep.h"

/* ---- summary ------------------------------------------------------------- */

/**
 * The history's entry for a run: its result, its findings, and the level of
 * each measured part.
 */

#define SUMMARY_FINDINGS 2000		/* more are left out */
#define SUMMARY_NODES	 (2 * SPEC_MAX_NODES)
#define SUMMARY_NODE	 132		/* bytes of "host/n0" */

struct summary_finding {
	char kind[24], code[48];	/* as in verdict.json */
	char node[SUMMARY_NODE], peer_node[SUMMARY_NODE];	/* "" = none */
	char name[64];
	int64_t index, peer_index;	/* -1 = none */
	bool fail;			/* else a warning */
};

/** A node that took part. */
struct summary_node {
	char name[SUMMARY_NODE];
	bool tested;		/* it came to a measurement */
	double bw_GB_s;		/* median to other nodes, or inside the only
				 * one; NAN = not measured, here and below */
	double *gpu_GB_s;	/* of each GPU, inside the node */
	double *nic_GB_s;	/* of each NIC, to other nodes */
	size_t n_gpus, n_nics;
	char *tested_with;	/* host lists of the nodes after it that it was
				 * tested with, one per line; NULL: none, or
				 * not known */
};

struct summary {
	char id[40];		/* of the run */
	char probe[16], version[32], status[16], transport[16], schedule[16];
	char nic_choice[8];	/* as run_nic_choice() has it; "" also of an
				 * earlier version, which left it to NCCL */
	char started_utc[32], ended_utc[32];
	int64_t started_s;	/* since 1970 */
	size_t place;		/* among those that were read: of two of one
				 * run the later one counts */
	bool drill, model;	/* nothing of it says how the machines are */
	int64_t size_B;		/* of the messages; 0 = it has none */
	int64_t ranks;		/* of all nodes; 0 = it has none */
	double inter_GB_s, intra_GB_s;	/* median of all pairs */
	double busbw_GB_s;	/* of a collective, at the largest size */
	double *rail_GB_s;
	size_t n_rails;
	struct summary_finding *findings;
	size_t n_findings;
	struct summary_node *nodes;
	size_t n_nodes;
	int64_t of_nodes;	/* that took part, whether they are in here or
				 * not */
};

/** Nothing measured, no memory. */
#define SUMMARY_INIT { .inter_GB_s = NAN, .intra_GB_s = NAN, .busbw_GB_s = NAN }

/**
 * Summarises a run and its verdict in @s.  Pretend nodes get the name of their
 * machine if it is known, since "n0" on different machines is not the same
 * part.  @step is the step with levels and facts if the run has several, else
 * NULL.  Returns 0, or -1 with @e (no memory); the caller calls
 * summary_release() in both cases.
 */
int summary_of(const struct run *run, const struct verdict *v,
	       const struct run *step, struct summary *s, struct err *e);
/** Add the results of collectives. */
void summary_add_sweep(struct summary *s, const struct sweep *sweep);
void summary_release(struct summary *s);	/* safe on a zeroed one */

/** Return true if both runs have the same kind, transport, size and shape, so
 *  that they can be compared. */
bool summary_alike(const struct summary *a, const struct summary *b);
/** Return true if there are levels of pairs; a part without one was not
 *  measured then. */
bool summary_has_pairs(const struct summary *s);
#define SUMMARY_SETUP 96
/** "p2p nccl 64 MiB nic 16 nodes 128 ranks"; returns @buf. */
const char *summary_setup(const struct summary *s, char buf[SUMMARY_SETUP]);
/** Return true if the run has a result that counts; with @all also drills and
 *  runs of the model cluster. */
bool summary_counts(const struct summary *s, bool all);

/* ---- trend --------------------------------------------------------------- */

enum history_state { HISTORY_GOOD, HISTORY_WARN, HISTORY_FAIL };

/** A run in which a part counts. */
struct history_point {
	size_t run;		/* index in history.runs */
	const char *utc;	/* its start; borrowed */
	int64_t at_s;		/* the same, since 1970 */
	enum history_state state;
	double level_GB_s;	/* NAN = not measured */
};

/** Fewer runs, or less time between the first and the last, tell no trend. */
#define TREND_RUNS 6
#define TREND_DAYS 7
/** At most this many runs are used, evenly chosen. */
#define TREND_MOST 200
#define TREND_MONTH_DAYS 30

/** Change of a level per month of 30 days. */
struct trend {
	size_t runs;		/* it rests on; 0: there is none to tell */
	double days;		/* from the first of them to the last */
	double percent;		/* a month */
	double low, high;	/* 95 % of what it may be */
	bool sure;		/* these are on one side of 0 */
};

/**
 * By Theil and Sen: the median of the slopes between any two runs, so that a
 * quarter of them may be outliers, with the interval of Kendall's tau.
 * @p is sorted by time, each level above 0.  0, or -1 without memory.
 */
int trend_of(const struct history_point *p, size_t n, struct trend *t);

/* ---- store --------------------------------------------------------------- */

/**
 * A history is a directory with one CSV file per user, "history-UID.csv", to
 * which a run appends its lines (HISTORY_COLUMNS).  Nobody else may write to
 * that file, so that several users, root among them, can share a directory.
 */

/** Append the lines of @n runs to the file of this user in @dir, unless it ends
 *  with them already.  Returns 0, or -1 with @e and the file as it was. */
int store_append(const char *dir, const struct summary *s, size_t n,
		 struct err *e);

struct store_runs {
	struct summary *runs;	/* by time */
	size_t n;
	size_t place;		/* for the next one that is read */
	size_t left_out, no_result;	/* that do not count */
	size_t unread;		/* lines, and files, that could not be read */
	char why[400];		/* of the last of these */
	size_t old;		/* summaries of an earlier version that are in
				 * the directory and are not read */
};

/** Limits of a file that any user may have written: of a larger one nothing is
 *  read, of one with more runs the newest. */
#define STORE_BYTES (INT64_C(1) << 30)
#define STORE_RUNS  200000

/** Read all files of @dir: of lines about one run the last ones count, and
 *  lines that are none are counted.  Keeps the newest @last that count; with
 *  @drills, those of drills and of the model do.  Returns 0, or -1 with @e.
 *  store_release() frees, also then. */
int store_read(const char *dir, size_t last, bool drills, struct store_runs *r,
	       struct err *e);
/** Read one file, to its end, adding to @r; for tests. */
int store_read_file(FILE *f, struct store_runs *r, struct err *e);
void store_release(struct store_runs *r);

/** Read the summaries of the directory @dir that an earlier version wrote, one
 *  JSON file per run, as store_read() does. */
int store_read_old(const char *dir, struct store_runs *r, struct err *e);
/** One of these files.  -1 with @e: it is no summary, or beyond the limits
 *  above; *@s is empty then. */
int store_parse_old(const char *text, size_t len, struct summary *s,
		    struct err *e);

/* ---- metrics ------------------------------------------------------------- */

/**
 * A run for a monitoring system: OpenMetrics text with its end, which also is
 * Prometheus' older format, as node_exporter's textfile collector reads it.
 * What was not measured has no sample.
 * @code  the exit code of the run.
 */
void metrics_text(const struct summary *s, int code, struct str *out);
/** @text to @f: 0, or -1 with errno; ENOMEM of one that memory did not suffice
 *  for, of which nothing is written. */
int metrics_print(const struct str *text, FILE *f);

/* ---- history ------------------------------------------------------------- */

/**
 * Many runs beside each other: which part was found how often, what its level
 * does, which node fails again and again.  Pure.
 *
 * A part is compared with itself in runs of the same setup alone, as
 * summary_alike() has it; a run in which it was neither found nor measured does
 * not count.
 */

/** A node is a lemon when so many of its last runs found a fault in it or in
 *  one of its parts; faults between two nodes are nobody's. */
#define HISTORY_LEMON_FAILS 3
/** A part flaps when it went from found to good or back so often in them. */
#define HISTORY_FLAP_TURNS 3
#define HISTORY_LAST 10

#define HISTORY_NAME 340
struct history_part {
	char name[HISTORY_NAME];	/* "n7 NIC 2" */
	struct summary_finding is;	/* kind, node, indexes; the code of its
					 * last finding */
	size_t setup;			/* index in history.setups */
	struct history_point *points;	/* by time */
	size_t n;
	size_t failed, warned;		/* in so many of them */
	const char *first_utc, *last_utc;	/* of the runs that found it;
						 * "" = none */
	size_t turns;			/* in its last HISTORY_LAST */
	bool flaps;
	struct trend trend;
};

struct history_node {
	char name[SUMMARY_NODE];
	uint8_t *failed;	/* of each of its runs, of any setup, by time */
	size_t n, run;		/* how many, index of the last of them */
	size_t fails;		/* in the last HISTORY_LAST of them */
	bool lemon;
	char parts[200];	/* in which: "NIC 2, GPU 3" */
};

enum history_table { HISTORY_PARTS, HISTORY_NODES, HISTORY_TABLES };

struct history {
	const struct summary *runs;	/* by time; borrowed */
	size_t n_runs;
	size_t *setups;		/* the last run of each */
	size_t n_setups;
	struct history_part *parts;	/* found most often first */
	size_t n_parts;
	struct history_node *nodes;	/* lemons first */
	size_t n_nodes;
	/* what the caller of history_make() knows of it; borrowed */
	const char *dir;
	const char *part;	/* that was asked for; NULL: none */
	size_t left_out;	/* drills and runs of the model cluster */
	size_t no_result;	/* that came to nothing */
	size_t unread;		/* lines and files that are none of it */
	bool verbose;
	/* hash tables while it is made: where each part, or node, is in its
	 * list: open addressing, + 1, 0 = free; sizes are powers of two */
	size_t *at[HISTORY_TABLES], size[HISTORY_TABLES];
};

/** Make the history of @n runs that count, sorted by time, which outlive @h.
 *  Returns 0, or -1 without memory. history_release() frees, also then. */
int history_make(const struct summary *runs, size_t n, struct history *h);
void history_release(struct history *h);

/** Returns true if the part is @name or belongs to it.  "n7" is the node with
 *  its GPUs and NICs; case is ignored.  NULL: any part. */
bool history_is(const struct history_part *p, const char *name);
/** Adds the name, with the letter of the setup if there are several. */
void history_name(const struct history *h, const struct history_part *p,
		  struct str *out);
/** Returns true if the part is shown without being asked for: it has findings,
 *  or gets slower. */
bool history_tells(const struct history_part *p);
/** A part without findings is told of from so many percent a month. */
#define HISTORY_SLOWER 2.0

/** ".": good, "w", "x": the last of its runs, at most HISTORY_LAST; @buf. */
const char *history_pattern(const struct history_part *p,
			    char buf[HISTORY_LAST + 1]);

/** Append how many drills and simulated runs do not count; none: nothing. */
void history_say_left_out(size_t n, struct str *out);
/** For a screen of @w. */
void history_words(const struct history *h, const struct wrap *w);
/** All of it; NULL without memory. */
json_t *history_json(const struct history *h);
/** A line a part, with a header. */
void history_csv(const struct history *h, struct str *out);

/** history.svg, .png: what is drawn, and history.html. */
#define HISTORY_PICTURE "history"
/** The levels of the parts that are told of, by gnuplot, into DIR: 0, 1 with @e
 *  where there is none, or -1 with @e. */
int history_draw(const char *dir, const struct history *h, struct err *e);
/** A page of it all, self-contained, with the picture of DIR if it has one; 0,
 *  or -1 with @e. */
int history_page(const char *dir, const struct history *h, struct err *e);

/* ---- coverage ------------------------------------------------------------ */

/** A node, and nodes that it was never tested with. */
struct coverage_gap {
	const char *node;	/* borrowed from coverage.names */
	char *with;		/* host list */
	size_t n;		/* names in it */
};

/** The last test of each pair of nodes. */
struct coverage {
	const struct summary *runs;	/* by time; borrowed */
	size_t n_runs;
	char (*names)[SUMMARY_NODE];	/* of the nodes, sorted */
	size_t n;
	uint32_t *last;		/* n x n: the last run that tested the pair, as
				 * its index + 1; 0 = never */
	uint64_t pairs, never;
	struct coverage_gap *gaps;	/* have all pairs never tested, once */
	size_t n_gaps;
	/* the pair whose last test is the oldest; NULL without any test */
	const char *old_node, *old_peer, *oldest_utc;
	int64_t oldest_s;	/* the same time, since 1970 */
	/* by coverage_next(): */
	struct str next;	/* nodes of the next job, with commas */
	uint64_t next_first;	/* never tested pairs that it tests */
	size_t nights;		/* jobs until each pair has been tested once
				 * more, if any nodes are free each night;
				 * 0 = not counted, or too many for that */
	size_t until_tested;	/* jobs until no pair is untested; 0 = as for
				 * nights, or every pair has been tested */
	size_t nights_least;	/* fewer jobs than this cannot suffice */
};

/**
 * Find when each pair of nodes was last tested, by @n_runs runs sorted by time,
 * which outlive @c; a ping is not a test.  The nodes are @nodes, or if that is
 * NULL those of the runs, without pretend nodes.  Returns 0, or -1 with @e (no
 * memory, more than SPEC_MAX_NODES); coverage_release() frees, also then.
 */
int coverage_make(const struct summary *runs, size_t n_runs,
		  char *const nodes[], size_t n_nodes, struct coverage *c,
		  struct err *e);
void coverage_release(struct coverage *c);

/** Count, map and gaps for a screen of @w, at the time @now_s since 1970;
 *  @left_out runs do not count. */
void coverage_words(const struct coverage *c, size_t left_out, int64_t now_s,
		    const struct wrap *w);
/** NULL without memory. */
json_t *coverage_json(const struct coverage *c);
/** A line a pair, with a header. */
void coverage_csv(const struct coverage *c, struct str *out);

/**
 * Choose @k of the nodes, at least 2, whose pairs were tested least recently,
 * among those for which @free_nodes is true (NULL: all), of which there are @k;
 * with @count count the jobs of @k nodes that such choices need.  Sets the last
 * members of @c.  Returns 0, or -1 without memory.
 */
int coverage_next(struct coverage *c, const bool *free_nodes, size_t k,
		  int64_t now_s, bool count);

#endif
