/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_BASE_INPUT_H
#define LIB_BASE_INPUT_H

#include <stdio.h>

#include "lib/base/err.h"
#include "lib/base/str.h"

/**
 * Open the file @path that a user named, or standard input for "-", for
 * reading.  A pipe is read as well, up to @max bytes (then EFBIG), and while it
 * is not silent: 30 s, standard input 10 min (then ETIMEDOUT); anything else,
 * such as a device or a folder, is an error.  NULL with @e.
 */
FILE *input_open(const char *path, size_t max, struct err *e);
/** Add all of it to @out: 0, or an errno as above, EINVAL for a device, EFBIG
 *  for more than @max bytes. */
int input_read(const char *path, size_t max, struct str *out);

#endif
