/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_RETEST_H
#define REPORT_JUDGE_RETEST_H

#include <jansson.h>

#include "lib/base/str.h"
#include "report/judge/verdict.h"

/**
 * --retest: after a repair, the parts that a run has found, and as many that it
 * has found well.  Pure.
 */

/** Partners of each part, on as many nodes; so many have to agree before a
 *  node is drained. */
#define RETEST_PARTNERS 3

/** What is measured then. */
struct retest_plan {
	struct str nodes;	/* a host list */
	struct str pairs;	/* as --pairs takes it; "" of a collective */
	json_t *parts;		/* "parts" of "retest" of run.json */
	size_t n_controls;	/* nodes that are well */
};

/**
 * The parts of the findings of @v that fail, or, where none does, of its
 * warnings; each with partners on RETEST_PARTNERS nodes that no finding names,
 * where there are so many, and with GPUs of its own node; and these partners
 * with each other.  0, or -1: no memory.  Nothing is found where the list of
 * parts stays empty.  retest_plan_release() frees.
 */
int retest_plan(const struct run *run, const struct verdict *v,
		struct retest_plan *p);
void retest_plan_release(struct retest_plan *p);

enum retest_state {
	RETEST_OPEN,		/* too little was measured to say */
	RETEST_PASSES,
	RETEST_FAILS,
};

/** One of the parts, now. */
struct retested {
	const char *name, *node, *code;	/* of run.json, borrowed; node "": of no
					 * node alone */
	bool failed, drain;	/* then */
	enum retest_state state;
	size_t tests, bad;	/* measured, and those that were bad */
	double share;		/* of the bandwidth of the controls; NAN: not
				 * known */
	bool slow;		/* it is by that that it fails */
};

/** Part @i of the retest that @run is; false behind the last, or where it is
 *  none. */
bool retest_part(const struct run *run, const struct verdict *v, size_t i,
		 struct retested *out);
/** A finding for each part that still is slower than its controls, and that no
 *  other finding of @v is about. */
void retest_findings(const struct run *run, struct verdict *v);
/** What came of it, line by line as finding.act; nothing of other runs. */
void retest_words(const struct run *run, const struct verdict *v,
		  struct str *out);
/** "retest" of verdict.json; NULL where @run is none. */
json_t *retest_json(const struct run *run, const struct verdict *v);
/** The line that has Slurm use @node again: it was proved to be at fault, and
 *  all that was found there passes; else false. */
bool retest_undrain(const struct run *run, const struct verdict *v,
		    const char *node, struct str *out);

#endif
