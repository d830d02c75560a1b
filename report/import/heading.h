/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_IMPORT_HEADING_H
#define REPORT_IMPORT_HEADING_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Headings over tables, "======= All to All =======", "### Single Node", and
 * the collective that they name.
 */
#define HEADING_LEVELS 7

struct headings {
	char text[96];		/* the last one */
	char op[HEADING_LEVELS][16];	/* by level; a deeper one inherits */
};

/**
 * The name of the collective that is in @text, in any spelling, "" when there
 * is none: "NCCL `all_reduce` results" is allreduce.
 */
const char *heading_op(const char *text);
/** Is @line a heading?  Then it is remembered. */
bool heading_take(struct headings *h, const char *line);
/** The collective of the last heading, or of one above it; "". */
const char *heading_current_op(const struct headings *h);

#endif
