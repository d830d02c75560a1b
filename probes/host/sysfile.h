/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_SYSFILE_H
#define PROBES_HOST_SYSFILE_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Small files of /proc and /sys.
 */

/**
 * The first @size - 1 bytes of @path into @buf, NUL-ended, white space at the
 * end cut.  Returns the length, or -1 with errno and @buf "".
 */
int sysfile_read(const char *path, char *buf, size_t size);

/**
 * Names in folder @path, sorted, without those that begin with a dot.
 * Returns how many (0 when there is no such folder), at most @max.
 */
size_t sysfile_list(const char *path, char names[][64], size_t max);

/**
 * The value after "@key:" at the beginning of a line of @text into @buf;
 * false when no line has it.
 */
bool sysfile_value(const char *text, const char *key, char *buf, size_t size);

#endif
