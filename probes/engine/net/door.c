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

#define DOOR_MAGIC	"GPUCHK1\n"
#define DOOR_PATIENCE	(2 * NS_PER_S)
#define DOOR_MAX_WAITING 64
#define DOOR_BACKLOG	512
#define DOOR_STRANGERS	 20 /* that are reported */

_Static_assert(sizeof(struct door_hello) == 64, "the hello is 64 bytes");

/* Somebody who has connected and not yet shown a whole hello. */
struct visitor {
	uv_tcp_t *tcp;
	struct door *door;
	struct visitor *next;
	int64_t deadline_ns;
	size_t got;
	struct door_hello hello;
};

struct door {
	uv_tcp_t listener;
	uv_timer_t timer;
	int open_handles;
	bool closing;
	uint16_t port;
	enum door_kind kind;
	uint8_t token[BOOT_TOKEN_BYTES];
	door_guest_fn on_guest;
	door_stranger_fn on_stranger;
	void *arg;
	struct visitor *waiting;	/* newest first */
	int n_waiting;
	int strangers;
};

void door_nonce(char hex[2 * DOOR_NONCE_BYTES + 1])
{
	uint8_t raw[DOOR_NONCE_BYTES];

	if (hash_random(raw, sizeof(raw)) < 0) {
		memset(raw, 0, sizeof(raw));	/* the token still guards */
	}
	hash_hex(raw, sizeof(raw), hex);
}

int door_dial(const char *addr, enum door_kind kind,
	      const uint8_t token[BOOT_TOKEN_BYTES],
	      const uint8_t nonce[DOOR_NONCE_BYTES], int64_t deadline_ns,
	      struct err *e)
{
	struct door_hello h = {.kind = (uint8_t)kind};
	int fd = net_connect(addr, deadline_ns, e);

	memcpy(h.magic, DOOR_MAGIC, sizeof(h.magic));
	memcpy(h.token, token, sizeof(h.token));
	if (nonce != NULL) {
		memcpy(h.nonce, nonce, sizeof(h.nonce));
	}
	if (fd >= 0 && net_write_all(fd, &h, sizeof(h), deadline_ns, e) < 0) {
		close(fd);
		return -1;
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
		 d->kind == DOOR_DATA ? "data" : "control", from, why);
	if (d->strangers++ < DOOR_STRANGERS) {
		d->on_stranger(text, d->arg);
	}
	door_drop(v->tcp);
	visitor_forget(v);
}

static void visitor_alloc(uv_handle_t *h, size_t hint, uv_buf_t *buf)
{
	struct visitor *v = h->data;

	(void)hint;
	*buf = uv_buf_init((char *)&v->hello + v->got,
			   (unsigned)(sizeof(v->hello) - v->got));
}

/* What is wrong with as much of the hello as has come, NULL: nothing. */
static const char *hello_fault(const struct visitor *v)
{
	const struct door_hello *h = &v->hello;
	const struct door *d = v->door;

	if (v->got >= sizeof(h->magic) &&
	    memcmp(h->magic, DOOR_MAGIC, sizeof(h->magic)) != 0) {
		return "not gpucheck's protocol";
	}
	if (v->got < sizeof(*h)) {
		return NULL;
	}
	if (!hash_equal(h->token, d->token, BOOT_TOKEN_BYTES)) {
		return "wrong token";
	}
	return h->kind != d->kind ? "wrong kind of connection" : NULL;
}

static void visitor_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
	struct visitor *v = s->data;
	const struct door_hello hello = v->hello;
	const struct door *d = v->door;
	uv_tcp_t *tcp = v->tcp;
	const char *why = "disconnected without a hello";

	(void)buf;
	if (n >= 0) {
		v->got += (size_t)n;
		why = hello_fault(v);
	}
	if (why != NULL) {
		visitor_refuse(v, why);
	} else if (v->got == sizeof(hello)) {
		uv_read_stop(s);
		visitor_forget(v);
		d->on_guest(tcp, &hello, d->arg);
	}
}

static void door_knock(uv_stream_t *server, int status)
{
	struct door *d = server->data;
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
		visitor_refuse(oldest, "closed without a hello: too many "
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
			visitor_refuse(v, "sent no hello in time");
		}
	}
}

static void door_handle_closed(uv_handle_t *h)
{
	struct door *d = h->data;

	if (--d->open_handles == 0) {
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
		       enum door_kind kind,
		       const uint8_t token[BOOT_TOKEN_BYTES],
		       door_guest_fn on_guest, door_stranger_fn on_stranger,
		       void *arg, struct err *e)
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
		.kind = kind,
		.on_guest = on_guest,
		.on_stranger = on_stranger,
		.arg = arg,
		.open_handles = 2,
	};
	memcpy(d->token, token, BOOT_TOKEN_BYTES);
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
