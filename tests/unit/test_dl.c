/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/dl.h"

/** Functions of the C library, which is surely there. */
struct table {
	size_t (*strlen)(const char *);
	int (*no_such_function)(void);
	int (*toupper)(int);
};

#define LIBC "libc.so.6"

static const char *const names[] = { "libno-such-library.so.1", LIBC, NULL };

static void symbols_are_found(void **state)
{
	static const struct dl_sym syms[] = { DL_SYM(struct table, strlen),
					      DL_SYM(struct table, toupper),
					      { 0 } };
	struct table t = { 0 };

	(void)state;
	assert_non_null(dl_load(NULL, names, syms, &t, NULL));
	assert_int_equal(t.strlen("four"), 4);
	assert_int_equal(t.toupper('a'), 'A');
	assert_null(t.no_such_function);
}

static void optional_ones_may_be_missing(void **state)
{
	static const struct dl_sym syms[] = {
		DL_OPT(struct table, no_such_function),
		DL_SYM(struct table, strlen), { 0 }
	};
	struct table t = { 0 };

	(void)state;
	assert_non_null(dl_load(NULL, names, syms, &t, NULL));
	assert_null(t.no_such_function);
	assert_non_null(t.strlen);
}

static void all_or_nothing(void **state)
{
	static const struct dl_sym syms[] = {
		DL_SYM(struct table, strlen),
		DL_SYM(struct table, no_such_function), { 0 }
	};
	struct table t = { 0 };
	struct err e;

	(void)state;
	assert_null(dl_load(NULL, names, syms, &t, &e));
	assert_non_null(strstr(e.text, "'no_such_function'"));
	assert_null(t.strlen);
}

static void versions_are_obeyed(void **state)
{
	static const struct dl_sym syms[] = {
		{ .name = "strlen",
		  .offset = offsetof(struct table, strlen),
		  .version = "NO_SUCH_VERSION" },
		{ 0 }
	};
	struct table t = { 0 };
	struct err e;

	(void)state;
	assert_null(dl_load(NULL, names, syms, &t, &e));
	assert_non_null(strstr(e.text, "'strlen'"));
}

static void the_first_name_explains_a_failure(void **state)
{
	static const char *const wrong[] = { "libfirst.so.1", "libsecond.so",
					     NULL };
	static const struct dl_sym syms[] = { { 0 } };
	struct table t = { 0 };
	struct err e;

	(void)state;
	assert_null(dl_load(NULL, wrong, syms, &t, &e));
	assert_non_null(strstr(e.text, "cannot load 'libfirst.so.1': "));
	assert_null(dl_load(NULL, wrong, syms, &t, NULL));
}

static void the_environment_replaces_the_names(void **state)
{
	static const struct dl_sym syms[] = { DL_SYM(struct table, strlen),
					      { 0 } };
	struct table t = { 0 };
	struct err e;

	(void)state;
	/* a wrong path is an error, not a silent fallback */
	setenv("GPUCHECK_TEST_LIB", "/no/such/library.so", 1);
	assert_null(dl_load("GPUCHECK_TEST_LIB", names, syms, &t, &e));
	assert_non_null(strstr(e.text, "/no/such/library.so"));
	setenv("GPUCHECK_TEST_LIB", LIBC, 1);
	assert_non_null(dl_load("GPUCHECK_TEST_LIB", names, syms, &t, &e));
	setenv("GPUCHECK_TEST_LIB", "", 1);
	assert_non_null(dl_load("GPUCHECK_TEST_LIB", names, syms, &t, &e));
	unsetenv("GPUCHECK_TEST_LIB");
	assert_non_null(dl_load("GPUCHECK_TEST_LIB", names, syms, &t, &e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(symbols_are_found),
		cmocka_unit_test(optional_ones_may_be_missing),
		cmocka_unit_test(all_or_nothing),
		cmocka_unit_test(versions_are_obeyed),
		cmocka_unit_test(the_first_name_explains_a_failure),
		cmocka_unit_test(the_environment_replaces_the_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
