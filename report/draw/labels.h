/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_DRAW_LABELS_H
#define REPORT_DRAW_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#include "report/draw/view.h"

/** Names of nodes where there is little room: cut so that they still differ. */

#define LABEL_SIZE 64
/** With less room than this nothing marks where a name was cut. */
#define LABEL_MARK_MIN 8

/**
 * Cut the @n @names to @max letters each, in place: first the domain that all
 * have in common, then, where there is no room, what all begin with, then what
 * all end with, then their middles.  ".." stands for what is left out, but for
 * the domain.  Names that would be the same are told by their numbers ("gpu#7")
 * where that fits.  Returns do they differ? (as far as they did).  Pure.
 */
bool labels_cut(char (*names)[LABEL_SIZE], size_t n, size_t max);

/** The names of all nodes of @run for @max letters each; the caller frees.
 *  NULL when memory runs out. */
char (*labels_make(const struct run *run, size_t max))[LABEL_SIZE];

/** What to call row @row of @v where nodes are called @labels: a node, or the
 *  first and the last of several.  Returns @buf. */
const char *labels_row(const struct view *v, char (*labels)[LABEL_SIZE],
		       int row, char *buf, size_t size);
/** Letters for a node where @max are for a row of @v. */
size_t labels_room(const struct view *v, size_t max);

/** Letters of the longest one; 0 of none. */
size_t labels_longest(char (*names)[LABEL_SIZE], size_t n);

#endif
