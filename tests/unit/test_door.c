/* SPDX-License-Identifier: BSD-3-Clause */
/* Who waits at the door, and who has to go when it is crowded. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/net.h"
#include "lib/base/str.h"
#include "probes/engine/net/door.h"

#define RUN  "00112233445566778899aabbccddeeff"
#define ROOM  258	/* when one is expected */
#define CROWD 400

static const uint8_t secret[AUTH_BYTES] = "a secret of thirty-two bytes...";

struct hall {
	uv_loop_t loop;
	struct door *door;
	struct auth auth;
	int guests, strangers;
	char last[200];		/* of what was said of strangers */
};

static void guest(uv_tcp_t *tcp, const uint8_t *task,
		  const struct auth_session *keys, void *arg)
{
	struct hall *h = arg;

	(void)task;
	(void)keys;
	h->guests++;
	door_drop(tcp);
}

static void stranger(const char *text, void *arg)
{
	struct hall *h = arg;

	h->strangers++;
	str_copy(h->last, sizeof(h->last), text);
}

static void open_hall(struct hall *h)
{
	*h = (struct hall){ 0 };
	uv_loop_init(&h->loop);
	assert_int_equal(auth_set(&h->auth, AUTH_CONTROL, secret, RUN, NULL),
			 0);
	h->door = door_open(&h->loop,
			    net_listen(true, (struct net_ports){ 0 }, NULL), 1,
			    &h->auth, guest, stranger, h, NULL);
	assert_non_null(h->door);
}

static void close_hall(struct hall *h)
{
	door_close(h->door);
	uv_run(&h->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&h->loop), 0);
}

/* What has come is served. */
static void serve(struct hall *h)
{
	for (int i = 0; i < 20; i++) {
		uv_run(&h->loop, UV_RUN_NOWAIT);
	}
}

/* A connection from 127.0.0.@from; the socket. */
static int come(const struct hall *h, int from)
{
	struct sockaddr_in here = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(0x7f000000u +
							     (uint32_t)from) };
	struct sockaddr_in there = { .sin_family = AF_INET,
				     .sin_port = htons(door_port(h->door)),
				     .sin_addr.s_addr =
					     htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&here, sizeof(here)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&there, sizeof(there)),
			 0);
	return fd;
}

/* The first half of a handshake at @fd, of one who knows the secret. */
static void greet(struct hall *h, int fd, uint8_t proof[AUTH_BYTES])
{
	const int64_t deadline = clock_now_ns() + 10 * NS_PER_S;
	const uint16_t port = htons(door_port(h->door));
	struct auth_talk t;

	memcpy(t.port, &port, sizeof(port));
	auth_greet(&h->auth, NULL, &t);
	assert_int_equal(net_write_all(fd, &t.hello, sizeof(t.hello), deadline,
				       NULL), 0);
	serve(h);
	assert_int_equal(net_read_all(fd, &t.answer, sizeof(t.answer), deadline,
				      NULL), 0);
	assert_int_equal(auth_prove(&h->auth, &t, proof, NULL), 0);
}

/* The second half. */
static void prove(int fd, const uint8_t proof[AUTH_BYTES])
{
	assert_int_equal(send(fd, proof, AUTH_BYTES, MSG_NOSIGNAL),
			 AUTH_BYTES);
}

/* @n connections from 127.0.0.2; the sockets. */
static void crowd(struct hall *h, int *fds, int n)
{
	for (int i = 0; i < n; i++) {
		fds[i] = come(h, 2);
		if (i % 100 == 99) {
			serve(h);
		}
	}
	serve(h);
}

static void leave(int *fds, int n)
{
	for (int i = 0; i < n; i++) {
		close(fds[i]);
	}
}

static void a_crowd_from_one_place_crowds_out_itself(void **state)
{
	uint8_t proof[AUTH_BYTES];
	struct hall h;
	int honest, fds[CROWD];

	(void)state;
	open_hall(&h);
	honest = come(&h, 1);	/* the oldest of all */
	serve(&h);
	crowd(&h, fds, CROWD);
	assert_int_equal(h.strangers, 20);	/* of more that had to go */
	greet(&h, honest, proof);
	prove(honest, proof);
	serve(&h);
	assert_int_equal(h.guests, 1);
	close_hall(&h);
	/* and each was counted */
	assert_non_null(strstr(h.last, "refused 400 connections"));
	close(honest);
	leave(fds, CROWD);
}

static void who_has_spoken_is_heard_before_it_has_to_go(void **state)
{
	uint8_t proof[AUTH_BYTES];
	int honest, late, fds[ROOM];
	struct hall h;

	(void)state;
	open_hall(&h);
	honest = come(&h, 2);
	serve(&h);
	greet(&h, honest, proof);
	crowd(&h, fds, ROOM - 1);	/* now it is full */
	assert_int_equal(h.strangers, 0);
	late = come(&h, 2);		/* which is seen before the proof */
	prove(honest, proof);
	serve(&h);
	assert_int_equal(h.guests, 1);
	assert_int_equal(h.strangers, 0);
	close_hall(&h);
	close(late);
	close(honest);
	leave(fds, ROOM - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_crowd_from_one_place_crowds_out_itself),
		cmocka_unit_test(who_has_spoken_is_heard_before_it_has_to_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
