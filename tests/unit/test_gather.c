/* SPDX-License-Identifier: BSD-3-Clause */
/* Several children at a time, one of which does not end. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/spawn.h"

#define MAX 1024

static struct gather list[3];

static void run(const char *const scripts[3], int64_t limit_ns)
{
	static char *argv[3][4];

	for (int i = 0; i < 3; i++) {
		argv[i][0] = (char *)"sh";
		argv[i][1] = (char *)"-c";
		argv[i][2] = (char *)scripts[i];
		list[i] = (struct gather){ .argv = argv[i], .in = "word\n",
					    .n_in = 5 };
	}
	gather(list, 3, MAX, clock_now_ns() + limit_ns);
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		str_release(&list[i].out);
	}
	return 0;
}

static void each_has_its_words_and_its_end(void **state)
{
	static const char *const scripts[] = {
		"read x; echo got $x", "echo two; exit 3", "kill -9 $$"
	};

	(void)state;
	run(scripts, 30 * NS_PER_S);
	assert_string_equal(str_text(&list[0].out), "got word\n");
	assert_int_equal(list[0].st.exit_code, 0);
	assert_string_equal(str_text(&list[1].out), "two\n");
	assert_int_equal(list[1].st.exit_code, 3);
	assert_int_equal(list[2].st.signal, SIGKILL);
	assert_false(list[2].st.timed_out);
	for (int i = 0; i < 3; i++) {
		assert_true(list[i].ended);
		assert_false(list[i].left);
		assert_int_equal(list[i].why, 0);
	}
}

/* With what it has started, and with what it had said. */
static void who_hangs_is_killed_and_the_others_count(void **state)
{
	static const char *const scripts[] = {
		"echo early; sleep 1000 & sleep 1000", "echo two",
		"exec >/dev/null; sleep 1000"
	};

	(void)state;
	run(scripts, 300 * NS_PER_MS);
	assert_string_equal(str_text(&list[0].out), "early\n");
	assert_true(list[0].st.timed_out);
	assert_false(list[0].left);
	/* its own children end with it, and are somebody else's to reap */
	for (int i = 0; i < 1000 && kill(-list[0].pid, 0) == 0; i++) {
		clock_sleep(10 * NS_PER_MS);
	}
	assert_int_equal(kill(-list[0].pid, 0), -1);
	assert_string_equal(str_text(&list[1].out), "two\n");
	assert_false(list[1].st.timed_out);
	assert_true(list[2].st.timed_out);
}

static void too_many_words_are_cut_and_no_program_is_said(void **state)
{
	static const char *const scripts[] = {
		"head -c 100000 /dev/zero | tr '\\0' x", "true", "true"
	};
	char *argv[] = { (char *)"/no/such/program", NULL };
	struct gather none = { .argv = argv, .in = "", .n_in = 0 };

	(void)state;
	run(scripts, 30 * NS_PER_S);
	assert_int_equal(list[0].out.len, MAX);
	assert_int_equal(list[0].st.exit_code, 0);
	gather(&none, 1, MAX, clock_now_ns() + NS_PER_S);
	assert_int_equal(none.why, ENOENT);
	assert_true(none.ended);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(each_has_its_words_and_its_end,
					  teardown),
		cmocka_unit_test_teardown(
			who_hangs_is_killed_and_the_others_count, teardown),
		cmocka_unit_test_teardown(
			too_many_words_are_cut_and_no_program_is_said,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
