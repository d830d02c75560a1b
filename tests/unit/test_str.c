/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/err.h"
#include "lib/data/cells.h"
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

static void harmless_is_utf8_without_control_or_direction(void **state)
{
	static const struct {
		const char *text, *shown;
	} cases[] = {
		/* what people write stays */
		{ "M\xc3\xbcnchen \xe6\x9d\xb1\xe4\xba\xac \xf0\x9f\x92\xbb",
		  "M\xc3\xbcnchen \xe6\x9d\xb1\xe4\xba\xac \xf0\x9f\x92\xbb" },
		{ "\xc2\xa0 \xe2\x80\xa7 \xef\xbf\xbd",
		  "\xc2\xa0 \xe2\x80\xa7 \xef\xbf\xbd" },
		/* C1: as a byte, as a character, within a character */
		{ "a\x9b" "31mb", "a?31mb" },
		{ "a\xc2\x9b" "31mb", "a?31mb" },
		{ "\xe6\x9b\xb4", "\xe6\x9b\xb4" },
		/* direction: U+202E, U+2066, U+200F, U+061C; U+2028 */
		{ "a\xe2\x80\xae" "b\xe2\x81\xa6" "c", "a?b?c" },
		{ "\xe2\x80\x8f\xd8\x9c\xe2\x80\xa8", "???" },
		/* no UTF-8: Latin-1, overlong, surrogate, beyond, cut */
		{ "M\xfcnchen", "M?nchen" },
		{ "\xc0\x9b \xe0\x82\x9b", "?? ???" },
		{ "\xed\xa0\x80 \xf4\x90\x80\x80", "? ?" },
		{ "\xe6\x9d", "??" },
		{ "\xff\x80", "??" },
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "%s", cases[i].text);
		assert_int_equal(str_harmless(text, 0),
				 strlen(cases[i].shown));
		assert_string_equal(text, cases[i].shown);
		assert_true(STR_COPY(text, cases[i].text));
		assert_string_equal(text, cases[i].shown);
	}
}

static void harmless_keeps_what_it_is_told_to(void **state)
{
	static const char text[] = "a\tb\n\033[1;31mc\033[0m\033[2Jd\r";
	struct str s = STR_INIT;

	(void)state;
	str_add(&s, text);
	str_harmless_from(&s, 0, STR_LINES | STR_COLORS);
	assert_string_equal(str_text(&s),
			    "a\tb\n\033[1;31mc\033[0m?[2Jd?");
	str_harmless_from(&s, 4, 0);
	assert_string_equal(str_text(&s), "a\tb\n?[1;31mc?[0m?[2Jd?");
	assert_int_equal(s.len, strlen(s.data));
	str_release(&s);
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

static void ends_compares_the_end_only(void **state)
{
	(void)state;
	assert_true(str_ends("site.ini", ".ini"));
	assert_true(str_ends(".ini", ".ini"));
	assert_true(str_ends("x", ""));
	assert_false(str_ends("ini", ".ini"));
	assert_false(str_ends("site.ini~", ".ini"));
}

static void names_meet_whole(void **state)
{
	static const struct {
		const char *a, *b;
		bool meet;
	} cases[] = {
		{ .a = "mlx5_1", .b = "mlx5_0+mlx5_1", .meet = true },
		{ .a = "mlx5_2 mlx5_0", .b = "mlx5_0+mlx5_1", .meet = true },
		{ .a = "mlx5_1", .b = "mlx5_10+mlx5_11" },
		{ .a = "mlx5_10", .b = "mlx5_1" },
		{ .a = "", .b = "mlx5_1" },
		{ .a = "mlx5_1", .b = "" },
		{ .a = "", .b = "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(str_names_meet(cases[i].a, cases[i].b),
				 cases[i].meet);
		assert_int_equal(str_names_meet(cases[i].b, cases[i].a),
				 cases[i].meet);
	}
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

/** What is not filled is taken off; arrays of any size come zeroed. */
static void room_is_filled_by_the_caller(void **state)
{
	const size_t n = (5u << 20) + 3;
	struct str s = STR_INIT;
	char *big = cells_calloc(n, 1), *few = cells_calloc(3, 8);

	(void)state;
	str_add(&s, "one");
	memcpy(str_more(&s, 5), " two?", 5);
	str_cut(&s, s.len - 1);
	assert_string_equal(str_text(&s), "one two");
	assert_null(str_more(&s, SIZE_MAX / 2));
	assert_true(s.failed);
	str_release(&s);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(big[i], 0);
	}
	memset(big, 1, n);
	assert_int_equal(few[23], 0);
	if (!SANITIZED) {	/* which would end it there */
		assert_null(cells_calloc(SIZE_MAX / 2, 8));
	}
	free(big);
	free(few);
}

static void an_item_is_found_by_its_text(void **state)
{
	static const struct {
		int number;
		const char *text;
		char chars[8];
	} list[] = {
		{ 0, "a", "x" }, { 1, "b", "y" }, { 2, "b", "z" },
		{ 3, NULL, "" }
	};

	(void)state;
	assert_int_equal(STR_FIND(list, 3, text, "b"), 1);
	assert_int_equal(STR_FIND(list, 1, text, "b"), 1);
	assert_int_equal(STR_FIND(list, 4, text, "c"), 3);
	assert_int_equal(STR_FIND(list, STR_TO_END, text, "c"), 3);
	assert_int_equal(STR_FIND(list, 3, chars, "z"), 2);
	assert_int_equal(STR_FIND(list, 3, chars, ""), 3);
	assert_int_equal(STR_FIND(list, 0, chars, "x"), 0);
	/* an empty list may have no memory */
	assert_int_equal(str_find(NULL, 0, sizeof(*list), 0, true, "x"), 0);
}

static void numbers_are_listed_up_to_a_limit(void **state)
{
	struct str s = STR_INIT;
	size_t n = 0;

	(void)state;
	for (int64_t i = -1; i < 5; i++) {
		str_add_number(&s, &n, 3, i);
		assert_int_equal(n, i + 2);
	}
	assert_string_equal(str_text(&s), "-1, 0, 1, ...");
	str_release(&s);
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
		cmocka_unit_test(harmless_is_utf8_without_control_or_direction),
		cmocka_unit_test(harmless_keeps_what_it_is_told_to),
		cmocka_unit_test(nearest_finds_the_word_meant),
		cmocka_unit_test(swapped_neighbours_are_one_edit),
		cmocka_unit_test(starts_compares_the_prefix_only),
		cmocka_unit_test(ends_compares_the_end_only),
		cmocka_unit_test(names_meet_whole),
		cmocka_unit_test(an_item_is_found_by_its_text),
		cmocka_unit_test(paths_in_hints_can_be_pasted),
		cmocka_unit_test(room_is_filled_by_the_caller),
		cmocka_unit_test(numbers_are_listed_up_to_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
