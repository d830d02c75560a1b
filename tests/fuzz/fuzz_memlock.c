/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The texts that memlock reads, each by its parser: the first byte says which.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/host/interface.h"
#include "probes/memlock/look.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
	if (!good) {
		abort();
	}
}

static void limits(const struct str *text)
{
	struct limit_pair l;

	if (proc_limit_parse(text, "Max locked memory", &l, NULL) == 0) {
		check(l.soft >= 0 && l.hard >= 0);
	}
}

static void status(const struct str *text)
{
	bool has_ipc_lock;
	int64_t uid = -1;

	if (proc_status_parse(text, &has_ipc_lock, &uid, NULL) == 0) {
		check(uid >= 0 && uid <= UINT32_MAX);
	}
}

static void cgroup(const struct str *text)
{
	struct proc_cgroup g;

	if (proc_cgroup_parse(text, &g, NULL) == 0) {
		check(strlen(g.group) > 0 && strlen(g.unit) < sizeof(g.unit));
	}
}

static void mounts(const struct str *text)
{
	int64_t size;

	if (proc_mount_size(text, "/dev/shm", &size, NULL) == 0) {
		check(size >= -1);
	}
}

static void unit(const struct str *text)
{
	struct unit_limit u = { .source = "" };

	if (unit_parse(text, "f", &u, NULL) == 0) {
		check(u.source[0] == '\0' ||
		      (u.limit.soft >= 0 && u.limit.hard >= 0));
	}
}

static void conf(const struct str *text)
{
	static const char *const groups[] = { "users", NULL };
	static const struct conf_user user = {
		.name = "ada", .uid = 1000, .groups = groups,
	};
	struct conf_value soft = { .match = CONF_NONE }, hard = soft;

	if (conf_parse(text, "f", &user, &soft, &hard, NULL) == 0) {
		check(soft.match == CONF_NONE || soft.value_B >= 0);
		check(soft.match == CONF_NONE || soft.source[0] != '\0');
	}
}

static void slurm(const struct str *text)
{
	struct slurm_limits s;

	if (slurm_config_parse(text, &s, NULL) == 0) {
		check(strlen(s.limits) < sizeof(s.limits));
	}
}

static void acs(const struct str *text)
{
	check(acs_of_config(text->data, text->len) <= ACS_UNKNOWN);
}

static void (*const parsers[])(const struct str *text) = {
	limits, status, cgroup, mounts, unit, conf, slurm, acs,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = sizeof(parsers) / sizeof(parsers[0]);
	struct str text = STR_INIT;

	if (size == 0) {
		return 0;
	}
	str_addmem(&text, data + 1, size - 1);
	if (!text.failed) {
		parsers[data[0] % n](&text);
	}
	str_release(&text);
	return 0;
}
