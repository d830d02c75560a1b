/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/prove.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A driver pins this much besides what it was asked for. */
#define PINNED_BESIDES_B (128 * 1024)
/* Mappings that the call itself may have wanted. */
#define MAPS_BESIDES	 16

static bool by_permission(const struct refusal *r)
{
	return strcmp(r->check, CHECK_MLOCK) != 0;
}

static bool at_limit(const struct refusal *r)
{
	return r->limit_B != MEMLOCK_UNLIMITED &&
	       r->tried_B > r->limit_B - PINNED_BESIDES_B;
}

static bool above_cgroup(const struct refusal *r)
{
	return r->cgroup_B != MEMLOCK_UNLIMITED && r->tried_B > r->cgroup_B;
}

static bool out_of_maps(const struct refusal *r)
{
	return r->max_maps > 0 && r->maps + MAPS_BESIDES >= r->max_maps;
}

static bool is_full(const struct refusal *r)
{
	return r->nothing_works && r->device_max > 0;
}

/* The first that fits is the cause. */
static const struct cause {
	const char *code;
	int errors[3];
	bool (*fits)(const struct refusal *r);	/* NULL: always */
	const char *says;
} causes[] = {
	{ .code = "infiniband_denied", .errors = { EACCES, EPERM },
	  .fits = by_permission,
	  .says = "the user of the job may not open it: check the permissions "
		  "of /dev/infiniband/uverbs*" },
	{ .code = "infiniband_missing", .errors = { ENOENT, ENODEV, ENXIO },
	  .says = "the kernel has the HCA, but there is no "
		  "/dev/infiniband/uverbs* for it" },
	{ .code = "fd_limit", .errors = { EMFILE, ENFILE },
	  .says = "too many open files: see nofile" },
	{ .code = CODE_ENOMEM, .errors = { ENOMEM, EAGAIN, EPERM },
	  .fits = at_limit, .says = "refused at the limit RLIMIT_MEMLOCK" },
	{ .code = "cgroup_memory", .errors = { ENOMEM }, .fits = above_cgroup,
	  .says = "not memlock: the limit of the job's memory cgroup is "
		  "smaller" },
	{ .code = "map_count", .errors = { ENOMEM }, .fits = out_of_maps,
	  .says = "not memlock: vm.max_map_count mappings are in use" },
	{ .code = "device_full", .errors = { ENOMEM, ENOSPC }, .fits = is_full,
	  .says = "not memlock: the device has none left, even for the "
		  "smallest request" },
	{ .code = "enomem_not_memlock", .errors = { ENOMEM },
	  .says = "not memlock: RLIMIT_MEMLOCK is not reached; a limit of the "
		  "device or its driver" },
	{ .code = "refused", .says = "refused" },
};

static bool is_cause(const struct cause *c, const struct refusal *r)
{
	bool known = c->errors[0] == 0;		/* any */

	/* what refuses without an errno is none of those that are listed */
	for (int i = 0; i < 3 && c->errors[i] != 0; i++) {
		known |= c->errors[i] == r->error;
	}
	return known && (c->fits == NULL || c->fits(r));
}

const char *refusal_explain(const struct refusal *r, char *detail, size_t size)
{
	const struct cause *c = causes;
	char have[32];
	int n;

	while (!is_cause(c, r)) {
		c++;		/* the last one fits all */
	}
	n = snprintf(detail, size, "%s: %s",
		     r->error != 0 ? strerror(r->error) : "no reason given",
		     c->says);
	if (c->fits == at_limit && n > 0 && (size_t)n < size) {
		snprintf(detail + n, size - (size_t)n, ", %s",
			 memlock_text(r->limit_B, have, sizeof(have)));
	} else if (c->fits == is_full && n > 0 && (size_t)n < size) {
		snprintf(detail + n, size - (size_t)n, " (its maximum is %lld)",
			 (long long)r->device_max);
	}
	return c->code;
}
