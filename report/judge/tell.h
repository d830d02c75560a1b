/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands to type next. */
#ifndef REPORT_JUDGE_TELL_H
#define REPORT_JUDGE_TELL_H

#include "report/judge/verdict.h"
#include "report/model/part.h"

/* ---- next ---------------------------------------------------------------- */

/**
 * Finds the nodes that can be used now, as advice; nothing is executed.  Pure.
 *
 * Sets v->good to the largest set of nodes without a broken cell (or a slow one
 * if slowness is a failure) inside or between them: exact, or close to it if
 * there are many conflicts.  Cells that were not measured are no conflict.
 * Without bad cells, the nodes of findings that fail are left out.  The set is
 * empty if no finding fails, if one names no node, or if fewer than two nodes
 * would be left.  Returns 0, or -1 when memory runs out.
 */
int next_good(const struct run *run, struct verdict *v);

/**
 * Appends the lines below the findings, in the form of finding.act: the command
 * that excludes the nodes to blame, and which failures it leaves; the lines
 * that drain them; the command for v->good only.  Appends nothing if no line
 * applies.
 */
void next_words(const struct run *run, const struct verdict *v,
		struct str *out);

/** The command of the run @json (its run.json) without the @n nodes of the host
 *  list @list. */
void next_without(json_t *json, const char *list, size_t n, struct str *out);

/**
 * Appends the line that drains node @i of v->exclude.  Returns false if there
 * is none: no Slurm job, a drill, no finding that is proved against the node
 * (drain_weigh()), an invalid name, or another user has given a reason already.
 */
bool next_drain(const struct run *run, const struct verdict *v, size_t i,
		struct str *out);

/* ---- tell ---------------------------------------------------------------- */

/**
 * Appends the test that decides which of two parts that explain the same bad
 * cells is at fault, as a command for this cluster, with what its outcome
 * means: "If this fails too, it is GPU 0 of n1:", then a line with the command.
 * @src, @dst: one of the bad cells.  Returns false, and appends nothing, if no
 * such test is known.  Pure.
 */
bool tell_apart(const struct run *run, const struct part *a,
		const struct part *b, int src, int dst, struct str *out);

/** Returns TELL_LEGEND if commands about @run need it, or "". */
const char *tell_legend(const struct run *run);

/** Returns true if the nodes of the run are pretend ones on the local
 *  machine. */
bool tell_is_local(const struct run *run);

/** Prefix of a line that is a command; such a line is never wrapped. */
#define TELL_COMMAND "    "

/** How a command starts if gpucheck does not start the agents: the user knows
 *  the words in capitals. */
#define TELL_BY_OTHERS "LAUNCHER every-rank NEW"
/** Explains TELL_BY_OTHERS in the line above such a command. */
#define TELL_LEGEND " (LAUNCHER as before, such as mpirun; NEW: a new directory)"

/** Options that a retest may change: where it runs, since a drained node gets
 *  no job, and the drill, which is repaired by leaving it out.  NULL at the
 *  end. */
extern const char *const tell_retest_options[];
/** Appends the command that repeats the retest @run; false if it is not a
 *  retest. */
bool tell_retest(const struct run *run, struct str *out);
/** Appends the command of the run itself, without its output directory,
 *  options of this run only, and the options of @without (ended by NULL; may
 *  be NULL). */
void tell_again(const struct run *run, const char *const *without,
		struct str *out);
/** Appends the command of @probe on the machines of the run, started as the run
 *  was, with its drill. */
void tell_probe(const struct run *run, const char *probe, struct str *out);
/** Appends the command line @command with the options that have it measure the
 *  nodes of @run.  Returns false, and appends nothing, if it is not of a probe
 *  of gpucheck, or the options of the run are not known. */
bool tell_there(const struct run *run, const char *command, struct str *out);
/** Add " -N @n"; nothing if the run had its nodes from --ssh, which does not go
 *  with it. */
void tell_nodes(const struct run *run, int n, struct str *out);
/** The words for Slurm that stood behind "--", as they go to the end. */
void tell_passed_on(const struct run *run, struct str *out);
/** "gpucheck p2p --transport=nccl --pairs=n0:1-n1:1 --nodelist=n0,n1": the pair
 *  of ranks once more, by @transport. */
void tell_command(const struct run *run, const char *transport, int src,
		  int dst, struct str *out);

#endif
