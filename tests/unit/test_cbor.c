/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON values as CBOR and back; what is none is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "lib/data/cbor.h"
#include "lib/data/json.h"

/** @text is JSON. */
static void check_round(const char *text)
{
	json_t *v = json_loads(text, JSON_DECODE_ANY, NULL), *back;
	struct str out = STR_INIT;
	struct err e = { 0 };

	assert_non_null(v);
	cbor_add(v, &out);
	assert_false(out.failed);
	back = cbor_parse(out.data, out.len, &e);
	assert_true(json_equal(v, back));
	json_decref(back);
	/* a piece of it is none, nor is more than it */
	for (size_t n = 0; n < out.len; n++) {
		e = (struct err){ 0 };
		assert_null(cbor_parse(out.data, n, &e));
		assert_string_not_equal(e.text, "");
	}
	str_addch(&out, '\0');
	assert_null(cbor_parse(out.data, out.len, &e));
	json_decref(v);
	str_release(&out);
}

static void values_come_back(void **state)
{
	(void)state;
	check_round("{}");
	check_round("[]");
	check_round("[0,1,23,24,255,256,65535,65536,4294967295,4294967296]");
	check_round("[9223372036854775807,-9223372036854775808,-1,-24,-25]");
	check_round("[1.5,-0.25,1e300,5e-324,0.0,3.0]");
	check_round("[true,false,null,\"\",\"\xc3\xa4\"]");
	check_round("{\"a\":{\"b\":[{\"c\":1}]},\"d\":\"e\"}");
	check_round("\"a text of more than twenty-three bytes\"");
}

/** The bytes of RFC 8949, appendix A. */
static void bytes_are_those_of_the_standard(void **state)
{
	static const char want[] = "\xa2\x61\x61\x01\x61\x62\x82\x02\x39\x03"
				   "\xe7";
	json_t *v = json_pack("{s:i,s:[i,i]}", "a", 1, "b", 2, -1000);
	struct str out = STR_INIT;

	(void)state;
	cbor_add(v, &out);
	assert_int_equal(out.len, sizeof(want) - 1);
	assert_memory_equal(out.data, want, out.len);
	json_decref(v);
	str_release(&out);
}

static void anything_else_is_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
	} cases[] = {
		{ "", 0 },
		{ "\x1b\x80\0\0\0\0\0\0\0", 9 },	/* 2^63 */
		{ "\x3b\x80\0\0\0\0\0\0\0", 9 },
		{ "\x42\x61", 2 },			/* bytes, cut short */
		{ "\xc0\x01", 2 },			/* a tag */
		{ "\x9f\xff", 2 },			/* of unknown length */
		{ "\x1c", 1 }, { "\xf7", 1 },
		{ "\xf9\x3c\x00", 3 },			/* a half */
		{ "\xfb\x7f\xf8\0\0\0\0\0\0", 9 },	/* no number */
		{ "\xfb\x7f\xf0\0\0\0\0\0\0", 9 },	/* infinite */
		{ "\x61\xff", 2 },			/* no UTF-8 */
		{ "\x61\0", 2 },			/* a NUL */
		{ "\xa1\x01\x01", 3 },			/* key 1 */
		{ "\xa2\x61\x61\x01\x61\x61\x02", 7 },	/* a key twice */
		{ "\xa1\x61\xff\x01", 4 },
		{ "\x9b\xff\xff\xff\xff\xff\xff\xff\xff", 9 },
		{ "\xbb\x7f\xff\xff\xff\xff\xff\xff\xff", 9 },
		{ "\x7b\x7f\xff\xff\xff\xff\xff\xff\xff", 9 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e = { 0 };

		if (cbor_parse(cases[i].bytes, cases[i].n, &e) != NULL) {
			fail_msg("case %zu", i);
		}
		assert_string_not_equal(e.text, "");
	}
}

/** As many levels as there may be, and one more. */
static void depth_has_an_end(void **state)
{
	char deep[CBOR_DEPTH + 1];
	json_t *v = json_array(), *more;
	struct str out = STR_INIT;
	struct err e;

	(void)state;
	memset(deep, '\x81', sizeof(deep));
	deep[CBOR_DEPTH] = '\x80';
	assert_null(cbor_parse(deep, sizeof(deep), &e));
	for (int i = 1; i < CBOR_DEPTH - 1; i++) {
		v = json_pack("[o]", v);
	}
	cbor_add(v, &out);
	assert_false(out.failed);
	more = cbor_parse(out.data, out.len, &e);
	assert_non_null(more);
	json_decref(more);
	for (int i = 0; i < 2; i++) {
		v = json_pack("[o]", v);
	}
	cbor_add(v, &out);
	assert_true(out.failed);
	json_decref(v);
	str_release(&out);
}

/* JSON has none: one by one they are read, in a tree they are refused. */
static void bytes_are_read_one_by_one(void **state)
{
	const char bytes[] = "\x82\x43\x00\xff" "a\x40";
	struct cbor_reader r = { .at = (const uint8_t *)bytes + 1, .left = 4 };
	struct cbor_item item;
	struct str out = STR_INIT;

	(void)state;
	assert_null(cbor_parse(bytes, sizeof(bytes) - 1, NULL));
	assert_true(cbor_next(&r, &item));
	assert_true(item.type == JSON_STRING && item.raw && item.n == 3);
	assert_memory_equal(item.text, "\0\xff" "a", 3);
	cbor_add_bytes(item.text, item.n, &out);
	assert_int_equal(out.len, 4);
	assert_memory_equal(out.data, bytes + 1, 4);
	str_release(&out);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1	/* clang; gcc has it itself */
#endif
#endif

/* Half a million zeros: their tree needs more memory than there is. */
static void no_memory_is_no_bad_byte(void **state)
{
	enum { N = 1 << 19 };
	static uint8_t cbor[5 + N] = { 0x9a, 0, N >> 16, 0, 0 };
	static char json[1 + 2 * N] = "[";
	struct rlimit was, now;
	struct err e = { 0 };

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip();			/* its malloc() ends the process */
#endif
	for (int i = 0; i < N; i++) {
		memcpy(json + 1 + 2 * i, i < N - 1 ? "0," : "0]", 2);
	}
	getrlimit(RLIMIT_AS, &was);
	now = (struct rlimit){ .rlim_cur = 1 << 20, .rlim_max = was.rlim_max };
	setrlimit(RLIMIT_AS, &now);	/* less than there is: no more */
	assert_null(cbor_parse(cbor, sizeof(cbor), &e));
	assert_int_equal(e.code, ENOMEM);
	e.code = 0;
	assert_null(json_parse(json, sizeof(json), &e));
	assert_int_equal(e.code, ENOMEM);
	setrlimit(RLIMIT_AS, &was);
	e.code = 0;
	cbor[sizeof(cbor) - 1] = 0xff;
	assert_null(cbor_parse(cbor, sizeof(cbor), &e));
	assert_int_equal(e.code, EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_come_back),
		cmocka_unit_test(bytes_are_those_of_the_standard),
		cmocka_unit_test(bytes_are_read_one_by_one),
		cmocka_unit_test(anything_else_is_refused),
		cmocka_unit_test(depth_has_an_end),
		cmocka_unit_test(no_memory_is_no_bad_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
