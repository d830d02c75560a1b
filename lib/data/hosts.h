/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_HOSTS_H
#define LIB_DATA_HOSTS_H

#include <stddef.h>

#include "lib/base/err.h"

/** Machines that ssh reaches: a file of them, or a host list. */

#define HOSTS_MAX	4096
#define HOSTS_FILE_MAX	(1024 * 1024)

struct hosts {
	char **names;		/* "gpu01", "user@gpu01", "10.1.0.1" */
	size_t n;
};

/**
 * Read the @len bytes of a hosts file: a name or a host list a line, '#' begins
 * a comment.  A name has letters, digits, and any of ._-@:%, and begins with a
 * letter or digit, so that it is an option to nobody.  0, or -1 with @e, which
 * has the line; hosts_release() frees.
 */
int hosts_parse(const char *text, size_t len, struct hosts *h, struct err *e);
/** @what is the name of a file that is there, else a host list; 0 or -1. */
int hosts_read(const char *what, struct hosts *h, struct err *e);
/**
 * Leave out those that are not in the host list @only ("" = all are) or that
 * are in @without.  -1 with @e: a list names one that is not in @h, or none is
 * left.
 */
int hosts_choose(struct hosts *h, const char *only, const char *without,
		 struct err *e);
void hosts_release(struct hosts *h);

/** Without "user@". */
const char *hosts_name(const char *host);

#endif
