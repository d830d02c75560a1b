/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PLAN_PASS_H
#define PROBES_PLAN_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/spec/spec.h"

/**
 * A run goes over its pairs once, or with --contrast once more under another
 * schedule or other settings.  Cells are of the first pass, and so are second
 * attempts; of the others only the ratio to the first is wanted.
 */
#define PASS_MAX 2

struct pass {
	int64_t schedule;	/* enum spec_schedule */
	/* what workers are told; another value needs fresh ones: */
	bool pxn;
	bool as_jobs;		/* with the timeouts and retries of jobs */
	int64_t memory;		/* enum spec_memory */
	char name[16];		/* in the rows' column "schedule" */
};

/** The passes that @s asks for, and how many they are. */
int pass_list(const struct spec *s, struct pass passes[PASS_MAX]);
/** The follow-up of a run whose first pass is @first: under the same
 *  conditions, or nothing could be compared. */
struct pass pass_follow(const struct pass *first);
/** Can the workers of one pass not serve in the other?  A @model cannot see
 *  for itself what runs at the same time. */
bool pass_needs_fresh(const struct pass *a, const struct pass *b, bool model);

#endif
