/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "lib/base/limit.h"
#include "report/symptoms/symptom.h"

static const int shortages[] = { EMFILE, ENFILE, EAGAIN, ENOMEM, ENOSPC,
				 EDQUOT };

static void test_codes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(shortages) / sizeof(*shortages); i++) {
		const char *code = limit_code(shortages[i]);
		const struct symptom *x;

		assert_non_null(code);
		assert_true(limit_is(code));
		assert_string_equal(limit_in_text(strerror(shortages[i])),
				    code);
		x = symptom_find(symptoms_builtin(), code);
		assert_non_null(x);
		assert_string_not_equal(str_text(&x->cause), "");
		assert_string_not_equal(str_text(&x->remedy), "");
		/* what a row says of it is not to be mistaken for a log */
		assert_string_equal(symptom_refine(code,
						   strerror(shortages[i])),
				    code);
	}
	assert_null(limit_code(0));
	assert_null(limit_code(ECONNREFUSED));
	assert_null(limit_in_text("Connection refused"));
	assert_false(limit_is(""));
	assert_false(limit_is("agent_lost"));
}

static void test_words(void **state)
{
	struct limit_user u = { .files = 4711 };
	struct rlimit was, few = { .rlim_cur = 123 };
	char buf[320];

	(void)state;
	getrlimit(RLIMIT_NOFILE, &was);
	few.rlim_max = was.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	limit_says(EMFILE, &u, buf, sizeof(buf));
	assert_non_null(strstr(buf, "limited to 123 (ulimit -n; hard limit "));
	assert_non_null(strstr(buf, "4711 are needed"));
	setrlimit(RLIMIT_NOFILE, &was);
	for (size_t i = 0; i < sizeof(shortages) / sizeof(*shortages); i++) {
		assert_string_not_equal(limit_says(shortages[i], NULL, buf,
						   sizeof(buf)), "");
	}
	assert_string_equal(limit_says(EIO, &u, buf, sizeof(buf)), "");
}

static void test_hint(void **state)
{
	struct err e = { 0 };
	char buf[400];

	(void)state;
	err_set(&e, ENOSPC, "cannot write 'x'");
	assert_true(limit_hint(&e, &(struct limit_user){ .who = "agent",
							 .dir = "/" }));
	assert_non_null(strstr(e.hint, "agent on "));
	assert_non_null(strstr(e.hint, "the file system of '/' has "));
	assert_string_equal(limit_text(&(struct err){ .text = "no" }, NULL, buf,
				       sizeof(buf)), "no");
	/* who knows better keeps the word */
	err_hint(&e, "buy a disk");
	assert_true(limit_hint(&e, NULL));
	assert_string_equal(e.hint, "buy a disk");
	err_set(&e, ENOENT, "cannot read 'x'");
	assert_false(limit_hint(&e, NULL));
	assert_string_equal(e.hint, "");
}

static void test_files(void **state)
{
	struct rlimit was, low, now;

	(void)state;
	getrlimit(RLIMIT_NOFILE, &was);
	low = (struct rlimit){ .rlim_cur = 99, .rlim_max = was.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	limit_files_raise();
	getrlimit(RLIMIT_NOFILE, &now);
	assert_int_equal(now.rlim_cur, was.rlim_max);
	assert_int_equal(limit_files(), was.rlim_max);
	limit_files_raise();	/* the first value is the one that counts */
	limit_files_back();
	assert_int_equal(limit_files(), 99);
	limit_files_back();	/* nothing to take back */
	assert_int_equal(limit_files(), 99);
	setenv("GPUCHECK_NOFILE", "many", 1);
	limit_files_back();
	assert_int_equal(limit_files(), 99);
	unsetenv("GPUCHECK_NOFILE");
	setrlimit(RLIMIT_NOFILE, &was);
}

/* What the hard limit does not have is known before anybody needs it. */
static void files_are_counted_before(void **state)
{
	struct limit_user u = { .who = "coordinator" };
	struct err e = { 0 };
	struct rlimit r;

	(void)state;
	getrlimit(RLIMIT_NOFILE, &r);
	u.files = (long)r.rlim_max;
	assert_int_equal(limit_files_check(&u, &e), 0);
	u.files++;
	assert_int_equal(limit_files_check(&u, &e), -1);
	assert_int_equal(e.code, EMFILE);
	assert_non_null(strstr(e.hint, "are needed"));
	assert_non_null(strstr(e.hint, "ulimit -n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_codes),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_hint),
		cmocka_unit_test(test_files),
		cmocka_unit_test(files_are_counted_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
