/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_UNIT_TREE_H
#define TESTS_UNIT_TREE_H

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "lib/base/spawn.h"

/** Files below a folder of mkdtemp(), which the code under test takes for /. */

/** The folders above @path, and @path itself if it ends in '/'. */
static inline void tree_folders(const char *root, const char *path)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *at = full + 1; (at = strchr(at, '/')) != NULL; at++) {
		*at = '\0';
		mkdir(full, 0700);
		*at = '/';
	}
}

static inline void tree_file(const char *root, const char *path,
			     const char *text)
{
	char full[PATH_MAX];
	FILE *f;

	tree_folders(root, path);
	snprintf(full, sizeof(full), "%s%s", root, path);
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/** 0, or -1 when something of it is left. */
static inline int tree_remove(char *root)
{
	char *const argv[] = { (char *)"rm", (char *)"-r", root, NULL };
	struct spawn_status st;

	return spawn_capture(argv, NULL, NULL, 0, INT64_MAX, &st, NULL);
}

#endif
