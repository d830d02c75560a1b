/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings and the verdict. */
#ifndef REPORT_JUDGE_VERDICT_H
#define REPORT_JUDGE_VERDICT_H

#include <jansson.h>

#include "report/model/part.h"

/* ---- verdict ------------------------------------------------------------- */

/**
 * Findings of any probe.  A judge is a pure function from rows and facts to
 * findings.  It names parts by the nodes of a struct run, of which it needs no
 * cells (run_add_node() makes them), counts v->cells and ends with
 * verdict_close().
 */

enum verdict_status {
	VERDICT_PASS, VERDICT_WARN, VERDICT_FAIL, VERDICT_PARTIAL,
	VERDICT_RUNNING, VERDICT_PENDING, VERDICT_UNKNOWN
};

/** "pass", "warn", "fail", "partial", "unknown" as in verdict.json; and
 *  "running", of which there is none yet. */
const char *verdict_status_name(enum verdict_status s);

struct finding {
	struct part part;
	bool fail;		/* severity: fail or warn */
	bool drain;		/* proved against its node: drain.h */
	bool scatter;		/* of cells that no part explains */
	char code[48];
	size_t cells, explained;
	size_t judged;		/* of the cells, those that it was found by:
				 * measured, and not explained by others; 0:
				 * all */
	double lost;		/* the share of its usual bandwidth that a slow
				 * part lost; NAN = not known */
	double score;		/* 0 .. 1: report/judge/blame.h; NAN = not found
				 * by attributing cells */
	int src, dst;		/* a bad cell to test again; -1 = none */
	struct part *or_parts;	/* what explains the same cells as well */
	size_t n_or;
	char says[600];		/* what is broken and how that is known */
	char act[2000];		/* "do": what to type next, line by line; those
				 * that begin with four blanks are commands;
				 * "": verdict_close() knows it */
	char (*evidence)[620];
	size_t n_evidence;
	int *members;		/* the nodes that the part consists of, or
				 * that are meant, if it is not on one node;
				 * NULL: given by its kind */
	size_t n_members;
	size_t n_first;		/* of the evidence, the first lines: words
				 * have these and one more */
	char (*probes)[16];	/* of a run of several: those that found it */
	size_t n_probes;
	bool failed;		/* memory ran out: some of it is missing */
};

/** An earlier run whose levels are the baseline: report/judge/accepted.h. */
struct accepted {
	char dir[1024];		/* "": none */
	char started_utc[32];
	char why_not[240];	/* it is not compared with; "": it is */
	char (*says)[600];	/* findings that it has as well and that are
				 * dropped */
	size_t n;
};

#define VERDICT_NOTES 6

/** A test of --accept: report/model/accept.h. */
enum test_result { TEST_MET, TEST_MISSED, TEST_NOT_MEASURED, TEST_OTHER };
struct verdict_test {
	char name[140];
	char says[300];
	enum test_result how;	/* TEST_OTHER: of another probe */
};

struct verdict {
	enum verdict_status status;
	const char *going;	/* the job or process that works on a run
				 * that has not ended; borrowed, NULL: it has
				 * ended */
	const char *hint;	/* what to do about that; borrowed, or NULL */
	size_t cells[CELL_CLASSES];
	size_t given_up;	/* of those not run: skipped after a fault
				 * was found, not cut off */
	bool cut;		/* of a run of several: one of them was cut off,
				 * whatever the cells say */
	const char *unsaved;	/* the result file that could not be written;
				 * NULL: none */
	bool still, open;	/* of a retest: a part is still at fault; of one
				 * it is not known */
	struct finding *findings;	/* most telling first */
	size_t n;
	char (*exclude)[64];	/* node names */
	size_t n_exclude;
	char (*good)[64];	/* the largest set of nodes that is good */
	size_t n_good;		/* together; 0 = nothing is bad, or all is */
	struct accepted accepted;
	/* Tests that no finding has: pairs that were left out, or bad tests
	 * that a rule forgives. */
	struct {
		const char *kind;	/* "rails", "chance", ...: notes.c */
		size_t tests;
		char aside[120];	/* in the heading, after the status */
		char says[240];
		char known[200];	/* how that is known */
		char act[400];	/* the command that tests them all the same;
				 * "": none */
	} notes[VERDICT_NOTES];
	size_t n_notes;
	/* How the bad tests of a run are accounted for: each is in a finding or
	 * forgiven by a rule, which has a note. */
	struct {
		size_t bad;	/* failed or slow */
		size_t named;	/* of them, those in findings */
		size_t open;	/* of these, those that no judge explained: the
				 * last one made a finding of them */
		size_t retried;	/* passed when retried, and forgiven */
	} account;
	struct verdict_test *tests;
	size_t n_tests;
	bool failed;		/* memory ran out: verdict_close() fails */
	struct finding lost;	/* collects findings without memory */
};

/*
 * A judge need not check for memory: verdict_close() reports findings that are
 * missing for lack of it.
 */

/** A warning of @code about @p, of no cells, to the end of @v; never NULL, and
 *  borrowed until the next one. */
struct finding *finding_add(struct verdict *v, struct part p, const char *code);
/** Free its lists. */
void finding_release(struct finding *f);
/** Forget number @i of them. */
void finding_remove(struct verdict *v, size_t i);
/** Sets the sentence that says what is broken and how that is known; truncates
 *  it if it is too long. */
__attribute__((format(printf, 2, 3)))
void finding_say(struct finding *f, const char *fmt, ...);
/** More of the same sentence. */
__attribute__((format(printf, 2, 3)))
void finding_more(struct finding *f, const char *fmt, ...);
/** "; could also be GPU 1 of n1 or rail 2": what explains the same cells. */
void finding_more_or(const struct run *run, struct finding *f);
/** One more line of evidence. */
__attribute__((format(printf, 2, 3)))
void finding_add_evidence(struct finding *f, const char *fmt, ...);
/** One more part that explains the same cells. */
void finding_add_or(struct finding *f, const struct part *p);
/** f->act from @text, harmless; of one that is too long the last lines go,
 *  whole. */
void finding_set_act(struct finding *f, const char *text);
/** The cell at @at is one to try again. */
void finding_set_example(const struct run *run, struct finding *f, size_t at);
/** Adds a name to a list with @n names, "n1, n2", in a sentence; after the
 *  eighth, ", ..." stands for all others. */
void finding_list_name(struct str *out, int *n, const char *name);
/** One more of the nodes that are meant, each once. */
void finding_add_member(struct finding *f, int node);
/** One more probe that found it, each once. */
void finding_add_probe(struct finding *f, const char *probe);

/** Returns true if the finding is on @node, or, if it is not on a single node,
 *  @node is one of its members. */
static inline bool finding_sits_in(const struct finding *f, int node)
{
	bool in = f->part.node == node;

	for (size_t i = 0; f->part.node < 0 && i < f->n_members; i++) {
		in = in || f->members[i] == node;
	}
	return in;
}

/** Loop over all findings; none may be added or removed meanwhile. */
#define verdict_foreach(v, f) \
	for (struct finding *f = (v)->findings; \
	     f && f < (v)->findings + (v)->n; f++)

/** Returns the first finding of @code at the place of @p (NULL: any); NULL:
 *  none. */
struct finding *verdict_find(const struct verdict *v, const struct part *p,
			     const char *code);
/** Returns the number of cells with a measurement, good or bad. */
size_t verdict_measured(const struct verdict *v);
/** Returns true if the run ended before everything was measured, so that it
 *  cannot pass. */
static inline bool verdict_is_cut(const struct run *run,
				  const struct verdict *v)
{
	return v->cut || !run->ended || run->stop_reason[0] ||
	       v->cells[CELL_NOT_RUN] > v->given_up;
}
/**
 * When all is found: say what to do, sort the findings, and make of them and of
 * v->cells the status, the nodes to leave out and those that are good.  Returns
 * verdict_whole().
 */
int verdict_close(const struct run *run, struct verdict *v);
/** Note that @file (a constant), a part of the answer, could not be written:
 *  faults stay, anything else is unknown. */
void verdict_set_unsaved(const struct run *run, struct verdict *v,
			 const char *file);
/** Returns 0; or -1 if memory ran out on the way, and releases @v. */
int verdict_whole(struct verdict *v);
void verdict_release(struct verdict *v);
/** The name of @node of @run; null for -1. */
json_t *verdict_node_json(const struct run *run, int node);
/** verdict.json; NULL without memory. */
json_t *verdict_json(const struct run *run, const struct verdict *v);
/**
 * Reads status, cells and findings of @json, a verdict.json of any user, into
 * the empty @v; adds nodes that @run does not have.  Damaged parts are left
 * out.  Returns verdict_whole().
 */
int verdict_read(const json_t *json, struct run *run, struct verdict *v);
/** Exit code by what was measured and found: 0 1 3 4. */
int verdict_exit(const struct run *run, const struct verdict *v);

/* ---- drain --------------------------------------------------------------- */

/**
 * Decides which findings are reason enough to take their node out of service:
 * the only place that does, for all commands and all lines that drain.  A
 * finding is if it fails in one node, is not about a setting, a limit or
 * something outside of the node (drain=never in data/symptoms.ini), and
 *  - the node itself reports the fault, such as a missing part or a process of
 *    gpucheck that died there (drain=alone), unless all nodes report the same;
 *  - or a test inside the node failed while others passed;
 *  - or three other nodes passed with each other and failed with this one.
 * Fewer nodes may be at fault themselves, and a silent node may only be cut off
 * from the coordinator.
 *
 * Sets f->drain of each finding; of those that other verdicts have decided (in
 * "all", and of parts that are still slow in a retest) it only clears it.  If a
 * finding is not proved, adds the nodes that did not reach it to f->says, and
 * the test that would decide to f->act.  v->cells and f->act must be set
 * before.  Pure.
 */
void drain_weigh(const struct run *run, struct verdict *v);

/** Returns true if @node itself closed the connection of its agent, so that the
 *  node was alive. */
bool drain_hung_up(const struct run *run, int node);

#endif
