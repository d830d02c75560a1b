/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_FUZZ_DIR_H
#define TESTS_FUZZ_DIR_H

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/**
 * A run directory of which the input is the files: run.json, a line of "%%",
 * results.csv, a line of "%%", facts.csv, and diagnose.csv so.
 */
static char fuzz_dir[] = "/dev/shm/gpucheck-fuzz-XXXXXX";

/** With all that was written beside them. */
static void fuzz_dir_remove(void)
{
	DIR *d = opendir(fuzz_dir);
	const struct dirent *entry;

	while (d && (entry = readdir(d))) {
		unlinkat(dirfd(d), entry->d_name, 0);
	}
	if (d) {
		closedir(d);
	}
	rmdir(fuzz_dir);
}

static void fuzz_dir_write(const char *name, const uint8_t *data, size_t size)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", fuzz_dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
		abort();
	}
	close(fd);
}

/** Cut the input into files at its "%%" lines. */
static void fuzz_dir_fill(const uint8_t *data, size_t size)
{
	static const char *const names[] = {
		"run.json", "results.csv", "facts.csv", "diagnose.csv"
	};
	static bool made;

	if (!made) {
		made = mkdtemp(fuzz_dir) != NULL;
		atexit(fuzz_dir_remove);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const uint8_t *cut = memmem(data, size, "\n%%\n", 4);
		size_t len = cut ? (size_t)(cut - data) + 1 : size;

		fuzz_dir_write(names[i], data, len);
		size -= cut ? len + 3 : size;
		data += cut ? len + 3 : 0;
	}
}

#endif
