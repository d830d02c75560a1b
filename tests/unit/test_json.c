/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/data/json.h"

static const char sample[] =
	"{\"int\": 7, \"real\": 2.5, \"yes\": true, \"no\": false,"
	" \"text\": \"abc\\u0007\", \"list\": [1, 2, 3], \"obj\": {},"
	" \"null\": null}";

static int setup(void **state)
{
	*state = json_parse(sample, sizeof(sample) - 1, NULL);
	return !*state;
}

static int teardown(void **state)
{
	json_decref(*state);
	return 0;
}

static void values_are_read(void **state)
{
	const json_t *o = *state;
	int64_t n = 0;
	double x = 0;
	bool b = false;
	char buf[5];

	assert_int_equal(json_get_int(o, "int", 7, 7, &n, NULL), 0);
	assert_true(n == 7);
	assert_int_equal(json_get_real(o, "real", 0, 3, &x, NULL), 0);
	assert_true(x == 2.5);
	assert_int_equal(json_get_real(o, "int", 0, 7, &x, NULL), 0);
	assert_true(x == 7);
	assert_int_equal(json_get_bool(o, "yes", &b, NULL), 0);
	assert_true(b);
	assert_int_equal(json_get_bool(o, "no", &b, NULL), 0);
	assert_false(b);
	assert_int_equal(json_get_text(o, "text", buf, sizeof(buf), NULL), 0);
	assert_string_equal(buf, "abc?");
	assert_non_null(json_get_array(o, "list", 3, NULL));
}

static void limits_and_types_are_kept(void **state)
{
	const json_t *o = *state;
	int64_t n = 42;
	double x = 42;
	bool b = true;
	char buf[4] = "old";
	struct err e;

	assert_int_equal(json_get_int(o, "int", 8, 9, &n, &e), -1);
	assert_string_equal(e.text, "'int' is 7, not within 8 to 9");
	assert_int_equal(json_get_int(o, "int", 0, 6, &n, &e), -1);
	assert_int_equal(json_get_int(o, "real", 0, 9, &n, &e), -1);
	assert_string_equal(e.text, "'real' is not a whole number");
	assert_int_equal(json_get_real(o, "real", 3, 4, &x, &e), -1);
	assert_int_equal(json_get_real(o, "text", 3, 4, &x, &e), -1);
	assert_int_equal(json_get_bool(o, "int", &b, &e), -1);
	assert_int_equal(json_get_text(o, "text", buf, sizeof(buf), &e), -1);
	assert_string_equal(e.text, "'text' has 4 bytes, more than 3");
	assert_int_equal(json_get_text(o, "int", buf, sizeof(buf), &e), -1);
	assert_null(json_get_array(o, "list", 2, &e));
	assert_null(json_get_array(o, "obj", 2, &e));
	/* not one output was touched */
	assert_true(n == 42 && x == 42 && b);
	assert_string_equal(buf, "old");
}

static void missing_is_an_error_unless_optional(void **state)
{
	static const char *const keys[] = { "none", "null", NULL };
	const json_t *o = *state;

	for (size_t i = 0; keys[i]; i++) {
		int64_t n = 42;
		double x = 42;
		bool b = true;
		char buf[4] = "old";
		struct err e;

		assert_int_equal(json_get_int(o, keys[i], 0, 9, &n, &e), -1);
		assert_non_null(strstr(e.text, "is missing"));
		assert_non_null(strstr(e.text, keys[i]));
		assert_int_equal(json_opt_int(o, keys[i], 0, 9, &n, &e), 0);
		assert_int_equal(json_opt_real(o, keys[i], 0, 9, &x, &e), 0);
		assert_int_equal(json_opt_bool(o, keys[i], &b, &e), 0);
		assert_int_equal(json_opt_text(o, keys[i], buf, 4, &e), 0);
		assert_true(n == 42 && x == 42 && b);
		assert_string_equal(buf, "old");
	}
}

static void optional_values_keep_their_limits(void **state)
{
	const json_t *o = *state;
	int64_t n = 42;
	bool b;
	char buf[4];

	assert_int_equal(json_opt_int(o, "int", 8, 9, &n, NULL), -1);
	assert_int_equal(json_opt_int(o, "int", 7, 9, &n, NULL), 0);
	assert_true(n == 7);
	assert_int_equal(json_opt_bool(o, "int", &b, NULL), -1);
	assert_int_equal(json_opt_text(o, "text", buf, sizeof(buf), NULL), -1);
}

static void an_absent_object_has_no_keys(void **state)
{
	int64_t n;

	(void)state;
	assert_int_equal(json_get_int(NULL, "int", 0, 9, &n, NULL), -1);
	assert_int_equal(json_opt_int(NULL, "int", 0, 9, &n, NULL), 0);
}

static void text_becomes_utf8(void **state)
{
	static const char *const texts[][2] = {
		{ "plain", "plain" },
		{ "\xc3\xbc", "\xc3\xbc" },
		{ "\xff" "a", "?a" },
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		json_t *v = json_text(texts[i][0]);

		assert_string_equal(json_string_value(v), texts[i][1]);
		json_decref(v);
	}
}

#define JSON_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/** Written as \uXXXX, so that what is read back is the same. */
static void text_steers_no_terminal(void **state)
{
	static const char *const rows[][2] = {
		{ "n1", "{\"a\":\"n1\"}" },
		{ "\xc2\x9b" "2J", "{\"a\":\"\\u009b2J\"}" },
		{ "M\u00fc \u202etxt", "{\"a\":\"M\u00fc \\u202etxt\"}" },
		{ "\033[m\177", "{\"a\":\"\\u001B[m\\u007f\"}" },
		{ "\U0001f600\u2066", "{\"a\":\"\U0001f600\\u2066\"}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *json = json_pack("{s:s}", "a", rows[i][0]);
		struct str out = STR_INIT;

		json_add(json, JSON_COMPACT, &out);
		json_decref(json);
		assert_string_equal(str_text(&out), rows[i][1]);
		json = json_parse(str_text(&out), out.len, NULL);
		assert_string_equal(json_member(json, "a"), rows[i][0]);
		json_decref(json);
		str_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		JSON_TEST(values_are_read),
		JSON_TEST(limits_and_types_are_kept),
		JSON_TEST(missing_is_an_error_unless_optional),
		JSON_TEST(optional_values_keep_their_limits),
		cmocka_unit_test(an_absent_object_has_no_keys),
		cmocka_unit_test(text_becomes_utf8),
		cmocka_unit_test(text_steers_no_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
