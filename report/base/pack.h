/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_BASE_PACK_H
#define REPORT_BASE_PACK_H

#include <stddef.h>

#include "lib/base/str.h"

/** Append @n bytes compressed, in zlib's format (RFC 1950).  @out fails without
 *  memory. */
void pack_add(const void *bytes, size_t n, struct str *out);

#endif
