/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_VERDICT_TABLE_H
#define TESTS_VERDICT_TABLE_H

#include <stdint.h>

#include "report/judge/verdict.h"

/** Questions, each asked of many random clusters: how often is the verdict
 *  right?  One line of a table each. */

struct score {
	size_t runs, exact, severe;	/* severe: the severity as well */
	size_t fails, warns, drains;	/* runs, runs, findings */
	size_t findings, right, faults, found;
};

enum severity { EITHER, WARN, FAIL };

/** What is wrong with a cluster. */
struct truth {
	const struct part *parts;
	size_t n;
	enum severity severity;
	/** Is @f right, and of no part: does it not count?  NULL: none is. */
	bool (*is_site)(const void *ctx, const struct finding *f);
	const void *ctx;
};

/** Count @v; with V in the environment, where it is not exact, of the right
 *  severity, the parts that are bad and what was said are shown as well.
 *  Returns whether it was. */
bool score_add(struct score *s, const struct truth *t, const struct run *run,
	       const struct verdict *v);

/** True unless @right of @of runs are too few, with 99 % confidence, for a
 *  verdict that is right in @percent of them: few seeds cannot show 99 %. */
bool score_enough(size_t right, size_t of, double percent);

/** What each question begins with. */
struct row {
	const char *name;
	double least;		/* percent of runs that must be exact, of the
				 * right severity (score_enough()); 0: it is
				 * only shown.  Where nothing is wrong, one fail
				 * of a thousand runs is the most */
};

struct table {
	const char *clusters;	/* what they are */
	const void *questions;	/* each begins with a row */
	size_t n, size;		/* bytes of each */
	void (*ask)(const void *question, uint64_t seed, struct score *s);
};

/**
 * main() of a table: [SEEDS [FIRST [NAME]]], NAME of a line's begin.  Prints
 * it, and TAP.
 */
int table_main(const struct table *t, int argc, char **argv);

#endif
