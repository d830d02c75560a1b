/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_NEXT_H
#define REPORT_JUDGE_NEXT_H

#include "report/judge/verdict.h"

/**
 * What to do with the nodes now.  Nothing of it is ever executed.  Pure.
 *
 * v->good: the largest set of nodes of which no two, and none in itself, have a
 * cell between them that is broken (or slow, where that is a failure): exact
 * unless there are many conflicts, and then nearly.  What was not measured is
 * no conflict.  Without a bad cell, it is the findings that fail; left empty
 * when none does, when one names no node, or fewer than two nodes are left.
 * 0, or -1 when memory runs out.
 */
int next_good(const struct run *run, struct verdict *v);

/**
 * What stands below the findings, line by line (finding.act has the same form):
 * the whole command that skips the nodes to blame, and which failures stay
 * then; the lines that drain them; the command for v->good alone.  Nothing
 * where there is nothing to say.
 */
void next_words(const struct run *run, const struct verdict *v,
		struct str *out);

/**
 * The line that drains node @i of v->exclude, unless somebody else has given a
 * reason already.  False where there is nothing to drain: no Slurm job, a
 * drill, no finding that is proved against it (drain.h), a name that is not
 * one.
 */
bool next_drain(const struct run *run, const struct verdict *v, size_t i,
		struct str *out);

#endif
