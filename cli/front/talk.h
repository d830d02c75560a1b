/* SPDX-License-Identifier: BSD-3-Clause */
/* The terminal, messages on stderr and data on stdout. */
#ifndef CLI_FRONT_TALK_H
#define CLI_FRONT_TALK_H

#include <stdbool.h>
#include <stdio.h>

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/spec/spec.h"
#include "report/draw/draw.h"

/* ---- screen -------------------------------------------------------------- */

/** Abilities of the terminal behind a file. */

/** Return true if stdout gets colours; --color of @s counts. */
bool screen_color(const struct spec *s);

/**
 * Returns the style: ASCII unless the locale is UTF-8; then colour if allowed,
 * else Unicode blocks.
 */
enum term_style screen_style(const struct spec *s);

/** Words for people to @f, harmless but for colours. */
void screen_print(struct str *text, FILE *f);

/** Columns of the terminal on @fd, else $COLUMNS, else 80. */
int screen_width(int fd);

/** Return true if @fd is a terminal or $COLUMNS is set, so that the width is
 *  known. */
bool screen_known(int fd);

/* ---- talk ---------------------------------------------------------------- */

/**
 * stdout is for data, stderr for messages: every message to the user except the
 * result is printed here.  On a terminal messages are wrapped at blanks; a
 * command in "" is never broken.
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

/** Return the last error of talk_err(); no text: none so far. */
const struct err *talk_last(void);

/** Before anything is printed: what fails from now on is remembered. */
void talk_open_stdout(void);
/** Return true if nothing was printed so far. */
bool talk_stdout_is_empty(void);

/**
 * Flushes and closes stdout.  Returns @code, or CODE_UNABLE (reported on
 * stderr) if output was lost and @code is not worse.  A reader that closed the
 * pipe (EPIPE) is no error.
 */
int talk_close_stdout(int code);

#endif
