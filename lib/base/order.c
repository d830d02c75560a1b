/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/order.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS(type)                                                          \
	((*(const type *)a > *(const type *)b) -                               \
	 (*(const type *)a < *(const type *)b))

static int compare_members(enum order_type type, const void *a, const void *b)
{
	switch (type) {
	case ORDER_BOOL:
		return MEMBERS(bool);
	case ORDER_INT:
		return MEMBERS(int);
	case ORDER_UINT:
		return MEMBERS(unsigned);
	case ORDER_INT64:
		return MEMBERS(int64_t);
	case ORDER_UINT64:
		return MEMBERS(uint64_t);
	case ORDER_REAL:
		return MEMBERS(double);
	case ORDER_CHARS:
		return strcmp(a, b);
	case ORDER_TEXT:
		return strcmp(*(const char *const *)a, *(const char *const *)b);
	case ORDER_NAME:
		return strverscmp(a, b);
	case ORDER_ADDRESS:
		return MEMBERS(uintptr_t);
	case ORDER_PLACE:
		return (a > b) - (a < b);
	case ORDER_POINTEE:
	case ORDER_LAST:
		break;
	}
	return 0;
}

int order_compare(const struct order_key *keys, const void *a, const void *b)
{
	for (const struct order_key *k = keys; k->type != ORDER_LAST; k++) {
		const void *x = (const char *)a + k->at;
		const void *y = (const char *)b + k->at;
		const int order = compare_members(k->type, x, y);

		if (k->type == ORDER_POINTEE) {
			a = *(const void *const *)x;
			b = *(const void *const *)y;
		} else if (order != 0) {
			return k->down ? -order : order;
		}
	}
	return 0;
}

static int compare_items(const void *a, const void *b, void *keys)
{
	return order_compare(keys, a, b);
}

void order_sort(void *list, size_t n, size_t size,
		const struct order_key *keys)
{
	if (n > 1) {
		qsort_r(list, n, size, compare_items, (void *)(uintptr_t)keys);
	}
}

void *order_find(const void *like, const void *list, size_t n, size_t size,
		 const struct order_key *keys)
{
	size_t low = 0, high = n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const char *item = (const char *)list + middle * size;
		const int order = order_compare(keys, like, item);

		if (order == 0) {
			return (void *)(uintptr_t)item;
		}
		low = order > 0 ? middle + 1 : low;
		high = order < 0 ? middle : high;
	}
	return NULL;
}
