/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_RECORD_STEP_H
#define LIB_DATA_RECORD_STEP_H

#include "lib/data/record.h"

/** Values of the column code. */
#define STEP_ABSENT  "absent"	/* skipped: what it measures is not there */
#define STEP_UNFIT   "does_not_apply"	/* skipped: by an option */
#define STEP_FAILED  "could_not_measure"	/* outcome error */
#define STEP_STOPPED "stopped"	/* not_run: by hand, or no time was left */

/** One line of results.csv of all: one probe, whose own run is a directory of
 *  that name below. */
#define STEP_COLUMNS(TEXT, INT, REAL, OUTCOME) \
	TEXT(rung, 16, "probe, and directory of its run") \
	TEXT(status, 16, "status of its verdict: pass, warn, fail, partial, " \
			 "unknown") \
	INT(exit_code, "its exit code") \
	INT(pass, "its tests, by class") \
	INT(slow, "slow tests") \
	INT(fail, "tests with an error or a crash") \
	INT(timeout, "tests that ran out of time") \
	INT(corrupt, "tests with changed bytes") \
	INT(skipped, "tests skipped for a reason") \
	INT(not_run, "tests that were not measured") \
	INT(findings, "how many findings it has") \
	REAL(wall_s, "from its start to its report, seconds") \
	OUTCOME(outcome, "ok, error, skipped, not_run") \
	TEXT(code, 48, "why not ok, one word") \
	TEXT(detail, 648, "the same in one sentence") \
	TEXT(start_utc, 32, "when it began, RFC 3339")
struct step_row {
	RECORD_FIELDS(STEP_COLUMNS)
};

extern const struct schema schema_step;

#endif
