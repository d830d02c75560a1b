/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_BASE_GROW_H
#define REPORT_BASE_GROW_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/**
 * Room for one more entry of @size bytes behind the @n of @array, which grows
 * in powers of two and starts as NULL.  Returns the array, perhaps moved, or
 * NULL with the old one left as it was.
 */
static inline void *grow(void *array, size_t n, size_t size)
{
	if (n != 0 && (n & (n - 1)) != 0) {
		return array;
	}
	return realloc(array, (n ? 2 * n : 1) * size);
}

/**
 * Append a copy of @entry, of @size bytes, to the *@n entries that the pointer
 * @array points to has so far, all of them added here.  Returns it, valid until
 * the next one; NULL without memory, and nothing is changed.
 */
static inline void *grow_add(void *array, size_t *n, const void *entry,
			     size_t size)
{
	void *list;

	memcpy(&list, array, sizeof(list));
	list = grow(list, *n, size);
	if (!list) {
		return NULL;
	}
	memcpy(array, &list, sizeof(list));
	return memcpy((char *)list + (*n)++ * size, entry, size);
}

#endif
