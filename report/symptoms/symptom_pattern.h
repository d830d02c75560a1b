/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_SYMPTOMS_SYMPTOM_PATTERN_H
#define REPORT_SYMPTOMS_SYMPTOM_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/str.h"
#include "report/symptoms/literals.h"

/**
 * The patterns of data/symptoms.ini: plain text with
 *
 *   *    any text
 *   %~   blanks, tabs and : . = , or nothing
 *   %+   a number above zero, the whole of it
 *   %|   no digit follows
 *
 * A pattern is found anywhere in a line.
 */

/** NULL, or what is wrong with @pattern (static text).  Each part between
 *  stars begins with plain text. */
const char *symptom_pattern_wrong(const char *pattern);

/** Is @pattern, which is not wrong, in the @len bytes of @line? */
bool symptom_pattern_in(const char *pattern, const char *line, size_t len);

/** A few bytes, part of @pattern, that every line with it has: what to look for
 *  first. */
struct literal symptom_pattern_anchor(const char *pattern);

/** A line that @pattern is in, for people to read. */
void symptom_pattern_sample(const char *pattern, struct str *out);

#endif
