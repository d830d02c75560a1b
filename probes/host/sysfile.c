/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/sysfile.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/str.h"

/* "" when it is too long: no such file. */
__attribute__((format(printf, 2, 0))) static void
make_path(char path[PATH_MAX], const char *fmt, va_list ap)
{
	if (vsnprintf(path, PATH_MAX, fmt, ap) >= PATH_MAX) {
		path[0] = '\0';
	}
}

/* A FIFO that somebody put there is empty, and waited for by nobody. */
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

static int by_name(const void *a, const void *b)
{
	return strverscmp(a, b);
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
	qsort(names, n, sizeof(names[0]), by_name);
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
