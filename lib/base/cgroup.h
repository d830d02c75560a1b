/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_BASE_CGROUP_H
#define LIB_BASE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/** What a cgroup counts for all that are in it. */
enum cgroup_kind { CGROUP_TASKS, CGROUP_MEMORY };

/** A cgroup that this process is in, or one above it. */
struct cgroup_limit {
	int64_t max, now;	/* tasks, bytes; now -1: not known */
	char path[256];		/* of the file that has the limit */
};

/** The tightest limit of that kind: by what is left, in version 1 and 2 of
 *  cgroups.  False: none is set, or none can be read. */
bool cgroup_find(enum cgroup_kind kind, struct cgroup_limit *out);

/** How often the kernel has killed in this process's cgroup for want of memory;
 *  0 where nobody knows. */
int64_t cgroup_oom_kills(void);

#endif
