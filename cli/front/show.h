/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_FRONT_SHOW_H
#define CLI_FRONT_SHOW_H

#include <limits.h>
#include <stdbool.h>

#include "cli/front/help.h"
#include "lib/base/err.h"
#include "lib/spec/spec.h"
#include "report/show/judged.h"

/* ---- keep ---------------------------------------------------------------- */

/** A run that has ended with @code and was judged goes where --history and
 *  --metrics say.  What cannot be written is said, and changes nothing else. */
void keep(const struct judged *j, const struct spec *s, int code);

/* ---- history dir --------------------------------------------------------- */

/**
 * Where the history is: @wanted as --history has it, "-" or "" for
 * $XDG_DATA_HOME/gpucheck/history (~/.local/share).  With @write it is made
 * where it is not there, and must be the caller's own.  The absolute path goes
 * to @path.  0, or -1 with @e.
 */
int history_dir(const char *wanted, bool write, char path[PATH_MAX],
		struct err *e);

/**
 * The file of the index of the history @dir: this user's alone, below
 * $XDG_CACHE_HOME (~/.cache), or where that is on another machine
 * $XDG_RUNTIME_DIR.  False: no such place is on a disk of this machine.
 */
bool history_index(const char *dir, char path[PATH_MAX]);

/* ---- node self ----------------------------------------------------------- */

/** Where there is no --max-time: within what hooks of Slurm and NHC wait. */
#define NODE_SELF_NS (4500 * NS_PER_MS)

/**
 * "gpucheck node": this node looks at itself, within --max-time
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
/** The same; its files go to the directory @out, NULL: nowhere.  Of a run that
 *  has not ended, as @going has it (else NULL): what it has found so far, and
 *  nothing is written. */
int show_run_to(const char *dir, const char *out, const struct spec *s,
		const struct judged_ask *going, struct err *e);

/**
 * --json of a run that came to no verdict for @why: the same object, with the
 * status unknown and, in "reason", the text of @why; "run" is that of @dir,
 * where that is not NULL and has one.  Returns @code.
 */
int show_failure(const char *dir, const struct session *s,
		 const struct err *why, int code);
/** A run that came to nothing for @why, @dir NULL where it has none: it goes
 *  where --metrics and --history say, and --json has it as above.  Returns
 *  @code. */
int show_nothing(const char *dir, const struct session *s,
		 const struct err *why, int code);

#endif
