/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_CSV_SCAN_H
#define LIB_DATA_CSV_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/**
 * What a line of CSV has in it, 16 bytes at a time: runs have a million of
 * them.  Of vectors that every compiler of ours knows, whatever the machine.
 */

/**
 * Where the fields of @text begin, @n bytes without the end of the line, into
 * @offsets of @max entries; how many.  0: it has quotes, carriage returns or
 * NULs in it, or @max fields or more.
 */
size_t csv_scan_fields(const char *text, size_t n, size_t max,
		       size_t offsets[]);

/**
 * How many fields the @n bytes of @text have, without the end of the line,
 * where they are letters, digits and what stands in names, numbers and times,
 * and no field begins with '-'; 0: they are not, or there are none.
 */
size_t csv_scan_plain(const char *text, size_t n);

#endif
