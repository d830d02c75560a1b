/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel says of a packet beside its bytes. */
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
#include "probes/ping/socket.h"

static const struct interface lo = {
	.name = "lo",
	.net.ip = { .family = AF_INET, .bytes = { 127, 0, 0, 1 } },
};

/** It lies there while nobody reads: the round trip was over before. */
static void how_long_it_has_waited(void **state)
{
	const struct timespec pause = { .tv_nsec = 30 * NS_PER_MS };
	struct sockaddr_in at = { 0 };
	socklen_t len = sizeof(at);
	struct ping_socket s;
	struct ping_got got;
	char byte = 0;

	(void)state;
	assert_int_equal(ping_socket_open(&s, PING_UDP, &lo, NULL), 0);
	assert_int_equal(getsockname(s.fd, (struct sockaddr *)&at, &len), 0);
	assert_int_equal(ping_socket_send(&s, &lo.net.ip, ntohs(at.sin_port),
					  "x", 1), 0);
	nanosleep(&pause, NULL);
	assert_true(ping_socket_recv(s.fd, &byte, 1, &got));
	assert_int_equal(byte, 'x');
	assert_true(ip_equal(&got.to, &lo.net.ip));
	assert_in_range(got.waited_ns, 30 * NS_PER_MS, 10 * NS_PER_S);
	ping_socket_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(how_long_it_has_waited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
