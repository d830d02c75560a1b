/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/transport/xport.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/limit.h"
#include "lib/base/net.h"
#include "lib/base/stats.h"
#include "lib/base/str.h"

/* ---- samples ------------------------------------------------------------- */

#define SAMPLES_MIN	3
#define SAMPLES_FIXED	8	/* with a given number of iterations */
#define STEADY_SPREAD	0.01	/* agree: to this share of their median */

static int fixed_samples(int iters)
{
	int n = (iters + SAMPLE_BATCH - 1) / SAMPLE_BATCH;

	n = n < SAMPLES_FIXED ? SAMPLES_FIXED : n;
	n = n > SAMPLES_MAX ? SAMPLES_MAX : n;
	return n < iters ? n : iters;
}

int samples_batch(const struct samples *s, const struct xport_cell *c)
{
	double want = s->sample_s / s->one_s;

	if (c->iters > 0) {
		int64_t of = fixed_samples(c->iters);

		return (int)(c->iters * (s->n + 1) / of - c->iters * s->n / of);
	}
	return want < 1 ? 1 : want > SAMPLE_BATCH ? SAMPLE_BATCH : (int)want;
}

void samples_add(struct samples *s, const struct xport_cell *c, int count,
		 double seconds)
{
	s->bw_GB_s[s->n++] =
		(double)count * (double)c->size_bytes / seconds / 1e9;
	s->total_s += seconds;
	s->iters += count;
}

/* Return true if the last samples agree. */
static bool steady(const struct samples *s)
{
	double spread = s->spread > 0 ? s->spread : STEADY_SPREAD;
	double v[SAMPLES_STEADY], median;

	if (s->n < SAMPLES_STEADY) {
		return false;
	}
	memcpy(v, s->bw_GB_s + s->n - SAMPLES_STEADY, sizeof(v));
	median = stats_median(v, SAMPLES_STEADY);	/* sorts */
	return v[SAMPLES_STEADY - 1] - v[0] <= spread * median;
}

bool samples_enough(const struct samples *s, const struct xport_cell *c)
{
	if (c->iters > 0) {
		return s->n >= fixed_samples(c->iters);
	}
	return s->n >= SAMPLES_MAX || steady(s) ||
	       (s->n >= SAMPLES_MIN &&
		s->total_s > SAMPLES_ENOUGH * s->sample_s);
}

void samples_result(struct samples *s, struct xport_result *r)
{
	r->iters = s->iters;
	r->bw_GB_s = stats_median(s->bw_GB_s, (size_t)s->n);	/* sorts */
	r->bw_min_GB_s = s->bw_GB_s[0];
	r->bw_max_GB_s = s->bw_GB_s[s->n - 1];
}

/* ---- peer conn ----------------------------------------------------------- */

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

int peer_connect(struct worker *w, const char *ticket, const char *nonce,
		 bool lead, int peer, int64_t deadline_ns,
		 struct xport_result *r)
{
	struct err e = { 0 };
	char go = 'g';
	int fd;

	if (lead) {
		worker_step(w, "waiting for rank %d to connect", peer);
		fd = w->conn(w, nonce, deadline_ns, &e);
	} else {
		worker_step(w, "connecting to rank %d at %s", peer, ticket);
		fd = w->dial(w, ticket, nonce, deadline_ns, &e);
	}
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

/* Advance @done by the @did bytes that a call transferred; -1 with errno. */
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

/* ---- worker -------------------------------------------------------------- */

void worker_step(struct worker *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->note->step, sizeof(w->note->step), fmt, ap);
	va_end(ap);
}

bool worker_cancelled(struct worker *w)
{
	return w->cancelled(w);
}

/* ---- xport --------------------------------------------------------------- */

void xport_result_init(struct xport_result *r)
{
	memset(r, 0, sizeof(*r));
	r->iters = r->wrong = r->flows = RECORD_NONE;
	r->bw_GB_s = r->bw_min_GB_s = r->bw_max_GB_s = NAN;
	r->lat_us = r->lat_p99_us = NAN;
	r->flow_GB_s = r->flows_GB_s = NAN;
	r->outcome = OUTCOME_NOT_RUN;
}

int64_t xport_timeout_ns(const struct spec *s)
{
	return INT64_C(4096) << s->qp_timeout;
}

int64_t xport_flows_ns(const struct spec *s)
{
	return s->flows > 1 ? 2 * (s->qp_retries + 1) * xport_timeout_ns(s) :
			      0;
}

void *xport_fail(struct xport_result *r, enum outcome o, const char *code,
		 const char *fmt, ...)
{
	char text[sizeof(r->detail)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->outcome = o;
	STR_COPY(r->code, code);
	STR_COPY(r->detail, text);
	return NULL;
}

void *xport_short(struct xport_result *r, int why, const char *fmt, ...)
{
	struct err e = { .code = why };
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e.text, sizeof(e.text), fmt, ap);
	va_end(ap);
	return xport_fail(r, OUTCOME_NOT_RUN, limit_code(why), "%s",
			  limit_text(&e, NULL, text, sizeof(text)));
}

bool xport_act_drill(struct worker *w, const struct xport_cell *c,
		     int64_t deadline_ns, struct xport_result *r)
{
	switch (c->drill) {
	case XPORT_DRILL_STAY_AWAY:
		xport_fail(r, OUTCOME_ERROR, "drill_dead",
			   XPORT_DRILL_MARK "does not respond");
		return true;
	case XPORT_DRILL_HANG:
		worker_step(w, "hanging (drill)");
		while (clock_now_ns() < deadline_ns && !worker_cancelled(w)) {
			clock_sleep(5 * NS_PER_MS);
		}
		xport_fail(r, OUTCOME_TIMEOUT, "drill_hang",
			   XPORT_DRILL_MARK "hangs");
		return true;
	default:
		return false;
	}
}

double xport_throttle(double s, double factor)
{
	clock_sleep((int64_t)((s / factor - s) * 1e9));
	return s / factor;
}
