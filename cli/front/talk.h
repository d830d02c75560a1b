/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_FRONT_TALK_H
#define CLI_FRONT_TALK_H

#include <stdbool.h>

#include "lib/base/err.h"

/**
 * stdout is data, stderr is talk: everything that is said to people besides
 * the result goes through here.  On a terminal it is broken at blanks; what
 * stands in "", a command to copy, stays whole.
 */

/** --quiet: from now on only errors are said. */
void talk_quiet(bool quiet);

/** "gpucheck: ..." on stderr, unless quiet. */
void talk(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** "hint: ..." on stderr, unless quiet. */
void talk_hint(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** "  | ..." on stderr, unless quiet: what another program said. */
void talk_quote(const char *line);

/** "gpucheck: text: strerror" and "hint: ..." on stderr, quiet or not. */
void talk_err(const struct err *e);
/** The same; returns @code. */
int talk_fail(const struct err *e, int code);

/** What talk_err() said last; no text: nothing so far. */
const struct err *talk_last(void);

/** Before anything is printed: what fails from now on is remembered. */
void talk_open_stdout(void);
/** Was nothing printed so far? */
bool talk_stdout_is_empty(void);

/**
 * Flush and close stdout.  Returns @code, or CODE_UNABLE (said on stderr) when
 * what was printed did not get out and @code is not worse; a reader that went
 * away (EPIPE) has seen what it wanted.
 */
int talk_close_stdout(int code);

#endif
