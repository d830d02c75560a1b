/* SPDX-License-Identifier: BSD-3-Clause */
/* After a run: report, history, metrics; and the check of this node. */
#ifndef CLI_FRONT_SHOW_H
#define CLI_FRONT_SHOW_H

#include <limits.h>
#include <stdbool.h>

#include "cli/front/help.h"
#include "lib/base/err.h"
#include "lib/spec/spec.h"
#include "report/show/judged.h"

/* ---- keep ---------------------------------------------------------------- */

/** Adds a judged run that ended with @code to --history and --metrics.  Write
 *  errors are reported, and change nothing else. */
void keep(const struct judged *j, const struct spec *s, int code);

/** --junit: write the verdict @v, which ended with @code, to @file as test
 *  cases; "": do nothing.  Reports write errors. */
void keep_junit(const struct run *run, const struct verdict *v,
		const char *file, int code);

/* ---- history dir --------------------------------------------------------- */

/**
 * Finds the history directory: @wanted is the value of --history, "-" or "" is
 * $XDG_DATA_HOME/gpucheck/history (~/.local/share).  With @write it is created
 * if it does not exist.  Writes the absolute path, links in it unresolved, to
 * @path.  Returns 0, or -1 with @e.
 */
int history_dir(const char *wanted, bool write, char path[PATH_MAX],
		struct err *e);

/* ---- node self ----------------------------------------------------------- */

/** Time limit without --time-limit, below the limits of Slurm and NHC hooks. */
#define NODE_SELF_NS (4500 * NS_PER_MS)

/**
 * "gpucheck node": this node looks at itself, within --time-limit
 * whatever hangs; the result on stdout.  Returns an enum exit_code.
 */
int node_self(const struct session *s);

/* ---- node look ----------------------------------------------------------- */

/**
 * --node: the probe @name looks at this node, here and now, without agents;
 * a run directory is made with -o only.  Returns an enum exit_code.
 */
int node_look(const struct session *s, const char *name);

/* ---- show ---------------------------------------------------------------- */

struct judged_ask;

/**
 * Judge the run in @dir, draw its pictures, print what --json, --csv or
 * neither asks for.  Returns the run's exit code, or -1 with @e when @dir
 * cannot be read as a run.
 */
int show_run(const char *dir, const struct spec *s, struct err *e);
/** The same; writes its files to the directory @out, NULL: nowhere.  For a run
 *  that has not ended, as @going says (else NULL), prints the findings so far
 *  and writes nothing. */
int show_run_to(const char *dir, const char *out, const struct spec *s,
		const struct judged_ask *going, const char *accept,
		struct err *e);

/**
 * Prints --json of a run without a verdict: the same object, with the status
 * unknown and the text of @why in "reason"; "run" is that of @dir if there is
 * one.  Returns @code.
 */
int show_failure(const char *dir, const struct session *s,
		 const struct err *why, int code);
/** Handles a run without results because of @why; @dir is NULL if it has none.
 *  Adds it to --metrics and --history, and prints --json as above.  Returns
 *  @code. */
int show_nothing(const char *dir, const struct session *s,
		 const struct err *why, int code);

#endif
