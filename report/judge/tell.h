/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_TELL_H
#define REPORT_JUDGE_TELL_H

#include "report/judge/verdict.h"
#include "report/model/part.h"

/* ---- next ---------------------------------------------------------------- */

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

/* ---- tell ---------------------------------------------------------------- */

/**
 * Two parts explain the same bad cells: append to what to do the test that
 * would tell which it is, with the arguments that it takes on this cluster, and
 * what its outcome means: "If this fails too, it is GPU 0 of n1:", then a line
 * with the command.  @src, @dst: one of the bad cells.  False, and nothing is
 * added, where nobody knows one.  Pure.
 */
bool tell_apart(const struct run *run, const struct part *a,
		const struct part *b, int src, int dst, struct str *out);

/** Are the nodes of the run pretend ones, on the machine that it was typed
 *  on? */
bool tell_is_local(const struct run *run);

/** What a line begins with that is a command: it is printed as it is, whole. */
#define TELL_COMMAND "    "

/** The retest that @run is, once more; false where it is none. */
bool tell_retest(const struct run *run, struct str *out);
/** The command of the run itself, but for where its files went and what only
 *  this run was to do, and the options of @without (NULL: its end; may be
 *  NULL). */
void tell_again(const struct run *run, const char *const *without,
		struct str *out);
/** The words for Slurm that stood behind "--", as they go to the end. */
void tell_passed_on(const struct run *run, struct str *out);
/** "gpucheck p2p --transport=nccl --pairs=n0:1-n1:1 --nodelist=n0,n1": the pair
 *  of ranks once more, by @transport. */
void tell_command(const struct run *run, const char *transport, int src,
		  int dst, struct str *out);

#endif
