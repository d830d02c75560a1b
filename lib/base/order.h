/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_BASE_ORDER_H
#define LIB_BASE_ORDER_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Orders of arrays as tables: the members to compare, the most important one
 * first, instead of a comparison function for each struct.  A table ends with
 * ORDER_END.
 */
struct order_key {
	size_t at;		/* offset of the member */
	enum order_type {
		ORDER_LAST, ORDER_BOOL, ORDER_INT, ORDER_UINT, ORDER_INT64,
		ORDER_UINT64, ORDER_REAL,
		ORDER_CHARS,	/* text in the item itself, by strcmp() */
		ORDER_TEXT,	/* the same, where the item has a pointer */
		ORDER_NAME,	/* as ORDER_CHARS, numbers by their value */
		ORDER_ADDRESS,	/* a pointer by its value */
		ORDER_POINTEE,	/* continue with what the pointer refers to */
		ORDER_PLACE	/* what comes first in memory, behind a
				 * pointee */
	} type;
	bool down;		/* larger values first */
};

#define ORDER_TYPE(value)                                                      \
	_Generic(&(value), char **: ORDER_TEXT, const char **: ORDER_TEXT,     \
		 default: _Generic((value), bool: ORDER_BOOL, int: ORDER_INT,  \
				   unsigned: ORDER_UINT, int64_t: ORDER_INT64, \
				   uint64_t: ORDER_UINT64, double: ORDER_REAL, \
				   char *: ORDER_CHARS,                        \
				   const char *: ORDER_TEXT))

/** A member of @item, a struct type, in ascending or descending order. */
#define ORDER_UP(item, member)                                                 \
	{ offsetof(item, member), ORDER_TYPE(((item *)NULL)->member), false }
#define ORDER_DOWN(item, member)                                               \
	{ offsetof(item, member), ORDER_TYPE(((item *)NULL)->member), true }
/** A member of the given type. */
#define ORDER_AS(item, member, type) { offsetof(item, member), type, false }
/** The item itself. */
#define ORDER_ITEM(type) { 0, type, false }
#define ORDER_END ORDER_ITEM(ORDER_LAST)

/** Negative, 0 or positive as @a comes before @b, is equal or comes after. */
int order_compare(const struct order_key *keys, const void *a, const void *b);
/** Sort the @n items of @size bytes at @list, which may be NULL for none. */
void order_sort(void *list, size_t n, size_t size,
		const struct order_key *keys);
/** An item of a sorted list that compares equal to @like; NULL if there is
 *  none. */
void *order_find(const void *like, const void *list, size_t n, size_t size,
		 const struct order_key *keys);

#endif
