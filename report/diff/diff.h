/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_DIFF_DIFF_H
#define REPORT_DIFF_DIFF_H

#include "report/model/run.h"

/** What two runs of any kind have to have in common, and what their comparison
 *  comes to.  Pure. */

struct diff_sum {
	size_t compared;	/* what both have measured, */
	size_t worse;		/* of that: worse now, or failing now, */
	size_t failing;		/* failing in both, */
	size_t slow;		/* slow in both */
	size_t missing;		/* what @then measured, and @now did not */
};

enum diff_status {
	DIFF_PASS, DIFF_WARN, DIFF_FAIL, DIFF_PARTIAL, DIFF_UNKNOWN,
	DIFF_STATUSES
};

/** FAIL of what is worse or fails in both, PARTIAL of what was compared in part
 *  only, WARN of what is slow in both, UNKNOWN of nothing. */
enum diff_status diff_status(const struct diff_sum *s);
/** "pass", "warn", ... as a verdict has it, and the exit code of that. */
const char *diff_status_name(enum diff_status status);
int diff_exit(enum diff_status status);

/** Are they measurements of different things?  Appends which, "transport sim,
 *  now tcp"; what one of them does not say may be the same. */
bool diff_unlike(const struct run *then, const struct run *now,
		 struct str *out);

#endif
