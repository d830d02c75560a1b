/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_RECORD_INFO_H
#define LIB_DATA_RECORD_INFO_H

#include "lib/data/record.h"

/** Facts by which a verdict is made. */
#define INFO_EXPECTED "gpus_expected"	/* of a node, by -G or Slurm */
#define INFO_NONE     "none"		/* of a library that is not there */

/** One line of results.csv of info: did the node answer?  What it said is in
 *  facts.csv. */
#define INFO_COLUMNS(TEXT, INT, REAL, OUTCOME) \
	TEXT(node, 64, "node that was asked") \
	OUTCOME(outcome, \
		"ok: it reported; error, crashed, timeout, skipped, not_run") \
	TEXT(code, 48, "why not ok, one word") \
	TEXT(detail, 400, "the same in one sentence") \
	TEXT(start_utc, 32, "when it was asked, RFC 3339")
struct info_row {
	RECORD_FIELDS(INFO_COLUMNS)
};

extern const struct schema schema_info;

#endif
