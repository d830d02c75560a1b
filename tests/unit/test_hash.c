/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/base/hash.h"

static void mix_is_the_same_everywhere(void **state)
{
	(void)state;
	/* must never change: drills and
	 * noise of stored runs are repeated from their seed */
	assert_true(hash_mix(0, 0, 0, 0) == UINT64_C(0x2130748aaac80268));
	assert_true(hash_mix(1, 2, 3, 4) == UINT64_C(0xd55ccd4aeb3ccafb));
}

static void mix_hears_every_argument(void **state)
{
	uint64_t base = hash_mix(1, 2, 3, 4);

	(void)state;
	assert_true(base != hash_mix(2, 2, 3, 4));
	assert_true(base != hash_mix(1, 3, 3, 4));
	assert_true(base != hash_mix(1, 2, 4, 4));
	assert_true(base != hash_mix(1, 2, 3, 5));
	assert_true(base != hash_mix(1, 3, 2, 4));
}

static void unit_is_even_in_0_to_1(void **state)
{
	double sum = 0, low = 1, high = 0;
	const int n = 20000;

	(void)state;
	for (int i = 0; i < n; i++) {
		double u = hash_unit(7, (uint64_t)i, 0, 1);

		assert_true(u >= 0 && u < 1);
		sum += u;
		low = fmin(low, u);
		high = fmax(high, u);
	}
	assert_true(fabs(sum / n - 0.5) < 0.01);
	assert_true(low < 0.001 && high > 0.999);
}

static void random_bytes_differ(void **state)
{
	unsigned char a[32] = { 0 }, b[32] = { 0 };

	(void)state;
	assert_int_equal(hash_random(a, sizeof(a)), 0);
	assert_int_equal(hash_random(b, sizeof(b)), 0);
	assert_memory_not_equal(a, b, sizeof(a));
}

static void hex_goes_there_and_back(void **state)
{
	unsigned char bytes[256], back[256];
	char text[513];

	(void)state;
	for (int i = 0; i < 256; i++) {
		bytes[i] = (unsigned char)i;
	}
	hash_hex(bytes, sizeof(bytes), text);
	assert_int_equal(strlen(text), 512);
	assert_memory_equal(text + 2 * 0xa9, "a9", 2);
	assert_int_equal(hash_unhex(text, back, sizeof(back)), 0);
	assert_memory_equal(bytes, back, sizeof(back));
	assert_int_equal(hash_unhex("AbCd", back, 2), 0);
	assert_memory_equal(back, "\xab\xcd", 2);
}

static void unhex_takes_nothing_else(void **state)
{
	static const char *const bad[] = { "",	  "0",	  "00",	 "000",
					   "00000", "000000", "00g0", "0x00",
					   " 000", "000-", "0000x", NULL };
	char bytes[4] = "abc";

	(void)state;
	for (size_t i = 0; bad[i]; i++) {
		assert_int_equal(hash_unhex(bad[i], bytes, 2), -1);
		assert_string_equal(bytes, "abc");
	}
}

static void equal_compares_all_bytes(void **state)
{
	(void)state;
	assert_true(hash_equal("abcd", "abcd", 4));
	assert_true(hash_equal("abcd", "abcx", 3));
	assert_false(hash_equal("abcd", "abcx", 4));
	assert_false(hash_equal("abcd", "xbcd", 4));
	assert_true(hash_equal("a", "b", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mix_is_the_same_everywhere),
		cmocka_unit_test(mix_hears_every_argument),
		cmocka_unit_test(unit_is_even_in_0_to_1),
		cmocka_unit_test(random_bytes_differ),
		cmocka_unit_test(hex_goes_there_and_back),
		cmocka_unit_test(unhex_takes_nothing_else),
		cmocka_unit_test(equal_compares_all_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
