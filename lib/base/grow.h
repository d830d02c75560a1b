/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_BASE_GROW_H
#define LIB_BASE_GROW_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/**
 * Append a copy of @entry, of @size bytes, to the *@n entries of the array that
 * the pointer at @array is to: NULL at first, all of them added here, with room
 * for a power of two.  Returns the copy, valid until the next one; NULL without
 * memory, and nothing is changed.
 */
static inline void *grow_add(void *array, size_t *n, const void *entry,
			     size_t size)
{
	void *list;

	memcpy(&list, array, sizeof(list));
	if ((*n & (*n - 1)) == 0) {
		list = realloc(list, (*n ? 2 * *n : 1) * size);
	}
	if (!list) {
		return NULL;
	}
	memcpy(array, &list, sizeof(list));
	return memcpy((char *)list + (*n)++ * size, entry, size);
}

#endif
