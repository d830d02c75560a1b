/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The texts that memlock reads, each by its parser: the first byte says which.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/host/acs.h"
#include "probes/memlock/parse.h"

static void check(bool good)
{
	if (!good) {
		abort();
	}
}

static void limits(const char *text, size_t len)
{
	struct limit_pair l;

	if (proc_limit_parse(text, len, "Max locked memory", &l, NULL) == 0) {
		check(l.soft >= 0 && l.hard >= 0);
	}
}

static void status(const char *text, size_t len)
{
	struct proc_status s = { .uid = -1 };

	if (proc_status_parse(text, len, &s, NULL) == 0) {
		check(s.uid >= 0 && s.uid <= UINT32_MAX);
	}
}

static void cgroup(const char *text, size_t len)
{
	struct proc_cgroup g;

	if (proc_cgroup_parse(text, len, &g, NULL) == 0) {
		check(strlen(g.group) > 0 && strlen(g.unit) < sizeof(g.unit));
	}
}

static void mounts(const char *text, size_t len)
{
	int64_t size;

	if (proc_mount_size(text, len, "/dev/shm", &size, NULL) == 0) {
		check(size >= -1);
	}
}

static void unit(const char *text, size_t len)
{
	struct unit_limit u;

	if (unit_parse(text, len, &u, NULL) == 0) {
		check(u.line == 0 || (u.limit.soft >= 0 && u.limit.hard >= 0));
	}
}

static void conf(const char *text, size_t len)
{
	static const char *const groups[] = { "users", NULL };
	static const struct conf_user user = {
		.name = "ada", .uid = 1000, .groups = groups,
	};
	struct conf_limit l = { 0 };

	if (conf_parse(text, len, 0, &user, &l, NULL) == 0) {
		check(l.soft.match == CONF_NONE || l.soft.value_B >= 0);
		check(l.soft.match == CONF_NONE || l.soft.line > 0);
	}
}

static void slurm(const char *text, size_t len)
{
	struct slurm_limits s;

	if (slurm_config_parse(text, len, &s, NULL) == 0) {
		check(strlen(s.limits) < sizeof(s.limits));
	}
}

static void acs(const char *text, size_t len)
{
	check(acs_of_config(text, len) <= ACS_UNKNOWN);
}

static void (*const parsers[])(const char *text, size_t len) = {
	limits, status, cgroup, mounts, unit, conf, slurm, acs,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = sizeof(parsers) / sizeof(parsers[0]);
	char *copy;

	if (size == 0) {
		return 0;
	}
	/* a copy that ends where the text ends: no NUL behind it */
	copy = malloc(size);
	if (copy) {
		memcpy(copy, data + 1, size - 1);
		parsers[data[0] % n](copy, size - 1);
	}
	free(copy);
	return 0;
}
