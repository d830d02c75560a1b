/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "probes/host/sysfile.h"
#include "probes/memlock/look.h"
#include "probes/node/child.h"

/* ---- text ---------------------------------------------------------------- */

void text_lines_init(struct text_lines *l, const struct str *text,
		     struct err *e)
{
	*l = (struct text_lines){ .at = str_text(text), .e = e };
	if (text->len > MEMLOCK_TEXT_MAX) {
		l->rc = err_set(e, 0, "larger than %d bytes", MEMLOCK_TEXT_MAX);
	} else if (strlen(l->at) < text->len) {
		l->rc = err_set(e, 0, "there is a NUL byte in it");
	}
}

bool text_lines_next(struct text_lines *l)
{
	const char *from = l->at;
	size_t len = strcspn(from, "\n");

	if (l->rc < 0 || *from == '\0') {
		return false;
	}
	l->line++;
	l->at += len + (from[len] == '\n');
	while (len > 0 && isspace((unsigned char)from[len - 1])) {
		len--;
	}
	while (len > 0 && isspace((unsigned char)*from)) {
		from++;
		len--;
	}
	if (len >= sizeof(l->text)) {
		l->rc = err_set(l->e, 0, "line %d is longer than %zu bytes",
				l->line, sizeof(l->text) - 1);
		return false;
	}
	for (size_t i = 0; i < len; i++) {
		l->text[i] = isspace((unsigned char)from[i]) ? ' ' : from[i];
	}
	l->text[len] = '\0';
	return true;
}

int text_lines_fail(const struct text_lines *l)
{
	struct err why = { 0 };

	if (l->e != NULL) {
		why = *l->e;
	}
	return err_set(l->e, 0, "line %d: %s", l->line, why.text);
}

bool text_word(const char **at, char *word, size_t size)
{
	size_t len;

	*at += strspn(*at, " \t");
	len = strcspn(*at, " \t");
	/* none is longer than what is looked for */
	snprintf(word, size, "%.*s", len < size ? (int)len : 0, *at);
	*at += len;
	return len > 0;
}

const char *text_value(const char *line, const char *key)
{
	const char *at = line + strlen(key);

	if (!str_starts(line, key)) {
		return NULL;
	}
	at += strspn(at, " ");
	return *at == '=' ? at + 1 + strspn(at + 1, " ") : NULL;
}

int text_limit(const char *word, int64_t unit_B, int64_t *out, struct err *e)
{
	int64_t n;

	if (strcmp(word, "unlimited") == 0 || strcmp(word, "infinity") == 0) {
		*out = MEMLOCK_UNLIMITED;
		return 0;
	}
	if (units_parse_int(word, 0, INT64_MAX / unit_B, &n, e) < 0) {
		return -1;
	}
	*out = n * unit_B;
	return 0;
}

/* ---- proc ---------------------------------------------------------------- */

/* ---- one line of many --------------------------------------------------- */

/* Find the line that begins with @name; returns the rest of it, which lives as
 * long as @l, or NULL with @e. */
static const char *find_line(struct text_lines *l, const struct str *text,
			     const char *name, struct err *e)
{
	text_lines_init(l, text, e);
	while (text_lines_next(l)) {
		const char *at = l->text + strlen(name);

		if (str_starts(l->text, name) && *at == ' ') {
			return at;
		}
	}
	if (l->rc == 0) {
		err_set(e, 0, "no line '%s'", name);
	}
	return NULL;
}

int proc_limit_parse(const struct str *text, const char *name,
		     struct limit_pair *out, struct err *e)
{
	struct text_lines l;
	const char *at = find_line(&l, text, name, e);
	char soft[32], hard[32];

	if (at == NULL) {
		return -1;
	}
	if (!text_word(&at, soft, sizeof(soft)) ||
	    !text_word(&at, hard, sizeof(hard))) {
		err_set(e, 0, "two values expected");
		return text_lines_fail(&l);
	}
	return text_limit(soft, 1, &out->soft, e) < 0 ||
			       text_limit(hard, 1, &out->hard, e) < 0 ?
		       text_lines_fail(&l) :
		       0;
}

int proc_status_parse(const struct str *text, bool *has_ipc_lock, int64_t *uid,
		      struct err *e)
{
	struct text_lines l;
	const char *at = find_line(&l, text, "CapEff:", e);
	char word[24], *end;
	uint64_t bits;

	if (at == NULL) {
		return -1;
	}
	at += strspn(at, " ");
	errno = 0;
	bits = strtoull(at, &end, 16);
	*has_ipc_lock = bits >> CAP_IPC_LOCK & 1;
	if (end == at || *end != '\0' || errno != 0) {
		err_set(e, 0, "'%.40s' is not a set of capabilities", at);
		return text_lines_fail(&l);
	}
	/* real, effective, saved, of the file system */
	at = find_line(&l, text, "Uid:", e);
	if (at == NULL) {
		return -1;
	}
	if (!text_word(&at, word, sizeof(word)) ||
	    !text_word(&at, word, sizeof(word))) {
		err_set(e, 0, "no effective user");
		return text_lines_fail(&l);
	}
	return units_parse_int(word, 0, UINT32_MAX, uid, e) < 0 ?
		       text_lines_fail(&l) :
		       0;
}

/* ---- /proc/PID/cgroup -------------------------------------------------- */

/* Names of the cgroups that container runtimes create. */
static const struct name_text container_marks[] = {
	{ .name = "kubernetes", .text = "/kubepods" },
	{ .name = "docker", .text = "/docker" },
	{ .name = "podman", .text = "libpod" },
	{ .name = "containerd", .text = "/cri-containerd" },
	{ .name = "lxc", .text = "/lxc" },
	{ 0 }
};

/* HIERARCHY:CONTROLLER,CONTROLLER:/PATH, v2 being "0::/PATH" */
static int read_group(char *line, struct proc_cgroup *out)
{
	char list[256], *path = line;
	const char *id = strsep(&path, ":"), *controllers = strsep(&path, ":");
	const char *end, *from;
	bool unified, memory;
	const struct name_text *m;

	if (path == NULL) {
		return -1;
	}
	snprintf(list, sizeof(list), ",%s,", controllers);
	unified = strcmp(id, "0") == 0 && controllers[0] == '\0';
	memory = strstr(list, ",memory,") != NULL;
	m = container_marks;
	for (; m->name != NULL && out->container[0] == '\0'; m++) {
		if (strstr(path, m->text) != NULL) {
			STR_COPY(out->container, m->name);
		}
	}
	/* the first NAME.service of the path */
	end = from = strstr(path, ".service");
	while (from != NULL && from > path && from[-1] != '/') {
		from--;
	}
	if (end != NULL && (size_t)(end - from) + 9 <= sizeof(out->unit)) {
		snprintf(out->unit, sizeof(out->unit), "%.*s.service",
			 (int)(end - from), from);
	}
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

int proc_mount_size(const struct str *text, const char *mount, int64_t *size_B,
		    struct err *e)
{
	char where[256], options[512], *at;
	const char *word;
	struct text_lines l;
	uint64_t bytes;

	*size_B = -1;
	text_lines_init(&l, text, e);
	while (text_lines_next(&l)) {
		if (sscanf(l.text, "%*s %255s %*s %511s", where, options) !=
			    2 ||
		    strcmp(where, mount) != 0) {
			continue;
		}
		/* "size=65536k" among comma-separated options */
		bytes = 0;
		at = options;
		while ((word = strsep(&at, ",")) != NULL) {
			if (str_starts(word, "size=") &&
			    units_parse_size(word + 5, &bytes, e) < 0) {
				return text_lines_fail(&l);
			}
		}
		*size_B = bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX;
	}
	return l.rc;
}

/* ---- read ---------------------------------------------------------------- */

int memlock_read(struct memlock *m, const char *path, struct err *e)
{
	char full[PATH_MAX];
	int why;

	str_reset(&m->text);
	snprintf(full, sizeof(full), "%.2000s%.2000s", m->root, path);
	why = str_add_file(&m->text, open(full, O_RDONLY | O_CLOEXEC |
						O_NONBLOCK), MEMLOCK_TEXT_MAX);
	return why ? err_set(e, why, "cannot read '%s'", path) : 0;
}

int memlock_read_number(const struct memlock *m, const char *path,
			int64_t *value, struct err *e)
{
	char text[64];

	if (sysfile_read(text, sizeof(text), "%s%s", m->root, path) < 0) {
		return err_set(e, errno, "cannot read '%s'", path);
	}
	if (strcmp(text, "max") == 0 ||
	    (strlen(text) >= 19 && text[strspn(text, "0123456789")] == '\0')) {
		STR_COPY(text, "unlimited");
	}
	return text_limit(text, 1, value, NULL) == 0 ?
		       0 :
		       err_set(e, 0, "'%s' contains no number", path);
}

static int64_t limit_of(rlim_t value)
{
	return value > INT64_MAX ? MEMLOCK_UNLIMITED : (int64_t)value;
}

struct limit_pair memlock_limit_now(void)
{
	struct rlimit r = { 0 };

	getrlimit(RLIMIT_MEMLOCK, &r);
	return (struct limit_pair){ .soft = limit_of(r.rlim_cur),
				    .hard = limit_of(r.rlim_max) };
}

void memlock_row_init(const struct memlock *m, struct memlock_row *row,
		      enum memlock_context context, const char *check,
		      const char *source)
{
	record_init(&schema_memlock, row);
	STR_COPY(row->node, m->node);
	STR_COPY(row->context, memlock_context_names[context]);
	STR_COPY(row->check, check);
	STR_COPY(row->source, source);
	row->outcome = OUTCOME_OK;
	clock_utc(row->start_utc);
}

void memlock_row_unknown(struct memlock_row *row, const struct err *why)
{
	char text[sizeof(row->detail)];

	row->outcome = OUTCOME_NOT_RUN;
	STR_COPY(row->code, CODE_UNKNOWN);
	STR_COPY(row->detail, err_str(why, text, sizeof(text)));
}

void memlock_row_absent(struct memlock_row *row, const char *why)
{
	row->outcome = OUTCOME_SKIPPED;
	STR_COPY(row->code, CODE_ABSENT);
	STR_COPY(row->detail, why);
}

void memlock_row_say(const struct memlock *m, const struct memlock_row *row)
{
	if (m->rows != NULL) {
		json_array_append_new(m->rows,
				      record_json(&schema_memlock, row));
	} else {
		node_task_row(&schema_memlock, row);
	}
}

void memlock_say_unknown(const struct memlock *m, enum memlock_context context,
			 const char *check, const char *source,
			 const struct err *why)
{
	struct memlock_row row;

	memlock_row_init(m, &row, context, check, source);
	memlock_row_unknown(&row, why);
	memlock_row_say(m, &row);
}

void memlock_say_absent(const struct memlock *m, enum memlock_context context,
			const char *check, const char *why)
{
	struct memlock_row row;

	memlock_row_init(m, &row, context, check, "");
	memlock_row_absent(&row, why);
	memlock_row_say(m, &row);
}

const char *memlock_text(int64_t bytes, char *buf, size_t size)
{
	if (bytes == MEMLOCK_UNLIMITED) {
		snprintf(buf, size, "unlimited");
		return buf;
	}
	return units_size_text((uint64_t)bytes, buf, size);
}
