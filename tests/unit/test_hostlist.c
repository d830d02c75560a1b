/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "lib/data/hosts.h"

static void expect(const char *text, const char *joined)
{
	struct str s = STR_INIT;
	size_t n;
	char **names = hostlist_expand(text, &n, NULL);

	assert_non_null(names);
	for (size_t i = 0; i < n; i++) {
		str_add(&s, i ? " " : "");
		str_add(&s, names[i]);
	}
	assert_string_equal(str_text(&s), joined);
	hostlist_free(names, n);
	str_release(&s);
}

static void lists_as_slurm_prints_them(void **state)
{
	(void)state;
	expect("login", "login");
	expect("a,b,c", "a b c");
	expect("gpu[01-03,7],login", "gpu01 gpu02 gpu03 gpu7 login");
	expect("gpu[7]", "gpu7");
	expect("gpu[098-101]", "gpu098 gpu099 gpu100 gpu101");
	expect("gpu[8-10]", "gpu8 gpu9 gpu10");
	expect("n[0-1].site,x", "n0.site n1.site x");
}

static void several_brackets_in_a_name(void **state)
{
	(void)state;
	expect("r[1-2]n[0,5]", "r1n0 r1n5 r2n0 r2n5");
	expect("r[1-2][3-4]", "r13 r14 r23 r24");
	expect("[1-2]x", "1x 2x");
}

static void the_rest_is_refused_with_its_column(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "", "host name missing at column 1 " },
		{ ",a", "host name missing at column 1 " },
		{ "a,", "host name missing at column 3 " },
		{ "a,,b", "host name missing at column 3 " },
		{ "a[", "'[' not closed at column 2 " },
		{ "a[1-2", "'[' not closed at column 2 " },
		{ "a]", "']' without '[' at column 2 " },
		{ "a[1]]", "']' without '[' at column 5 " },
		{ "a[]", "number missing at column 3 " },
		{ "a[1,]", "number missing at column 5 " },
		{ "a[-2]", "number missing at column 3 " },
		{ "a[x]", "number missing at column 3 " },
		{ "a[1-]", "end of range missing at column 5 " },
		{ "a[5-4]", "range ends before it begins at column 3 " },
		{ "a[1-2-3]", "',', '-' or ']' missing at column 6 " },
		{ "a[1x]", "',', '-' or ']' missing at column 4 " },
		{ "a[1234567890]", "number too long at column 3 " },
		{ "a[0-999999]", "too many hosts at column " },
		{ "a[0-999][0-999]", "too many hosts at column " },
		{ "a[1][1][1][1][1][1][1][1][1]", "too many brackets" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		size_t n = 42;
		struct err e;

		assert_null(hostlist_expand(bad[i].text, &n, &e));
		assert_true(str_starts(e.text, bad[i].why));
		assert_int_equal(n, 42);
	}
}

static void as_many_hosts_as_allowed(void **state)
{
	size_t n;
	char **names = hostlist_expand("n[00000-65535]", &n, NULL);

	(void)state;
	assert_non_null(names);
	assert_int_equal(n, HOSTLIST_MAX);
	assert_string_equal(names[n - 1], "n65535");
	hostlist_free(names, n);
	assert_null(hostlist_expand("n[00000-65535],m", &n, NULL));
}

static void names_have_a_limit(void **state)
{
	char name[300];
	size_t n;
	char **names;

	(void)state;
	memset(name, 'x', sizeof(name));
	name[256] = '\0';
	assert_null(hostlist_expand(name, &n, NULL));
	name[255] = '\0';
	names = hostlist_expand(name, &n, NULL);
	assert_non_null(names);
	hostlist_free(names, n);
	hostlist_free(NULL, 0);
}

/** As short as neighbours allow, and the same names when expanded again. */
static void short_lists_expand_to_what_they_were(void **state)
{
	static const struct {
		const char *names[6], *text;
	} lists[] = {
		{ { "n0" }, "n0" },
		{ { "n0", "n1", "n2", "n5" }, "n[0-2,5]" },
		{ { "n0", "n1" }, "n[0,1]" },
		{ { "n8", "n9", "n10", "n11", "n12" }, "n[8-12]" },
		{ { "n0", "n9", "n10", "n99", "n100" }, "n[0,9,10,99,100]" },
		{ { "n9", "n010" }, "n010,n9" },
		{ { "n", "n1" }, "n,n1" },
		{ { "gpu01", "gpu02", "gpu03", "login" },
		  "gpu[01-03],login" },
		{ { "b1", "a2", "a1" }, "a[1,2],b1" },
		{ { "n3", "n0", "n2", "n10", "n1" }, "n[0-3,10]" },
		{ { "r1g1", "r1g2", "r2g1" }, "r1g[1,2],r2g1" },
		{ { "x", "y" }, "x,y" },
		{ { "n1234567890123", "n1234567890124" },
		  "n1234[567890123,567890124]" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		char names[6][64] = { "" };
		struct str out = STR_INIT;
		size_t n = 0, got;
		char **back;

		while (n < 6 && lists[i].names[n]) {
			STR_COPY(names[n], lists[i].names[n]);
			n++;
		}
		hostlist_add(&out, names[0], sizeof(names[0]), n);
		qsort(names, n, sizeof(*names), str_order);
		assert_string_equal(str_text(&out), lists[i].text);
		back = hostlist_expand(str_text(&out), &got, NULL);
		assert_int_equal(got, n);
		for (size_t k = 0; k < n; k++) {
			assert_string_equal(back[k], names[k]);
		}
		hostlist_free(back, got);
		str_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_lists_expand_to_what_they_were),
		cmocka_unit_test(lists_as_slurm_prints_them),
		cmocka_unit_test(several_brackets_in_a_name),
		cmocka_unit_test(the_rest_is_refused_with_its_column),
		cmocka_unit_test(as_many_hosts_as_allowed),
		cmocka_unit_test(names_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
