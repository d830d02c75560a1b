/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_FUZZ_FOLDER_H
#define TESTS_FUZZ_FOLDER_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/** A folder of its own for a target that reads files, with others below it. */
struct folder {
	char root[64];		/* as mkdtemp() takes it */
	const char *const *below;	/* from above; NULL at the end */
	bool made;
};

static inline const char *folder_path(const struct folder *f, const char *name,
				      char path[128])
{
	snprintf(path, 128, "%s/%s", f->root, name);
	return path;
}

/** Once; @at_end, which may end with folder_remove(), when the program does. */
static inline void folder_make(struct folder *f, void (*at_end)(void))
{
	char path[128];

	if (f->made) {
		return;
	}
	f->made = mkdtemp(f->root) != NULL;
	atexit(at_end);
	for (size_t i = 0; f->below[i]; i++) {
		if (mkdir(folder_path(f, f->below[i], path), 0700) < 0) {
			abort();
		}
	}
}

/** All folders, which are empty by now. */
static inline void folder_remove(const struct folder *f)
{
	char path[128];
	size_t n = 0;

	while (f->below[n]) {
		n++;
	}
	while (n-- > 0) {
		rmdir(folder_path(f, f->below[n], path));
	}
	rmdir(f->root);
}

#endif
