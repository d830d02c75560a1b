/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/net/wire.h"

#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/limit.h"
#include "lib/base/net.h"
#include "lib/data/cbor.h"
#include "lib/data/json.h"
#include "probes/engine/net/door.h"

/* ---- seal ---------------------------------------------------------------- */

#define HEADER crypto_secretstream_xchacha20poly1305_HEADERBYTES
#define MORE   crypto_secretstream_xchacha20poly1305_ABYTES

void seal_open(struct seal *s, const struct auth_session *k, struct str *out)
{
	uint8_t header[HEADER];

	*s = (struct seal){ 0 };
	memcpy(s->key, k->in, sizeof(s->key));
	crypto_secretstream_xchacha20poly1305_init_push(&s->out, header,
							k->out);
	str_addmem(out, header, sizeof(header));
}

void seal_release(struct seal *s)
{
	str_release(&s->raw);
	str_release(&s->plain);
	sodium_memzero(s, sizeof(*s));
}

void seal_put(struct seal *s, const struct str *plain, struct str *out)
{
	for (size_t from = 0, n; from < plain->len; from += n) {
		uint32_t length;
		uint8_t *at;

		n = plain->len - from < SEAL_MAX ? plain->len - from : SEAL_MAX;
		length = htole32((uint32_t)(n + MORE));
		str_addmem(out, &length, sizeof(length));
		at = (uint8_t *)str_more(out, n + MORE);
		if (!at) {
			return;
		}
		crypto_secretstream_xchacha20poly1305_push(
			&s->out, at, NULL, (const uint8_t *)plain->data + from,
			n, (const uint8_t *)&length, sizeof(length), 0);
	}
}

/** One record at @p: its bytes, 0 when it is not whole, -1 with @e. */
static int64_t take_one(struct seal *s, const char *p, size_t left,
			struct err *e)
{
	uint32_t length;
	uint8_t *at;

	if (!s->begun) {
		if (left < HEADER) {
			return 0;
		}
		s->begun = true;
		crypto_secretstream_xchacha20poly1305_init_pull(
			&s->in, (const uint8_t *)p, s->key);
		return HEADER;
	}
	if (left < sizeof(length)) {
		return 0;
	}
	memcpy(&length, p, sizeof(length));
	length = le32toh(length);
	if (length <= MORE || length > SEAL_MAX + MORE) {
		return err_set(e, EPROTO, "message of %u bytes", length);
	}
	if (left - sizeof(length) < length) {
		return 0;
	}
	at = (uint8_t *)str_more(&s->plain, length - MORE);
	if (!at) {
		return err_set(e, ENOMEM, "no memory for a message");
	}
	if (crypto_secretstream_xchacha20poly1305_pull(
		    &s->in, at, NULL, NULL,
		    (const uint8_t *)p + sizeof(length), length,
		    (const uint8_t *)p, sizeof(length)) < 0) {
		s->plain.len -= length - MORE;
		return err_set(e, EPROTO, "a message was changed on its way");
	}
	return (int64_t)(sizeof(length) + length);
}

int seal_take(struct seal *s, const void *bytes, size_t n,
	      const struct str **plain, struct err *e)
{
	size_t used = 0;
	int64_t got;

	str_reset(&s->plain);
	*plain = &s->plain;
	str_addmem(&s->raw, bytes, n);
	if (s->raw.failed) {
		return err_set(e, ENOMEM, "no memory for a message");
	}
	while ((got = take_one(s, str_text(&s->raw) + used, s->raw.len - used,
			       e)) > 0) {
		used += (size_t)got;
	}
	if (used > 0) {
		s->raw.len -= used;
		memmove(s->raw.data, s->raw.data + used, s->raw.len);
	}
	return got < 0 ? -1 : 0;
}

/* ---- ask ----------------------------------------------------------------- */

/* Two more of the kernel's attempts, of which the first may be lost. */
#define ASK_NS (3 * NS_PER_S)

static enum ask_answer answer_of(int error)
{
	return error == 0	       ? ASK_TAKEN :
	       error == ECONNREFUSED   ? ASK_REFUSED :
	       error == EINPROGRESS    ? ASK_PENDING : ASK_NOTHING;
}

/* Forgets the question; does nothing if none was asked. */
static void ask_end(struct wire *w)
{
	if (w->ask_fd > 0) {
		close(w->ask_fd);
	}
	w->ask_fd = 0;
	w->ask_until_ns = 0;
	w->answer = ASK_PENDING;
}

/* ---- wire ---------------------------------------------------------------- */

/* A peer that does not read is cut off before it eats our memory. */
#define WIRE_MAX_UNSENT (64u * 1024 * 1024)
#define BEAT_NS		(1 * NS_PER_S)
#define LOOK_NS		(100 * NS_PER_MS)
#define SILENT_BEATS	3
/* A process that is stopped, or one of many, goes on some time. */
#define STALL_TIMES	3

void wire_buf_release(struct wire_buf *b)
{
	str_release(&b->bytes);
	b->used = 0;
}

void wire_buf_add(struct wire_buf *b, const void *bytes, size_t n)
{
	if (b->used > 0) { /* what is left is a part of one message */
		b->bytes.len -= b->used;
		memmove(b->bytes.data, b->bytes.data + b->used, b->bytes.len);
		b->used = 0;
	}
	str_addmem(&b->bytes, bytes, n);
}

/* The next frame: 1 with what is in its @n bytes; 0: it is not whole; -1 with
 * @e: it is none. */
static int next_frame(const struct wire_buf *b, const char **in, uint32_t *n,
		      struct err *e)
{
	const char *p;
	size_t left = b->bytes.len - b->used;

	if (b->bytes.failed) {
		return err_set(e, ENOMEM, "no memory for a message");
	}
	if (left < 4) {
		return 0;
	}
	p = b->bytes.data + b->used;
	memcpy(n, p, 4);
	*n = le32toh(*n);
	if (*n < 2 || *n > WIRE_MAX) {
		return err_set(e, EPROTO, "message of %u bytes", *n);
	}
	*in = p + 4;
	return left - 4 >= *n;
}

int wire_buf_next(struct wire_buf *b, json_t **msg, struct err *e)
{
	const char *in = NULL;
	struct err why = { 0 };
	uint32_t n = 0;
	int got = next_frame(b, &in, &n, e);

	if (got <= 0) {
		return got;
	}
	*msg = *in == '{' ? json_parse(in, n, &why) : cbor_parse(in, n, &why);
	if (*msg == NULL) {
		return err_set(e, why.code == ENOMEM ? ENOMEM : EPROTO,
			       "no message: %s", why.text);
	}
	if (!json_is_string(json_object_get(*msg, "t"))) {
		json_decref(*msg);
		*msg = NULL;
		return err_set(e, EPROTO, "message without a type");
	}
	b->used += 4 + (size_t)n;
	return 1;
}

/* Leave room for the length of a frame that begins; it has ended at its
 * end. */
static size_t begin_frame(struct str *out)
{
	str_addmem(out, "\0\0\0\0", 4);
	return out->len;
}

static int end_frame(struct str *out, size_t from)
{
	size_t n = out->len - from;
	uint32_t head = htole32((uint32_t)n);

	if (out->failed || n > WIRE_MAX) {
		return -1;
	}
	memcpy(out->data + from - 4, &head, 4);
	return 0;
}

int wire_frame(const json_t *msg, struct str *out)
{
	enum message_type type = message_type(msg);
	size_t from = begin_frame(out);

	if (type != MESSAGE_TYPES && messages[type].plain) {
		json_add(msg, JSON_COMPACT, out);
	} else {
		cbor_add(msg, out);
	}
	return end_frame(out, from);
}

int wire_buf_hear(struct wire_buf *b, enum message_way way,
		  const struct wire_events *events, void *arg, struct err *e)
{
	enum message_type type;
	struct cbor_reader list;
	const char *in = NULL;
	const void *entry;
	int got, fits = 0;
	uint32_t n = 0;
	json_t *msg;
	size_t bytes;

	if (next_frame(b, &in, &n, NULL) > 0 &&
	    list_open(&list, &type, in, n, way)) {
		b->used += 4 + (size_t)n;
		while (!b->shut && (entry = list_next(&list, &bytes)) != NULL) {
			if (events->entry != NULL) {
				events->entry(arg, type, entry, bytes);
			}
		}
		return 1;
	}
	while (fits == 0 && (got = wire_buf_next(b, &msg, e)) > 0) {
		fits = message_check(msg, way, e);
		if (fits > 0 && events->message != NULL) {
			events->message(arg, msg);
		}
		json_decref(msg);
	}
	return fits != 0 ? fits : got;
}

/* ---- event-loop side -------------------------------------------------- */

static void wire_handle_closed(uv_handle_t *h)
{
	struct wire *w = h->data;

	if (h == (uv_handle_t *)w->stream) {
		free(h);
		w->stream = NULL;
	}
	if (--w->open_handles > 0) {
		return;
	}
	wire_buf_release(&w->in);
	list_release(&w->list);
	str_release(&w->out);
	str_release(&w->plain);
	seal_release(&w->seal);
	if (w->events->freed != NULL) {
		w->events->freed(w->arg);
	}
}

bool wire_is_open(const struct wire *w)
{
	return w->open_handles > 0;
}

void wire_close(struct wire *w, const char *why)
{
	if (w->closing || !wire_is_open(w)) {
		return;
	}
	w->closing = w->in.shut = true;
	ask_end(w);
	uv_close((uv_handle_t *)w->stream, wire_handle_closed);
	uv_close((uv_handle_t *)&w->prepare, wire_handle_closed);
	if (why != NULL) {
		w->events->closed(w->arg, why);
	}
}

/* Close for @e, which the other end hears of if it is a lack of ours. */
static void fail(struct wire *w, const struct err *e)
{
	const bool again = w->failing;

	w->failing = true;
	if (!again && !w->closing && limit_code(e->code) &&
	    w->events->short_of != NULL) {
		w->events->short_of(w->arg, e);
		wire_push(w);
	}
	wire_close(w, e->text);
}

static void wire_alloc(uv_handle_t *h, size_t hint, uv_buf_t *buf)
{
	/* one loop, one thread, consumed before the next read */
	static char space[65536];

	(void)h;
	(void)hint;
	*buf = uv_buf_init(space, sizeof(space));
}

static void wire_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
	struct wire *w = s->data;
	const struct str *plain;
	struct err e = { 0 };
	int got = 0, rc = 0;

	if (n < 0) {
		err_set(&e, n == UV_EOF ? 0 : (int)-n, "%s", n == UV_EOF ?
			"closed by the other end" : uv_strerror((int)n));
		fail(w, &e);
		return;
	}
	if (w->sealed) {
		rc = seal_take(&w->seal, buf->base, (size_t)n, &plain, &e);
		wire_buf_add(&w->in, str_text(plain), plain->len);
	} else {
		wire_buf_add(&w->in, buf->base, (size_t)n);
	}
	while (!w->closing &&
	       (got = wire_buf_hear(&w->in, w->way, w->events, w->arg, &e)) >
		       0) {
		w->heard_ns = clock_now_ns();
	}
	if (got < 0 || rc < 0) {
		wire_buf_release(&w->in);	/* fail() may need the memory */
		fail(w, &e);
	}
}

struct wire_write {
	uv_write_t req;
	struct wire *wire;
	uv_tcp_t *conn; /* NULL: none is passed along */
	size_t n;
	char bytes[];
};

static void wire_written(uv_write_t *req, int status)
{
	struct wire_write *ww = (struct wire_write *)req;

	ww->wire->unsent -= ww->n;
	if (ww->conn != NULL) {
		door_drop(ww->conn);
	}
	if (status < 0 && status != UV_ECANCELED) {
		wire_close(ww->wire, uv_strerror(status));
	}
	free(ww);
}

/* Hand everything queued to libuv, with @conn's descriptor if there is one. */
static void wire_flush(struct wire *w, uv_tcp_t *conn)
{
	struct wire_write *ww = NULL;
	struct err e = { 0 };
	uv_buf_t buf;
	int rc;

	if (w->unsent > WIRE_MAX_UNSENT) {
		err_set(&e, ENOBUFS, "the other end does not read");
	} else if ((ww = malloc(sizeof(*ww) + w->out.len)) == NULL) {
		err_set(&e, ENOMEM, "no memory for a message");
	}
	if (ww == NULL) {
		if (conn != NULL) {
			door_drop(conn);
		}
		fail(w, &e);
		return;
	}
	*ww = (struct wire_write){.wire = w, .conn = conn, .n = w->out.len};
	memcpy(ww->bytes, w->out.data, w->out.len);
	str_reset(&w->out);
	w->unsent += ww->n;
	buf = uv_buf_init(ww->bytes, (unsigned)ww->n);
	rc = conn != NULL ?
		     uv_write2(&ww->req, w->stream, &buf, 1,
			       (uv_stream_t *)conn, wire_written) :
		     uv_write(&ww->req, w->stream, &buf, 1, wire_written);
	if (rc < 0) {
		wire_written(&ww->req, rc);
	}
}

/* Where frames are written to. */
static struct str *frames(struct wire *w)
{
	return w->sealed ? &w->plain : &w->out;
}

/* Append the message that @l is, if it has an entry. */
static int write_entries(struct list_out *l, struct str *out)
{
	size_t from;

	if (l->n == 0) {
		return 0;
	}
	from = begin_frame(out);
	list_write(l, out);
	return end_frame(out, from);
}

/* Append the list, which is complete, to the output. */
static void write_list(struct wire *w)
{
	w->out.failed |= write_entries(&w->list, frames(w)) < 0;
}

static void wire_prepare(uv_prepare_t *p)
{
	struct wire *w = p->data;
	struct err e = { 0 };
	uv_buf_t buf;
	int n;

	write_list(w);
	if (w->plain.len > 0 && !w->closing) {
		seal_put(&w->seal, &w->plain, &w->out);
		str_reset(&w->plain);
	}
	if (w->out.failed) {
		err_set(&e, ENOMEM, "no memory for a message");
		fail(w, &e);
	}
	if (w->out.len > 0 && !w->closing && w->unsent == 0) {
		/* what the socket takes at once is mostly all of it */
		buf = uv_buf_init(w->out.data, (unsigned)w->out.len);
		n = uv_try_write(w->stream, &buf, 1);
		if (n > 0) {
			w->out.len -= (size_t)n;
			memmove(w->out.data, w->out.data + n, w->out.len);
		}
	}
	if (w->out.len > 0 && !w->closing) {
		wire_flush(w, NULL);
	}
	uv_prepare_stop(p);
}

void wire_open(struct wire *w, uv_stream_t *stream, enum message_way way,
	       const struct auth_session *keys,
	       const struct wire_events *events, void *arg)
{
	*w = (struct wire){
		.stream = stream,
		.way = way,
		.events = events,
		.arg = arg,
		.open_handles = 2,
		.heard_ns = clock_now_ns(),
		.sealed = keys != NULL,
	};
	if (keys != NULL) {
		seal_open(&w->seal, keys, &w->out);
	}
	uv_prepare_init(stream->loop, &w->prepare);
	stream->data = w->prepare.data = w;
	uv_read_start(stream, wire_alloc, wire_read);
}

/* Queue @msg (reference stolen); false: it does not leave. */
static bool wire_queue(struct wire *w, json_t *msg)
{
	struct str *out = frames(w);
	struct err e = { 0 };
	size_t from;
	bool broken;

	if (!wire_is_open(w) || w->closing) {
		json_decref(msg);
		return false;
	}
	write_list(w);
	from = out->len;
	broken = w->out.failed;
	if (msg == NULL || wire_frame(msg, out) < 0) {
		e.code = msg == NULL || out->failed ? ENOMEM : EMSGSIZE;
		str_cut(out, from);	/* whole ones may leave */
		out->failed = broken;
	}
	json_decref(msg);
	if (e.code != 0 || w->out.failed) {
		err_set(&e, e.code ? e.code : ENOMEM, "cannot build a message");
		fail(w, &e);
		return false;
	}
	return true;
}

void wire_send(struct wire *w, json_t *msg)
{
	if (wire_queue(w, msg)) {
		uv_prepare_start(&w->prepare, wire_prepare);
	}
}

void wire_send_entry(struct wire *w, enum message_type type, const void *bytes,
		     size_t n)
{
	if (wire_is_open(w) && !w->closing) {
		const struct list_out *l = &w->list;

		if (w->way == MSG_FROM_WORKER || (l->n > 0 &&
		    (l->type != type || l->n >= MESSAGE_LIST))) {
			write_list(w);
		}
		list_add(&w->list, type, bytes, n);
		uv_prepare_start(&w->prepare, wire_prepare);
	}
}

/* Asks the node of the other end, which has been silent too long, if it still
 * responds.  The node has three seconds to answer. */
static void look_after(struct wire *w, int64_t now_ns, int64_t silent_ns,
		       bool patient)
{
	static const char *const says[] = {
		[ASK_TAKEN] = "its node answers",
		[ASK_REFUSED] = "its node responds, but no process listens "
				"there",
		[ASK_NOTHING] = "its node does not respond",
	};
	struct sockaddr_storage to = { 0 };
	int size = sizeof(to), error = 0;
	socklen_t len = sizeof(error);
	struct pollfd p = { .events = POLLOUT };
	char why[120];

	if (w->ask_until_ns == 0) {
		w->ask_until_ns = now_ns + ASK_NS;
		w->ask_fd = -1;
		if (uv_tcp_getpeername((uv_tcp_t *)w->stream,
				       (struct sockaddr *)&to, &size) == 0) {
			if (w->door != 0) {
				net_set_port(&to, w->door);
			}
			w->ask_fd = socket(to.ss_family,
					   SOCK_STREAM | SOCK_NONBLOCK |
						   SOCK_CLOEXEC, 0);
		}
		w->answer = w->ask_fd < 0 ? ASK_NOTHING :
			connect(w->ask_fd, (struct sockaddr *)&to,
				(socklen_t)size) == 0 ? ASK_TAKEN :
			answer_of(errno);
	}
	p.fd = w->ask_fd;
	if (w->answer == ASK_PENDING && poll(&p, 1, 0) > 0) {
		getsockopt(w->ask_fd, SOL_SOCKET, SO_ERROR, &error, &len);
		w->answer = answer_of(error);
	} else if (w->answer == ASK_PENDING && now_ns > w->ask_until_ns) {
		w->answer = ASK_NOTHING;
	}
	if (w->answer != ASK_PENDING && w->ask_fd > 0) {
		close(w->ask_fd);
		w->ask_fd = 0;
	}
	if (w->answer == ASK_PENDING || (w->answer == ASK_TAKEN && patient)) {
		return;
	}
	w->stalled = w->answer == ASK_TAKEN;
	snprintf(why, sizeof(why), "no message for %.0f s, %s",
		 (double)silent_ns / 1e9, says[w->answer]);
	wire_close(w, why);
}

void wire_beat(struct wire *w, int64_t now_ns, int64_t silence_ns)
{
	int64_t silent_ns;

	w->heard_ns += late_look(&w->looked_ns, now_ns, LOOK_NS);
	silent_ns = now_ns - w->heard_ns;
	if (now_ns > w->beat_ns) {
		w->beat_ns = now_ns + BEAT_NS;
		wire_send(w, message_new(MSG_BEAT, NULL));
	}
	if (silent_ns > silence_ns && wire_is_open(w) && !w->closing) {
		look_after(w, now_ns, silent_ns,
			   silent_ns < STALL_TIMES * silence_ns);
	} else {
		ask_end(w);
	}
}

bool wire_is_silent(const struct wire *w, int64_t now_ns)
{
	return now_ns - w->heard_ns > SILENT_BEATS * BEAT_NS;
}

void wire_push(struct wire *w)
{
	if (wire_is_open(w)) {
		wire_prepare(&w->prepare);
	}
}

void wire_send_handle(struct wire *w, json_t *msg, uv_tcp_t *conn)
{
	if (wire_queue(w, msg)) {
		/* earlier messages go in the same write: order is kept */
		wire_flush(w, conn);
	} else {
		door_drop(conn);
	}
}

/* ---- blocking side ---------------------------------------------------- */

/* @rc: whether @out, which is taken, is a frame. */
static int send_frame(struct wire_fd *w, int rc, struct str *out,
		      int64_t deadline_ns, struct err *e)
{
	rc = rc < 0 ? err_set(e, ENOMEM, "cannot build a message") :
		      net_write_all(w->fd, out->data, out->len, deadline_ns, e);
	str_release(out);
	return rc;
}

int wire_fd_send(struct wire_fd *w, json_t *msg, int64_t deadline_ns,
		 struct err *e)
{
	struct str out = STR_INIT;
	int rc = msg != NULL ? wire_frame(msg, &out) : -1;

	json_decref(msg);
	return send_frame(w, rc, &out, deadline_ns, e);
}

int wire_fd_send_entry(struct wire_fd *w, enum message_type type,
		       const struct str *entry, int64_t deadline_ns,
		       struct err *e)
{
	struct list_out list = { 0 };
	struct str out = STR_INIT;
	int rc = -1;

	if (!entry->failed) {
		list_add(&list, type, entry->data, entry->len);
		rc = write_entries(&list, &out);
	}
	list_release(&list);
	return send_frame(w, rc, &out, deadline_ns, e);
}

/* One recvmsg: 1 got bytes, 0 would block, -1 with @e. */
static int wire_fd_read(struct wire_fd *w, struct err *e)
{
	char bytes[16384];
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(16 * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = bytes, .iov_len = sizeof(bytes) };
	struct msghdr mh = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space),
	};
	ssize_t n;

	n = recvmsg(w->fd, &mh, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n > 0) {
		/* keep its descriptors; more than fit are closed */
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&mh); c != NULL;
		     c = CMSG_NXTHDR(&mh, c)) {
			const bool fds = c->cmsg_level == SOL_SOCKET &&
					 c->cmsg_type == SCM_RIGHTS;

			for (size_t i = 0; fds &&
			     i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			     i++) {
				int fd;

				memcpy(&fd, CMSG_DATA(c) + i * sizeof(int),
				       sizeof(fd));
				if (w->n_fds < WIRE_FDS) {
					w->fds[w->n_fds++] = fd;
				} else {
					close(fd);
				}
			}
		}
		wire_buf_add(&w->in, bytes, (size_t)n);
		return 1;
	}
	if (n == 0) {
		return err_set(e, ECONNRESET, "the agent closed the "
					      "connection");
	}
	return errno == EAGAIN || errno == EINTR
		       ? 0
		       : err_set(e, errno, "cannot read from the agent");
}

int wire_fd_hear(struct wire_fd *w, const struct wire_events *events, void *arg,
		 int64_t deadline_ns, struct err *e)
{
	for (;;) {
		struct pollfd p = { .fd = w->fd, .events = POLLIN };
		int got = wire_buf_hear(&w->in, w->way, events, arg, e);
		int ms = clock_ms_left(deadline_ns);

		if (got != 0) {
			return got;
		}
		got = wire_fd_read(w, e);
		if (got < 0 ||
		    (got == 0 && (ms == 0 || poll(&p, 1, ms) == 0))) {
			return got;
		}
	}
}

int wire_fd_take(struct wire_fd *w)
{
	int fd = w->n_fds > 0 ? w->fds[0] : -1;

	if (w->n_fds > 0) {
		w->n_fds--;
		memmove(w->fds, w->fds + 1, (size_t)w->n_fds * sizeof(int));
	}
	return fd;
}
