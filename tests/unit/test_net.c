/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/net.h"
#include "lib/base/str.h"

static int64_t in_ms(int ms)
{
	return clock_now_ns() + ms * NS_PER_MS;
}

static void addresses_go_there_and_back(void **state)
{
	static const char *const good[] = { "10.1.2.3:5000", "127.0.0.1:1",
					    "[2001:db8::1]:65535", "[::1]:80",
					    NULL };
	char buf[NET_ADDR_TEXT];

	(void)state;
	for (size_t i = 0; good[i]; i++) {
		struct sockaddr_storage sa;

		assert_int_equal(net_lookup(good[i], &sa, 1, NULL), 1);
		assert_string_equal(net_addr_text((struct sockaddr *)&sa, buf,
						  sizeof(buf)),
				    good[i]);
	}
}

static void what_is_no_address(void **state)
{
	static const char *const bad[] = {
		"",	     "10.1.2.3",  ":5000",	"10.1.2.3:",
		"1.2.3.4:0", "1.2.3.4:x", "1.2.3.4:65536", "1.2.3.4:80 ",
		"1.2.3.4:-1", "[::1]",	  "[::1:80",	"[]:80", "::1:80",
		"[::1]x80",  "[1.2.3.4.5]:80", NULL
	};
	struct sockaddr_storage sa;
	char host[400];
	struct err e;

	(void)state;
	for (size_t i = 0; bad[i]; i++) {
		assert_int_equal(net_lookup(bad[i], &sa, 1, &e), -1);
	}
	memset(host, 'x', sizeof(host));
	memcpy(host + sizeof(host) - 4, ":80", 4);
	assert_int_equal(net_lookup(host, &sa, 1, &e), -1);
	assert_true(str_starts(e.text, "'xxx"));
}

static void mapped_ipv4_is_shown_as_ipv4(void **state)
{
	struct sockaddr_in6 sa = { .sin6_family = AF_INET6,
				   .sin6_port = htons(7) };
	struct sockaddr local = { .sa_family = AF_UNIX };
	char buf[NET_ADDR_TEXT];

	(void)state;
	inet_pton(AF_INET6, "::ffff:10.0.0.9", &sa.sin6_addr);
	assert_string_equal(net_addr_text((struct sockaddr *)&sa, buf,
					  sizeof(buf)),
			    "10.0.0.9:7");
	assert_string_equal(net_addr_text(&local, buf, sizeof(buf)), "?");
}

static void the_port_can_be_set(void **state)
{
	struct sockaddr_storage sa;
	char buf[NET_ADDR_TEXT];

	(void)state;
	net_lookup("10.1.2.3:1", &sa, 1, NULL);
	net_set_port(&sa, 65535);
	assert_string_equal(net_addr_text((struct sockaddr *)&sa, buf,
					  sizeof(buf)),
			    "10.1.2.3:65535");
	net_lookup("[::1]:1", &sa, 1, NULL);
	net_set_port(&sa, 2);
	assert_string_equal(net_addr_text((struct sockaddr *)&sa, buf,
					  sizeof(buf)),
			    "[::1]:2");
}

/** Two ends of a TCP connection over loopback, closed by teardown(). */
struct ends {
	int listener, a, b;
	char addr[NET_ADDR_TEXT];
};

/** A socket that is connected to @addr, of IPv4; or -1. */
static int come(const char *addr)
{
	struct sockaddr_storage sa;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return net_lookup(addr, &sa, 1, NULL) == 1 &&
	       connect(fd, (struct sockaddr *)&sa,
		       sizeof(struct sockaddr_in)) == 0 ? fd : -1;
}

static void accept_one(struct ends *x)
{
	struct pollfd p = { .fd = x->listener, .events = POLLIN };

	assert_int_equal(poll(&p, 1, 5000), 1);
	x->b = accept4(x->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	assert_true(x->b >= 0);
}

static int setup(void **state)
{
	static struct ends x;

	x = (struct ends){ .a = -1, .b = -1 };
	*state = &x;
	x.listener = net_listen(true, (struct net_ports){ 0 }, NULL);
	snprintf(x.addr, sizeof(x.addr), "127.0.0.1:%u", net_port(x.listener));
	x.a = come(x.addr);
	accept_one(&x);
	return x.a < 0;
}

static int teardown(void **state)
{
	struct ends *x = *state;

	close(x->listener);
	close(x->a);
	close(x->b);
	return 0;
}

static void a_connection_is_ready_to_use(void **state)
{
	struct ends *x = *state;
	char buf[8];

	assert_true(fcntl(x->listener, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(x->listener, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(net_write_all(x->a, "12345678", 8, in_ms(1000), NULL),
			 0);
	assert_int_equal(net_read_all(x->b, buf, 8, in_ms(1000), NULL), 0);
	assert_memory_equal(buf, "12345678", 8);
	assert_int_equal(net_read_all(x->b, buf, 0, 0, NULL), 0);
}

static void reading_ends_at_the_deadline(void **state)
{
	struct ends *x = *state;
	int64_t start_ns = clock_now_ns();
	char buf[8];
	struct err e;

	assert_int_equal(net_write_all(x->a, "123", 3, in_ms(1000), NULL), 0);
	assert_int_equal(net_read_all(x->b, buf, 8, in_ms(100), &e), -1);
	assert_int_equal(e.code, ETIMEDOUT);
	assert_string_equal(e.text, "received 3 of 8 bytes");
	assert_in_range(clock_now_ns() - start_ns, 100 * NS_PER_MS,
			2 * NS_PER_S);
}

static void writing_ends_at_the_deadline(void **state)
{
	struct ends *x = *state;
	const size_t n = 64 << 20;	/* more than the buffers hold */
	char *much = calloc(1, n);
	struct err e;

	assert_int_equal(net_write_all(x->a, much, n, in_ms(100), &e), -1);
	assert_int_equal(e.code, ETIMEDOUT);
	free(much);
}

static void a_peer_that_leaves_is_econnreset(void **state)
{
	struct ends *x = *state;
	char buf[8];
	struct err e;

	close(x->a);
	x->a = -1;
	assert_int_equal(net_read_all(x->b, buf, 8, in_ms(1000), &e), -1);
	assert_int_equal(e.code, ECONNRESET);
	/* the first write may still be taken, the later ones must not be;
	 * nor may SIGPIPE end the program */
	for (int i = 0; i < 50; i++) {
		if (net_write_all(x->b, buf, 8, in_ms(1000), &e) < 0) {
			break;
		}
		usleep(10000);
	}
	assert_int_equal(net_write_all(x->b, buf, 8, in_ms(1000), &e), -1);
	assert_int_equal(e.code, ECONNRESET);
}

static void listening_everywhere_reaches_ipv4(void **state)
{
	char addr[NET_ADDR_TEXT];
	int fd = net_listen(false, (struct net_ports){ 0 }, NULL);
	uint16_t port = net_port(fd);
	int peer;

	(void)state;
	assert_true(fd >= 0 && port > 0);
	snprintf(addr, sizeof(addr), "127.0.0.1:%u", port);
	peer = come(addr);
	assert_true(peer >= 0);
	close(peer);
	close(fd);
}

static void own_addresses_leave_out_loopback(void **state)
{
	char addrs[NET_MAX_ADDRS][NET_ADDR_TEXT];
	int n = net_own_addrs(addrs, NET_MAX_ADDRS);
	bool ipv6_seen = false;

	(void)state;
	assert_in_range(n, 0, NET_MAX_ADDRS);
	for (int i = 0; i < n; i++) {
		bool ipv6 = strchr(addrs[i], ':');

		assert_false(str_starts(addrs[i], "127."));
		assert_false(str_starts(addrs[i], "169.254."));
		assert_false(str_starts(addrs[i], "fe80:"));
		assert_string_not_equal(addrs[i], "::1");
		assert_true(ipv6 || !ipv6_seen);
		ipv6_seen = ipv6;
	}
	assert_int_equal(net_own_addrs(addrs, 0), 0);
}

#define NET_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static void a_range_of_ports_is_two_numbers_or_one(void **state)
{
	static const char *const wrong[] = { "0", "0-5", "7-6", "1-65536", "-5",
					     "5-", "a-b", "1-2-3", " 1-2",
					     "123456789-123456790", "1,2" };
	struct net_ports p = { 1, 1 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(net_ports_parse("42000-42099", &p, NULL), 0);
	assert_true(p.from == 42000 && p.to == 42099);
	assert_int_equal(net_ports_parse("65535", &p, NULL), 0);
	assert_true(p.from == 65535 && p.to == 65535);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(net_ports_parse(wrong[i], &p, &e), -1);
		assert_non_null(strstr(e.text, wrong[i]));
	}
	assert_int_equal(p.from, 65535);
	assert_int_equal(net_ports_parse("", &p, NULL), 0);
	assert_int_equal(p.from, 0);
}

static void each_port_of_a_range_is_tried_once(void **state)
{
	const struct net_ports p = { 100, 103 }, any = { 0 };
	int seen = 0, port;

	(void)state;
	for (int i = 0; (port = net_ports_next(&p, i)) >= 0; i++) {
		assert_in_range(port, 100, 103);
		seen |= 1 << (port - 100);
	}
	assert_int_equal(seen, 15);
	assert_int_equal(net_ports_next(&p, 4), -1);
	assert_int_equal(net_ports_next(&any, 0), 0);
	assert_int_equal(net_ports_next(&any, 1), -1);
}

static void a_range_with_no_free_port_says_so(void **state)
{
	int first = net_listen(true, (struct net_ports){ 0 }, NULL);
	const uint16_t port = net_port(first);
	const struct net_ports one = { port, port };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(net_listen(true, one, &e), -1);
	assert_int_equal(e.code, EADDRINUSE);
	assert_non_null(strstr(e.text, "is free"));
	assert_non_null(strstr(e.hint, "--port-range"));
	close(first);
	first = net_listen(true, one, NULL);
	assert_int_equal(net_port(first), port);
	close(first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_go_there_and_back),
		cmocka_unit_test(what_is_no_address),
		cmocka_unit_test(mapped_ipv4_is_shown_as_ipv4),
		cmocka_unit_test(the_port_can_be_set),
		cmocka_unit_test(a_range_of_ports_is_two_numbers_or_one),
		cmocka_unit_test(each_port_of_a_range_is_tried_once),
		cmocka_unit_test(a_range_with_no_free_port_says_so),
		NET_TEST(a_connection_is_ready_to_use),
		NET_TEST(reading_ends_at_the_deadline),
		NET_TEST(writing_ends_at_the_deadline),
		NET_TEST(a_peer_that_leaves_is_econnreset),
		cmocka_unit_test(listening_everywhere_reaches_ipv4),
		cmocka_unit_test(own_addresses_leave_out_loopback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
