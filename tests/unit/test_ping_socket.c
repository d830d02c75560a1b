/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel reports with a packet. */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "probes/ping/private.h"

static const struct interface lo = {
	.name = "lo",
	.net.ip = { .family = AF_INET, .bytes = { 127, 0, 0, 1 } },
};

/* Send a byte from @s to itself, leave it in the kernel for @pause_ns, read it;
 * returns how long it waited there by the kernel's stamp. */
static int64_t send_and_wait(const struct ping_socket *s, int64_t pause_ns)
{
	const struct timespec pause = { .tv_nsec = pause_ns };
	struct sockaddr_in at = { 0 };
	socklen_t len = sizeof(at);
	struct ping_got got;
	char byte = 0;

	assert_int_equal(getsockname(s->fd, (struct sockaddr *)&at, &len), 0);
	assert_int_equal(ping_socket_send(s, &lo.net.ip, ntohs(at.sin_port),
					  "x", 1), 0);
	nanosleep(&pause, NULL);
	assert_true(ping_socket_recv(s->fd, &byte, 1, &got));
	assert_int_equal(byte, 'x');
	assert_true(ip_equal(&got.to, &lo.net.ip));
	return got.waited_ns;
}

/** The time that a packet waits to be read is no part of its round trip. */
static void waiting_time_by_kernel_stamp(void **state)
{
	const int64_t end_ns = clock_now_ns() + 10 * NS_PER_S;
	struct ping_socket s;

	(void)state;
	assert_int_equal(ping_socket_open(&s, PING_UDP, &lo, NULL), 0);
	/* the kernel begins to stamp packets a little after a socket asks */
	while (send_and_wait(&s, NS_PER_MS) < NS_PER_MS) {
		assert_true(clock_now_ns() < end_ns);
	}
	assert_in_range(send_and_wait(&s, 30 * NS_PER_MS), 30 * NS_PER_MS,
			10 * NS_PER_S);
	ping_socket_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waiting_time_by_kernel_stamp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
