/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_SHOW_JUDGED_H
#define REPORT_SHOW_JUDGED_H

#include "lib/base/str.h"
#include "report/base/wrap.h"
#include "report/draw/draw.h"
#include "report/judge/verdict.h"
#include "report/model/part.h"

/* ---- judged -------------------------------------------------------------- */

/** Options for showing a run; texts are borrowed. */
struct judged_ask {
	const char *reference;	/* what it stands beside, "" for none */
	const char *accept;	/* text of --accept, in place of that of the
				 * run; NULL for none */
	const char *going;	/* who is at work on it; NULL = nobody: it has
				 * ended */
	const char *hint;	/* what to do about that; NULL = nothing */
	bool pending;		/* its job waits, and it has no plan yet */
	enum spec_stat stat;	/* of comparisons of curves */
	enum spec_when map;	/* of the pairs, on a terminal */
	bool log_scale;		/* curves of bandwidth */
	bool brief;		/* words without tables and pictures */
	int64_t slow_percent;	/* that make a slow part a fault; 0 = as the run
				 * had it */
};

/**
 * A run that was read and judged, whatever its probe: the one door for those
 * who show it.
 */
struct judged {
	const struct judged_kind *kind;
	struct run run;		/* what is said of it as a whole, its nodes and
				 * facts; run.rows are those that count */
	struct verdict verdict;
	const char *dir;	/* as it was named; borrowed */
	const char *out;	/* where its files are written, NULL: nowhere;
				 * borrowed */
	struct judged_ask ask;
	void *more;		/* what else its kind has read */
	struct drawn *drawn;	/* the maps, while files are written */
};

/**
 * Read DIR, judge, write verdict.json, report.html and the pictures to @out,
 * which may be the same; beside its reference (a name, file or directory),
 * which is an error where the probe knows of none.  Of a run that goes on
 * nothing is written, nor without @out.  Returns 0 with *@j;
 * 1 with *@j and @e when the answer is whole but a file is missing (no gnuplot,
 * a directory that may only be read, or is somebody else's: it stays as it is);
 * 2 the same, but it should be there (the disk is full): without verdict.json
 * or results-final.csv the verdict is unknown; -1 with @e.  judged_free()
 * frees; @dir, @out and the texts of @ask stay until then.
 */
int judged_make(const char *dir, const char *out, const struct judged_ask *ask,
		struct judged **j, struct err *e);
void judged_free(struct judged *j);

/** Exit code by what was measured and found: 0 1 3 4. */
int judged_exit(const struct judged *j);
/** Line width of words in a file. */
#define JUDGED_FILE_WIDTH 80
/** The verdict in words, and what can be drawn, for a screen of @width columns,
 *  0: it goes to a file, where tables need not be cut; -1 without memory. */
int judged_words(const struct judged *j, int width, bool color,
		 enum term_style style, struct str *out);
/** Each finding with all that speaks for it, as --verbose has it. */
void judged_details(const struct judged *j, int width, struct str *out);
/** Writes the rows that --csv prints to @out: for pairs the row that decides
 *  each pair, and one row for each pair that was not measured, as in
 *  results-final.csv; for other probes all rows.  Returns 0, or -1 with @e (the
 *  disk is full, the file is missing). */
int judged_csv(const struct judged *j, FILE *out, struct err *e);
/** Append the verdict as JUnit XML: a test case for it, each test of --accept
 *  and each finding; @code: the exit code of the run. */
void judged_junit(const struct run *run, const struct verdict *v, int code,
		  struct str *out);
/** schema.csv: every column of every CSV file of the run, with the number of
 *  the format. */
void judged_schema(const struct judged *j, FILE *out);
/** {run, verdict, rows} to @out, row by row: a million rows need no memory; or
 *  without @rows.  0, or -1 with @e (the disk is full, results.csv is gone). */
int judged_json(const struct judged *j, bool rows, FILE *out, struct err *e);

/**
 * Differences between probes. To add one: a row in judged.c. A member may be
 * NULL.
 */
struct judged_kind {
	const char *probe;	/* as in run.json, or ... */
	bool (*takes)(const char *probe);	/* ... one of several */
	size_t more_size;	/* bytes of judged.more, zeroed at first */
	/** Read DIR into @j->run and more, and judge it; 0, or -1 with @e,
	 *  which says nothing when memory ran out. */
	int (*judge)(const char *dir, struct judged *j, struct err *e);
	void (*release)(void *more);	/* what it refers to */
	bool references;	/* judge() knows of references */
	/** Write line @i of the head, from 0: the measurement and its result,
	 *  the first one behind the status. False after the last line. */
	bool (*head)(const struct judged *j, int i, char *buf, size_t size);
	/** The same below what any reader must know. */
	bool (*note)(const struct judged *j, int i, char *buf, size_t size);
	/** Tables and maps below the findings, for @width columns (0: a
	 *  file); -1 without memory. */
	int (*below)(const struct judged *j, int width, enum term_style style,
		     struct str *out);
	/** The pictures in report.html, which are in DIR. */
	void (*html)(const struct judged *j, const char *dir, struct str *out);
	/** Add the tables of the run to @to, whose text has failed without
	 *  memory.  report.html has them, and the words, unless below() has
	 *  them in another form. */
	void (*tables)(const struct judged *j, struct tables *to);
	/** Write figure @i, from 0, for the top of report.html: "343 GB/s" to
	 *  @buf.  Returns its name, "median inside nodes"; NULL after the last
	 *  one. */
	const char *(*figure)(const struct judged *j, int i, char *buf,
			      size_t size);
	/** Pictures into DIR: 0; 1 with @e where it cannot; -1 with @e. */
	int (*draw)(const struct judged *j, const char *dir, struct err *e);
	/** --verbose: more than words have, in front of the findings. */
	void (*details)(const struct judged *j, int width, struct str *out);
	const char *csv;	/* the file of --csv; NULL: results.csv */
	/** Instead of verdict_exit(). */
	int (*code)(const struct judged *j);
};

extern const struct judged_kind judged_pairs, judged_memlock, judged_collective,
	judged_ping, judged_info, judged_hang, judged_gpu, judged_rows,
	judged_targets;

/* ---- show ---------------------------------------------------------------- */

/** Functions that show a run of any probe. */

/** Status, what was run, notes, tables and findings, cut for @width columns;
 *  what is below them is the kind's. */
void show_words(const struct judged *j, int width, bool color,
		struct str *out);
/** "score 0.94, explains 30 of 30 cells that touch it"; returns @buf. */
const char *show_score(const struct finding *f, char *buf, size_t size);
/** DIR/report.html, self-contained; 0, or -1 with @e. */
int show_html(const struct judged *j, const char *dir, struct err *e);

/* ---- collective show ----------------------------------------------------- */

/** A run of a collective: judged.more. */
struct collective_pair {
	struct sweep now, read;
	const struct sweep *reference;	/* what was read as such; NULL: none */
};

/** "fastest at 8 B to 64 KiB: Tree; 128 KiB: Ring and Tree alike; 256 KiB to
 *  1 GiB: Ring" of the same. */
void collective_crossovers(const struct sweep *s, const struct curve *of,
			   struct str *out);

/* ---- tables -------------------------------------------------------------- */

/**
 * A line for each cell: bandwidth in GB/s and, as people of networks count, in
 * Gb/s, its share of what the line carries, latency and path.  Of a large run
 * only the slowest.
 */
void table_render(const struct run *run, struct str *out);

/**
 * Put the facts of the nodes into the table @to, which table_release() frees in
 * any case, or print them.  Nodes with equal facts are one block, and so are
 * parts, "gpu[0-7]": first the facts that all nodes share, then those of some
 * or one.  Counters that are zero are left out.
 * @width   columns; 0: lines are not wrapped
 * @first, @most  the first set of nodes to show, and how many; later ones are
 *          only counted
 * Returns 0, or -1 when memory runs out.  Pure.
 */
int info_facts(const struct run *run, size_t first, size_t most,
	       struct table *to);
int info_table(const struct run *run, int width, size_t first, size_t most,
	       struct str *out);

/* ---- node line ----------------------------------------------------------- */

/** The longest line that a log, and Slurm as a reason, takes whole. */
#define NODE_LINE_MAX 400

/**
 * Appends one line about a node, with its newline: "ok n1 8 GPUs, 4 HCA ports,
 * 2 interfaces", or "FAIL n1 port_down: mlx5_2: ...; gpu_lost: ...", faults
 * first, cut to NODE_LINE_MAX bytes.
 */
void node_line(const struct run *run, const struct verdict *v,
	       struct str *out);

/** The same with all that stands behind it: each finding with its evidence and
 *  what to do, then every fact. */
void node_details(const struct run *run, const struct verdict *v,
		  struct str *out);

#endif
