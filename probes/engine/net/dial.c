/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/net/door.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "lib/base/clock.h"

/* In a cluster an answer takes less than a millisecond. */
#define NEXT_NS (20 * NS_PER_MS)
/* A peer that accepted is probably the right one but busy; closing would look
 * like a port scan. */
#define HEED_NS (500 * NS_PER_MS)
#define LOOK_MS 5

enum state { BEGUN, TALKS, OVER };

/* One address of them. */
struct attempt {
	struct dial *d;
	const char *text;		/* as it was given */
	struct sockaddr_storage to;
	enum state state;
	uv_tcp_t tcp;
	uv_connect_t req;
	struct auth_talk talk;
	size_t got;			/* of talk.answer */
	struct err why;			/* it is over */
};

struct dial {
	uv_loop_t loop;
	uv_timer_t clock;
	struct auth *auth;
	const uint8_t *task;
	struct auth_session *keys;
	int64_t connect_ns, deadline_ns;
	int64_t next_ns;	/* when another address may begin */
	int n, begun;
	int fd;			/* of the one that won; -1: not yet */
	struct attempt all[NET_MAX_ADDRS];
};

/* ---- one address -------------------------------------------------------- */

static void attempt_end(struct attempt *t)
{
	t->state = OVER;
	uv_close((uv_handle_t *)&t->tcp, NULL);
}

/* It came to nothing; @code is an errno.  The next one need not wait, unless
 * another one talks. */
static void attempt_fail(struct attempt *t, int code, const char *what)
{
	const struct dial *d = t->d;
	int i = 0;

	err_set(&t->why, code, "%s %s", what, t->text);
	attempt_end(t);
	while (i < d->begun && d->all[i].state != TALKS) {
		i++;
	}
	if (i == d->begun) {
		t->d->next_ns = 0;
	}
}

static void room_for_answer(uv_handle_t *h, size_t hint, uv_buf_t *buf)
{
	struct attempt *t = h->data;

	(void)hint;
	*buf = uv_buf_init((char *)&t->talk.answer + t->got,
			   (unsigned)(sizeof(t->talk.answer) - t->got));
}

static void look(uv_timer_t *clock);

/* Bytes of the listener's answer have come.  Checks the complete answer, and
 * answers with our proof. */
static void answered(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
	struct attempt *t = s->data;
	struct dial *d = t->d;
	uint8_t proof[AUTH_BYTES];
	uv_buf_t out = uv_buf_init((char *)proof, sizeof(proof));
	uv_os_fd_t fd;

	(void)buf;
	t->got += n > 0 ? (size_t)n : 0;
	if (n < 0) {
		attempt_fail(t, n == UV_EOF ? ECONNRESET : (int)-n,
			     "no proof came from");
	} else if (t->got < sizeof(t->talk.answer)) {
		/* more will come */
	} else if (auth_prove(d->auth, &t->talk, proof, &t->why) < 0) {
		attempt_end(t);
	} else if (uv_try_write(s, &out, 1) != (int)out.len) {
		attempt_fail(t, ECONNRESET, "cannot answer");
	} else if (uv_fileno((uv_handle_t *)s, &fd) < 0 ||
		   (d->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0) {
		attempt_fail(t, errno, "cannot keep the connection to");
	} else if (d->keys) {
		auth_session(d->auth, &t->talk, false, d->keys);
	}
	look(&d->clock);
}

/* Says hello to the listener that has taken the connection. */
static void connected(uv_connect_t *req, int status)
{
	struct attempt *t = req->data;
	struct sockaddr_in to;	/* the port of IPv6 is in the same place */
	uv_buf_t buf = uv_buf_init((char *)&t->talk.hello,
				   sizeof(t->talk.hello));

	if (t->state == OVER) {
		return;
	}
	if (status < 0) {
		attempt_fail(t, -status, "cannot connect to");
		look(&t->d->clock);
		return;
	}
	memcpy(&to, &t->to, sizeof(to));
	auth_greet(t->d->auth, t->d->task, &t->talk);
	memcpy(t->talk.port, &to.sin_port, sizeof(t->talk.port));
	uv_tcp_nodelay(&t->tcp, 1);
	/* nothing has been sent before: there is room */
	if (uv_try_write((uv_stream_t *)&t->tcp, &buf, 1) != (int)buf.len) {
		attempt_fail(t, ECONNRESET, "cannot speak to");
	} else {
		t->state = TALKS;
		t->d->next_ns = clock_now_ns() + HEED_NS;
		uv_read_start((uv_stream_t *)&t->tcp, room_for_answer,
			      answered);
	}
	look(&t->d->clock);
}

/* ---- all of them -------------------------------------------------------- */

/* Begin what may begin, end what has to; without any left the loop ends. */
static void look(uv_timer_t *clock)
{
	struct dial *d = clock->data;
	const int64_t now = clock_now_ns();
	int left = 0, rc;

	while (d->fd < 0 && d->begun < d->n && now >= d->next_ns &&
	       (now < d->connect_ns || d->begun == 0)) {
		struct attempt *t = &d->all[d->begun++];

		d->next_ns = now + NEXT_NS;
		uv_tcp_init(&d->loop, &t->tcp);
		t->tcp.data = t->req.data = t;
		rc = uv_tcp_connect(&t->req, &t->tcp,
				    (struct sockaddr *)&t->to, connected);
		if (rc < 0) {
			attempt_fail(t, -rc, "cannot connect to");
		}
	}
	for (int i = 0; i < d->begun; i++) {
		struct attempt *t = &d->all[i];

		if (t->state == BEGUN && now >= d->connect_ns) {
			attempt_fail(t, ETIMEDOUT, "cannot connect to");
		} else if (t->state == TALKS && now >= d->deadline_ns) {
			attempt_fail(t, ETIMEDOUT, "no proof came from");
		}
		if (t->state != OVER && d->fd >= 0) {
			attempt_end(t);
		}
		left += t->state != OVER;
	}
	if (left == 0 &&
	    (d->fd >= 0 || d->begun == d->n || now >= d->connect_ns) &&
	    !uv_is_closing((uv_handle_t *)clock)) {
		uv_close((uv_handle_t *)clock, NULL);
	}
}

int door_dial(char addrs[][NET_ADDR_TEXT], int n, struct auth *a,
	      const uint8_t task[AUTH_ID_BYTES], struct auth_session *s,
	      int64_t connect_ns, int64_t deadline_ns, struct err *e)
{
	struct dial *d = calloc(1, sizeof(*d));
	const struct err *why;
	int fd, rc;

	if (d == NULL || (rc = uv_loop_init(&d->loop)) < 0) {
		rc = d == NULL ? ENOMEM : -rc;
		free(d);
		return err_set(e, rc, "cannot create a socket");
	}
	d->auth = a;
	d->task = task;
	d->keys = s;
	d->connect_ns = connect_ns;
	d->deadline_ns = deadline_ns;
	d->fd = -1;
	for (int i = 0; i < n; i++) {
		struct sockaddr_storage to[NET_MAX_ADDRS];
		int found = net_lookup(addrs[i], to, NET_MAX_ADDRS - d->n, e);

		for (int k = 0; k < found; k++) {
			d->all[d->n++] = (struct attempt){
				.d = d, .text = addrs[i], .to = to[k],
			};
		}
	}
	if (d->n > 0) {
		uv_timer_init(&d->loop, &d->clock);
		d->clock.data = d;
		uv_timer_start(&d->clock, look, 0, LOOK_MS);
		uv_run(&d->loop, UV_RUN_DEFAULT);
	}
	uv_loop_close(&d->loop);
	fd = d->fd;
	if (fd < 0 && d->begun > 0 && e != NULL) {
		/* no connection: the most telling reason */
		why = &d->all[0].why;
		for (int i = 0; i < d->begun && why->code != EPROTO; i++) {
			why = d->all[i].why.code == EPROTO ? &d->all[i].why :
							     why;
		}
		*e = *why;
		if (d->n > 1) {
			err_set(e, why->code,
				"%s; none of %d addresses works", why->text,
				d->n);
		}
	}
	free(d);
	return fd;
}
