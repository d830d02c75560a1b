/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_MEMLOCK_REFUSAL_H
#define PROBES_MEMLOCK_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What was refused: by which errno, at what size, in which surroundings. */
struct refusal {
	const char *check;	/* CHECK_CQ, ... */
	int error;
	int64_t tried_B;	/* the smallest size that fails */
	bool nothing_works;	/* the smallest possible size fails too */
	int64_t limit_B;	/* RLIMIT_MEMLOCK, soft */
	int64_t cgroup_B;	/* limit of the memory cgroup */
	int64_t maps, max_maps;	/* of this process; vm.max_map_count */
	int64_t device_max;	/* objects of that kind on the device */
};

/**
 * Name the cause.  ENOMEM has many: only where the size meets the limit is it
 * memlock.  Returns a word for the column code, the sentence in @detail.
 */
const char *refusal_explain(const struct refusal *r, char *detail,
			    size_t size);

#endif
