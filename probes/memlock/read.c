/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/look.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "probes/node/child.h"
#include "probes/host/sysfile.h"

const char *memlock_below(const struct memlock *m, const char *path,
			  char buf[PATH_MAX])
{
	int n = snprintf(buf, PATH_MAX, "%s%s", m->root, path);

	if (n < 0 || n >= PATH_MAX) {
		buf[0] = '\0';	/* opens as "no such file" */
	}
	return buf;
}

bool memlock_exists(const struct memlock *m, const char *path)
{
	char full[PATH_MAX];

	return access(memlock_below(m, path, full), F_OK) == 0;
}

bool memlock_holds(const struct memlock *m, const char *path)
{
	char full[PATH_MAX];
	DIR *dir = opendir(memlock_below(m, path, full));
	struct dirent *entry;
	bool found = false;

	while (dir != NULL && !found && (entry = readdir(dir)) != NULL) {
		found = entry->d_name[0] != '.';
	}
	if (dir != NULL) {
		closedir(dir);
	}
	return found;
}

int memlock_read(const struct memlock *m, const char *path, struct str *text,
		 struct err *e)
{
	char full[PATH_MAX], part[4096];
	int fd = open(memlock_below(m, path, full),
		      O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int why = 0;
	ssize_t n;

	str_reset(text);
	if (fd < 0) {
		return err_set(e, errno, "cannot read '%s'", path);
	}
	while (text->len <= MEMLOCK_TEXT_MAX &&
	       (n = read(fd, part, sizeof(part))) != 0) {
		if (n > 0) {
			str_addmem(text, part, (size_t)n);
		} else if (errno != EINTR) {
			why = errno;
			break;
		}
	}
	close(fd);
	if (why != 0) {
		return err_set(e, why, "cannot read '%s'", path);
	}
	return text->failed ? err_set(e, ENOMEM, "cannot read '%s'", path) : 0;
}

int memlock_read_number(const struct memlock *m, const char *path,
			int64_t *value, struct err *e)
{
	char full[PATH_MAX], text[64];

	if (sysfile_read(memlock_below(m, path, full), text, sizeof(text)) <
	    0) {
		return err_set(e, errno, "cannot read '%s'", path);
	}
	if (strcmp(text, "max") == 0 ||
	    (strlen(text) >= 19 && strspn(text, "0123456789") == strlen(text))) {
		*value = MEMLOCK_UNLIMITED;
		return 0;
	}
	if (units_parse_int(text, 0, INT64_MAX, value, NULL) < 0) {
		return err_set(e, 0, "'%s' contains no number", path);
	}
	return 0;
}

long memlock_find_process(const struct memlock *m, const char *comm)
{
	char full[PATH_MAX], name[64], path[PATH_MAX];
	DIR *dir = opendir(memlock_below(m, "/proc", full));
	struct dirent *entry;
	long found = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);

		if (pid <= 0 || *end != '\0' || (found > 0 && pid > found)) {
			continue;
		}
		snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
		memlock_below(m, path, full);
		if (sysfile_read(full, name, sizeof(name)) > 0 &&
		    strcmp(name, comm) == 0) {
			found = pid;
		}
	}
	if (dir != NULL) {
		closedir(dir);
	}
	return found;
}

void memlock_row_init(const struct memlock *m, struct memlock_row *row,
		      enum memlock_context context, const char *check)
{
	record_init(&schema_memlock, row);
	STR_COPY(row->node, m->node);
	STR_COPY(row->context, memlock_context_name(context));
	STR_COPY(row->check, check);
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

void memlock_row_say(const struct memlock_row *row)
{
	node_task_row(&schema_memlock, row);
}

const char *memlock_text(int64_t bytes, char *buf, size_t size)
{
	if (bytes == MEMLOCK_UNLIMITED) {
		snprintf(buf, size, "unlimited");
		return buf;
	}
	return units_size_text((uint64_t)bytes, buf, size);
}
