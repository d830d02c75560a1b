/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/net/door.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/net.h"

#define DOOR_PATIENCE	(2 * NS_PER_S)
#define DOOR_MAX_WAITING 64
#define DOOR_BACKLOG	512
#define DOOR_STRANGERS	 20 /* that are reported */

/* Somebody who has connected and not yet proved who it is. */
struct visitor {
	uv_tcp_t *tcp;
	struct door *door;
	struct visitor *next;
	int64_t deadline_ns;
	struct auth_visit said;
};

struct door {
	uv_tcp_t listener;
	uv_timer_t timer;
	int open_handles;
	bool closing;
	uint16_t port;
	struct auth auth;
	door_guest_fn on_guest;
	door_stranger_fn on_stranger;
	void *arg;
	struct visitor *waiting;	/* newest first */
	int n_waiting;
	int strangers;
};

void door_nonce(char hex[2 * AUTH_ID_BYTES + 1])
{
	uint8_t raw[AUTH_ID_BYTES];

	auth_random(raw, sizeof(raw));
	hash_hex(raw, sizeof(raw), hex);
}

/* The first half of a handshake is written, @t has its first message. */
static int finish_dial(int fd, struct auth *a, struct auth_talk *t,
		       int64_t deadline_ns, struct err *e)
{
	uint8_t proof[AUTH_BYTES];
	/* the port of IPv6 is in the same place */
	struct sockaddr_in to = { 0 };
	socklen_t len = sizeof(to);

	if (net_read_all(fd, &t->answer, sizeof(t->answer), deadline_ns, e) <
	    0) {
		return -1;
	}
	getpeername(fd, (struct sockaddr *)&to, &len);
	memcpy(t->port, &to.sin_port, sizeof(t->port));
	return auth_prove(a, t, proof, e) < 0
		       ? -1
		       : net_write_all(fd, proof, sizeof(proof), deadline_ns,
				       e);
}

int door_dial(const char *addr, struct auth *a,
	      const uint8_t task[AUTH_ID_BYTES], struct auth_session *s,
	      int64_t deadline_ns, struct err *e)
{
	struct auth_talk t;
	int fd = net_connect(addr, deadline_ns, e);

	if (fd < 0) {
		return -1;
	}
	auth_greet(a, task, &t);
	if (net_write_all(fd, &t.hello, sizeof(t.hello), deadline_ns, e) < 0 ||
	    finish_dial(fd, a, &t, deadline_ns, e) < 0) {
		close(fd);
		return -1;
	}
	if (s) {
		auth_session(a, &t, false, s);
	}
	return fd;
}

static void door_freed(uv_handle_t *h)
{
	free(h);
}

void door_drop(uv_tcp_t *tcp)
{
	uv_close((uv_handle_t *)tcp, door_freed);
}

/* Take @v off the waiting list and free it; its connection lives on. */
static void visitor_forget(struct visitor *v)
{
	struct visitor **at = &v->door->waiting;

	while (*at != v) {
		at = &(*at)->next;
	}
	*at = v->next;
	v->door->n_waiting--;
	free(v);
}

static void visitor_refuse(struct visitor *v, const char *why)
{
	struct door *d = v->door;
	struct sockaddr_storage sa;
	int len = sizeof(sa);
	char from[NET_ADDR_TEXT] = "?", text[200];

	if (uv_tcp_getpeername(v->tcp, (struct sockaddr *)&sa, &len) == 0) {
		net_addr_text((struct sockaddr *)&sa, from, sizeof(from));
	}
	snprintf(text, sizeof(text), "%s port: %s %s",
		 d->auth.kind == AUTH_DATA ? "data" : "control", from, why);
	if (d->strangers++ < DOOR_STRANGERS) {
		d->on_stranger(text, d->arg);
	}
	door_drop(v->tcp);
	visitor_forget(v);
}

static void visitor_alloc(uv_handle_t *h, size_t hint, uv_buf_t *buf)
{
	struct visitor *v = h->data;
	size_t n;
	void *into = auth_visit_room(&v->said, &n);

	(void)hint;
	*buf = uv_buf_init(into, (unsigned)n);
}

/* Our proof goes out; nothing has been sent before: there is room. */
static bool visitor_answer(struct visitor *v)
{
	uv_buf_t buf = uv_buf_init((char *)&v->said.talk.answer,
				   sizeof(v->said.talk.answer));

	return uv_try_write((uv_stream_t *)v->tcp, &buf, 1) == (int)buf.len;
}

static void visitor_enter(struct visitor *v)
{
	struct door *d = v->door;
	const struct auth_hello hello = v->said.talk.hello;
	uv_tcp_t *tcp = v->tcp;
	struct auth_session keys;

	auth_session(&d->auth, &v->said.talk, true, &keys);
	uv_read_stop((uv_stream_t *)tcp);
	visitor_forget(v);
	d->on_guest(tcp, hello.task, &keys, d->arg);
	explicit_bzero(&keys, sizeof(keys));
}

static void visitor_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
	struct visitor *v = s->data;
	const char *why;

	(void)buf;
	if (n < 0) {
		visitor_refuse(v, "disconnected without a proof");
		return;
	}
	switch (auth_visit_heard(&v->said, &v->door->auth, (size_t)n, &why)) {
	case AUTH_WAIT:
		break;
	case AUTH_ANSWER:
		if (!visitor_answer(v)) {
			visitor_refuse(v, "does not take our answer");
		}
		break;
	case AUTH_PROVED:
		visitor_enter(v);
		break;
	case AUTH_REFUSED:
		visitor_refuse(v, why);
	}
}

static void door_knock(uv_stream_t *server, int status)
{
	struct door *d = server->data;
	const uint16_t port = htons(d->port);
	struct visitor *v;
	uv_tcp_t *tcp;

	if (status < 0) {
		return;
	}
	if (d->n_waiting >= DOOR_MAX_WAITING) {
		struct visitor *oldest = d->waiting;

		while (oldest->next != NULL) {
			oldest = oldest->next;
		}
		visitor_refuse(oldest, "closed without a proof: too many "
				       "pending connections");
	}
	v = calloc(1, sizeof(*v));
	tcp = calloc(1, sizeof(*tcp));
	if (v == NULL || tcp == NULL || uv_tcp_init(server->loop, tcp) < 0) {
		free(tcp);
		free(v);
		return;
	}
	if (uv_accept(server, (uv_stream_t *)tcp) < 0) {
		door_drop(tcp);
		free(v);
		return;
	}
	*v = (struct visitor){
		.tcp = tcp,
		.door = d,
		.deadline_ns = clock_now_ns() + DOOR_PATIENCE,
		.next = d->waiting,
	};
	memcpy(v->said.talk.port, &port, sizeof(port));
	tcp->data = d->waiting = v;
	d->n_waiting++;
	uv_tcp_nodelay(tcp, 1);
	uv_read_start((uv_stream_t *)tcp, visitor_alloc, visitor_read);
}

static void door_tick(uv_timer_t *t)
{
	struct door *d = t->data;
	int64_t now = clock_now_ns();
	struct visitor *next;

	for (struct visitor *v = d->waiting; v != NULL; v = next) {
		next = v->next;
		if (v->deadline_ns < now) {
			visitor_refuse(v, "sent no proof in time");
		}
	}
}

static void door_handle_closed(uv_handle_t *h)
{
	struct door *d = h->data;

	if (--d->open_handles == 0) {
		explicit_bzero(&d->auth, sizeof(d->auth));
		free(d);
	}
}

void door_close(struct door *d)
{
	if (d == NULL || d->closing) {
		return;
	}
	d->closing = true;
	while (d->waiting != NULL) {
		door_drop(d->waiting->tcp);
		visitor_forget(d->waiting);
	}
	uv_close((uv_handle_t *)&d->listener, door_handle_closed);
	uv_close((uv_handle_t *)&d->timer, door_handle_closed);
}

struct door *door_open(uv_loop_t *loop, bool loopback, uint16_t port,
		       const struct auth *a, door_guest_fn on_guest,
		       door_stranger_fn on_stranger, void *arg, struct err *e)
{
	struct door *d;
	int fd, rc;

	fd = net_listen(loopback, &port, e);
	if (fd < 0) {
		return NULL;
	}
	d = calloc(1, sizeof(*d));
	if (d == NULL) {
		err_set(e, ENOMEM, "no memory for a listening socket");
		close(fd);
		return NULL;
	}
	*d = (struct door){
		.port = port,
		.auth = *a,
		.on_guest = on_guest,
		.on_stranger = on_stranger,
		.arg = arg,
		.open_handles = 2,
	};
	uv_timer_init(loop, &d->timer);
	uv_tcp_init(loop, &d->listener);
	d->timer.data = d->listener.data = d;
	rc = uv_tcp_open(&d->listener, fd);
	if (rc < 0) {
		close(fd);
	} else {
		rc = uv_listen((uv_stream_t *)&d->listener, DOOR_BACKLOG,
			       door_knock);
	}
	if (rc < 0) {
		err_set(e, -rc, "cannot listen");
		door_close(d);
		return NULL;
	}
	uv_timer_start(&d->timer, door_tick, 500, 500);
	return d;
}

uint16_t door_port(const struct door *d)
{
	return d->port;
}
