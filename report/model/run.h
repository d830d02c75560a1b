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

/** --compare: how the same pairs fared in another pass. */
struct contrast {
	enum spec_contrast kind;
	char pass[16];		/* as in the rows' schedule */
	const char *then, *now;	/* of a diff: the names of its runs, borrowed;
				 * NULL: it is none */
	uint8_t *outcome;	/* enum outcome there, a cell each; NULL: there
				 * is no contrast */
	int32_t *attempt;	/* that it is of; 0 = none */
	float *bw_GB_s;		/* there; NAN = not measured */
};

/** A test of the follow-up: follow_take(). */
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

/** Maximum length of a line of --accept; longer is an error. */
#define ACCEPT_LINE 200

struct accept_test {
	int line;		/* in the file, from 1 */
	char words[ACCEPT_LINE];	/* the line, blanks as one */
	char op[16];		/* the collective; "": p2p */
	int64_t nodes, gpus, size_B;	/* RECORD_NONE: any */
	char path[48];		/* beginning of the column path; "": any */
	double bw_min_GB_s, max_us;	/* NAN: no limit */
};

/** Paths that differ in the share of the ceiling that healthy machines reach:
 *  section [collective] of data/expected.ini. */
enum ceiling_path {
	CEILING_NVLINK,		/* inside a node, or an NVLink domain */
	CEILING_RING,		/* between nodes, by algorithm */
	CEILING_TREE,
	CEILING_SHARP,
	CEILING_DIRECT,		/* alltoall and sendrecv */
	CEILING_PATHS
};

/** Shares of the ceiling, in percent; 0: not known. */
struct ceiling_share {
	double warn, fail;	/* less is a warning, a fault */
};

/** Numbers of nodes with a published latency. */
#define EXPECTED_LATENCIES 8
/** Bandwidth of hardware: expected_read(). */
struct expected {
	struct expected_line *list;
	size_t n;
	struct expected_machine *machines;
	size_t n_machines;
	struct ceiling_share shares[CEILING_PATHS];
	struct expected_latency {	/* of a small allreduce, us */
		int64_t nodes;		/* 0: no entry */
		double low, high;
	} latencies[EXPECTED_LATENCIES];
	/* while a text is read: its first entries of the lists, and what is
	 * wrong with a line */
	size_t first, first_machine;
	const char *why;
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
	bool most_slow;		/* half of the nodes or rails, or more, are
				 * slower than the others: a fault of theirs, or
				 * the others are unusually fast */
	bool oversubscribed;	/* leaf switches are connected at a lower rate
				 * than nodes inside them, all alike */
	char (*codes)[64];	/* distinct codes seen, index in cell_code[] */
	size_t n_codes;
	uint16_t *cell_code;	/* 0 = none */
	char **cell_detail;	/* NULL where there is none */
	struct run_failure **cell_failure;	/* NULL where there is none, or
						 * as a whole: nowhere */
	size_t nic_other;	/* tests that used another NIC than the plan
				 * has, which the first of them says */
	char nic_other_says[320];
	struct {		/* NCCL went on with another port of a NIC */
		size_t tests;	/* failed tests that were repeated with
				 * failover on, of which these passed: */
		size_t passed;
		size_t n, at;	/* rows that say so; the cell of the first */
		char says[200];	/* NCCL's warning */
	} failover;
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
	struct accept_test *accept;	/* of --accept */
	size_t n_accept;
	uint8_t *cell_line;	/* what a cell is expected to reach is by this
				 * section of it, + 1; 0 = its row says it, or
				 * nobody; NULL: nothing was expected */
	struct contrast contrast;
	struct run_follow *follow;	/* in the order of the rows */
	size_t n_follow;
	uint8_t *follow_only;	/* cells that nobody else measured; NULL:
				 * none */
	struct mesh *mesh;	/* of a run of ping; else NULL */
	const struct schema *schema;	/* of results.csv */
	struct fact_row *facts;
	size_t n_facts;
	uint32_t *fact_slots;	/* hash table by node, scope and name: place of
				 * the first such fact + 1; 0: free */
	size_t n_slots, n_hashed;	/* without memory some are not in it */
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
	char stop_reason[320];	/* "" = went to its end; "interrupted", ... */
	size_t mended;		/* cells that failed before a resume, and
				 * pass */
	size_t rows, bad_rows;
	union {			/* the rows themselves, of a probe whose run
				 * has no pairs, and of those rows alone */
		void *list;
		struct memlock_row *memlock;
		struct gpu_row *gpu;
		struct info_row *info;
	};
	char bad_why[160];
	struct run_flow {	/* UDP flows that lost packets */
		int src, dst;	/* ranks */
		int64_t sent, received;
		char says[400];
	} *flows;
	size_t n_flows;
	int64_t flows_tested;	/* of each path, at most; 0: none */
	struct {		/* flows of each cell that are known to be good
				 * or bad, and the bad ones */
		uint32_t known, bad;
	} *cell_flows;		/* NULL: none, and no flows */
	double *gains;		/* bandwidth of several flows at once, as a
				 * multiple of that of one, a test */
	size_t n_gains;
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
/** The node of that name if it has GPUs; -1. */
int run_find_gpus(const struct run *run, const char *name);
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
/** The last fact @name of @node about @scope, NULL: of any; or NULL. */
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

/** Return true if the contrast of @r is that of two runs. */
static inline bool run_is_diff(const struct run *r)
{
	return r->contrast.then;
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

/**
 * Return how the NICs of pairs were chosen: "plan" if each worker was given the
 * NIC that it has in a job, "nccl" if a pair used all that NCCL selected, ""
 * if no test is known to have used HCAs by NCCL.
 */
const char *run_nic_choice(const struct run *run);

/** Append in which settings the runs differ ("transport sim, now tcp"); a
 *  setting that one of them does not name counts as equal. Returns true if they
 *  differ. */
bool run_unlike(const struct run *then, const struct run *now,
		struct str *out);

/* ---- nvlink -------------------------------------------------------------- */

/**
 * Find the NVLink domains of @run, GPUs of several nodes that NVSwitches join:
 * those that a path P2P/MNNVL shows, with all of the same cluster and clique by
 * their facts; and those that only facts show, of NCCL's runs, where nobody has
 * gone another way, IMEX runs and NCCL_MNNVL_ENABLE is not 0: all of it may be
 * dead.  Cells inside one get the class PATH_NVLINK, but those that are
 * known to have gone another way.  0, or -1 when memory runs out.
 */
int nvlink_find(struct run *run);

/* ---- follow -------------------------------------------------------------- */

/**
 * The follow-up: tests that the coordinator adds once all that was planned is
 * measured, to settle what that leaves open.  Their rows have P2P_FOLLOW_UP in
 * the column schedule.  They are no cells: run->follow has them, each with the
 * cell that it is a later look at, so that what was selected by the cells can
 * be confirmed by other tests.  A pair that was not planned has no cell of its
 * own to look at again: it gets one, which run_count_cells() leaves out.
 */

/** Add @row, which fits and is of the follow-up, to run->follow; past
 *  RUN_MAX_FOLLOW it is dropped.  0, or -1 when memory runs out. */
int follow_take(struct run *run, const struct p2p_row *row);
/** Decide whether follow-up tests are attempts at the cell at @at, because it
 *  was not planned or failed. Returns 1, 0, or -1 when memory runs out. */
int follow_adopt(struct run *run, size_t at);
/** Tests of the follow-up, by class; none of them is slow. */
void follow_count(const struct run *run, size_t count[CELL_CLASSES]);


/** Return true if only the follow-up measured the cell at @at. */
static inline bool follow_has(const struct run *run, size_t at)
{
	return run->follow_only && run->follow_only[at];
}

/* ---- skew facts ---------------------------------------------------------- */

/** A fact that is compared. */
struct skew_fact {
	const char *fact;	/* as in facts.csv; "NCCL_*": all that begin
				 * so */
	bool part;		/* of a GPU, port or interface: the set of the
				 * values of a node counts,
				 * not whose they are */
	const char *by;		/* of parts: those that are alike in this fact
				 * are compared, "" = in their name */
	const char *absent;	/* a node without it: what that means; NULL =
				 * nobody knows */
	bool active;		/* only of ports that are up */
	bool setting;		/* one a node each may be meant so */
	bool ports_say;		/* port_findings() has it, where ranks are
				 * ports */
	bool mesh_says;		/* and mesh_findings(), where they are
				 * addresses */
};

/** The row of the table that @f is compared by in @run, or NULL. */
const struct skew_fact *skew_fact_of(const struct run *run,
				     const struct fact_row *f);

/* ---- memlock run --------------------------------------------------------- */

/** Read DIR; -1 with @e.  The caller releases @run in any case. */
int memlock_run_read(const char *dir, struct run *run, struct err *e);
/** Append a row; its node, but for a login shell's, and its HCA become known to
 *  @run.  -1 without memory. */
int memlock_run_add(struct run *run, const struct memlock_row *row);

/** "64 KiB", "unlimited", "-" when there is no number; returns @buf. */
const char *memlock_bytes(int64_t bytes, char *buf, size_t size);

/* ---- run read ------------------------------------------------------------ */

/** The rows of a CSV file, and what is done with them. */
struct run_rows {
	const struct schema *schema;
	/** Take a row.  Returns 0; 1 if it does not belong to the run, which
	 *  counts it as a bad one; -1 without memory.  NULL: keep it in
	 *  run->list. */
	int (*take)(const struct run_rows *rows, const void *row);
	/** Prefetch the memory that take() will need for @row, before the row
	 *  in front of it is taken; or NULL. */
	void (*ahead)(const struct run_rows *rows, const void *row);
	void *user;
	struct run *run;	/* counts the bad rows, and has the line of the
				 * row that is taken; NULL: not counted */
	const char *misfit;	/* why take() returns 1 */
	/** Steps of run_load() before the first row (NULL: no cells of pairs),
	 *  and after the last one; 0, or -1 with @e. */
	int (*begin)(const struct run_rows *rows, struct err *e);
	int (*end)(const struct run_rows *rows, struct err *e);
};

/**
 * Read the run directory DIR into @rows->run: run.json, then results.csv row by
 * row, then facts, events and tests of failed pairs, of which a file that
 * cannot be read is left out and named in run->unread.  Every reader of a run
 * begins with this.  Returns 0, or -1 with @e; the run is released then.
 */
int run_load(const char *dir, const struct run_rows *rows, struct err *e);

/** Take the rows of @f, and close it; NULL has none.  0; 1 with @e when the
 *  first line has no column of the schema, 2 when it lacks one of those that it
 *  needs; -1 with @e (ENOMEM, or why it cannot be read further). */
int run_take_rows(FILE *f, const struct run_rows *rows, struct err *e);
/** The same of DIR/results.csv, which need not be there; without a column of
 *  the schema it is one bad row.  0, or -1 with @e. */
int run_take_results(const char *dir, const struct run_rows *rows,
		     struct err *e);

/** Make room for the cells of n_ranks ranks, none of them planned; 0, or -1
 *  with @e. */
int run_make_cells(struct run *run, struct err *e);
/** Add the node of that name where it is new, and there is room; 0, or -1
 *  without memory. */
int run_note_node(struct run *run, const char *name);
/** The names of the nodes of @json, a run.json; 0, or -1 without memory. */
int run_list_nodes(struct run *run, const json_t *json);
/** Parse the note of an agent that lost the coordinator, @len bytes; 0, or -1
 *  with @e. */
int run_note_parse(const char *text, size_t len, struct event_row *row,
		   struct err *e);
/** Leaves and who is on them, by the facts.  0, or -1 when memory runs out. */
int run_find_leaves(struct run *run);
/** Put @node on the leaf @name unless it is on one already; the number of that
 *  leaf, or -1 when memory runs out. */
int run_join_leaf(struct run *run, int node, const char *name);
/** The numbers of @code in run->codes and of @path in run->paths, added where
 *  they are new; 0 for "", and for what is one too many. */
uint16_t run_code(struct run *run, const char *code);
uint16_t run_path(struct run *run, const char *path);
/** Keep the detail of a cell beside its code, "" for none. Returns 0, or -1
 *  when memory runs out. */
int run_keep_detail(struct run *run, size_t at, const char *detail);

/** Keep the row of a test by --diagnose unless its pair is not one of the run;
 *  0, or -1 when memory runs out. */
int run_add_diagnose(struct run *run, const struct diagnose_row *row);
/** Count @known flows of the cell at @at, RECORD_NONE for none, and @bad ones;
 *  0, or -1 when memory runs out. */
int run_count_flows(struct run *run, size_t at, int64_t known, uint32_t bad);
/** Keep a row of a flow from rank @src to rank @dst, which lost packets; 0, or
 *  -1 when memory runs out. */
int run_add_flow(struct run *run, int src, int dst, int64_t sent,
		 int64_t received, const char *says);
/** Keep @f; past the first thousands only what findings are by.  0, or -1 when
 *  memory runs out. */
int run_add_fact(struct run *run, const struct fact_row *f);

/* ---- ping run ------------------------------------------------------------ */

/** In ping: the address that a rank stands for. */
struct mesh_end {
	char ifname[32];
	char ip[56];
	char segment[64];	/* its subnet */
	char state[16];		/* up, down, no_carrier; "" = no such end */
	int64_t mtu_B;		/* of the interface; 0 = not known */
};

/** Data of a ping run beside its cells; one block, free() frees it. */
struct mesh {
	struct mesh_end *ends;	/* a rank each */
	float *loss;		/* a cell each: share of packets without an
				 * answer; NAN */
	uint8_t *heard;		/* the other end has heard what it did not
				 * answer, or not in a way that came back */
	char segment[64];	/* the only one in this picture, "" = all */
	bool cross;		/* segments were tested against each other */
	bool by_rail;		/* or ranks of one rail only, as planned */
	size_t unrouted;	/* cells that nobody expects to pass: no route
				 * leads from the one segment to the other */
	int by_segment;		/* what stands for nodes in this picture are
				 * segments, of so many nodes; 0 = nodes do */
	const struct run *whole;	/* the run of which this picture has
					 * only some ranks; NULL: all */
	const int *origin;	/* their ranks there; both are borrowed */
};

/** Room for @ranks and @cells, and one for the pairs that have none, with no
 *  loss known; NULL without memory. */
struct mesh *mesh_new(size_t ranks, size_t cells);

/** Return the address of @rank in a run with a mesh. */
static inline const struct mesh_end *mesh_end(const struct run *run, int rank)
{
	return &run->mesh->ends[rank];
}

/** The run by which parts are numbered: @run, or that of which it is a part. */
static inline const struct run *run_whole(const struct run *run)
{
	return run->mesh && run->mesh->whole ? run->mesh->whole : run;
}

/** The only segment that @run shows, "" = all there are. */
static inline const char *mesh_segment(const struct run *run)
{
	return run->mesh ? run->mesh->segment : "";
}

/** Return true if the cell at @at connects two segments, or two rails. */
static inline bool mesh_crosses(const struct run *run, size_t at)
{
	return run->ranks[run_src(run, at)].nic !=
	       run->ranks[run_dst(run, at)].nic;
}

/**
 * Read DIR, a run of ping, as a run whose ranks are addresses and whose NICs
 * are rails, so that it is judged and drawn as any other.  -1 with @e;
 * run_release() frees.
 */
int ping_run_read(const char *dir, struct run *run, struct err *e);

/* ---- reference ----------------------------------------------------------- */

/**
 * Finds the run of @probe that --reference names: the run directory @reference,
 * or its step for @probe if it is a run of all.  Writes its absolute path to
 * @dir.  Returns 0; -1 with @e if it is not a run directory or has another
 * probe; 1 with @e if it is not a directory at all.
 */
int reference_find(const char *reference, const char *probe,
		   char dir[PATH_MAX], struct err *e);

/* ---- expected ------------------------------------------------------------ */

/**
 * Bandwidth of healthy paths: data/expected.ini, which is part of the program
 * and explains itself, after DIR/expected.ini with the site's additions.
 */
#define EXPECTED_WORDS	   12
#define EXPECTED_MAX	   200	/* sections */
#define EXPECTED_MAX_BYTES (256 << 10)

struct expected_line {
	char name[48];
	char path[48];
	char gpu[EXPECTED_WORDS][40], not_gpu[EXPECTED_WORDS][40];
	size_t n_gpu, n_not;
	int64_t gpus;		/* of the node, at least */
	double line_GB_s;	/* NAN: the NICs say it */
	double percent;		/* of the line */
	struct {
		char transport[16];
		double percent;
	} by[EXPECTED_WORDS];
	size_t n_by;
	char source[200];
};

/** A type of node by name: section [machine NAME]. */
struct expected_machine {
	char name[40];
	char gpu[40];		/* name of its GPUs; "": not known */
	int64_t gpus;
	int rails;
	double rail_GB_s;
	char source[200];
};

/** The word of each path in expected.ini; NULL ends. */
extern const char *const ceiling_path_names[CEILING_PATHS + 1];

/** Maximum rails, and gigabits per second of one, of "8x400G". */
#define MACHINE_RAILS_MAX 64
#define MACHINE_RATE_MAX  10000

/** Parse "8x400G", rails and Gb/s of each. Returns 0, or -1 if @text is
 *  anything else; @GB_s is then undefined. */
int machine_rails_parse(const char *text, int *rails, double *GB_s);

/** The machine of that name; NULL: none. */
const struct expected_machine *expected_machine(const struct expected *x,
						const char *name);
/** True if @l is about GPUs called @name, however many a node has. */
bool expected_is_of(const struct expected_line *l, const char *name);

/**
 * Add the sections of @text to @x.  Returns 0, or -1 with @e naming the line:
 * no such key, a number out of range, a section without line_GB_s or percent,
 * too many.  expected_release() frees, after an error too.
 */
int expected_parse(const char *text, struct expected *x, struct err *e);
void expected_release(struct expected *x);

/** Those of the site in DIR, if any, then the built-in ones; DIR may be NULL.
 *  0, or -1 with @e. */
int expected_read(const char *dir, struct expected *x, struct err *e);

/**
 * Set expected_GB_s of every measured cell of @run whose row has none, and
 * cell_line: the number of its section + 1.  At the size of the cells and their
 * own latency: size / (latency + size / line), of which a healthy pair reaches
 * percent.  0, or -1 when memory runs out.
 */
int expected_apply(struct run *run, const struct expected *x);

/** Percent of the line that counts for @transport. */
double expected_percent(const struct expected_line *l, const char *transport);

/* ---- accept -------------------------------------------------------------- */

/**
 * The file of --accept: what a run must reach.  Each line is a test:
 *
 *	COLLECTIVE NODES GPUS SIZE BUSBW_MIN_GB_s TIME_MAX_us
 *	p2p PATH BW_MIN_GB_s LATENCY_MAX_us
 *
 * GPUS counts those of all nodes; "-" is any number, or no limit; "#" begins a
 * comment.
 */

/** Maximum bytes of the file, and lines with a test. */
#define ACCEPT_MAX_BYTES 65536
#define ACCEPT_MAX	 1000

/** Replace the *@n tests at *@list by those of @text; NULL: they stay.  Returns
 *  0, or -1 with @e, which names the line.  The caller frees *@list, after an
 *  error too. */
int accept_parse(const char *text, struct accept_test **list, size_t *n,
		 struct err *e);

/** Parse the copy in the run @dir; without one @run has no tests.  Returns 0,
 *  or -1 with @e. */
int accept_read(const char *dir, struct run *run, struct err *e);

#endif
