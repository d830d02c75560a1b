/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/big.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SMALL_PAGE 4096
/** Less has no large page in it. */
#define LEAST ((size_t)4 << 20)

void *big_calloc(size_t n, size_t size)
{
	char *p = calloc(n, size);
	size_t skip = -(uintptr_t)p % SMALL_PAGE;

	if (p && n * size >= LEAST) {
		/* a hint; failure is harmless */
		(void)madvise(p + skip, n * size - skip, MADV_HUGEPAGE);
	}
	return p;
}
