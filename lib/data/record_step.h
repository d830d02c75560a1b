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
struct step_row {
	char probe[16];		/* column "rung" */
	char status[16];	/* of its verdict; "" = came to none */
	int64_t exit_code;
	int64_t pass;		/* its cells */
	int64_t slow;
	int64_t fail;
	int64_t timeout;
	int64_t corrupt;
	int64_t skipped;
	int64_t not_run;
	int64_t findings;
	double wall_s;
	enum outcome outcome;
	char code[48];
	char detail[648];	/* and what to do */
	char start_utc[32];
};

extern const struct schema schema_step;

#endif
