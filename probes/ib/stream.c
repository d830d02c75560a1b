/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/ib/measure.h"

#if HAVE_VERBS


#include "lib/base/clock.h"

#define SAMPLE_NS	((int64_t)(VERBS_SAMPLE_S * NS_PER_S))
/* Small messages complete in groups: a completion each would be measured. */
#define GROUP_BYTES	8192
#define GROUP		16
/* Without a given end no more is on its way than this carries: all that is must
 * be let through at the end, and a queue of 1 GiB messages takes seconds. */
#define QUEUE_NS	(20 * NS_PER_MS)

void stream_init(struct stream *s, struct xport_link *l,
		 const struct xport_cell *c, int64_t deadline_ns)
{
	*s = (struct stream){
		.l = l, .c = c, .deadline_ns = deadline_ns,
		.depth = l->tx_depth * l->n_queues, .group = 1,
		.samples.sample_s = VERBS_SAMPLE_S,
	};
	if (c->size_bytes <= GROUP_BYTES && s->depth >= 4) {
		s->group = s->depth / 4 < GROUP ? s->depth / 4 : GROUP;
	}
	if (c->slow_factor < 1) {
		s->depth = s->group = 1;	/* throttled one by one */
	}
	l->done = 0;
}

/* A throttled end makes each message last 1 / factor times as long. */
void verbs_throttle(int64_t since_ns, double factor)
{
	if (factor < 1) {
		xport_throttle((double)(clock_raw_ns() - since_ns) / 1e9,
			       factor);
	}
}

/*
 * One more group, when it may be on its way; @limit messages in all, 0 = no
 * limit.  One at a time, as a driver may do the work while it is handed over:
 * what has completed meanwhile must be seen.
 */
static int stream_fill(struct stream *s, int64_t limit)
{
	int n = s->group, most = limit > 0 ? s->depth : s->window;

	if (limit > 0 && limit - s->sent < n) {
		n = (int)(limit - s->sent);
	}
	if (n == 0 || s->l->posted + n > most) {
		return 0;
	}
	s->sent += n;
	s->post_ns = s->c->slow_factor < 1 ? clock_raw_ns() : 0;
	return verbs_post(s->l, n, s->c->size_bytes);
}

static void stream_begin(struct stream *s)
{
	s->sent = s->counted = s->l->done = 0;
	s->begin_ns = s->sample_ns = clock_raw_ns();
	s->window = s->depth < 2 * s->group ? s->depth : 2 * s->group;
}

/* How many QUEUE_NS carries shows as they come through. */
static void stream_widen(struct stream *s, int64_t now_ns)
{
	double carried = (double)s->l->done * QUEUE_NS /
			 (double)(now_ns - s->begin_ns);

	if (carried > s->window) {
		s->window = carried < s->depth ? (int)carried : s->depth;
	}
}

static int stream_drain(struct stream *s)
{
	while (s->l->posted > 0) {
		if (verbs_turn(s->l, s->deadline_ns) < 0) {
			return -1;
		}
	}
	return 0;
}

int stream_send(struct stream *s, int64_t n)
{
	s->sent = 0;
	while (s->sent < n) {
		if (stream_fill(s, n) < 0 ||
		    verbs_turn(s->l, s->deadline_ns) < 0) {
			return -1;
		}
	}
	return stream_drain(s);
}

static void take_sample(struct stream *s, int64_t now_ns)
{
	samples_add(&s->samples, s->c, (int)(s->l->done - s->counted),
		    (double)(now_ns - s->sample_ns) / 1e9);
	s->counted = s->l->done;
	s->sample_ns = now_ns;
}

/* Small messages come in groups: they may be through before all samples. */
static bool stream_enough(const struct stream *s)
{
	return samples_enough(&s->samples, s->c) ||
	       (s->c->iters > 0 && s->l->done >= s->c->iters);
}

static bool sample_full(const struct stream *s, int64_t now_ns)
{
	int64_t count = s->l->done - s->counted;

	return s->c->iters > 0 ?
		       count >= samples_batch(&s->samples, s->c) :
		       count > 0 && now_ns - s->sample_ns >= SAMPLE_NS;
}

int stream_run(struct stream *s)
{
	int64_t now = 0, done = 0;

	stream_begin(s);
	while (!stream_enough(s)) {
		if (stream_fill(s, s->c->iters) < 0 ||
		    verbs_turn(s->l, s->deadline_ns) < 0) {
			return -1;
		}
		/* not every machine tells the time for nothing */
		if (s->l->done == done) {
			continue;
		}
		done = s->l->done;
		if (s->l->posted == 0) {
			verbs_throttle(s->post_ns, s->c->slow_factor);
		}
		now = clock_raw_ns();
		stream_widen(s, now);
		if (sample_full(s, now)) {
			take_sample(s, now);
		}
	}
	if (s->l->done > s->counted) {
		take_sample(s, now);
	}
	return stream_drain(s);
}

int stream_until_word(struct stream *s, uint64_t *word)
{
	int64_t done = 0;

	stream_begin(s);
	while (!verbs_heard(s->l, word)) {
		if (stream_fill(s, 0) < 0 ||
		    verbs_turn(s->l, s->deadline_ns) < 0) {
			return -1;
		}
		if (s->l->done != done) {
			done = s->l->done;
			stream_widen(s, clock_raw_ns());
		}
	}
	return stream_drain(s);
}
#endif
