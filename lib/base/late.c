/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/clock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

int64_t late_parse(const char *text)
{
	uint64_t ran_ns, waited_ns;

	return sscanf(text, "%20" SCNu64 " %20" SCNu64, &ran_ns, &waited_ns) ==
					       2 &&
			       waited_ns <= INT64_MAX ?
		       (int64_t)waited_ns : 0;
}

int64_t late_waited_ns(pid_t pid)
{
	char path[40], text[80];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return 0;
	}
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return late_parse(text);
}
