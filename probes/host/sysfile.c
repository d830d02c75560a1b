/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/sysfile.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "lib/base/units.h"

/* ---- process ------------------------------------------------------------- */

#define PROCESS_DEPTH 64	/* from a process up to one above it */

int64_t process_parent(const char *root, int64_t pid)
{
	char text[1024];
	const char *at = sysfile_read(text, sizeof(text), "%s/proc/%" PRId64
				      "/stat", root, pid) > 0 ?
				 strrchr(text, ')') : NULL;
	int64_t parent = 0;

	return at && sscanf(at, ") %*c %" SCNd64, &parent) == 1 ? parent : 0;
}

bool process_is_below(const char *root, int64_t pid, int64_t above)
{
	for (int i = 0; i < PROCESS_DEPTH && pid > 0 && pid != above; i++) {
		pid = process_parent(root, pid);
	}
	return pid > 0 && pid == above;
}

const char *process_env(const char *vars, size_t len, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = vars; at < vars + len;
	     at += strlen(at) + 1) {
		if (strncmp(at, name, n) == 0 && at[n] == '=') {
			return at + n + 1;
		}
	}
	return "";
}

long process_find(const char *root, const char *comm)
{
	char proc[PATH_MAX], name[64];
	struct dirent *entry;
	long found = 0;
	DIR *dir;

	snprintf(proc, sizeof(proc), "%.2000s/proc", root);
	dir = opendir(proc);
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		long pid = strtol(entry->d_name, NULL, 10);

		if (pid <= 0 || (found > 0 && pid > found)) {
			continue;
		}
		sysfile_read(name, sizeof(name), "%s/%ld/comm", proc, pid);
		if (strcmp(name, comm) == 0) {
			found = pid;
		}
	}
	if (dir != NULL) {
		closedir(dir);
	}
	return found;
}

/* ---- pressure ------------------------------------------------------------ */

#define DIGITS "0123456789."
#define NUMBER_MAX 12

/** Return the length of the number at the beginning of @text, 0 without one. */
static int digits(const char *text)
{
	size_t n = strspn(text, DIGITS);

	return n <= NUMBER_MAX ? (int)n : 0;
}

int64_t pressure_waited_ns(const char *root)
{
	char text[256];
	const char *total;
	int64_t us;

	sysfile_read(text, sizeof(text), "%s/proc/pressure/cpu", root);
	text[strcspn(text, "\n")] = '\0';	/* "some" is the first line */
	total = str_starts(text, "some ") ? strstr(text, "total=") : NULL;
	return total && units_parse_int(total + strlen("total="), 0,
					INT64_MAX / NS_PER_US, &us, NULL) == 0 ?
		       us * NS_PER_US : -1;
}

void pressure_text(const char *root, char *buf, size_t size)
{
	static const char *const what[] = { "cpu", "memory", "io" };
	static const char some[] = "some avg10=";
	char text[256];
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < sizeof(what) / sizeof(*what); i++) {
		const char *share = text + strlen(some);

		sysfile_read(text, sizeof(text), "%s/proc/pressure/%s", root,
			     what[i]);
		if (str_starts(text, some) && digits(share) > 0 && len < size) {
			len += (size_t)snprintf(
				buf + len, size - len, "%s%s %.*s %%",
				len > 0 ? ", " : "waited in the last 10 s: ",
				what[i], digits(share), share);
		}
	}
	if (len == 0 &&
	    sysfile_read(text, sizeof(text), "%s/proc/loadavg", root) > 0 &&
	    digits(text) > 0) {
		snprintf(buf, size, "load %.*s on %ld CPUs", digits(text), text,
			 sysconf(_SC_NPROCESSORS_ONLN));
	}
}

/* ---- kernel log ---------------------------------------------------------- */

#define RECORD_MAX  8192	/* the kernel's own limit */
#define RECORDS_MAX 200000
#define FILE_MAX    (16 << 20)

const char *kernel_log_parse(char *record, int64_t *us)
{
	char *text = strchr(record, ';'), *number, *save = NULL;

	if (!text) {
		return NULL;
	}
	*text++ = '\0';
	text[strcspn(text, "\n")] = '\0';
	strtok_r(record, ",", &save);
	strtok_r(NULL, ",", &save);
	number = strtok_r(NULL, ",", &save);
	return number && units_parse_int(number, 0, INT64_MAX, us, NULL) == 0 ?
		       text : NULL;
}

/** The latest messages that are read of the journal: about as many as the
 *  kernel's own log holds. */
#define JOURNAL_LINES "5000"
#define JOURNAL_MAX   (4 << 20)

/** Add the journal: lines as "[ 1234.567890] host kernel: TEXT". */
static int read_journal(int64_t deadline_ns, struct str *lines)
{
	char *const argv[] = { (char *)"journalctl", (char *)"-k", (char *)"-b",
			       (char *)"-q", (char *)"--no-pager",
			       (char *)"-o", (char *)"short-monotonic",
			       (char *)"-n", (char *)JOURNAL_LINES, NULL };
	struct spawn_status st;

	return spawn_capture(argv, lines, NULL, JOURNAL_MAX, deadline_ns, &st,
			     NULL) == 0 && !st.timed_out && st.exit_code == 0 ?
		       0 : -1;
}

const char *kernel_log_read(const char *root, int64_t deadline_ns,
			    struct str *lines)
{
	char record[RECORD_MAX];
	int fd, why;

	if (root[0]) {
		char *whole = sysfile_whole(FILE_MAX, "%s" KERNEL_LOG, root);

		str_add(lines, whole ? whole : "");
		free(whole);
		return whole ? KERNEL_LOG : NULL;
	}
	fd = open(KERNEL_LOG, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) {
		why = errno;
		if (deadline_ns > 0 && read_journal(deadline_ns, lines) == 0) {
			return "journalctl";
		}
		errno = why;
		return NULL;
	}
	for (int n = 0; n < RECORDS_MAX; n++) {
		ssize_t len = read(fd, record, sizeof(record) - 1);

		if (len < 0 && errno == EPIPE) {
			continue;	/* overwritten before it was read */
		}
		if (len <= 0) {
			break;
		}
		record[len] = '\0';
		/* behind the first line are properties of the message */
		str_addmem(lines, record, strcspn(record, "\n"));
		str_addch(lines, '\n');
	}
	close(fd);
	return KERNEL_LOG;
}

const char *kernel_log_next(char **next, int64_t *us)
{
	const char *text = NULL;
	double seconds;
	char *line;

	while (!text && (line = strsep(next, "\n"))) {
		if (sscanf(line, "[%lf]", &seconds) == 1) {
			*us = (int64_t)(seconds * 1e6);
			text = line;
		} else {
			text = kernel_log_parse(line, us);
		}
	}
	return text;
}

int64_t kernel_log_now_us(const char *root)
{
	char text[64];

	return !root[0] ? clock_now_ns() / NS_PER_US :
	       sysfile_read(text, sizeof(text), "%s/proc/uptime", root) > 0 ?
			  (int64_t)(strtod(text, NULL) * 1e6) : 0;
}

/* ---- sysfile ------------------------------------------------------------- */

/* @path is "" if it would be too long: no such file. */
__attribute__((format(printf, 2, 0))) static void
make_path(char path[PATH_MAX], const char *fmt, va_list ap)
{
	if (vsnprintf(path, PATH_MAX, fmt, ap) >= PATH_MAX) {
		path[0] = '\0';
	}
}

/* O_NONBLOCK: a FIFO in place of the file reads as empty. */
static int read_raw(char *buf, size_t size, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t len = 0;
	ssize_t n = -1;

	buf[0] = '\0';
	if (fd < 0) {
		return -1;
	}
	while (len < size - 1 &&
	       ((n = read(fd, buf + len, size - 1 - len)) > 0 ||
		(n < 0 && errno == EINTR))) {
		len += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	buf[len] = '\0';
	return n < 0 && len == 0 ? -1 : (int)len;
}

int sysfile_read(char *buf, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	int len;

	va_start(ap, fmt);
	make_path(path, fmt, ap);
	va_end(ap);
	len = read_raw(buf, size, path);
	while (len > 0 && isspace((unsigned char)buf[len - 1])) {
		buf[--len] = '\0';
	}
	return len;
}

char *sysfile_whole(size_t max, const char *fmt, ...)
{
	char path[PATH_MAX], *text = malloc(max + 1);
	va_list ap;

	va_start(ap, fmt);
	make_path(path, fmt, ap);
	va_end(ap);
	if (text != NULL && read_raw(text, max + 1, path) < 0) {
		free(text);
		return NULL;
	}
	return text;
}

bool sysfile_there(const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	make_path(path, fmt, ap);
	va_end(ap);
	return access(path, F_OK) == 0;
}

void sysfile_root(const char *sysroot, const char *node, char *root,
		  size_t size)
{
	snprintf(root, size, "%.2000s/%.64s", sysroot, node);
	if (sysroot[0] == '\0' || node[0] == '\0' ||
	    !sysfile_there("%s", root)) {
		str_copy(root, size, sysroot);
	}
}

size_t sysfile_list(char names[][64], size_t max, const char *fmt, ...)
{
	char path[PATH_MAX];
	struct dirent *entry;
	size_t n = 0;
	va_list ap;
	DIR *dir;

	va_start(ap, fmt);
	make_path(path, fmt, ap);
	va_end(ap);
	dir = opendir(path);
	if (dir == NULL) {
		return 0;
	}
	while (n < max && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] != '.') {
			n += STR_COPY(names[n], entry->d_name);
		}
	}
	closedir(dir);
	qsort(names, n, sizeof(names[0]), str_order);
	return n;
}

bool sysfile_value(const char *text, const char *key, char *buf, size_t size)
{
	size_t key_len = strlen(key);

	while (*text != '\0') {
		if (str_starts(text, key) && text[key_len] == ':') {
			text += key_len + 1;
			text += strspn(text, " \t");
			snprintf(buf, size, "%.*s", (int)strcspn(text, "\n"),
				 text);
			return true;
		}
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return false;
}
