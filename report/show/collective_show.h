/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_SHOW_COLLECTIVE_SHOW_H
#define REPORT_SHOW_COLLECTIVE_SHOW_H

#include "report/show/judged.h"

/** A run of a collective: judged.more. */
struct collective_pair {
	struct sweep now, read;
	const struct sweep *reference;	/* what was read as such; NULL: none */
};

/** One sentence: how @c compares with its partner in @reference. */
void collective_beside(const struct curve *c, const struct sweep *reference,
		       struct str *out);

/** The tables, as nccl-tests prints them; on a screen that is too narrow for
 *  it less wide.  @width 0: no screen. */
void collective_table(const struct sweep *s, int width, struct str *out);
/** The curves that can be compared with @of, itself among them, @max at most;
 *  returns how many. */
size_t collective_comparable(const struct sweep *s, const struct curve *of,
			     const struct curve *list[], size_t max);
/** What can be compared with @of, which leads it, side by side, the best ones
 *  of a size marked, for @width columns. */
void collective_compare(const struct sweep *s, const struct curve *of,
			int width, struct str *out);
/** "fastest at 8 B to 64 KiB: Tree; 128 KiB: Ring and Tree alike; 256 KiB to
 *  1 GiB: Ring" of the same. */
void collective_crossovers(const struct sweep *s, const struct curve *of,
			   struct str *out);

/** What judged_kind.html has of it. */
void collective_html(const struct judged *j, const char *dir, struct str *out);

#endif
