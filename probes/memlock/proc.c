/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/parse.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"

/* ---- one line of many --------------------------------------------------- */

/* What stands behind @name at the beginning of a line, by @read. */
static int read_line(const struct str *text, const char *name,
		     int (*read)(const char *at, void *out, struct err *e),
		     void *out, struct err *e)
{
	struct text_lines l;

	text_lines_init(&l, text, e);
	while (text_lines_next(&l)) {
		const char *at = l.text + strlen(name);

		if (str_starts(l.text, name) && *at == ' ') {
			return read(at, out, e) < 0 ? text_lines_fail(&l) : 0;
		}
	}
	return l.rc < 0 ? -1 : err_set(e, 0, "no line '%s'", name);
}

static int read_pair(const char *at, void *out, struct err *e)
{
	struct limit_pair *pair = out;
	char soft[32], hard[32];

	if (!text_word(&at, soft, sizeof(soft)) ||
	    !text_word(&at, hard, sizeof(hard))) {
		return err_set(e, 0, "two values expected");
	}
	return text_limit(soft, 1, &pair->soft, e) < 0 ?
		       -1 :
		       text_limit(hard, 1, &pair->hard, e);
}

int proc_limit_parse(const struct str *text, const char *name,
		     struct limit_pair *out, struct err *e)
{
	return read_line(text, name, read_pair, out, e);
}

static int read_caps(const char *at, void *out, struct err *e)
{
	struct proc_status *status = out;
	char *end;
	uint64_t bits;

	at += strspn(at, " ");
	errno = 0;
	bits = strtoull(at, &end, 16);
	status->has_ipc_lock = bits >> CAP_IPC_LOCK & 1;
	return end != at && *end == '\0' && errno == 0 ?
		       0 :
		       err_set(e, 0, "'%.40s' is not a set of capabilities",
			       at);
}

/* Uid: real effective saved file-system */
static int read_uid(const char *at, void *out, struct err *e)
{
	struct proc_status *status = out;
	char word[24];

	if (!text_word(&at, word, sizeof(word)) ||
	    !text_word(&at, word, sizeof(word))) {
		return err_set(e, 0, "no effective user");
	}
	return units_parse_int(word, 0, UINT32_MAX, &status->uid, e);
}

int proc_status_parse(const struct str *text, struct proc_status *out,
		      struct err *e)
{
	return read_line(text, "CapEff:", read_caps, out, e) < 0 ?
		       -1 :
		       read_line(text, "Uid:", read_uid, out, e);
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
	{ 0 }
};

static void note_container(const char *path, struct proc_cgroup *out)
{
	const struct container_mark *m = container_marks;

	for (; m->part != NULL && out->container[0] == '\0'; m++) {
		if (strstr(path, m->part) != NULL) {
			STR_COPY(out->container, m->name);
		}
	}
}

/* The first NAME.service of the path. */
static void note_unit(const char *path, struct proc_cgroup *out)
{
	const char *end = strstr(path, ".service"), *from = end;

	while (from != NULL && from > path && from[-1] != '/') {
		from--;
	}
	if (end != NULL && (size_t)(end - from) + 9 <= sizeof(out->unit)) {
		snprintf(out->unit, sizeof(out->unit), "%.*s.service",
			 (int)(end - from), from);
	}
}

/* HIERARCHY:CONTROLLER,CONTROLLER:/PATH, v2 being "0::/PATH" */
static int read_group(char *line, struct proc_cgroup *out)
{
	char list[256], *path = line;
	const char *id = strsep(&path, ":"), *controllers = strsep(&path, ":");
	bool unified, memory;

	if (path == NULL) {
		return -1;
	}
	snprintf(list, sizeof(list), ",%s,", controllers);
	unified = strcmp(id, "0") == 0 && controllers[0] == '\0';
	memory = strstr(list, ",memory,") != NULL;
	note_container(path, out);
	note_unit(path, out);
	if (memory || (unified && out->group[0] == '\0')) {
		out->v2 = !memory;
		STR_COPY(out->group, path);
	}
	return 0;
}

int proc_cgroup_parse(const struct str *text, struct proc_cgroup *out,
		      struct err *e)
{
	struct text_lines l;

	*out = (struct proc_cgroup){ 0 };
	text_lines_init(&l, text, e);
	while (text_lines_next(&l)) {
		if (l.text[0] != '\0' && read_group(l.text, out) < 0) {
			err_set(e, 0, "not ID:CONTROLLERS:PATH");
			return text_lines_fail(&l);
		}
	}
	if (out->group[0] == '\0') {
		STR_COPY(out->group, "/");
	}
	return l.rc;
}

/* ---- /proc/self/mounts ------------------------------------------------- */

/* "size=65536k" among comma-separated options; 0 when it is not there. */
static int read_size(char *options, int64_t *size_B, struct err *e)
{
	uint64_t bytes = 0;
	const char *word;

	while ((word = strsep(&options, ",")) != NULL) {
		if (str_starts(word, "size=") &&
		    units_parse_size(word + 5, &bytes, e) < 0) {
			return -1;
		}
	}
	*size_B = bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX;
	return 0;
}

int proc_mount_size(const struct str *text, const char *mount, int64_t *size_B,
		    struct err *e)
{
	char where[256], options[512];
	struct text_lines l;

	*size_B = -1;
	text_lines_init(&l, text, e);
	while (text_lines_next(&l)) {
		if (sscanf(l.text, "%*s %255s %*s %511s", where, options) ==
			    2 &&
		    strcmp(where, mount) == 0 &&
		    read_size(options, size_B, e) < 0) {
			return text_lines_fail(&l);
		}
	}
	return l.rc;
}
