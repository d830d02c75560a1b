/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/data/bundle.h"

static void a_file_is_a_header_and_blocks(void **state)
{
	struct str out = STR_INIT;
	unsigned sum = 0;

	(void)state;
	assert_true(tar_add(&out, "run/a", "abc", 3, 1));
	assert_int_equal(out.len, 1024);
	assert_int_equal(out.len, tar_size(3));
	assert_int_equal(tar_size(0), 512);
	assert_int_equal(tar_size(512), 1024);
	assert_string_equal(out.data, "run/a");
	assert_string_equal(out.data + 100, "0000644");
	assert_string_equal(out.data + 124, "00000000003");
	assert_string_equal(out.data + 136, "00000000001");
	assert_memory_equal(out.data + 257, "ustar\00000", 8);
	assert_memory_equal(out.data + 512, "abc\0\0", 5);
	for (int i = 0; i < 512; i++) {
		sum += i >= 148 && i < 156 ? ' ' : (unsigned char)out.data[i];
	}
	assert_int_equal(strtoul(out.data + 148, NULL, 8), sum);
	tar_end(&out);
	assert_int_equal(out.len, 1024 + tar_end_size);
	str_release(&out);
}

static void names_have_a_limit(void **state)
{
	char name[400];
	struct str out = STR_INIT;

	(void)state;
	memset(name, 'x', sizeof(name));
	name[100] = '\0';
	assert_true(tar_add(&out, name, "", 0, 0));
	assert_memory_equal(out.data, name, 100);
	name[100] = 'x';
	name[101] = '\0';
	assert_false(tar_add(&out, name, "", 0, 0));
	name[150] = '/';
	name[101] = 'x';
	name[251] = '\0';
	str_reset(&out);
	assert_true(tar_add(&out, name, "", 0, 0));
	assert_memory_equal(out.data, name + 151, 100);
	assert_memory_equal(out.data + 345, name, 150);
	assert_int_equal(out.data[345 + 150], 0);
	name[251] = 'x';
	name[252] = '\0';
	assert_false(tar_add(&out, name, "", 0, 0));
	assert_false(tar_add(&out, "", "", 0, 0));
	assert_int_equal(out.len, 512);
	str_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_a_header_and_blocks),
		cmocka_unit_test(names_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
