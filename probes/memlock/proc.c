/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/parse.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/base/units.h"

/* ---- /proc/PID/limits -------------------------------------------------- */

static int read_limit(const char *word, int64_t *out, struct err *e)
{
	if (strcmp(word, "unlimited") == 0) {
		*out = MEMLOCK_UNLIMITED;
		return 0;
	}
	return units_parse_int(word, 0, INT64_MAX, out, e);
}

int proc_limit_parse(const char *text, size_t len, const char *name,
		     struct limit_pair *out, struct err *e)
{
	struct text_lines l;
	char soft[32], hard[32];
	struct err why = { 0 };
	int got;

	if (text_lines_init(&l, text, len, e) < 0) {
		return -1;
	}
	while ((got = text_lines_next(&l, e)) == 1) {
		const char *at = l.text + strlen(name);

		if (!str_starts(l.text, name) || (*at != ' ' && *at != '\t')) {
			continue;
		}
		if (!text_word(&at, soft, sizeof(soft)) ||
		    !text_word(&at, hard, sizeof(hard))) {
			return err_set(e, 0, "line %d: two values expected",
				       l.line);
		}
		if (read_limit(soft, &out->soft, &why) < 0 ||
		    read_limit(hard, &out->hard, &why) < 0) {
			return err_set(e, 0, "line %d: %s", l.line, why.text);
		}
		return 0;
	}
	return got < 0 ? -1 : err_set(e, 0, "no line '%s'", name);
}

/* ---- /proc/PID/status -------------------------------------------------- */

static int read_caps(const char *text, struct proc_status *out, struct err *e)
{
	char *end;
	uint64_t bits;

	errno = 0;
	bits = strtoull(text, &end, 16);
	if (end == text || *end != '\0' || errno != 0) {
		return err_set(e, 0, "'%.40s' is not a set of capabilities",
				     text);
	}
	out->has_ipc_lock = bits >> CAP_IPC_LOCK & 1;
	return 0;
}

/* Uid: real effective saved file-system */
static int read_uid(const char *text, struct proc_status *out, struct err *e)
{
	char word[24];

	if (!text_word(&text, word, sizeof(word)) ||
	    !text_word(&text, word, sizeof(word))) {
		return err_set(e, 0, "no effective user");
	}
	return units_parse_int(word, 0, UINT32_MAX, &out->uid, e);
}

static const struct status_line {
	const char *key;
	int (*read)(const char *text, struct proc_status *out, struct err *e);
} status_lines[] = {
	{ .key = "CapEff:", .read = read_caps },
	{ .key = "Uid:", .read = read_uid },
};

#define STATUS_LINES (sizeof(status_lines) / sizeof(status_lines[0]))

int proc_status_parse(const char *text, size_t len, struct proc_status *out,
		      struct err *e)
{
	bool seen[STATUS_LINES] = { false };
	struct text_lines l;
	struct err why = { 0 };
	int got;

	if (text_lines_init(&l, text, len, e) < 0) {
		return -1;
	}
	while ((got = text_lines_next(&l, e)) == 1) {
		for (size_t i = 0; i < STATUS_LINES; i++) {
			const struct status_line *s = &status_lines[i];
			const char *at = l.text + strlen(s->key);

			if (!str_starts(l.text, s->key)) {
				continue;
			}
			at += strspn(at, " \t");
			if (s->read(at, out, &why) < 0) {
				return err_set(e, 0, "line %d: %s", l.line,
					       why.text);
			}
			seen[i] = true;
		}
	}
	for (size_t i = 0; got == 0 && i < STATUS_LINES; i++) {
		if (!seen[i]) {
			return err_set(e, 0, "no line '%s'",
				       status_lines[i].key);
		}
	}
	return got;
}

/* ---- /proc/PID/cgroup -------------------------------------------------- */

/* What container runtimes call the groups that they make. */
static const struct container_mark {
	const char *part;
	const char *name;
} container_marks[] = {
	{ .part = "/kubepods", .name = "kubernetes" },
	{ .part = "/docker", .name = "docker" },
	{ .part = "libpod", .name = "podman" },
	{ .part = "/cri-containerd", .name = "containerd" },
	{ .part = "/lxc", .name = "lxc" },
};

static void note_container(const char *path, struct proc_cgroup *out)
{
	size_t n = sizeof(container_marks) / sizeof(container_marks[0]);

	for (size_t i = 0; i < n && out->container[0] == '\0'; i++) {
		if (strstr(path, container_marks[i].part) != NULL) {
			STR_COPY(out->container, container_marks[i].name);
		}
	}
}

/* The innermost /NAME.service of the path. */
static void note_unit(const char *path, struct proc_cgroup *out)
{
	const char *end = strstr(path, ".service");
	const char *from = end;

	while (from != NULL && from > path && from[-1] != '/') {
		from--;
	}
	if (end != NULL && (size_t)(end - from) + 9 <= sizeof(out->unit)) {
		memcpy(out->unit, from, (size_t)(end - from) + 8);
		out->unit[end - from + 8] = '\0';
	}
}

/* HIERARCHY:CONTROLLER,CONTROLLER:/PATH, v2 being "0::/PATH" */
static int read_group(const char *line, struct proc_cgroup *out)
{
	const char *controllers = strchr(line, ':'), *path;
	char list[256];

	path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
	if (path == NULL ||
	    (size_t)(path - controllers) + 2 > sizeof(list)) {
		return -1;
	}
	snprintf(list, sizeof(list), ",%.*s,", (int)(path - controllers - 1),
		 controllers + 1);
	path++;
	note_container(path, out);
	note_unit(path, out);
	if (str_starts(line, "0::") && out->group[0] == '\0') {
		out->v2 = true;
		STR_COPY(out->group, path);
	} else if (strstr(list, ",memory,") != NULL) {
		out->v2 = false;
		STR_COPY(out->group, path);
	}
	return 0;
}

int proc_cgroup_parse(const char *text, size_t len, struct proc_cgroup *out,
		      struct err *e)
{
	struct text_lines l;
	int got;

	*out = (struct proc_cgroup){ 0 };
	if (text_lines_init(&l, text, len, e) < 0) {
		return -1;
	}
	while ((got = text_lines_next(&l, e)) == 1) {
		if (l.text[0] != '\0' && read_group(l.text, out) < 0) {
			return err_set(e, 0, "line %d: not ID:CONTROLLERS:PATH",
				       l.line);
		}
	}
	if (out->group[0] == '\0') {
		STR_COPY(out->group, "/");
	}
	return got;
}

/* ---- /proc/self/mounts ------------------------------------------------- */

/* "size=65536k" among comma-separated options; 0 when it is not there. */
static int read_size(const char *options, int64_t *size_B, struct err *e)
{
	const char *at = options;
	char value[32];
	uint64_t bytes;

	*size_B = 0;
	while (at != NULL && !str_starts(at, "size=")) {
		at = strchr(at, ',');
		at = at != NULL ? at + 1 : NULL;
	}
	if (at == NULL) {
		return 0;
	}
	snprintf(value, sizeof(value), "%.*s", (int)strcspn(at + 5, ","),
		 at + 5);
	if (units_parse_size(value, &bytes, e) < 0 || bytes > INT64_MAX) {
		return -1;
	}
	*size_B = (int64_t)bytes;
	return 0;
}

int proc_mount_size(const char *text, size_t len, const char *mount,
		    int64_t *size_B, struct err *e)
{
	char dev[64], where[256], type[32], options[512];
	struct text_lines l;
	struct err why = { 0 };
	int got;

	*size_B = -1;
	if (text_lines_init(&l, text, len, e) < 0) {
		return -1;
	}
	while ((got = text_lines_next(&l, e)) == 1) {
		const char *at = l.text;

		if (!text_word(&at, dev, sizeof(dev)) ||
		    !text_word(&at, where, sizeof(where)) ||
		    !text_word(&at, type, sizeof(type)) ||
		    !text_word(&at, options, sizeof(options)) ||
		    strcmp(where, mount) != 0) {
			continue;
		}
		if (read_size(options, size_B, &why) < 0) {
			return err_set(e, 0, "line %d: %s", l.line, why.text);
		}
	}
	return got;
}
