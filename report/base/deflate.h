/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_BASE_DEFLATE_H
#define REPORT_BASE_DEFLATE_H

#include <stddef.h>

#include "lib/base/str.h"

/**
 * Append @n bytes compressed as RFC 1951 has it: what repeats at 32 KiB or
 * less, and a code for each 64 KiB.  Of noise, as figures are, it makes what
 * other programs make; of text a little more.  @out fails without memory.
 */
void deflate_add(const void *bytes, size_t n, struct str *out);

#endif
