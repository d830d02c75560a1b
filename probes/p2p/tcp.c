/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tcp: real bytes, worker to worker, over one connection a pair.  Not what
 * jobs use, but it runs anywhere and is a layer of its own between ping and
 * RDMA.
 *
 * One direction is a series of samples.  The sender opens each with a 16-byte
 * head (how many buffers follow, how large), sends the buffers and waits for
 * one byte back; the sample's time ends with that byte, so that what still
 * sits in socket buffers is not counted as delivered.
 */
#include "probes/transport/xport.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/limit.h"
#include "lib/base/net.h"
#include "lib/base/stats.h"
#include "lib/base/str.h"
#include "lib/base/hash.h"

/* Samples shorter than this measure the clock and the wake-up, not the path. */
#define TCP_SAMPLE_BYTES   (1u << 20)
/* A pair that is not steady after 20 ms is not going to be. */
#define TCP_SAMPLE_S	   (20e-3 / SAMPLES_ENOUGH)
#define TCP_STEADY_SPREAD  0.05
#define TCP_PINGS	   100
#define TCP_PING_WARMUP	   10
#define TCP_PING_NS	   (50 * NS_PER_MS)

struct xport {
	struct xport_self self;
	char *buf;		/* what is measured */
	char *back;		/* what comes or goes the other way meanwhile */
	size_t cap;		/* of each */
};

struct xport_link {
	struct xport *x;
	int fd;
	/* of the direction at hand */
	const struct xport_cell *c;
	int64_t deadline_ns;
	struct xport_result *r;
	struct err e;
};

struct head {
	uint64_t size_bytes;
	uint32_t count;		/* buffers in this sample; 0 = the end */
	uint32_t check;		/* look at the data of this sample */
};

static struct xport *tcp_open(const struct xport_self *self, const char **code,
			      struct err *e)
{
	struct xport *x = calloc(1, sizeof(*x));

	if (x == NULL) {
		*code = LIMIT_MEMORY;
		err_set(e, ENOMEM, "no memory for a transport");
		return NULL;
	}
	x->self = *self;
	return x;
}

static void tcp_shutdown(struct xport *x)
{
	if (x != NULL) {
		free(x->buf);
		free(x);
	}
}

static void tcp_close(struct xport_link *l)
{
	if (l != NULL) {
		close(l->fd);
		free(l);
	}
}

static struct xport_link *tcp_join(struct xport *x, const char *ticket,
				   const char *nonce, bool lead, int peer,
				   int64_t deadline_ns, struct xport_result *r)
{
	int fd = peer_connect(x->self.worker, ticket, nonce, lead, peer,
			      deadline_ns, r);
	struct xport_link *l;

	if (fd < 0) {
		return NULL;
	}
	l = calloc(1, sizeof(*l));
	if (l == NULL) {
		close(fd);
		return xport_short(r, ENOMEM, "no memory for a connection");
	}
	l->x = x;
	l->fd = fd;
	return l;
}

static int put(struct xport_link *l, const void *mem, size_t n)
{
	return net_write_all(l->fd, mem, n, l->deadline_ns, &l->e);
}

static int take(struct xport_link *l, void *mem, size_t n)
{
	return net_read_all(l->fd, mem, n, l->deadline_ns, &l->e);
}

/* Send a buffer or receive one; with --bidi against one of the other end. */
static int move_buffer(struct xport_link *l, bool send)
{
	struct xport *x = l->x;
	size_t n = l->c->size_bytes;

	if (l->c->bidi) {
		return peer_swap(l->fd, send ? x->buf : x->back,
				 send ? x->back : x->buf, n, l->deadline_ns,
				 &l->e);
	}
	return send ? put(l, x->buf, n) : take(l, x->buf, n);
}

/* Seconds since @start_ns, once a throttled end has slept. */
static double since(int64_t start_ns, const struct xport_cell *c)
{
	return xport_throttle((double)(clock_raw_ns() - start_ns) / 1e9,
			      c->slow_factor);
}

/* One sample: seconds it took, or -1. */
static double send_sample(struct xport_link *l, int count, bool check)
{
	struct head h = { l->c->size_bytes, (uint32_t)count, check };
	int64_t start = clock_raw_ns();
	char ack;

	if (put(l, &h, sizeof(h)) < 0) {
		return -1;
	}
	for (int i = 0; i < count; i++) {
		if (move_buffer(l, true) < 0) {
			return -1;
		}
	}
	return take(l, &ack, 1) < 0 ? -1 : since(start, l->c);
}

static int send_pings(struct xport_link *l)
{
	double v[TCP_PINGS];
	int64_t begin = clock_raw_ns();
	uint64_t ping = 1;
	size_t n = 0;

	for (int i = 0; i < TCP_PINGS + TCP_PING_WARMUP; i++) {
		int64_t start = clock_raw_ns();
		double s;

		if (n > 0 && start - begin > TCP_PING_NS) {
			break;
		}
		if (put(l, &ping, 8) < 0 || take(l, &ping, 8) < 0) {
			return -1;
		}
		s = since(start, l->c);
		if (i >= TCP_PING_WARMUP) {
			v[n++] = s * 1e6 / 2;
		}
	}
	ping = 0;
	if (put(l, &ping, 8) < 0) {
		return -1;
	}
	l->r->lat_us = stats_median(v, n);
	l->r->lat_p99_us = stats_percentile(v, n, 99);
	return 0;
}

static int tcp_send(struct xport_link *l)
{
	const struct head end = { 0 };
	const struct xport_cell *c = l->c;
	struct samples samples = { .sample_s = TCP_SAMPLE_S,
				   .spread = TCP_STEADY_SPREAD };
	int batch = 1;
	char ack;

	pattern_fill(l->x->buf, c->size_bytes, c->pattern_seed);
	if (c->size_bytes < TCP_SAMPLE_BYTES) {
		batch = (int)(TCP_SAMPLE_BYTES / c->size_bytes);
		batch = batch > 1024 ? 1024 : batch;
	}
	for (int i = 0; i < c->warmup || (i == 0 && c->check); i++) {
		if (send_sample(l, 1, i == 0 && c->check) < 0) {
			return -1;
		}
	}
	while (!samples_enough(&samples, c)) {
		int count = c->iters > 0 ? samples_batch(&samples, c) : batch;
		double s = send_sample(l, count, false);

		if (s < 0) {
			return -1;
		}
		samples_add(&samples, c, count, s);
	}
	samples_result(&samples, l->r);
	if (put(l, &end, sizeof(end)) < 0 ||
	    (c->latency && send_pings(l) < 0)) {
		return -1;
	}
	return take(l, &ack, 1);
}

/* One sample at the receiving end: 1, 0 at the end of samples, -1. */
static int receive_sample(struct xport_link *l, size_t *wrong)
{
	const struct xport_cell *c = l->c;
	struct head h;
	char ack = 'a';

	if (take(l, &h, sizeof(h)) < 0) {
		return -1;
	}
	if (h.count == 0) {
		return 0;
	}
	if (h.size_bytes != c->size_bytes) {
		return err_set(&l->e, EPROTO, "the sender uses another size");
	}
	if (h.check) {
		memset(l->x->buf, 0, c->size_bytes);
	}
	for (uint32_t i = 0; i < h.count; i++) {
		if (move_buffer(l, false) < 0) {
			return -1;
		}
	}
	if (h.check) {
		if (c->drill == XPORT_DRILL_CORRUPT) {
			pattern_spoil(l->x->buf, c->size_bytes);
		}
		*wrong += pattern_wrong(l->x->buf, c->size_bytes,
					c->pattern_seed);
	}
	return put(l, &ack, 1) < 0 ? -1 : 1;
}

static int tcp_receive(struct xport_link *l)
{
	size_t wrong = 0;
	uint64_t ping;
	char ack = 'a';
	int got;

	while ((got = receive_sample(l, &wrong)) > 0) {
		continue;
	}
	if (got == 0 && l->c->latency) {
		do {
			got = take(l, &ping, 8);
		} while (got == 0 && ping != 0 &&
			 (got = put(l, &ping, 8)) == 0);
	}
	if (got < 0) {
		return -1;
	}
	if (l->c->check) {
		l->r->wrong = (int64_t)wrong;
	}
	return put(l, &ack, 1);
}

static bool tcp_run(struct xport_link *l, const struct xport_cell *c,
		    int64_t deadline_ns, struct xport_result *r)
{
	struct xport *x = l->x;
	char *p;
	int rc;

	l->c = c;
	l->deadline_ns = deadline_ns;
	l->r = r;
	STR_COPY(r->path, "NET/TCP");
	if (xport_act_drill(l->x->self.worker, c, deadline_ns, r)) {
		return false;
	}
	if (c->size_bytes > x->cap) {
		p = calloc(2, c->size_bytes);
		if (p == NULL) {
			xport_short(r, ENOMEM, "no memory for %llu bytes",
				    (unsigned long long)c->size_bytes);
			return false;
		}
		free(x->buf);
		x->buf = p;
		x->back = p + c->size_bytes;
		x->cap = c->size_bytes;
	}
	worker_step(l->x->self.worker, "%s %llu bytes",
		    c->sender ? "sending" : "receiving",
		    (unsigned long long)c->size_bytes);
	rc = c->sender ? tcp_send(l) : tcp_receive(l);
	if (rc < 0) {
		peer_fault(r, &l->e, c->sender ? "sending" : "receiving");
	} else if (r->wrong != RECORD_NONE && r->wrong > 0) {
		xport_fail(r, OUTCOME_CORRUPT, "data_corrupt",
			   "%lld of %llu bytes arrived with a wrong value",
			   (long long)r->wrong,
			   (unsigned long long)c->size_bytes);
	} else {
		r->outcome = OUTCOME_OK;
	}
	return rc == 0;
}

const struct xport_ops xport_tcp = {
	.name = "tcp",
	.priority = 10,
	.default_size_bytes = 4 << 20,
	.default_timeout_ns = 2 * NS_PER_S,
	.dead_GB_s = 0.1,	/* less than Gigabit Ethernet carries */
	.setup_timeout_ns = 2 * NS_PER_S,
	.open_timeout_ns = 10 * NS_PER_S,
	/* two cores, --local=2x8: 1.7 s for 120 pairs, one at a time */
	.cost = { .open_s = 0.1, .pair_s = 0.005, .sample_s = TCP_SAMPLE_S,
		  .rate_GB_s = 2.5 },
	.open = tcp_open,
	.join = tcp_join,
	.run = tcp_run,
	.close = tcp_close,
	.shutdown = tcp_shutdown,
};
