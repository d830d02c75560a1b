/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"

/* How a child ends that sets it for @first_ns, then for @then_ns, and hangs. */
static int hang(int64_t first_ns, int64_t then_ns)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		watchdog_set(first_ns, 7);
		watchdog_set(then_ns, 4);
		for (;;) {
			clock_now_ns();
		}
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void who_hangs_is_ended(void **state)
{
	(void)state;
	assert_int_equal(WEXITSTATUS(hang(NS_PER_S / 100, NS_PER_S / 10)), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_hangs_is_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
