/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/kernel_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/str.h"
#include "lib/base/units.h"
#include "probes/host/sysfile.h"

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

static void pass_on(char *record, kernel_log_line *line, void *user)
{
	int64_t us;
	const char *text = kernel_log_parse(record, &us);

	if (text) {
		line(user, us, text);
	}
}

static int read_recorded(const char *root, kernel_log_line *line, void *user)
{
	char *whole = sysfile_whole(FILE_MAX, "%s" KERNEL_LOG, root);
	char *next = whole, *record;

	while ((record = strsep(&next, "\n"))) {
		pass_on(record, line, user);
	}
	free(whole);
	return whole ? 0 : -1;
}

int kernel_log_read(const char *root, kernel_log_line *line, void *user)
{
	char record[RECORD_MAX];
	int fd;

	if (root[0]) {
		return read_recorded(root, line, user);
	}
	fd = open(KERNEL_LOG, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) {
		return -1;
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
		pass_on(record, line, user);
	}
	close(fd);
	return 0;
}
