/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_BASE_WRAP_H
#define REPORT_BASE_WRAP_H

#include <stdbool.h>

#include "lib/base/str.h"

/** Where words go, and how wide that is. */
struct wrap {
	struct str *out;
	int width;
	bool color;
	bool whole_quotes;	/* what stands in "", a command to copy, is not
				 * broken */
};

/**
 * Append @text to the last line, broken at blanks so that lines, @indent deep
 * from the second one on, fit the width, and a newline.  A number keeps its
 * unit beside it.
 */
void wrap_text(const struct wrap *w, int indent, const char *text);

/** The same for each line of @text, the first of which goes on in the last line
 *  of @out: those that begin with four blanks are commands, and are never
 *  broken. */
void wrap_lines(const struct wrap *w, int indent, const char *text);

/** A word at the start of a line, 6 wide, in the ANSI colour @color. */
void wrap_tag(const struct wrap *w, const char *tag, int color);
/** PASS, WARN, FAIL, PARTIAL, PENDING, RUNNING or UNKNOWN in its colour, for
 *  @status as verdict.json has it. */
void wrap_status(const struct wrap *w, const char *status);

/** A line of its own below a tag, as deep as the text behind it; what is too
 *  long goes on @more deeper. */
void wrap_line(const struct wrap *w, int more, const char *text);
/** The finding @says, behind an empty line and FAIL or WARN ... */
void wrap_finding(const struct wrap *w, bool fail, const char *says);
/** ... and, below its evidence, what to do about it. */
void wrap_act(const struct wrap *w, const char *act);

#endif
