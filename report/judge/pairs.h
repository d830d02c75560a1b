/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_PAIRS_H
#define REPORT_JUDGE_PAIRS_H

#include "lib/data/record_info.h"
#include "report/judge/verdict.h"

/** The judge of runs that measure pairs.  Pure: cells, facts and expectations
 *  in, findings out.  0 or -1 (memory). */
int verdict_compute(const struct run *run, struct verdict *v);
/** The same beside @then, an earlier run that is like it (accepted_unlike())
 *  and was found good enough; NULL: none. */
int verdict_compute_beside(const struct run *run, const struct run *then,
			   struct verdict *v);
/** What it finds, before verdict_close(); of any run that has cells, though
 *  none are planned. */
void pairs_find(const struct run *run, struct verdict *v);

/** A node that said why it did not answer. */
struct silent {
	const char *node, *code, *detail;
	enum outcome outcome;
};
/** Say so, where nothing else tells of that node. */
void silent_finding(const struct run *run, const struct silent *s,
		    struct verdict *v);

/** Of runs that only asked their nodes: a row is a node, that @run knows. */
int info_judge(const struct run *run, const struct info_row *rows, size_t n,
	       struct verdict *v);

#endif
