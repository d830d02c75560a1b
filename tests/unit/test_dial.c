/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of many addresses is the one: those of other networks say nothing, and
 * on some of them somebody else listens. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/net.h"
#include "lib/base/str.h"
#include "probes/engine/net/door.h"

#define RUN "00112233445566778899aabbccddeeff"

static const uint8_t ours[AUTH_BYTES] = "a secret of thirty-two bytes...";
static const uint8_t theirs[AUTH_BYTES] = "and one of somebody else's.....";

/* A door, and the thread that sees to it. */
struct hall {
	uv_loop_t loop;
	uv_async_t end;
	pthread_t thread;
	struct door *door;
	char addr[NET_ADDR_TEXT];
	int guests, strangers;
	struct auth_session keys;	/* of the last guest */
};

static void guest(uv_tcp_t *tcp, const uint8_t *task,
		  const struct auth_session *keys, void *arg)
{
	struct hall *h = arg;

	(void)task;
	h->guests++;
	h->keys = *keys;
	door_drop(tcp);
}

static void stranger(const char *text, void *arg)
{
	struct hall *h = arg;

	(void)text;
	h->strangers++;
}

static void close_door(uv_async_t *end)
{
	struct hall *h = end->data;

	door_close(h->door);
	uv_close((uv_handle_t *)end, NULL);
}

static void *serve(void *arg)
{
	struct hall *h = arg;

	uv_run(&h->loop, UV_RUN_DEFAULT);
	return NULL;
}

static void open_hall(struct hall *h, const uint8_t secret[AUTH_BYTES])
{
	struct auth auth;

	*h = (struct hall){ 0 };
	uv_loop_init(&h->loop);
	uv_async_init(&h->loop, &h->end, close_door);
	h->end.data = h;
	assert_int_equal(auth_set(&auth, AUTH_CONTROL, secret, RUN, NULL), 0);
	h->door = door_open(&h->loop,
			    net_listen(true, (struct net_ports){ 0 }, NULL), 1,
			    &auth, guest, stranger, h, NULL);
	assert_non_null(h->door);
	snprintf(h->addr, sizeof(h->addr), "127.0.0.1:%u",
		 door_port(h->door));
	assert_int_equal(pthread_create(&h->thread, NULL, serve, h), 0);
}

static void close_hall(struct hall *h)
{
	uv_async_send(&h->end);
	pthread_join(h->thread, NULL);
	assert_int_equal(uv_loop_close(&h->loop), 0);
}

/* A socket that listens on all of 127/8 and takes no connection: with nobody
 * in its queue the kernel takes one; with somebody there it drops all others
 * without a word, as where a network does not lead. */
struct hole {
	int fd, stuck[4];
	uint16_t port;
};

static void dig(struct hole *h, int n_stuck)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	socklen_t len = sizeof(any);

	h->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(h->fd, (struct sockaddr *)&any, len), 0);
	assert_int_equal(listen(h->fd, n_stuck > 0 ? 0 : 64), 0);
	getsockname(h->fd, (struct sockaddr *)&any, &len);
	h->port = ntohs(any.sin_port);
	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int i = 0; i < 4; i++) {
		h->stuck[i] = -1;
		if (i < n_stuck) {
			h->stuck[i] = socket(AF_INET, SOCK_STREAM |
					     SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
			connect(h->stuck[i], (struct sockaddr *)&any, len);
		}
	}
}

static void fill_in(struct hole *h)
{
	for (int i = 0; i < 4; i++) {
		if (h->stuck[i] >= 0) {
			close(h->stuck[i]);
		}
	}
	close(h->fd);
}

/* @n addresses of it. */
static void addresses(const struct hole *h, char addrs[][NET_ADDR_TEXT], int n)
{
	for (int i = 0; i < n; i++) {
		snprintf(addrs[i], NET_ADDR_TEXT, "127.0.0.%d:%u", i + 2,
			 h->port);
	}
}

static int64_t in_s(int s)
{
	return clock_now_ns() + s * NS_PER_S;
}

static int dial(char addrs[][NET_ADDR_TEXT], int n, struct auth_session *keys,
		int connect_s, struct err *e)
{
	struct auth auth;

	assert_int_equal(auth_set(&auth, AUTH_CONTROL, ours, RUN, NULL), 0);
	return door_dial(addrs, n, &auth, NULL, keys, in_s(connect_s),
			 in_s(connect_s + 5), e);
}

/* Two seconds for each of the 31, one after the other, are 62. */
static void thirty_one_dead_addresses_cost_little(void **state)
{
	char addrs[NET_MAX_ADDRS][NET_ADDR_TEXT];
	struct auth_session keys;
	const int n = NET_MAX_ADDRS;
	struct hole dead;
	struct hall h;
	int64_t since;
	int fd;

	(void)state;
	dig(&dead, 4);
	open_hall(&h, ours);
	addresses(&dead, addrs, n - 1);
	STR_COPY(addrs[n - 1], h.addr);
	since = clock_now_ns();
	fd = dial(addrs, n, &keys, 30, NULL);
	print_message("the last of %d addresses is found in %.2f s\n", n,
		      (double)(clock_now_ns() - since) / 1e9);
	assert_true(fd >= 0);
	close_hall(&h);
	assert_int_equal(h.guests, 1);
	assert_int_equal(h.strangers, 0);
	assert_memory_equal(keys.out, h.keys.in, sizeof(keys.out));
	assert_memory_equal(keys.in, h.keys.out, sizeof(keys.in));
	close(fd);
	fill_in(&dead);
}

/* It listens where we look for ours, takes the connection, and even answers. */
static void who_cannot_prove_it_does_not_win(void **state)
{
	char addrs[3][NET_ADDR_TEXT];
	struct hall wrong, right;
	struct hole silent;
	struct err e = { 0 };
	int fd;

	(void)state;
	dig(&silent, 0);
	open_hall(&wrong, theirs);
	open_hall(&right, ours);
	STR_COPY(addrs[0], wrong.addr);
	addresses(&silent, &addrs[1], 1);
	STR_COPY(addrs[2], right.addr);
	fd = dial(addrs, 3, NULL, 30, NULL);
	assert_true(fd >= 0);
	close(fd);
	/* alone it is no more believed */
	assert_int_equal(dial(addrs, 1, NULL, 30, &e), -1);
	assert_int_equal(e.code, EPROTO);
	STR_COPY(addrs[1], addrs[0]);
	STR_COPY(addrs[0], "127.0.0.1:1");	/* refused, which says less */
	assert_int_equal(dial(addrs, 2, NULL, 30, &e), -1);
	assert_int_equal(e.code, EPROTO);
	close_hall(&wrong);
	close_hall(&right);
	assert_int_equal(wrong.guests, 0);
	assert_int_equal(right.guests, 1);
	fill_in(&silent);
}

static void where_all_refuse_nobody_waits(void **state)
{
	char addrs[3][NET_ADDR_TEXT];
	struct hole h;
	struct err e;

	(void)state;
	dig(&h, 0);
	fill_in(&h);
	addresses(&h, addrs, 3);
	/* the deadline of the test is that of its run */
	assert_int_equal(dial(addrs, 3, NULL, 3600, &e), -1);
	assert_int_equal(e.code, ECONNREFUSED);
	assert_non_null(strstr(e.text, addrs[0]));
	assert_non_null(strstr(e.text, "3 addresses"));
	assert_int_equal(dial(addrs, 1, NULL, 3600, &e), -1);
	assert_null(strstr(e.text, "3 addresses"));
}

static void silence_ends_at_the_deadline(void **state)
{
	char addrs[2][NET_ADDR_TEXT];
	struct hole dead, mute;
	struct auth auth;
	struct err e;

	(void)state;
	dig(&dead, 4);
	addresses(&dead, addrs, 2);
	assert_int_equal(dial(addrs, 2, NULL, 0, &e), -1);
	assert_int_equal(e.code, ETIMEDOUT);
	assert_true(str_starts(e.text, "cannot connect to 127.0.0.2:"));
	fill_in(&dead);
	/* and of one that takes the connection */
	dig(&mute, 0);
	addresses(&mute, addrs, 1);
	auth_set(&auth, AUTH_CONTROL, ours, RUN, NULL);
	assert_int_equal(door_dial(addrs, 1, &auth, NULL, NULL, in_s(60),
				   clock_now_ns() + 50 * NS_PER_MS, &e), -1);
	assert_int_equal(e.code, ETIMEDOUT);
	assert_true(str_starts(e.text, "no proof came from 127.0.0.2:"));
	fill_in(&mute);
}

static void a_name_is_all_its_addresses(void **state)
{
	char addrs[1][NET_ADDR_TEXT];
	int fd, nodelay = 0;
	socklen_t size = sizeof(nodelay);
	struct err e;
	struct hall h;

	(void)state;
	open_hall(&h, ours);	/* not on ::1, which localhost may be as well */
	snprintf(addrs[0], sizeof(addrs[0]), "localhost:%u",
		 door_port(h.door));
	fd = dial(addrs, 1, NULL, 30, NULL);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &nodelay, &size);
	assert_true(nodelay);
	close(fd);
	close_hall(&h);
	STR_COPY(addrs[0], "nobody.invalid:80");
	assert_int_equal(dial(addrs, 1, NULL, 30, &e), -1);
	assert_non_null(strstr(e.text, "nobody.invalid"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thirty_one_dead_addresses_cost_little),
		cmocka_unit_test(who_cannot_prove_it_does_not_win),
		cmocka_unit_test(where_all_refuse_nobody_waits),
		cmocka_unit_test(silence_ends_at_the_deadline),
		cmocka_unit_test(a_name_is_all_its_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
