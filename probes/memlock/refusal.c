/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/prove.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A driver pins this much besides what it was asked for. */
#define PINNED_BESIDES_B (128 * 1024)
/* Mappings that the call itself may have wanted. */
#define MAPS_BESIDES	 16

static bool is_denied(const struct refusal *r)
{
	return (r->error == EACCES || r->error == EPERM) &&
	       strcmp(r->check, CHECK_MLOCK) != 0;
}

static bool is_missing(const struct refusal *r)
{
	return r->error == ENOENT || r->error == ENODEV || r->error == ENXIO;
}

static bool is_fd_limit(const struct refusal *r)
{
	return r->error == EMFILE || r->error == ENFILE;
}

static bool is_memlock(const struct refusal *r)
{
	bool refused = r->error == ENOMEM || r->error == EAGAIN ||
		       r->error == EPERM;

	return refused && r->limit_B != MEMLOCK_UNLIMITED &&
	       r->tried_B > r->limit_B - PINNED_BESIDES_B;
}

static bool is_cgroup(const struct refusal *r)
{
	return r->error == ENOMEM && r->cgroup_B != MEMLOCK_UNLIMITED &&
	       r->tried_B > r->cgroup_B;
}

static bool is_map_count(const struct refusal *r)
{
	return r->error == ENOMEM && r->max_maps > 0 &&
	       r->maps + MAPS_BESIDES >= r->max_maps;
}

static bool is_full(const struct refusal *r)
{
	return (r->error == ENOMEM || r->error == ENOSPC) &&
	       r->nothing_works && r->device_max > 0;
}

static bool is_enomem(const struct refusal *r)
{
	return r->error == ENOMEM;
}

/* The first that fits is the cause. */
static const struct cause {
	const char *code;
	bool (*fits)(const struct refusal *r);
	const char *says;
} causes[] = {
	{ .code = "infiniband_denied", .fits = is_denied,
	  .says = "the user of the job may not open it: check the permissions "
		  "of /dev/infiniband/uverbs*" },
	{ .code = "infiniband_missing", .fits = is_missing,
	  .says = "the kernel has the HCA, but there is no "
		  "/dev/infiniband/uverbs* for it" },
	{ .code = "fd_limit", .fits = is_fd_limit,
	  .says = "too many open files: see nofile" },
	{ .code = CODE_ENOMEM, .fits = is_memlock,
	  .says = "refused at the limit RLIMIT_MEMLOCK" },
	{ .code = "cgroup_memory", .fits = is_cgroup,
	  .says = "not memlock: the limit of the job's memory cgroup is "
		  "smaller" },
	{ .code = "map_count", .fits = is_map_count,
	  .says = "not memlock: vm.max_map_count mappings are in use" },
	{ .code = "device_full", .fits = is_full,
	  .says = "not memlock: the device has none left, even for the "
		  "smallest request" },
	{ .code = "enomem_not_memlock", .fits = is_enomem,
	  .says = "not memlock: RLIMIT_MEMLOCK is not reached; a limit of the "
		  "device or its driver" },
	{ .code = "refused", .fits = NULL, .says = "refused" },
};

const char *refusal_explain(const struct refusal *r, char *detail, size_t size)
{
	const struct cause *c = causes;
	char have[32];
	int n;

	while (c->fits != NULL && !c->fits(r)) {
		c++;
	}
	n = snprintf(detail, size, "%s: %s", strerror(r->error), c->says);
	if (c->fits == is_memlock && n > 0 && (size_t)n < size) {
		snprintf(detail + n, size - (size_t)n, ", %s",
			 memlock_text(r->limit_B, have, sizeof(have)));
	} else if (c->fits == is_full && n > 0 && (size_t)n < size) {
		snprintf(detail + n, size - (size_t)n, " (its maximum is %lld)",
			 (long long)r->device_max);
	}
	return c->code;
}
