/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/sysfile.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/str.h"

int sysfile_read(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
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
	while (len > 0 && isspace((unsigned char)buf[len - 1])) {
		len--;
	}
	buf[len] = '\0';
	return n < 0 && len == 0 ? -1 : (int)len;
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(a, b);
}

size_t sysfile_list(const char *path, char names[][64], size_t max)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	size_t n = 0;

	if (dir == NULL) {
		return 0;
	}
	while (n < max && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] != '.' &&
		    str_copy(names[n], sizeof(names[n]), entry->d_name)) {
			n++;
		}
	}
	closedir(dir);
	qsort(names, n, sizeof(names[0]), by_name);
	return n;
}

bool sysfile_value(const char *text, const char *key, char *buf, size_t size)
{
	size_t key_len = strlen(key);
	const char *line = text;

	while (line != NULL && *line != '\0') {
		const char *next = strchr(line, '\n');

		if (strncmp(line, key, key_len) == 0 && line[key_len] == ':') {
			const char *from = line + key_len + 1;
			size_t n;

			from += strspn(from, " \t");
			n = strcspn(from, "\n");
			n = n < size ? n : size - 1;
			memcpy(buf, from, n);
			buf[n] = '\0';
			return true;
		}
		line = next != NULL ? next + 1 : NULL;
	}
	return false;
}
