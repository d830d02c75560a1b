/* SPDX-License-Identifier: BSD-3-Clause */
/* Plan and results of a retest. */
#ifndef REPORT_JUDGE_RETEST_H
#define REPORT_JUDGE_RETEST_H

#include <jansson.h>

#include "lib/base/str.h"
#include "report/judge/verdict.h"

/* ---- retest -------------------------------------------------------------- */

/**
 * --retest: tests the faulty parts of an earlier run after a repair, and as
 * many healthy parts as controls.  Pure.
 *
 * A part passes if all tests of it that were possible are good, and these are
 * at least half of the planned ones for each kind of path; if they went through
 * the same hardware as before; and if no finding names it.  If any of this is
 * not known, the part is open and does not pass.
 */

/** Partners of each part, on as many nodes; that many must agree before a node
 *  is drained. */
#define RETEST_PARTNERS 3

/** How the codes of findings begin that a retest alone has. */
#define RETEST_OWN "still_"

/** Tests and parts of a retest. */
struct retest_plan {
	struct str nodes;	/* a host list */
	struct str pairs;	/* as --pairs takes it; "" of a collective */
	json_t *parts;		/* "parts" of "retest" of run.json */
	size_t n_controls;	/* nodes that are well */
};

/**
 * Plans a retest of the parts of the findings of @v that fail, or, if none
 * fails, of its warnings.  Each part is tested with partners on up to
 * RETEST_PARTNERS nodes that no finding names and with GPUs of its own node;
 * the partners are tested with each other.  A retest of a retest also includes
 * what that one left open.  Returns 0, or -1 without memory.  If the list of
 * parts is empty, there is nothing to test.  The caller calls
 * retest_plan_release().
 */
int retest_plan(const struct run *run, const struct verdict *v,
		struct retest_plan *p);
void retest_plan_release(struct retest_plan *p);

/** Returns the GPUs of @node, or ports for ib; 0: none, or not known. */
int retest_gpus(const struct run *run, int node);

enum retest_state {
	RETEST_OPEN,		/* too little was measured to say */
	RETEST_PASSES,
	RETEST_FAILS,
	RETEST_MISSING,		/* its node has fewer GPUs than before, or
				 * none */
};

/** One of the parts, now. */
struct retested {
	const char *name, *node, *code;	/* of run.json, borrowed; node "": of no
					 * node alone */
	const char *undrain;	/* the command in JSON; NULL: none */
	const char *peer;	/* "", or the other node of a part of two */
	bool failed, drain;	/* then */
	enum retest_state state;
	size_t tests, bad;	/* measured, and those that were bad; without
				 * what another part is at fault for */
	size_t flaky;		/* of those, good when they were tried again */
	double share, late;	/* of the bandwidth of the controls, and of
				 * their latency; NAN: not known */
	bool slow;		/* it is by that that it fails */
	const struct finding *again;	/* finding that names it now; NULL:
					 * none */
	char why[160];		/* it is open, or missing; "": too few tests */
};

/** Sets @out to part @i of the retest @run.  Returns false after the last part,
 *  or if @run is not a retest. */
bool retest_part(const struct run *run, const struct verdict *v, size_t i,
		 struct retested *out);
/**
 * Adds a finding for each part that is still slower than its controls, or that
 * is missing, unless another finding of @v is about it.  A finding that names
 * the part of an earlier fault again is a fault too: the earlier run selected
 * the part, and tests at another time with other partners confirm it.  The same
 * applies to an earlier warning that was not confirmed, if the part is slow
 * enough.
 */
void retest_findings(const struct run *run, struct verdict *v);
/** v->still and v->open, when all is found. */
void retest_weigh(const struct run *run, struct verdict *v);
/** Appends the results of a retest, line by line as in finding.act; nothing for
 *  other runs. */
void retest_words(const struct run *run, const struct verdict *v,
		  struct str *out);
/** Returns "retest" of verdict.json; NULL if @run is not a retest. */
json_t *retest_json(const struct run *run, const struct verdict *v);

#endif
