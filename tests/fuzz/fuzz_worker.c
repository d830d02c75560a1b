/* SPDX-License-Identifier: BSD-3-Clause */
/* What an agent can say to a worker, a message a line, and then it is gone. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "probes/engine/worker/private.h"
#include "tests/fuzz/fuzz_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MESSAGES_MAX 24
/* Nobody reads the answers: they have to fit. */
#define ROOM	     (4 * 1024 * 1024)

/** Links stay when a worker ends, as its memory does; and a size that an order
 *  names may be more than there is. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0:allocator_may_return_null=1:"
	       "max_allocation_size_mb=256";
}

static int no_conn(struct worker *w, const char *nonce, int64_t deadline_ns,
		   struct err *e)
{
	(void)w;
	(void)nonce;
	(void)deadline_ns;
	return err_set(e, ETIMEDOUT, "nobody connects");
}

static int no_dial(struct worker *w, const char *addr, const char *nonce,
		   int64_t deadline_ns, struct err *e)
{
	return no_conn(w, addr != nonce ? nonce : addr, deadline_ns, e);
}

static bool gone(struct worker *as)
{
	const struct process *w = (const struct process *)as;

	return w->cancelled || w->gone;
}

/** A drill's crash is one. */
static bool crashes(const void *bytes, size_t n)
{
	struct order o;

	return order_read(bytes, n, &o, NULL) == 0 &&
	       (o.dirs[0].drill == XPORT_DRILL_CRASH ||
		o.dirs[1].drill == XPORT_DRILL_CRASH);
}

/** An agent says them one by one. */
static void say_entry(void *arg, enum message_type type, const void *bytes,
		      size_t n)
{
	struct wire_fd w = { .fd = *(int *)arg };
	struct str entry = STR_INIT;

	str_addmem(&entry, bytes, n);
	if ((type != MSG_TASK || !crashes(bytes, n)) &&
	    wire_fd_send_entry(&w, type, &entry, INT64_MAX, NULL) < 0) {
		abort();
	}
	str_release(&entry);
}

static void say(struct fuzz_lines *l, int fd)
{
	struct wire_fd w = { .fd = fd };
	const char *line;
	size_t len;

	for (int n = 0; n < MESSAGES_MAX && fuzz_line(l, &line, &len); n++) {
		json_t *msg = fuzz_list(line, len, MSG_TO_WORKER, say_entry,
					&fd) ?
			NULL : fuzz_message(line, len, MSG_TO_WORKER);

		if (msg != NULL &&
		    message_int(msg, "drill") != XPORT_DRILL_CRASH &&
		    wire_fd_send(&w, json_incref(msg), INT64_MAX, NULL) < 0) {
			abort();
		}
		json_decref(msg);
	}
	shutdown(fd, SHUT_WR);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_lines l = { .at = data, .left = size };
	struct process *w = calloc(1, sizeof(*w));
	const int room = ROOM;
	struct err e = { 0 };
	int fds[2];

	if (w == NULL || socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0) {
		abort();
	}
	for (int i = 0; i < 2; i++) {
		setsockopt(fds[i], SOL_SOCKET, SO_SNDBUFFORCE, &room,
			   sizeof(room));
		fcntl(fds[i], F_SETFL, O_NONBLOCK);
	}
	*w = (struct process){
		.as = { .conn = no_conn, .dial = no_dial, .cancelled = gone,
			.log_fd = -1, .log = w->log },
		.wire = { .fd = fds[1], .way = MSG_TO_WORKER },
		.task = -1,
	};
	w->as.note = mmap(NULL, sizeof(*w->as.note), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	say(&l, fds[0]);
	if (worker_serve(w, &e) < 0 && e.text[0] == '\0') {
		abort();
	}
	worker_collective_end(w);
	if (w->x != NULL) {
		w->ops->shutdown(w->x);
	}
	worker_release(w);
	for (int i = 0; i < 2; i++) {
		close(fds[i]);
	}
	free(w);
	return 0;
}
