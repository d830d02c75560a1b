/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_BASE_BIG_H
#define LIB_BASE_BIG_H

#include <stddef.h>

/**
 * As calloc(), for arrays that have an entry for each cell of a run and are
 * filled in any order: in large pages where the kernel gives them when asked,
 * as looking for a page of 4 KiB takes longer than what is done there.  free()
 * frees.
 */
void *big_calloc(size_t n, size_t size);

#endif
