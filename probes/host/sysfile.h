/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_SYSFILE_H
#define PROBES_HOST_SYSFILE_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Small files of /proc and /sys, their paths as printf() makes them; one that
 * is too long is not there.
 */

/**
 * The first @size - 1 bytes of the file into @buf, NUL-ended, white space at
 * the end cut.  Returns the length, or -1 with errno and @buf "".
 */
int sysfile_read(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * The first @max bytes of the file as they are, NUL-ended, malloc'ed; NULL with
 * errno.
 */
char *sysfile_whole(size_t max, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * Names in the folder, sorted, without those that begin with a dot.
 * Returns how many (0 when there is no such folder), at most @max.
 */
size_t sysfile_list(char names[][64], size_t max, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** Where node @node is below @sysroot: the folder there of its name, or, as of
 *  one machine alone, @sysroot; "" stays "". */
void sysfile_root(const char *sysroot, const char *node, char *root,
		  size_t size);

/** Is there such a file or folder? */
bool sysfile_there(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/**
 * The value after "@key:" at the beginning of a line of @text into @buf;
 * false when no line has it.
 */
bool sysfile_value(const char *text, const char *key, char *buf, size_t size);

#endif
