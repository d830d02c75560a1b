/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/transport/peer_conn.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/limit.h"
#include "lib/base/net.h"
#include "lib/base/str.h"

void peer_fault(struct xport_result *r, const struct err *e, const char *doing)
{
	static const struct {
		int err;
		enum outcome outcome;
		const char *code;
		bool echo;
	} faults[] = {
		{ ETIMEDOUT, OUTCOME_TIMEOUT, "task_timeout", true },
		{ ECANCELED, OUTCOME_ERROR, "cancelled", true },
		{ ECONNRESET, OUTCOME_ERROR, "peer_closed", true },
		{ EPIPE, OUTCOME_ERROR, "peer_closed", true },
		{ ECONNREFUSED, OUTCOME_ERROR, "connect_refused", false },
		{ EHOSTUNREACH, OUTCOME_ERROR, "no_route", false },
		{ ENETUNREACH, OUTCOME_ERROR, "no_route", false },
	};
	char text[256];

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		if (faults[i].err == e->code) {
			xport_fail(r, faults[i].outcome, faults[i].code,
				   "%s: %s", doing,
				   err_str(e, text, sizeof(text)));
			r->echo = faults[i].echo;
			return;
		}
	}
	if (limit_code(e->code) != NULL) {
		xport_short(r, e->code, "%s: %s", doing, e->text);
		return;
	}
	xport_fail(r, OUTCOME_ERROR, "socket_error", "%s: %s", doing,
		   err_str(e, text, sizeof(text)));
}

static int connect_fd(struct worker *w, const char *ticket, const char *nonce,
		      bool lead, int peer, int64_t deadline_ns, struct err *e)
{
	if (lead) {
		worker_step(w, "waiting for rank %d to connect", peer);
		return w->conn(w, nonce, deadline_ns, e);
	}
	worker_step(w, "connecting to rank %d at %s", peer, ticket);
	return w->dial(w, ticket, nonce, deadline_ns, e);
}

int peer_connect(struct worker *w, const char *ticket, const char *nonce,
		 bool lead, int peer, int64_t deadline_ns,
		 struct xport_result *r)
{
	struct err e = { 0 };
	char go = 'g';
	int fd;

	fd = connect_fd(w, ticket, nonce, lead, peer, deadline_ns, &e);
	if (fd < 0) {
		peer_fault(r, &e, lead ? "the other rank did not connect" :
					 "cannot connect");
		if (r->outcome == OUTCOME_TIMEOUT) {
			STR_COPY(r->code, lead ? "setup_timeout" :
						 "connect_timeout");
		}
		return -1;
	}
	worker_step(w, "first bytes with rank %d", peer);
	if (net_write_all(fd, &go, 1, deadline_ns, &e) < 0 ||
	    net_read_all(fd, &go, 1, deadline_ns, &e) < 0) {
		peer_fault(r, &e, "first bytes");
		close(fd);
		return -1;
	}
	return fd;
}

/* What of @n bytes a call that returned @did has done; -1 with errno. */
static int advance(size_t *done, ssize_t did, bool reads)
{
	if (did > 0) {
		*done += (size_t)did;
		return 0;
	}
	if (did == 0 && reads) {
		errno = ECONNRESET;
		return -1;
	}
	return did < 0 && errno != EAGAIN && errno != EINTR ? -1 : 0;
}

int peer_swap(int fd, const void *out, void *in, size_t n, int64_t deadline_ns,
	      struct err *e)
{
	const int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
	size_t sent = 0, got = 0;

	while (sent < n || got < n) {
		struct pollfd p = { .fd = fd };

		p.events = (short)((sent < n ? POLLOUT : 0) |
				   (got < n ? POLLIN : 0));
		if (poll(&p, 1, clock_ms_left(deadline_ns)) == 0) {
			errno = ETIMEDOUT;
			break;
		}
		if (sent < n &&
		    advance(&sent, send(fd, (const char *)out + sent, n - sent,
					flags), false) < 0) {
			break;
		}
		if (got < n &&
		    advance(&got, recv(fd, (char *)in + got, n - got, flags),
			    true) < 0) {
			break;
		}
	}
	return sent == n && got == n ?
		       0 :
		       err_set(e, errno, "sent %zu and received %zu of %zu "
			       "bytes", sent, got, n);
}
