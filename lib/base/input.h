/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_BASE_INPUT_H
#define LIB_BASE_INPUT_H

#include <stdio.h>

#include "lib/base/err.h"
#include "lib/base/str.h"

/**
 * Open the file @path that a user named, a @what ("drill file") in messages,
 * for reading.  "-" is standard input.  A pipe that has no name, such as
 * <(...), is read as well, up to @max bytes (then EFBIG), and until it was
 * silent for 30 s, standard input for 10 min (then ETIMEDOUT).  Anything else,
 * such as a device, a FIFO or a folder, is an error at once.  NULL with @e.
 */
FILE *input_open(const char *what, const char *path, size_t max, struct err *e);
/** Add all of it, at most @max bytes, to @out; 0, or -1 with @e. */
int input_read(const char *what, const char *path, size_t max, struct str *out,
	       struct err *e);

#endif
