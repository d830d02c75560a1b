/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_FRONT_SHOW_H
#define CLI_FRONT_SHOW_H

#include "cli/front/command.h"
#include "lib/base/err.h"
#include "lib/spec/spec.h"

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

#endif
