/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_TAR_H
#define LIB_DATA_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/str.h"

/** Bytes that a file of @len bytes, and the end, take in an archive. */
size_t tar_size(size_t len);
extern const size_t tar_end_size;

/**
 * Append the file @name ("run/logs/x") with @len bytes of @data to the POSIX
 * (ustar) archive @out: mode 0644, no owner, changed at @mtime_s since 1970.
 * Returns false, with @out unchanged, if the name does not fit the format: 255
 * bytes, at most 100 of them after one of its slashes.
 */
bool tar_add(struct str *out, const char *name, const void *data, size_t len,
	     int64_t mtime_s);
/** Append the end of the archive. */
void tar_end(struct str *out);

#endif
