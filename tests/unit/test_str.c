/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/base/err.h"
#include "lib/base/str.h"

static void err_carries_text_code_and_hint(void **state)
{
	struct err e = { 0 };
	char buf[128];

	(void)state;
	assert_int_equal(err_set(&e, ENOENT, "cannot open '%s'", "x"), -1);
	assert_int_equal(err_hint(&e, "make %s", "it"), -1);
	assert_string_equal(e.hint, "make it");
	assert_string_equal(err_str(&e, buf, sizeof(buf)),
			    "cannot open 'x': No such file or directory");
}

static void err_without_code_adds_nothing(void **state)
{
	struct err e;
	char buf[16];

	(void)state;
	err_set(&e, 0, "'%s' is not a size", "8Q");
	assert_string_equal(err_str(&e, buf, sizeof(buf)), "'8Q' is not a s");
}

static void err_may_be_null(void **state)
{
	(void)state;
	assert_int_equal(err_set(NULL, 0, "nobody cares"), -1);
	assert_int_equal(err_hint(NULL, "nor here"), -1);
}

static void err_set_drops_an_old_hint(void **state)
{
	struct err e;

	(void)state;
	err_set(&e, 0, "first");
	err_hint(&e, "remedy of the first");
	err_set(&e, 0, "second");
	assert_string_equal(e.hint, "");
}

static void str_grows_and_stays_ended(void **state)
{
	struct str s = STR_INIT;

	(void)state;
	assert_string_equal(str_text(&s), "");
	for (int i = 0; i < 1000; i++) {
		str_addf(&s, "%d,", i % 10);
		assert_int_equal(s.data[s.len], '\0');
	}
	str_add(&s, "end");
	str_addch(&s, '!');
	str_addmem(&s, "a\0b", 3);
	assert_int_equal(s.len, 2000 + 3 + 1 + 3);
	assert_memory_equal(s.data + 2000, "end!a\0b", 8);
	assert_false(s.failed);
	str_release(&s);
	str_release(&s);
	str_release(NULL);
}

static void str_failure_sticks_until_reset(void **state)
{
	struct str s = STR_INIT;

	(void)state;
	str_add(&s, "kept");
	str_addmem(&s, "", SIZE_MAX / 2);
	assert_true(s.failed);
	str_add(&s, "more");
	assert_string_equal(str_text(&s), "kept");
	str_reset(&s);
	str_add(&s, "new");
	assert_false(s.failed);
	assert_string_equal(str_text(&s), "new");
	str_release(&s);
}

static void copy_cuts_between_characters(void **state)
{
	char buf[6];

	(void)state;
	assert_true(STR_COPY(buf, "12345"));
	assert_string_equal(buf, "12345");
	assert_false(STR_COPY(buf, "123456"));
	assert_string_equal(buf, "12345");
	/* the u umlaut at bytes 5 and 6 does not fit whole */
	assert_false(STR_COPY(buf, "1234\xc3\xbc"));
	assert_string_equal(buf, "1234");
	assert_false(str_copy(buf, 0, "x"));
}

static void copy_takes_the_teeth_out_of_strangers_text(void **state)
{
	char buf[16];

	(void)state;
	assert_true(STR_COPY(buf, "a\x1b[31m\n\x7f\xc3\xbc"));
	assert_string_equal(buf, "a?[31m??\xc3\xbc");
}

static void nearest_finds_the_word_meant(void **state)
{
	static const char *const words[] = { "transport", "timeout", "pairs",
					     "p2p", NULL };

	(void)state;
	assert_string_equal(str_nearest("transprot", words), "transport");
	assert_string_equal(str_nearest("tiemout", words), "timeout");
	assert_string_equal(str_nearest("pair", words), "pairs");
	assert_string_equal(str_nearest("p2q", words), "p2p");
	assert_null(str_nearest("frobnicate", words));
	assert_null(str_nearest("paxxs", words));
	assert_null(str_nearest("", words));
	assert_null(str_nearest("x", words));
}

static void swapped_neighbours_are_one_edit(void **state)
{
	static const char *const words[] = { "abd", NULL };

	(void)state;
	/* two plain edits would be more than a third of the word */
	assert_string_equal(str_nearest("adb", words), "abd");
}

static void starts_compares_the_prefix_only(void **state)
{
	(void)state;
	assert_true(str_starts("docker0", "docker"));
	assert_true(str_starts("x", ""));
	assert_false(str_starts("dock", "docker"));
}

static void paths_in_hints_can_be_pasted(void **state)
{
	char word[16];

	(void)state;
	assert_string_equal(str_quoted_dir("/a b", word, sizeof(word)),
			    "'/a b'");
	assert_string_equal(str_quoted_dir("/runs/number-ten", word,
					   sizeof(word)), "DIR");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(err_carries_text_code_and_hint),
		cmocka_unit_test(err_without_code_adds_nothing),
		cmocka_unit_test(err_may_be_null),
		cmocka_unit_test(err_set_drops_an_old_hint),
		cmocka_unit_test(str_grows_and_stays_ended),
		cmocka_unit_test(str_failure_sticks_until_reset),
		cmocka_unit_test(copy_cuts_between_characters),
		cmocka_unit_test(copy_takes_the_teeth_out_of_strangers_text),
		cmocka_unit_test(nearest_finds_the_word_meant),
		cmocka_unit_test(swapped_neighbours_are_one_edit),
		cmocka_unit_test(starts_compares_the_prefix_only),
		cmocka_unit_test(paths_in_hints_can_be_pasted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
