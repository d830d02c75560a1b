/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/limit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/str.h"

#define ROOT "/sys/fs/cgroup"
/** More than any machine has: version 1 says that for "none". */
#define ENDLESS (INT64_C(1) << 60)

/** Where the two versions keep a kind. */
static const struct cgroup_files {
	const char *controller;		/* of version 1 */
	const char *max[2], *now[2];	/* version 1, version 2 */
} kinds[] = {
	[CGROUP_TASKS] = {
		.controller = "pids",
		.max = { "pids.max", "pids.max" },
		.now = { "pids.current", "pids.current" },
	},
	[CGROUP_MEMORY] = {
		.controller = "memory",
		.max = { "memory.limit_in_bytes", "memory.max" },
		.now = { "memory.usage_in_bytes", "memory.current" },
	},
};

/** The beginning of the file at @path, NUL-ended; false where it is not to be
 *  read. */
static bool read_text(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	if (fd >= 0) {
		close(fd);
	}
	buf[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/** The number in a file; -1: "max", or none. */
static int64_t read_number(const char *folder, const char *file)
{
	char path[512], text[32], *end;
	int64_t n;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	if (!read_text(path, text, sizeof(text))) {
		return -1;
	}
	n = strtoll(text, &end, 10);
	return end == text || n < 0 || n >= ENDLESS ? -1 : n;
}

/**
 * The folder of this process's group from a line of /proc/self/cgroup,
 * "4:memory:/job" or "0::/job"; false when it is of another kind.  *@version is
 * 0 for version 1, 1 for version 2, as in struct cgroup_files.
 */
static bool folder_of(const char *line, const struct cgroup_files *k,
		      char folder[256], int *version)
{
	const char *list = strchr(line, ':'), *at;
	const char *group = list ? strchr(list + 1, ':') : NULL;
	const size_t len = strlen(k->controller);
	bool listed = false;

	if (!group) {
		return false;
	}
	list++;
	*version = group == list;
	/* version 1 lists controllers: "cpu,cpuacct" */
	for (at = list; at < group; at += strcspn(at, ",:") + 1) {
		listed = listed || (strcspn(at, ",:") == len &&
				    memcmp(at, k->controller, len) == 0);
	}
	if (!*version && !listed) {
		return false;
	}
	/* where all versions are mounted side by side, 2 is below "unified" */
	snprintf(folder, 256, ROOT "%s%s%.200s",
		 !*version ? "/" : access(ROOT "/unified", F_OK) == 0 ?
			     "/unified" : "",
		 !*version ? k->controller : "",
		 strcmp(group + 1, "/") == 0 ? "" : group + 1);
	return true;
}

/**
 * Step from @folder, "" at first, to the next one: above this process's group
 * of @k there are those that hold it, as in a container only these may be there
 * to see; then comes the group of the next version, by the lines of *@groups.
 */
static bool next_folder(const struct cgroup_files *k, char **groups,
			char folder[256], int *version)
{
	char *line, *slash = strlen(folder) > strlen(ROOT) ?
				     strrchr(folder, '/') : NULL;

	if (slash) {
		*slash = '\0';
		return true;
	}
	while ((line = strsep(groups, "\n"))) {
		if (folder_of(line, k, folder, version)) {
			return true;
		}
	}
	return false;
}

bool cgroup_find(enum cgroup_kind kind, struct cgroup_limit *out)
{
	const struct cgroup_files *k = &kinds[kind];
	char text[4096], folder[256] = "", *groups = text;
	int version;

	*out = (struct cgroup_limit){ .max = -1, .now = -1 };
	read_text("/proc/self/cgroup", text, sizeof(text));
	while (next_folder(k, &groups, folder, &version)) {
		int64_t max = read_number(folder, k->max[version]);
		int64_t now = max < 0 ? -1 :
				read_number(folder, k->now[version]);

		/* the group that leaves the least counts */
		if (max >= 0 && (out->max < 0 ||
				 max - (now > 0 ? now : 0) <
				 out->max - (out->now > 0 ? out->now : 0))) {
			out->max = max;
			out->now = now;
			snprintf(out->path, sizeof(out->path), "%.200s/%s",
				 folder, k->max[version]);
		}
	}
	return out->max >= 0;
}

int64_t cgroup_oom_kills(void)
{
	char text[4096], folder[256] = "", path[512], events[512];
	char *groups = text, *at = NULL;
	int version;

	read_text("/proc/self/cgroup", text, sizeof(text));
	/* the first group that counts kills: those above it also count kills
	 * elsewhere */
	while (!at && next_folder(&kinds[CGROUP_MEMORY], &groups, folder,
				  &version)) {
		snprintf(path, sizeof(path), "%s/%s", folder,
			 version ? "memory.events" : "memory.oom_control");
		at = read_text(path, events, sizeof(events)) ?
			     strstr(events, "oom_kill ") : NULL;
	}
	return at ? strtoll(at + strlen("oom_kill "), NULL, 10) : 0;
}
