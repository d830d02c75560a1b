/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_RUN_BUNDLE_PART_H
#define CLI_RUN_BUNDLE_PART_H

#include "cli/run/bundle.h"

/** Append what is to be had of the file @name of the run in @most bytes to
 *  @text, redacted, and say in @note what is missing; -1 with @e. */
typedef int part_fn(struct bundle *b, const char *name, size_t most,
		    struct str *text, struct str *note, struct err *e);

/** The whole, or nothing; of a verdict, whom it accuses. */
part_fn part_json;
/** Rows that speak of who is accused or of what failed, and as many of the
 *  others as there is room for, in the order of the file. */
part_fn part_rows;
/** A log: what it begins with, and three times as much of what it ends with. */
part_fn part_ends;

#endif
