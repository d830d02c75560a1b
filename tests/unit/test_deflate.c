/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/base/deflate.h"

/* A decoder by RFC 1951, of blocks with codes of their own. */

struct bits {
	const uint8_t *p;
	size_t n, at;		/* bits */
};

static unsigned take(struct bits *b, int n)
{
	unsigned v = 0;

	for (int i = 0; i < n; i++, b->at++) {
		assert_true(b->at < 8 * b->n);
		v |= (unsigned)(b->p[b->at / 8] >> b->at % 8 & 1) << i;
	}
	return v;
}

struct code {
	int count[16], symbols[288];
};

static void learn(struct code *c, const uint8_t *lengths, int n)
{
	int left = 1, k = 0;

	memset(c, 0, sizeof(*c));
	for (int l = 1; l < 16; l++) {
		for (int s = 0; s < n; s++) {
			if (lengths[s] == l) {
				c->symbols[k++] = s;
				c->count[l]++;
			}
		}
		left = 2 * left - c->count[l];
		assert_true(left >= 0);
	}
	assert_int_equal(left, 0);	/* as decoders want it */
}

static int symbol(struct bits *b, const struct code *c)
{
	int word = 0, first = 0, index = 0;

	for (int l = 1; l < 16; l++) {
		word |= (int)take(b, 1);
		if (word - c->count[l] < first) {
			return c->symbols[index + word - first];
		}
		index += c->count[l];
		first = (first + c->count[l]) << 1;
		word <<= 1;
	}
	fail();
	return -1;
}

static void read_codes(struct bits *b, struct code *literal,
		       struct code *distance)
{
	static const uint8_t places[19] = { 16, 17, 18, 0, 8, 7, 9, 6, 10, 5,
					    11, 4, 12, 3, 13, 2, 14, 1, 15 };
	int n = (int)take(b, 5) + 257, m = (int)take(b, 5) + 1;
	int k = (int)take(b, 4) + 4;
	uint8_t lengths[320] = { 0 };
	struct code code;

	for (int i = 0; i < k; i++) {
		lengths[places[i]] = (uint8_t)take(b, 3);
	}
	learn(&code, lengths, 19);
	for (int i = 0; i < n + m; i++) {
		lengths[i] = (uint8_t)symbol(b, &code);
		assert_true(lengths[i] < 16);
	}
	learn(literal, lengths, n);
	learn(distance, lengths + n, m);
}

/** What the symbol @s stands for, from 0: its range doubles after @per. */
static int ranged(struct bits *b, int s, int per)
{
	int first = 0;

	for (int i = 0; i < s; i++) {
		first += 1 << (i < 2 * per ? 0 : i / per - 1);
	}
	return first + (int)take(b, s < 2 * per ? 0 : s / per - 1);
}

static void unpack(const struct str *packed, struct str *out)
{
	struct bits b = { .p = (const uint8_t *)packed->data,
			  .n = packed->len };
	struct code literal, distance;
	bool last;

	do {
		int s;

		last = take(&b, 1);
		assert_int_equal(take(&b, 2), 2);
		read_codes(&b, &literal, &distance);
		while ((s = symbol(&b, &literal)) != 256) {
			int n, back;

			if (s < 256) {
				str_addch(out, (char)s);
				continue;
			}
			n = s == 285 ? 258 : 3 + ranged(&b, s - 257, 4);
			back = 1 + ranged(&b, symbol(&b, &distance), 2);
			assert_true((size_t)back <= out->len);
			for (; n > 0; n--) {
				str_addch(out, out->data[out->len -
							 (size_t)back]);
			}
		}
	} while (!last);
	assert_int_equal((b.at + 7) / 8, b.n);
}

/** @n bytes come back as they were; how many they were packed into. */
static size_t packs(const char *bytes, size_t n)
{
	struct str packed = STR_INIT, again = STR_INIT;
	size_t len;

	deflate_add(bytes, n, &packed);
	assert_false(packed.failed);
	unpack(&packed, &again);
	assert_int_equal(again.len, n);
	assert_true(n == 0 || memcmp(again.data, bytes, n) == 0);
	len = packed.len;
	str_release(&packed);
	str_release(&again);
	return len;
}

static void what_is_packed_comes_back(void **state)
{
	const size_t n = 200000;
	char *bytes = calloc(n, 1);
	uint32_t x = 1;

	(void)state;
	assert_non_null(bytes);
	packs("", 0);
	packs("a", 1);
	packs("abcabcabcabcabcabc", 18);
	assert_true(packs(bytes, n) < 2000);	/* nothing but zeros */
	packs(bytes, 65536);
	packs(bytes, 65537);
	for (size_t i = 0; i < n; i++) {
		x = x * 1664525 + 1013904223;
		bytes[i] = (char)(x >> 28);	/* noise of four bits */
	}
	assert_true(packs(bytes, n) < n * 52 / 100);
	for (size_t i = 0; i < n; i++) {
		x = x * 1664525 + 1013904223;
		bytes[i] = (char)(x >> 24);
	}
	assert_true(packs(bytes, n) < n + n / 50);
	/* what is far back, at every distance up to the longest */
	for (size_t at = 0, back = 1; at + 300 < n; at += 300, back += 61) {
		if (back < at && back < 32769) {
			memmove(bytes + at, bytes + at - back, 290);
		}
	}
	packs(bytes, n);
	free(bytes);
}

/** Counts as of Fibonacci would make a code too long. */
static void a_code_has_fifteen_bits_at_most(void **state)
{
	struct str bytes = STR_INIT;

	(void)state;
	for (int a = 1, b = 1, s = 0; bytes.len < 60000; s++) {
		for (int i = 0; i < a; i++) {
			str_addch(&bytes, (char)s);
		}
		b += a;
		a = b - a;
	}
	/* in an order that repeats nothing */
	for (size_t i = bytes.len - 1, x = 7; i > 0; i--) {
		size_t k = (x = x * 1103515245 + 12345) % (i + 1);
		char c = bytes.data[i];

		bytes.data[i] = bytes.data[k];
		bytes.data[k] = c;
	}
	packs(bytes.data, bytes.len);
	str_release(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_packed_comes_back),
		cmocka_unit_test(a_code_has_fifteen_bits_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
