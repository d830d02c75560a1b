/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_MEMLOCK_BISECT_H
#define PROBES_MEMLOCK_BISECT_H

#include <stdint.h>

/** What is searched for: the size at which something begins to fail. */
struct bisect {
	int64_t unit_B;		/* sizes are multiples of it */
	int64_t first_B;	/* tried first, then twice that, and so on ... */
	int64_t ceiling_B;	/* ... up to here */
	/** Try one size, leave nothing behind: 0 or the errno why not. */
	int (*attempt)(int64_t size_B, void *arg);
	void *arg;
};

struct bisect_result {
	int64_t max_ok_B;	/* 0: not even one unit worked */
	int64_t min_fail_B;	/* RECORD_NONE: all sizes worked */
	int error;		/* errno of min_fail_B */
};

/** Assumes that what fails at one size fails at all larger ones. */
void bisect_run(const struct bisect *b, struct bisect_result *r);

#endif
