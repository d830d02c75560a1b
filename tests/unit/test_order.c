/* SPDX-License-Identifier: BSD-3-Clause */
/* Orders of arrays by tables of members. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/base/order.h"

struct item {
	bool yes;
	int i;
	unsigned u;
	int64_t i64;
	uint64_t u64;
	double real;
	char chars[8];
	const char *text;
	const int *at;
};

static int sign(int n)
{
	return (n > 0) - (n < 0);
}

#define EACH_WAY(keys, x, y)                                                   \
	do {                                                                   \
		assert_int_equal(sign(order_compare(keys, x, y)), -1);         \
		assert_int_equal(sign(order_compare(keys, y, x)), 1);          \
		assert_int_equal(order_compare(keys, x, x), 0);                \
	} while (0)

static void compares_a_member_by_its_type(void **state)
{
	static const int numbers[2];
	static const struct order_key keys[][2] = {
		{ ORDER_UP(struct item, yes), ORDER_END },
		{ ORDER_UP(struct item, i), ORDER_END },
		{ ORDER_UP(struct item, u), ORDER_END },
		{ ORDER_UP(struct item, i64), ORDER_END },
		{ ORDER_UP(struct item, u64), ORDER_END },
		{ ORDER_UP(struct item, real), ORDER_END },
		{ ORDER_UP(struct item, text), ORDER_END },
		{ ORDER_AS(struct item, chars, ORDER_NAME), ORDER_END },
		{ ORDER_DOWN(struct item, chars), ORDER_END },
		{ ORDER_AS(struct item, at, ORDER_ADDRESS), ORDER_END },
	};
	const struct item x = {
		.yes = false, .i = -1, .u = 1, .i64 = INT64_MIN, .u64 = 1,
		.real = -0.5, .chars = "n9", .text = "a", .at = &numbers[0],
	};
	const struct item y = {
		.yes = true, .i = 1, .u = UINT32_MAX, .i64 = INT64_MAX,
		.u64 = UINT64_MAX, .real = INFINITY, .chars = "n10",
		.text = "b", .at = &numbers[1],
	};

	(void)state;
	for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++) {
		EACH_WAY(keys[k], &x, &y);
	}
}

/* Returns true if @list, of @n numbers, is in ascending order, and all of them
 * are found. */
static bool is_sorted(const uint64_t *list, size_t n,
		      const struct order_key *keys)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t *found = order_find(&list[i], list, n,
						   sizeof(*list), keys);

		if ((i > 0 && list[i - 1] > list[i]) || !found ||
		    *found != list[i]) {
			return false;
		}
	}
	return true;
}

static void finds_what_it_sorted(void **state)
{
	static const struct order_key keys[] = { ORDER_ITEM(ORDER_UINT64),
						 ORDER_END };
	const uint64_t none = 1;
	uint64_t list[64];

	(void)state;
	order_sort(NULL, 0, sizeof(*list), keys);
	assert_null(order_find(&none, NULL, 0, sizeof(*list), keys));
	for (size_t n = 1; n <= 64; n++) {
		for (size_t i = 0; i < n; i++) {
			list[i] = 2 * (i * 37 % n);	/* even: no 1 */
		}
		order_sort(list, n, sizeof(*list), keys);
		assert_true(is_sorted(list, n, keys));
		assert_null(order_find(&none, list, n, sizeof(*list), keys));
	}
}

static void later_keys_decide_among_equals(void **state)
{
	static const struct order_key keys[] = {
		ORDER_DOWN(struct item, yes), ORDER_UP(struct item, chars),
		ORDER_END
	};
	struct item list[] = {
		{ .i = 3, .chars = "b" }, { .i = 1, .yes = true, .chars = "c" },
		{ .i = 2, .chars = "a" }, { .i = 0, .yes = true, .chars = "a" },
	};

	(void)state;
	order_sort(list, 4, sizeof(*list), keys);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(list[i].i, i);
	}
}

/* Of pointers, equal ones come as they lie in memory. */
static void follows_pointers(void **state)
{
	static const struct order_key keys[] = {
		ORDER_ITEM(ORDER_POINTEE), ORDER_UP(struct item, i),
		ORDER_ITEM(ORDER_PLACE), ORDER_END
	};
	const struct item items[] = { { .i = 2 }, { .i = 1 }, { .i = 1 } };
	const struct item *list[] = { &items[2], &items[0], &items[1] };

	(void)state;
	order_sort(list, 3, sizeof(*list), keys);
	assert_ptr_equal(list[0], &items[1]);
	assert_ptr_equal(list[1], &items[2]);
	assert_ptr_equal(list[2], &items[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compares_a_member_by_its_type),
		cmocka_unit_test(finds_what_it_sorted),
		cmocka_unit_test(later_keys_decide_among_equals),
		cmocka_unit_test(follows_pointers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
