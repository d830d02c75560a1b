/* SPDX-License-Identifier: BSD-3-Clause */
/* Both ways at once over one connection, and what its errors mean. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "probes/transport/xport.h"

#define BYTES ((size_t)8 << 20)	/* more than any socket buffers */
#define LIMIT_NS (10 * NS_PER_S)

static void make_pair(int fds[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
}

/** Swap BYTES of @mine; do only bytes of @theirs arrive? */
static bool swap_bytes(int fd, int mine, int theirs)
{
	char *out = malloc(BYTES), *in = calloc(1, BYTES);
	struct err e = { 0 };
	bool good;

	memset(out, mine, BYTES);
	good = peer_swap(fd, out, in, BYTES, clock_now_ns() + LIMIT_NS, &e) ==
	       0;
	for (size_t i = 0; i < BYTES; i++) {
		good = good && in[i] == theirs;
	}
	free(out);
	free(in);
	return good;
}

static void both_ends_send_more_than_buffers_hold(void **state)
{
	int fds[2], status;
	pid_t pid;

	(void)state;
	make_pair(fds);
	pid = fork();
	if (pid == 0) {
		_exit(!swap_bytes(fds[1], 'b', 'a'));
	}
	assert_true(swap_bytes(fds[0], 'a', 'b'));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(fds[0]);
	close(fds[1]);
}

static void a_silent_end_is_a_timeout(void **state)
{
	struct err e = { 0 };
	char byte = 0;
	int fds[2];

	(void)state;
	make_pair(fds);
	assert_int_equal(peer_swap(fds[0], &byte, &byte, 1,
				   clock_now_ns() + 20 * NS_PER_MS, &e), -1);
	assert_int_equal(e.code, ETIMEDOUT);
	close(fds[0]);
	close(fds[1]);
}

static void an_end_that_leaves_is_an_echo(void **state)
{
	struct err e = { 0 };
	struct xport_result r;
	char byte = 0;
	int fds[2];

	(void)state;
	make_pair(fds);
	close(fds[1]);
	assert_int_equal(peer_swap(fds[0], &byte, &byte, 1,
				   clock_now_ns() + LIMIT_NS, &e), -1);
	xport_result_init(&r);
	peer_fault(&r, &e, "swapping");
	assert_int_equal(r.outcome, OUTCOME_ERROR);
	assert_string_equal(r.code, "peer_closed");
	assert_true(r.echo);
	close(fds[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ends_send_more_than_buffers_hold),
		cmocka_unit_test(a_silent_end_is_a_timeout),
		cmocka_unit_test(an_end_that_leaves_is_an_echo),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
