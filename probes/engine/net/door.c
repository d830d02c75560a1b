/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/net/door.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/net.h"

#define DOOR_PATIENCE	(5 * NS_PER_S)
#define DOOR_MARGIN	256 /* room beyond twice those that are expected */
#define DOOR_TURN	64  /* taken in a turn of the loop, then they are
			     * read */
#define DOOR_STRANGERS	20  /* that are reported */
#define DOOR_TICK_MS	500

/* Where visitors come from. */
struct source {
	struct source *next;
	struct ip_addr ip;
	int waiting;
};

/* A peer that has connected and not yet proved that it knows the secret. */
struct visitor {
	uv_tcp_t *tcp;
	struct door *door;
	struct source *from;
	struct visitor *next;	/* younger */
	int64_t deadline_ns;
	struct auth_visit said;
};

struct door {
	int fd;
	uv_poll_t knocks;
	uv_timer_t timer;
	int open_handles;
	bool closing;
	uint16_t port;
	struct auth auth;
	door_guest_fn on_guest;
	door_stranger_fn on_stranger;
	void *arg;
	struct visitor *oldest, **end;	/* by deadline */
	int n_waiting, room;
	struct source *sources;		/* of those */
	int strangers;
};

void door_nonce(char hex[2 * AUTH_ID_BYTES + 1])
{
	/* one call to the kernel for each task would cost as much as the
	 * task */
	static uint8_t raw[32 * AUTH_ID_BYTES];
	static size_t left;

	if (left == 0) {
		randombytes_buf(raw, sizeof(raw));
		left = sizeof(raw);
	}
	left -= AUTH_ID_BYTES;
	hash_hex(raw + left, AUTH_ID_BYTES, hex);
}

static void door_freed(uv_handle_t *h)
{
	free(h);
}

void door_drop(uv_tcp_t *tcp)
{
	uv_close((uv_handle_t *)tcp, door_freed);
}

/* ---- visitors ----------------------------------------------------------- */

/* Puts @v at the end of the line, with as much time as any visitor has. */
static void line_up(struct visitor *v)
{
	struct door *d = v->door;

	v->deadline_ns = clock_now_ns() + DOOR_PATIENCE;
	v->next = NULL;
	*d->end = v;
	d->end = &v->next;
}

static void step_out(struct visitor *v)
{
	struct door *d = v->door;
	struct visitor **at = &d->oldest;

	while (*at != v) {
		at = &(*at)->next;
	}
	*at = v->next;
	if (*at == NULL) {
		d->end = at;
	}
}

/* It waits no more, and is freed; its connection lives on. */
static void visitor_forget(struct visitor *v)
{
	struct door *d = v->door;
	struct source **at = &d->sources, *from = v->from;

	step_out(v);
	d->n_waiting--;
	free(v);
	if (--from->waiting > 0) {
		return;
	}
	while (*at != from) {
		at = &(*at)->next;
	}
	*at = from->next;
	free(from);
}

static void visitor_refuse(struct visitor *v, const char *why)
{
	struct door *d = v->door;
	struct sockaddr_storage sa;
	int len = sizeof(sa);
	char from[NET_ADDR_TEXT], text[200];

	ip_text(&v->from->ip, from, sizeof(from));
	if (uv_tcp_getpeername(v->tcp, (struct sockaddr *)&sa, &len) == 0) {
		net_addr_text((struct sockaddr *)&sa, from, sizeof(from));
	}
	snprintf(text, sizeof(text), "%s port: %s %s",
		 d->auth.kind == AUTH_DATA ? "data" : "control", from, why);
	door_drop(v->tcp);
	visitor_forget(v);
	/* the last word here: the door may be closed in it */
	if (d->strangers++ < DOOR_STRANGERS) {
		d->on_stranger(text, d->arg);
	}
}

static void visitor_alloc(uv_handle_t *h, size_t hint, uv_buf_t *buf)
{
	struct visitor *v = h->data;
	size_t n;
	void *into = auth_visit_room(&v->said, &n);

	(void)hint;
	*buf = uv_buf_init(into, (unsigned)n);
}

/* @n bytes have come; but for AUTH_WAIT and AUTH_ANSWER it is gone then. */
static enum auth_step visitor_heard(struct visitor *v, size_t n)
{
	struct door *d = v->door;
	const struct auth_hello hello = v->said.talk.hello;
	uv_buf_t buf = uv_buf_init((char *)&v->said.talk.answer,
				   sizeof(v->said.talk.answer));
	uv_tcp_t *tcp = v->tcp;
	struct auth_session keys;
	const char *why;
	enum auth_step step = auth_visit_heard(&v->said, &d->auth, n, &why);

	/* our proof goes out; nothing has been sent before: there is room */
	if (step == AUTH_ANSWER &&
	    uv_try_write((uv_stream_t *)tcp, &buf, 1) != (int)buf.len) {
		step = AUTH_REFUSED;
		why = "does not take our answer";
	}
	if (step == AUTH_ANSWER) {
		step_out(v);
		line_up(v);
	} else if (step == AUTH_PROVED) {
		auth_session(&d->auth, &v->said.talk, true, &keys);
		uv_read_stop((uv_stream_t *)tcp);
		visitor_forget(v);
		d->on_guest(tcp, hello.task, &keys, d->arg);
		explicit_bzero(&keys, sizeof(keys));
	} else if (step == AUTH_REFUSED) {
		visitor_refuse(v, why);
	}
	return step;
}

static void visitor_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
	(void)buf;
	if (n < 0) {
		visitor_refuse(s->data, "disconnected without a proof");
	} else {
		visitor_heard(s->data, (size_t)n);
	}
}

/*
 * Its time or its place is up.  What it has said meanwhile counts first: it may
 * be we who were late.  Afterwards it is gone, or has our answer only now and
 * is the last in the line.
 */
static void visitor_end(struct visitor *v, const char *why)
{
	enum auth_step step = AUTH_WAIT;
	uv_os_fd_t fd = -1;

	uv_fileno((uv_handle_t *)v->tcp, &fd);
	while (step == AUTH_WAIT) {
		size_t room;
		void *into = auth_visit_room(&v->said, &room);
		ssize_t n = recv(fd, into, room, MSG_DONTWAIT);

		if (n <= 0) {
			visitor_refuse(v, why);
			return;
		}
		step = visitor_heard(v, (size_t)n);
	}
}

/* ---- the door ----------------------------------------------------------- */

/* Room for one more: whoever has waited longest of those where most come
 * from. */
static void make_room(struct door *d)
{
	struct source *most = d->sources;
	struct visitor *v = d->oldest;

	for (struct source *s = most; s != NULL; s = s->next) {
		most = s->waiting > most->waiting ? s : most;
	}
	while (v->from != most) {
		v = v->next;
	}
	visitor_end(v, "closed without a proof: too many pending connections");
}

/* @fd has connected; false without memory: it is the caller's to close. */
static bool visitor_new(struct door *d, int fd, const struct sockaddr *sa)
{
	const struct ip_addr ip = ip_of_sockaddr(sa);
	const uint16_t port = htons(d->port);
	struct visitor *v = calloc(1, sizeof(*v));
	uv_tcp_t *tcp = calloc(1, sizeof(*tcp));
	struct source *from = d->sources;

	while (from != NULL && !ip_equal(&from->ip, &ip)) {
		from = from->next;
	}
	if (from == NULL && v != NULL && tcp != NULL &&
	    (from = calloc(1, sizeof(*from))) != NULL) {
		*from = (struct source){ .next = d->sources, .ip = ip };
		d->sources = from;
	}
	if (from == NULL || v == NULL || tcp == NULL) {
		free(v);
		free(tcp);
		return false;
	}
	*v = (struct visitor){ .tcp = tcp, .door = d, .from = from };
	memcpy(v->said.talk.port, &port, sizeof(port));
	from->waiting++;
	d->n_waiting++;
	line_up(v);
	tcp->data = v;
	uv_tcp_init(d->timer.loop, tcp);
	if (uv_tcp_open(tcp, fd) < 0) {
		door_drop(tcp);
		visitor_forget(v);
		return false;
	}
	uv_tcp_nodelay(tcp, 1);
	uv_read_start((uv_stream_t *)tcp, visitor_alloc, visitor_read);
	return true;
}

/* Accepts the next connection; false if there is none now. */
static bool take_one(struct door *d)
{
	struct sockaddr_storage sa = { 0 };
	socklen_t len = sizeof(sa);
	int fd;

	fd = accept4(d->fd, (struct sockaddr *)&sa, &len,
		     SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0) {
		if (!visitor_new(d, fd, (struct sockaddr *)&sa)) {
			close(fd);
		}
		while (!d->closing && d->n_waiting > d->room) {
			make_room(d);
		}
		return true;
	}
	if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) {
		return errno != EAGAIN;
	}
	/* no descriptor or no memory is left */
	if (d->n_waiting > 0) {
		make_room(d);
	} else {
		uv_poll_stop(&d->knocks);	/* until the next tick */
	}
	return false;
}

static void door_knock(uv_poll_t *p, int status, int events)
{
	struct door *d = p->data;
	int turn = 0;

	(void)status;
	(void)events;
	while (!d->closing && turn < DOOR_TURN && take_one(d)) {
		turn++;
	}
}

static void door_tick(uv_timer_t *t)
{
	struct door *d = t->data;
	int64_t now = clock_now_ns();

	while (!d->closing && d->oldest != NULL &&
	       d->oldest->deadline_ns < now) {
		visitor_end(d->oldest, "sent no proof in time");
	}
	if (!d->closing) {
		uv_poll_start(&d->knocks, UV_READABLE, door_knock);
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
	char text[100];

	if (d == NULL || d->closing) {
		return;
	}
	d->closing = true;
	while (d->oldest != NULL) {
		if (!d->oldest->said.answered) {
			visitor_refuse(d->oldest, "had said nothing of use");
			continue;
		}
		door_drop(d->oldest->tcp);
		visitor_forget(d->oldest);
	}
	uv_close((uv_handle_t *)&d->knocks, door_handle_closed);
	uv_close((uv_handle_t *)&d->timer, door_handle_closed);
	close(d->fd);
	if (d->strangers > DOOR_STRANGERS) {
		snprintf(text, sizeof(text),
			 "%s port: refused %d connections, of which %d are "
			 "listed",
			 d->auth.kind == AUTH_DATA ? "data" : "control",
			 d->strangers, DOOR_STRANGERS);
		d->on_stranger(text, d->arg);
	}
}

struct door *door_open(uv_loop_t *loop, int fd, int expected,
		       const struct auth *a, door_guest_fn on_guest,
		       door_stranger_fn on_stranger, void *arg, struct err *e)
{
	struct door *d = calloc(1, sizeof(*d));
	int rc;

	if (d == NULL) {
		close(fd);
		err_set(e, ENOMEM, "no memory for a listening socket");
		return NULL;
	}
	*d = (struct door){
		.fd = fd,
		.port = net_port(fd),
		.auth = *a,
		.on_guest = on_guest,
		.on_stranger = on_stranger,
		.arg = arg,
		.open_handles = 2,
		.end = &d->oldest,
		.room = 2 * expected + DOOR_MARGIN,
	};
	rc = uv_poll_init(loop, &d->knocks, fd);
	if (rc < 0) {
		err_set(e, -rc, "cannot watch port %u", d->port);
		close(fd);
		free(d);
		return NULL;
	}
	uv_timer_init(loop, &d->timer);
	d->timer.data = d->knocks.data = d;
	uv_poll_start(&d->knocks, UV_READABLE, door_knock);
	uv_timer_start(&d->timer, door_tick, DOOR_TICK_MS, DOOR_TICK_MS);
	return d;
}

uint16_t door_port(const struct door *d)
{
	return d->port;
}
